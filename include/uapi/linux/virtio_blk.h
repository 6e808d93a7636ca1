/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * virtio-blk: the device's data structures (VIRTIO 1.3, section 5.2) and the
 * commands that /dev/vdXc0 takes through io_uring.
 *
 * The first half describes the device and is shared with hypervisors: sizes
 * in units of 512 bytes are called sectors, whatever the logical block size.
 * The second half, from VIRTBLK_URING_CMD_IO on, is the passthrough ABI.
 */
#ifndef _LINUX_VIRTIO_BLK_H
#define _LINUX_VIRTIO_BLK_H

#include <linux/ioctl.h>
#include <linux/types.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ids.h>
#include <linux/virtio_types.h>

/* Feature bits (5.2.3) */
#define VIRTIO_BLK_F_SIZE_MAX		1	/* size_max is valid */
#define VIRTIO_BLK_F_SEG_MAX		2	/* seg_max is valid */
#define VIRTIO_BLK_F_GEOMETRY		4	/* geometry is valid */
#define VIRTIO_BLK_F_RO			5	/* read-only disk */
#define VIRTIO_BLK_F_BLK_SIZE		6	/* blk_size is valid */
#define VIRTIO_BLK_F_TOPOLOGY		10	/* topology fields are valid */
#define VIRTIO_BLK_F_MQ			12	/* more than one virtqueue */
#define VIRTIO_BLK_F_DISCARD		13	/* DISCARD is offered */
#define VIRTIO_BLK_F_WRITE_ZEROES	14	/* WRITE_ZEROES is offered */
#define VIRTIO_BLK_F_SECURE_ERASE	16	/* SECURE_ERASE is offered */
#define VIRTIO_BLK_F_ZONED		17	/* zoned device */

#ifndef VIRTIO_BLK_NO_LEGACY
/* Bits that only legacy devices know, and two that kept their meaning (5.2.3.1) */
#define VIRTIO_BLK_F_BARRIER		0	/* barriers, never used by Linux */
#define VIRTIO_BLK_F_SCSI		7	/* SCSI passthrough */
#define VIRTIO_BLK_F_FLUSH		9	/* FLUSH is offered */
#define VIRTIO_BLK_F_CONFIG_WCE		11	/* wce may be changed */
#ifndef __KERNEL__
#define VIRTIO_BLK_F_WCE		VIRTIO_BLK_F_FLUSH
#endif
#endif

#define VIRTIO_BLK_ID_BYTES		20	/* length of the GET_ID answer */

/* Configuration space (5.2.4). Each field is valid only with its feature. */
struct virtio_blk_config {
	__virtio64 capacity;		/* sectors */
	__virtio32 size_max;		/* bytes in one segment */
	__virtio32 seg_max;		/* segments in one command */
	struct virtio_blk_geometry {
		__virtio16 cylinders;
		__u8 heads;
		__u8 sectors;
	} geometry;
	__virtio32 blk_size;		/* logical block, bytes */

	/* VIRTIO_BLK_F_TOPOLOGY, in logical blocks */
	__u8 physical_block_exp;	/* log2(logical per physical block) */
	__u8 alignment_offset;		/* first aligned logical block */
	__virtio16 min_io_size;
	__virtio32 opt_io_size;

	__u8 wce;			/* 0 write-through, 1 write-back */
	__u8 unused;
	__virtio16 num_queues;

	/* VIRTIO_BLK_F_DISCARD, in sectors and ranges */
	__virtio32 max_discard_sectors;
	__virtio32 max_discard_seg;
	__virtio32 discard_sector_alignment;

	/* VIRTIO_BLK_F_WRITE_ZEROES */
	__virtio32 max_write_zeroes_sectors;
	__virtio32 max_write_zeroes_seg;
	__u8 write_zeroes_may_unmap;	/* 1: the unmap flag has an effect */
	__u8 unused1[3];

	/* VIRTIO_BLK_F_SECURE_ERASE */
	__virtio32 max_secure_erase_sectors;
	__virtio32 max_secure_erase_seg;
	__virtio32 secure_erase_sector_alignment;

