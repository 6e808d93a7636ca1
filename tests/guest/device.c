// SPDX-License-Identifier: MIT
/*
 * What QEMU's devices cannot show, on a device that this program plays itself
 * (vduse.h): secure erase and its privilege, several ranges in a command, each
 * status byte, limits on segments, what exactly arrives at the device.
 *
 * usage: device [disk]		the name that the driver will give it
 */
#define _GNU_SOURCE
#include <sys/wait.h>

#include "vduse.h"

#define SIZE_MAX_BYTES	8192u
#define SEG_MAX		6u
#define RANGES		8u

static struct vd_shared *seen;
static struct t_dev dev;
static struct io_uring ring;

static const struct virtio_blk_config config = {
	.capacity = VD_BYTES / T_SECTOR,
	.size_max = SIZE_MAX_BYTES,
	.seg_max = SEG_MAX,
	.blk_size = T_SECTOR,
	.max_discard_sectors = 4096,
	.max_discard_seg = RANGES,
	.discard_sector_alignment = 8,
	.max_write_zeroes_sectors = 2048,
	.max_write_zeroes_seg = RANGES - 1,
	.write_zeroes_may_unmap = 0,
	.max_secure_erase_sectors = 1024,
	.max_secure_erase_seg = RANGES - 2,
	.secure_erase_sector_alignment = 16,
};

static void limits(void)
{
	const struct virtblk_limits *l = &dev.lim;

	ok(l->types & (1ull << VIRTIO_BLK_T_SECURE_ERASE),
	   "secure erase is offered");
	is_int(l->max_segments, SEG_MAX, "segments");
	is_int(l->max_segment_size, SIZE_MAX_BYTES, "segment size");
	is_int(l->max_discard_sectors, 4096, "discard: sectors");
	is_int(l->max_discard_ranges, RANGES, "discard: ranges");
	is_int(l->discard_granularity, 4096, "discard: granularity");
	is_int(l->max_write_zeroes_sectors, 2048, "write zeroes: sectors");
	is_int(l->max_write_zeroes_ranges, RANGES - 1, "write zeroes: ranges");
	is_int(l->max_secure_erase_sectors, 1024, "secure erase: sectors");
	is_int(l->max_secure_erase_ranges, RANGES - 2, "secure erase: ranges");
	is_int(l->secure_erase_granularity, 8192, "secure erase: granularity");
	ok(!(l->features & VIRTBLK_FEAT_UNMAP), "no unmap flag");
}

static int command(int fd, uint32_t type, uint64_t sector, const void *data,
		   uint32_t len, uint16_t flags)
{
	struct vblk_cmd cmd = {
		.type = type, .sector = sector, .data = data, .len = len,
		.flags = flags,
	};

	vd_forget(seen);
	return t_cmd(&ring, VBLK_SQE64, fd, &cmd);
}

/* Wrong, and nothing of it comes to the device. */
static void refused(uint32_t type, const void *data, uint32_t len,
		    uint16_t flags, const char *name, const char *what)
{
	is_res(command(dev.cfd, type, 0, data, len, flags), -EINVAL, "%s: %s",
	       name, what);
	if (seen->commands)
		ok(0, "it came to the device");
}

