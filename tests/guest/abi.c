// SPDX-License-Identifier: MIT
/*
 * The ABI's numbers, written down a second time: sizes, offsets, op numbers.
 * What the compiler can know it checks, everything is printed.
 *
 * usage: abi		needs no disk, runs on the host as well
 */
#include <linux/virtio_blk.h>
#include <stddef.h>

#include "tap.h"

/* A fact: true at compile time, and a line of output. */
#define fact(expr, want) do {						\
	_Static_assert((expr) == (want), #expr " is not " #want);	\
	is_int((expr), (want), "%s is %s", #expr, #want);		\
} while (0)

#define at(type, field, want)	fact(offsetof(struct type, field), want)
#define size(type, want)	fact(sizeof(struct type), want)

static void commands(void)
{
	size(virtblk_uring_cmd, 40);
	at(virtblk_uring_cmd, type, 0);
	at(virtblk_uring_cmd, ioprio, 4);
	at(virtblk_uring_cmd, sector, 8);
	at(virtblk_uring_cmd, data, 16);
	at(virtblk_uring_cmd, data_len, 24);
	at(virtblk_uring_cmd, flag, 28);
	at(virtblk_uring_cmd, reserved, 32);
	fact(VIRTBLK_URING_CMD_IO, 1);
	fact(VIRTBLK_URING_CMD_IO_VEC, 2);

	size(virtblk_uring_cmd64, 16);
	at(virtblk_uring_cmd64, sector, 0);
	at(virtblk_uring_cmd64, type, 8);
	at(virtblk_uring_cmd64, ioprio, 12);
	at(virtblk_uring_cmd64, flags, 14);
	fact(VIRTBLK_URING_CMD64, 0xc010e880);
	fact(VIRTBLK_URING_CMD64_VEC, 0xc010e881);
	fact(VIRTBLK_CMD_F_UNMAP, 1);
}

static void limits(void)
{
	size(virtblk_limits, 96);
	at(virtblk_limits, size, 0);
	at(virtblk_limits, abi_version, 4);
	at(virtblk_limits, capacity, 8);
	at(virtblk_limits, types, 16);
	at(virtblk_limits, features, 24);
	at(virtblk_limits, logical_block_size, 28);
	at(virtblk_limits, physical_block_size, 32);
	at(virtblk_limits, max_bytes, 36);
	at(virtblk_limits, max_segments, 40);
	at(virtblk_limits, max_segment_size, 44);
	at(virtblk_limits, max_discard_sectors, 48);
	at(virtblk_limits, max_discard_ranges, 52);
	at(virtblk_limits, discard_granularity, 56);
	at(virtblk_limits, max_write_zeroes_sectors, 60);
	at(virtblk_limits, max_write_zeroes_ranges, 64);
	at(virtblk_limits, max_secure_erase_sectors, 68);
	at(virtblk_limits, max_secure_erase_ranges, 72);
	at(virtblk_limits, secure_erase_granularity, 76);
	at(virtblk_limits, nr_queues, 80);
	at(virtblk_limits, nr_poll_queues, 84);
	at(virtblk_limits, queue_depth, 88);
	at(virtblk_limits, reserved, 92);
	fact(VIRTBLK_IOC_LIMITS, 0xe840);
	fact(VIRTBLK_ABI_VERSION, 1);
	fact(VIRTBLK_FEAT_SQE64, 1);
	fact(VIRTBLK_FEAT_FIXED_VEC, 2);
	fact(VIRTBLK_FEAT_READ_ONLY, 4);
	fact(VIRTBLK_FEAT_WRITE_CACHE, 8);
	fact(VIRTBLK_FEAT_UNMAP, 16);
}

/* From the VIRTIO 1.3 specification, section 5.2. */
static void device(void)
{
	fact(VIRTIO_BLK_T_IN, 0);
	fact(VIRTIO_BLK_T_OUT, 1);
	fact(VIRTIO_BLK_T_FLUSH, 4);
	fact(VIRTIO_BLK_T_GET_ID, 8);
	fact(VIRTIO_BLK_T_DISCARD, 11);
	fact(VIRTIO_BLK_T_WRITE_ZEROES, 13);
	fact(VIRTIO_BLK_T_SECURE_ERASE, 14);
	fact(VIRTIO_BLK_T_ZONE_APPEND, 15);
	fact(VIRTIO_BLK_T_ZONE_REPORT, 16);
	fact(VIRTIO_BLK_T_ZONE_OPEN, 18);
	fact(VIRTIO_BLK_T_ZONE_CLOSE, 20);
	fact(VIRTIO_BLK_T_ZONE_FINISH, 22);
	fact(VIRTIO_BLK_T_ZONE_RESET, 24);
	fact(VIRTIO_BLK_T_ZONE_RESET_ALL, 26);
	fact(VIRTIO_BLK_S_OK, 0);
	fact(VIRTIO_BLK_S_IOERR, 1);
	fact(VIRTIO_BLK_S_UNSUPP, 2);
	fact(VIRTIO_BLK_S_ZONE_INVALID_CMD, 3);
	fact(VIRTIO_BLK_S_ZONE_UNALIGNED_WP, 4);
	fact(VIRTIO_BLK_S_ZONE_OPEN_RESOURCE, 5);
	fact(VIRTIO_BLK_S_ZONE_ACTIVE_RESOURCE, 6);
	fact(VIRTIO_BLK_ID_BYTES, 20);
	size(virtio_blk_outhdr, 16);
	size(virtio_blk_discard_write_zeroes, 16);
	size(virtio_blk_zone_descriptor, 64);
	size(virtio_blk_zone_report, 64);
	fact(VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP, 1);
}

static void config_space(void)
{
	fact(VIRTIO_BLK_F_SIZE_MAX, 1);
	fact(VIRTIO_BLK_F_SEG_MAX, 2);
	fact(VIRTIO_BLK_F_GEOMETRY, 4);
	fact(VIRTIO_BLK_F_RO, 5);
	fact(VIRTIO_BLK_F_BLK_SIZE, 6);
	fact(VIRTIO_BLK_F_FLUSH, 9);
	fact(VIRTIO_BLK_F_TOPOLOGY, 10);
	fact(VIRTIO_BLK_F_CONFIG_WCE, 11);
	fact(VIRTIO_BLK_F_MQ, 12);
	fact(VIRTIO_BLK_F_DISCARD, 13);
	fact(VIRTIO_BLK_F_WRITE_ZEROES, 14);
	fact(VIRTIO_BLK_F_SECURE_ERASE, 16);
	fact(VIRTIO_BLK_F_ZONED, 17);
	at(virtio_blk_config, size_max, 8);
	at(virtio_blk_config, seg_max, 12);
	at(virtio_blk_config, geometry, 16);
	at(virtio_blk_config, blk_size, 20);
	at(virtio_blk_config, physical_block_exp, 24);
	at(virtio_blk_config, alignment_offset, 25);
	at(virtio_blk_config, min_io_size, 26);
	at(virtio_blk_config, opt_io_size, 28);
	at(virtio_blk_config, wce, 32);
	at(virtio_blk_config, num_queues, 34);
	at(virtio_blk_config, max_discard_sectors, 36);
	at(virtio_blk_config, max_discard_seg, 40);
	at(virtio_blk_config, discard_sector_alignment, 44);
	at(virtio_blk_config, max_write_zeroes_sectors, 48);
	at(virtio_blk_config, max_write_zeroes_seg, 52);
	at(virtio_blk_config, write_zeroes_may_unmap, 56);
	at(virtio_blk_config, max_secure_erase_sectors, 60);
	at(virtio_blk_config, max_secure_erase_seg, 64);
	at(virtio_blk_config, secure_erase_sector_alignment, 68);
}

int main(void)
{
	commands();
	limits();
	device();
	config_space();
	return tap_done();
}