	/* VIRTIO_BLK_F_ZONED */
	struct virtio_blk_zoned_characteristics {
		__virtio32 zone_sectors;
		__virtio32 max_open_zones;
		__virtio32 max_active_zones;
		__virtio32 max_append_sectors;
		__virtio32 write_granularity;
		__u8 model;
		__u8 unused2[3];
	} zoned;
} __attribute__((packed));

/* Command types (5.2.6) */
#define VIRTIO_BLK_T_IN			0
#define VIRTIO_BLK_T_OUT		1
#ifndef VIRTIO_BLK_NO_LEGACY
#define VIRTIO_BLK_T_SCSI_CMD		2
#endif
#define VIRTIO_BLK_T_FLUSH		4
#define VIRTIO_BLK_T_GET_ID		8
#define VIRTIO_BLK_T_DISCARD		11
#define VIRTIO_BLK_T_WRITE_ZEROES	13
#define VIRTIO_BLK_T_SECURE_ERASE	14
#define VIRTIO_BLK_T_ZONE_APPEND	15
#define VIRTIO_BLK_T_ZONE_REPORT	16
#define VIRTIO_BLK_T_ZONE_OPEN		18
#define VIRTIO_BLK_T_ZONE_CLOSE		20
#define VIRTIO_BLK_T_ZONE_FINISH	22
#define VIRTIO_BLK_T_ZONE_RESET		24
#define VIRTIO_BLK_T_ZONE_RESET_ALL	26
#ifndef VIRTIO_BLK_NO_LEGACY
#define VIRTIO_BLK_T_BARRIER		0x80000000
#endif

/* What each command starts with; the device reads it. */
struct virtio_blk_outhdr {
	__virtio32 type;
	__virtio32 ioprio;
	__virtio64 sector;
};

/* Zone models */
#define VIRTIO_BLK_Z_NONE		0
#define VIRTIO_BLK_Z_HM			1	/* host-managed */
#define VIRTIO_BLK_Z_HA			2	/* host-aware */

/* The answer to ZONE_REPORT is a header and an array of descriptors. */
struct virtio_blk_zone_descriptor {
	__virtio64 z_cap;		/* sectors that can be written */
	__virtio64 z_start;		/* first sector */
	__virtio64 z_wp;		/* write pointer, sector */
	__u8 z_type;			/* VIRTIO_BLK_ZT_* */
	__u8 z_state;			/* VIRTIO_BLK_ZS_* */
	__u8 reserved[38];
};

struct virtio_blk_zone_report {
	__virtio64 nr_zones;
	__u8 reserved[56];
	struct virtio_blk_zone_descriptor zones[];
};

/* Zone types */
#define VIRTIO_BLK_ZT_CONV		1	/* conventional */
#define VIRTIO_BLK_ZT_SWR		2	/* sequential write required */
#define VIRTIO_BLK_ZT_SWP		3	/* sequential write preferred */

/* Zone states */
#define VIRTIO_BLK_ZS_NOT_WP		0
#define VIRTIO_BLK_ZS_EMPTY		1
#define VIRTIO_BLK_ZS_IOPEN		2
#define VIRTIO_BLK_ZS_EOPEN		3
#define VIRTIO_BLK_ZS_CLOSED		4
#define VIRTIO_BLK_ZS_RDONLY		13
#define VIRTIO_BLK_ZS_FULL		14
#define VIRTIO_BLK_ZS_OFFLINE		15

/* One range of DISCARD, WRITE_ZEROES or SECURE_ERASE */
#define VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP	0x00000001
struct virtio_blk_discard_write_zeroes {
	__le64 sector;
	__le32 num_sectors;
	__le32 flags;
};

#ifndef VIRTIO_BLK_NO_LEGACY
struct virtio_scsi_inhdr {
	__virtio32 errors;
	__virtio32 data_len;
	__virtio32 sense_len;
	__virtio32 residual;
};
#endif

/* The status byte that ends each command; the device writes it. */
#define VIRTIO_BLK_S_OK				0
#define VIRTIO_BLK_S_IOERR			1
#define VIRTIO_BLK_S_UNSUPP			2
#define VIRTIO_BLK_S_ZONE_INVALID_CMD		3
#define VIRTIO_BLK_S_ZONE_UNALIGNED_WP		4
#define VIRTIO_BLK_S_ZONE_OPEN_RESOURCE		5
#define VIRTIO_BLK_S_ZONE_ACTIVE_RESOURCE	6