static void ranges(uint32_t type, unsigned int most, uint32_t sectors,
		   const char *name)
{
	struct virtio_blk_discard_write_zeroes r[RANGES + 1];
	unsigned int i;

	for (i = 0; i <= RANGES; i++) {
		r[i].sector = 64 * i;
		r[i].num_sectors = 16 + 16 * (i % 2);
		r[i].flags = 0;
	}
	for (i = 1; i <= most; i++) {
		is_res(command(dev.cfd, type, 0, r, i * sizeof(r[0]), 0), 0,
		       "%s: %u ranges", name, i);
		ok(seen->commands == 1 && seen->type == type &&
		   seen->nr_ranges == i && !seen->sector &&
		   !memcmp(seen->ranges, r, i * sizeof(r[0])),
		   "the device saw just these");
	}
	refused(type, r, (most + 1) * sizeof(r[0]), 0, name,
		"one range too many");
	r[1].num_sectors = sectors + 16;
	refused(type, r, 2 * sizeof(r[0]), 0, name,
		"the second range is too long");
	r[1].num_sectors = 16;
	r[1].flags = VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP;
	refused(type, r, 2 * sizeof(r[0]), 0, name,
		"the second range wants to unmap");
	refused(type, NULL, 4096, VIRTBLK_CMD_F_UNMAP, name, "the unmap flag");

	is_res(command(dev.cfd, type, 128, NULL, 32 * T_SECTOR, 0), 0,
	       "%s: by length", name);
	ok(seen->nr_ranges == 1 && seen->ranges[0].sector == 128 &&
	   seen->ranges[0].num_sectors == 32 && !seen->ranges[0].flags,
	   "the device saw that as a range");
	refused(type, NULL, (sectors + 16) * T_SECTOR, 0, name,
		"by length, too long");
}

/* Without CAP_SYS_ADMIN, on a descriptor that root has opened. */
static void unprivileged(void)
{
	int reader = open(dev.chr, O_RDONLY), status;
	pid_t pid;

	is_res(command(reader, VIRTIO_BLK_T_SECURE_ERASE, 0, NULL, 8192, 0),
	       -EBADF, "secure erase, open for reading: -EBADF");
	pid = fork();
	if (!pid) {
		int res;

		if (setgid(1000) || setuid(1000))
			_exit(2);
		t_ring(&ring, 4, 0);
		res = command(dev.cfd, VIRTIO_BLK_T_SECURE_ERASE, 0, NULL,
			      8192, 0);
		if (res != -EPERM)
			diag("secure erase gave %s", t_res_name(res));
		if (seen->commands)
			diag("it came to the device");
		_exit(res != -EPERM || seen->commands ||
		      command(dev.cfd, VIRTIO_BLK_T_DISCARD, 0, NULL, 8192, 0));
	}
	waitpid(pid, &status, 0);
	is_int(status, 0, "secure erase by an ordinary user: -EPERM, but discard works");
	close(reader);
}

/* cqe->res is the status byte; the one that means "not written" is -EIO. */
static void statuses(void)
{
	void *buf = t_alloc(4096);
	int status, bad = 0;

	for (status = 0; status <= 255; status++) {
		int want = status == 255 ? -EIO : status;
		int res;

		seen->status = status;
		res = command(dev.cfd, VIRTIO_BLK_T_IN, 0, buf, 4096, 0);
		if (res != want && !bad++)
			diag("status %d gave %s", status, t_res_name(res));
	}
	is_int(bad, 0, "cqe->res is the status byte, for all of them");

	for (status = 1, bad = 0; status <= 255; status++) {
		seen->status = status;
		if (pread(dev.bfd, buf, 4096, 0) >= 0)
			bad++;
	}
	is_int(bad, 0, "the block node reports each of them as an error");
	seen->status = VD_NO_STATUS;
	is_res(command(dev.cfd, VIRTIO_BLK_T_IN, 0, buf, 4096, 0), 0,
	       "afterwards reads work");
}