/*
 * Passthrough: IORING_OP_URING_CMD on /dev/vdXc0
 * ==============================================
 *
 * A command names a type (VIRTIO_BLK_T_*), a first sector and its data:
 *
 *  IN, OUT        a multiple of the logical block size
 *  GET_ID         at least VIRTIO_BLK_ID_BYTES; the device writes no byte
 *                 behind those, and ends a shorter serial with a NUL
 *  FLUSH          none: data and length are 0
 *  DISCARD, WRITE_ZEROES, SECURE_ERASE
 *                 either an array of struct virtio_blk_discard_write_zeroes
 *                 (then the command's own sector and flags are 0), or a data
 *                 address of 0 and as length the bytes from the sector on
 *
 * Data is a user address and its length in bytes, or with the _VEC operations
 * the address of an iovec array and its count. With IORING_URING_CMD_FIXED
 * the address, or each iovec, lies inside the registered buffer
 * sqe->buf_index. The iovec and range arrays must stay until the command has
 * completed: it may have to wait before it is read.
 *
 * cqe->res
 *   0     done
 *   > 0   the device's status byte (VIRTIO_BLK_S_*): it took the command and
 *         did not do it
 *   < 0   an errno: the command never reached the device, or the device went
 *         away with it (-EIO, nothing known about the data)
 *
 * io_uring breaks a chain of linked commands only after a negative result: one
 * that the device refused does not stop the next.
 *
 * With IORING_SETUP_CQE32, big_cqe[0] is the written sector of a zone append
 * and 0 for all others; big_cqe[1] is 0.
 *
 * errno
 *   EAGAIN      no free slot now, and the descriptor has O_NONBLOCK
 *   EBADF       the descriptor is not open for this direction
 *   EFAULT      bad address, or outside of the registered buffer
 *   EINTR       the task was killed while the command waited
 *   EINVAL      malformed: unknown flag, reserved field not 0, sector or
 *               length not a multiple of the logical block, no length where
 *               data is needed, past the end of the disk, over a limit
 *   EIO         the device broke or was removed while it had the command
 *   ENODEV      the disk has gone
 *   ENOMEM      no memory for a command of many segments
 *   ENOTTY      unknown cmd_op
 *   EOPNOTSUPP  the device does not offer the type; a 128-byte command on a
 *               64-byte ring; an IOPOLL ring and no poll queues
 *   EPERM       the type needs a privilege (SECURE_ERASE: CAP_SYS_ADMIN)
 *   EROFS       the disk is read-only
 */

/*
 * 128-byte form, for rings set up with IORING_SETUP_SQE128: cmd_op is one of
 * these two numbers and sqe->cmd holds a struct virtblk_uring_cmd. Compatible
 * with the virtio-blk passthrough proposal of December 2024. The numbers are
 * closed: new operations are ioctl-encoded.
 */
#define VIRTBLK_URING_CMD_IO		1
#define VIRTBLK_URING_CMD_IO_VEC	2

/**
 * struct virtblk_uring_cmd - command of the 128-byte form
 * @type: VIRTIO_BLK_T_*
 * @ioprio: priority as the device understands it (0: none)
 * @sector: first sector (512 bytes)
 * @data: user address of the data, or of an iovec array
 * @data_len: bytes, or number of iovecs
 * @flag: VIRTBLK_CMD_F_*
 * @reserved: must be 0
 */
struct virtblk_uring_cmd {
	__u32 type;
	__u32 ioprio;
	__u64 sector;
	__u64 data;
	__u32 data_len;
	__u32 flag;
	__u64 reserved;
};

/**
 * struct virtblk_uring_cmd64 - command of the 64-byte form
 * @sector: first sector (512 bytes)
 * @type: VIRTIO_BLK_T_*
 * @ioprio: priority as the device understands it (0: none)
 * @flags: VIRTBLK_CMD_F_*
 *
 * These are the 16 bytes at sqe->cmd of an ordinary SQE. The data is in
 * sqe->addr and sqe->len (bytes, or number of iovecs), and sqe->file_index
 * must be 0. Works on rings with either size of SQE.
 */
struct virtblk_uring_cmd64 {
	__u64 sector;
	__u32 type;
	__u16 ioprio;
	__u16 flags;
};

#define VIRTBLK_IOC_MAGIC		0xE8
#define VIRTBLK_URING_CMD64 \
	_IOWR(VIRTBLK_IOC_MAGIC, 0x80, struct virtblk_uring_cmd64)
#define VIRTBLK_URING_CMD64_VEC \
	_IOWR(VIRTBLK_IOC_MAGIC, 0x81, struct virtblk_uring_cmd64)

/*
 * WRITE_ZEROES without a range array: the device may deallocate the sectors.
 * Not valid with any other type, nor without VIRTBLK_FEAT_UNMAP.
 */
#define VIRTBLK_CMD_F_UNMAP		(1U << 0)

/* Bits of virtblk_limits.features */
#define VIRTBLK_FEAT_SQE64		(1U << 0) /* 64-byte form works */
#define VIRTBLK_FEAT_FIXED_VEC		(1U << 1) /* registered buffers and _VEC */
#define VIRTBLK_FEAT_READ_ONLY		(1U << 2) /* nothing can be written */
#define VIRTBLK_FEAT_WRITE_CACHE	(1U << 3) /* FLUSH makes writes durable */
#define VIRTBLK_FEAT_UNMAP		(1U << 4) /* VIRTBLK_CMD_F_UNMAP works */

#define VIRTBLK_ABI_VERSION		1

/**
 * struct virtblk_limits - what VIRTBLK_IOC_LIMITS answers
 * @size: in: bytes of the caller's structure; out: bytes filled in, the
 *	smaller of the caller's and the driver's. Must be at least 8.
 * @abi_version: VIRTBLK_ABI_VERSION
 * @capacity: sectors (512 bytes)
 * @types: bit n is set if a command of type n is offered by this device
 * @features: VIRTBLK_FEAT_*
 * @logical_block_size: bytes
 * @physical_block_size: bytes
 * @max_bytes: data of one IN or OUT
 * @max_segments: physically contiguous pieces of that data
 * @max_segment_size: bytes in one piece; longer ones count as several
 * @max_discard_sectors: sectors in one range of a DISCARD
 * @max_discard_ranges: ranges in one DISCARD
 * @discard_granularity: bytes
 * @max_write_zeroes_sectors: sectors in one range of a WRITE_ZEROES
 * @max_write_zeroes_ranges: ranges in one WRITE_ZEROES
 * @max_secure_erase_sectors: sectors in one range of a SECURE_ERASE
 * @max_secure_erase_ranges: ranges in one SECURE_ERASE
 * @secure_erase_granularity: bytes
 * @nr_queues: interrupt-driven virtqueues
 * @nr_poll_queues: virtqueues for IOPOLL rings
 * @queue_depth: passthrough commands in flight in one queue
 *
 * Limits are 0 for what is not offered.
 */
struct virtblk_limits {
	__u32 size;
	__u32 abi_version;
	__u64 capacity;
	__u64 types;
	__u32 features;
	__u32 logical_block_size;
	__u32 physical_block_size;
	__u32 max_bytes;
	__u32 max_segments;
	__u32 max_segment_size;
	__u32 max_discard_sectors;
	__u32 max_discard_ranges;
	__u32 discard_granularity;
	__u32 max_write_zeroes_sectors;
	__u32 max_write_zeroes_ranges;
	__u32 max_secure_erase_sectors;
	__u32 max_secure_erase_ranges;
	__u32 secure_erase_granularity;
	__u32 nr_queues;
	__u32 nr_poll_queues;
	__u32 queue_depth;
	__u32 reserved;
};

/*
 * Beside BLKGETSIZE64, BLKSSZGET, BLKPBSZGET and BLKROGET, which answer as on
 * the block device. The number holds no structure size, so that the structure
 * can grow.
 */
#define VIRTBLK_IOC_LIMITS		_IO(VIRTBLK_IOC_MAGIC, 0x40)

#endif /* _LINUX_VIRTIO_BLK_H */