static void segments(void)
{
	uint32_t most = SEG_MAX * SIZE_MAX_BYTES;
	char *buf = t_alloc(1 << 20);
	struct iovec iov = { buf, 1 << 20 };
	struct io_uring_sqe *sqe;
	uint32_t len;
	int bad = 0, res;

	/* One piece of memory, if the kernel has huge pages to give. */
	madvise(buf, 1 << 20, MADV_HUGEPAGE);
	memset(buf, 0x5a, 1 << 20);
	for (len = 4096; len <= most; len += 4096) {
		t_fill(buf, len, 65536, len);
		res = command(dev.cfd, VIRTIO_BLK_T_OUT, 128, buf, len, 0);
		/* Scattered pages may be more than fit, and say so. */
		if (res == -EINVAL && len > SEG_MAX * 4096)
			continue;
		bad |= res || seen->longest_chain > SEG_MAX + 2 ||
		       seen->longest_desc > SIZE_MAX_BYTES ||
		       t_pread_check(dev.bfd, 65536, len, len);
	}
	ok(!bad, "no chain is longer and no segment larger than it may be");

	if (io_uring_register_buffers(&ring, &iov, 1))
		bail("cannot register a buffer");
	for (len = 4096, bad = 0; len <= SEG_MAX * 4096; len += 4096) {
		t_fill(buf, len, 65536, len + 1);
		vd_forget(seen);
		sqe = io_uring_get_sqe(&ring);
		vblk_prep_write(sqe, VBLK_SQE64, dev.cfd, buf, len, 65536);
		vblk_set_fixed(sqe, 0);
		bad |= t_submit1(&ring).res ||
		       seen->longest_chain > SEG_MAX + 2 ||
		       seen->longest_desc > SIZE_MAX_BYTES ||
		       t_pread_check(dev.bfd, 65536, len, len + 1);
	}
	ok(!bad, "the same from a registered buffer");
	is_res(command(dev.cfd, VIRTIO_BLK_T_OUT, 0, buf, most + 4096, 0),
	       -EINVAL, "more than all segments hold");
	/* The block node, which splits for itself. */
	vd_forget(seen);
	t_pwrite_pattern(dev.bfd, 0, 1 << 20, 77);
	ok(!t_pread_check(dev.bfd, 0, 1 << 20, 77) &&
	   seen->longest_chain <= SEG_MAX + 2 &&
	   seen->longest_desc <= SIZE_MAX_BYTES, "the block node keeps to it");
}

/* The header as it arrives. */
static void header(void)
{
	struct vblk_cmd cmd = {
		.type = VIRTIO_BLK_T_IN, .sector = 2345, .ioprio = 0x4321,
		.len = 512, .data = t_alloc(4096),
	};
	char id[VIRTIO_BLK_ID_BYTES + 1] = "";

	vd_forget(seen);
	is_res(t_cmd(&ring, VBLK_SQE64, dev.cfd, &cmd), 0, "a read");
	ok(seen->sector == 2345 && seen->ioprio == 0x4321,
	   "sector and priority arrive");
	is_res(command(dev.cfd, VIRTIO_BLK_T_GET_ID, 0, id,
		       VIRTIO_BLK_ID_BYTES, 0), 0, "the id");
	ok(!strcmp(id, VD_NAME), "it is what the device says");
}

int main(int argc, char **argv)
{
	uint64_t features = 1ull << VIRTIO_BLK_F_SIZE_MAX |
		1ull << VIRTIO_BLK_F_SEG_MAX | 1ull << VIRTIO_BLK_F_BLK_SIZE |
		1ull << VIRTIO_BLK_F_FLUSH | 1ull << VIRTIO_BLK_F_DISCARD |
		1ull << VIRTIO_BLK_F_WRITE_ZEROES |
		1ull << VIRTIO_BLK_F_SECURE_ERASE;
	char path[32];
	int tries;

	t_watchdog(60);
	seen = vd_begin(features, &config);
	snprintf(path, sizeof(path), "/dev/%sc0", t_disk(argc, argv));
	for (tries = 0; tries < 100 && access(path, F_OK); tries++)
		usleep(100000);
	t_open(&dev, t_disk(argc, argv), O_RDWR, O_RDWR);
	t_ring(&ring, 4, 0);

	limits();
	ranges(VIRTIO_BLK_T_DISCARD, RANGES, 4096, "discard");
	ranges(VIRTIO_BLK_T_WRITE_ZEROES, RANGES - 1, 2048, "write zeroes");
	ranges(VIRTIO_BLK_T_SECURE_ERASE, RANGES - 2, 1024, "secure erase");
	unprivileged();
	statuses();
	segments();
	header();
	t_close(&dev);
	vd_plug(0);
	return tap_done();
}
