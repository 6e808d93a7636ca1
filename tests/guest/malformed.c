// SPDX-License-Identifier: MIT
/*
 * Commands that are wrong in themselves: each gives its errno, none reaches
 * the device, none keeps a slot.
 *
 * usage: malformed [disk]	with a disk of at least 32 MiB, no poll queues
 */
#define _GNU_SOURCE
#include <linux/fs.h>

#include "errors.h"

static struct errors e;
static char *buf;
static uint32_t lbs;

/* Commands, each valid until the next one is made. */
static const struct vblk_cmd *make(struct vblk_cmd cmd)
{
	static struct vblk_cmd last;

	last = cmd;
	return &last;
}

#define CMD(t, ...) \
	make((struct vblk_cmd){ .type = VIRTIO_BLK_T_##t, __VA_ARGS__ })
#define IN(at, bytes)	CMD(IN, .sector = (at), .data = buf, .len = (bytes))
#define OUT(at, bytes)	CMD(OUT, .sector = (at), .data = buf, .len = (bytes))
#define INV(array, nr)	CMD(IN, .vec = 1, .data = (array), .len = (nr))
#define TYPE(t)	make((struct vblk_cmd){ .type = (t), .data = buf, .len = lbs })

static void lengths(void)
{
	static const uint32_t odd[] = { 1, 19, 20, 21, 511, 513, 4097 };
	char what[64];
	unsigned int i;

	expect(&e, IN(0, 0), -EINVAL, "read of 0 bytes");
	expect(&e, OUT(0, 0), -EINVAL, "write of 0 bytes");
	for (i = 0; i < ARRAY_SIZE(odd); i++) {
		snprintf(what, sizeof(what), "read of %u bytes", odd[i]);
		expect(&e, IN(0, odd[i]), -EINVAL, what);
		snprintf(what, sizeof(what), "write of %u bytes", odd[i]);
		expect(&e, OUT(0, odd[i]), -EINVAL, what);
	}
	if (lbs > T_SECTOR) {
		expect(&e, IN(0, lbs - T_SECTOR), -EINVAL,
		       "read of less than a logical block");
		expect(&e, IN(1, lbs), -EINVAL,
		       "read from inside of a logical block");
		expect(&e, OUT(1, lbs), -EINVAL,
		       "write to inside of a logical block");
	}
	expect(&e, IN(0, UINT32_MAX / lbs * lbs), -EINVAL,
	       "read of 4 GiB");
	if (e.dev.lim.max_bytes < UINT32_MAX - lbs)
		expect(&e, IN(0, e.dev.lim.max_bytes + lbs), -EINVAL,
		       "read of a block over the limit");
	good_run(&e, "wrong lengths");
}

static void vectors(void)
{
	unsigned int nr = e.dev.lim.max_segments + 1;
	struct iovec *iov = t_alloc((nr + 1025) * sizeof(*iov));
	unsigned int i;

	/* Always the same block, which does not follow itself. */
	for (i = 0; i < nr; i++) {
		iov[i].iov_base = buf;
		iov[i].iov_len = lbs;
	}
	expect(&e, INV(iov, 0), -EINVAL,
	       "read into no iovecs");
	if (nr <= 1024)
		expect(&e, INV(iov, nr), -EINVAL,
		       "read into one segment too many");
	expect(&e, INV(iov, 1025), -EINVAL,
	       "read into 1025 iovecs");
	expect(&e, INV(iov, UINT32_MAX), -EINVAL,
	       "read into 4 billion iovecs");
	iov[0].iov_len = lbs - 1;
	expect(&e, INV(iov, 2), -EINVAL,
	       "iovecs that add up to no whole blocks");
	iov[0].iov_len = 0;
	expect(&e, INV(iov, 1), -EINVAL,
	       "an iovec of 0 bytes");
	iov[0].iov_len = (size_t)-lbs;
	expect(&e, INV(iov, 1), -EINVAL,
	       "an iovec of a negative length");
	good_run(&e, "wrong vectors");
}

static void places(void)
{
	uint64_t end = e.dev.lim.capacity;

	expect(&e, IN(end, lbs), -EINVAL, "read at the end");
	expect(&e, OUT(end, lbs), -EINVAL, "write at the end");
	expect(&e, IN(end - lbs / T_SECTOR, 2 * lbs), -EINVAL,
	       "read across the end");
	expect(&e, OUT(end - lbs / T_SECTOR, 2 * lbs), -EINVAL,
	       "write across the end");
	expect(&e, IN(0 - (uint64_t)(lbs / T_SECTOR), lbs), -EINVAL,
	       "read whose end wraps round");
	expect(&e, IN(1ull << 55, lbs), -EINVAL,
	       "read whose byte offset wraps round");
	expect(&e, OUT(1ull << 63, lbs), -EINVAL,
	       "write at a negative sector");
	good_run(&e, "wrong places");
}

static void set_reserved(struct io_uring_sqe *sqe, void *arg)
{
	size_t cmd = offsetof(struct io_uring_sqe, cmd);
	uint64_t value = *(uint64_t *)arg;

	if (sqe->cmd_op == VIRTBLK_URING_CMD_IO)
		memcpy((char *)sqe + cmd +
		       offsetof(struct virtblk_uring_cmd, reserved), &value, 8);
	else
		sqe->file_index = value;
}

static void set_uring_flags(struct io_uring_sqe *sqe, void *arg)
{
	sqe->uring_cmd_flags = *(uint32_t *)arg;
}

static void flags(void)
{
	uint64_t one = 1;
	uint32_t unknown = 1u << 17;
	char what[64];
	unsigned int bit;

	for (bit = 0; bit < 16; bit++) {
		snprintf(what, sizeof(what), "read with flag bit %u", bit);
		expect(&e, CMD(IN, .flags = 1u << bit, .data = buf,
			       .len = lbs), -EINVAL, what);
	}
	expect(&e, CMD(OUT, .flags = VIRTBLK_CMD_F_UNMAP, .data = buf,
		       .len = lbs), -EINVAL,
	       "write with the unmap flag");
	expect(&e, CMD(FLUSH, .flags = VIRTBLK_CMD_F_UNMAP), -EINVAL,
	       "flush with the unmap flag");
	expect(&e, CMD(GET_ID, .data = buf, .len = 20,
		       .flags = VIRTBLK_CMD_F_UNMAP), -EINVAL,
	       "id with the unmap flag");
	expect_tweaked(&e, IN(0, lbs), set_reserved, &one, -EINVAL,
		       "reserved field not 0");
	expect_tweaked(&e, IN(0, lbs), set_uring_flags, &unknown, -EINVAL,
		       "unknown io_uring command flag");
	good_run(&e, "wrong flags");
}

/* The upper half of the 128-byte form's flag word, which 64 does not have. */
static void set_high_flag(struct io_uring_sqe *sqe, void *arg)
{
	uint32_t flag = *(uint32_t *)arg;

	memcpy((char *)sqe + offsetof(struct io_uring_sqe, cmd) +
	       offsetof(struct virtblk_uring_cmd, flag), &flag, 4);
}

static void high_flags(void)
{
	uint32_t flag;
	int bad = 0;

	for (flag = 1u << 16; flag; flag <<= 1)
		bad |= errors_repeat(&e, VBLK_SQE128, IN(0, lbs),
				     set_high_flag, &flag, -EINVAL);
	ok(!bad, "128-byte: each flag bit from 16 on: -EINVAL");
}

static void types(void)
{
	static const uint32_t unknown[] = {
		2, 3, 5, 7, 9, 10, 12, 15, 16, 17, 18, 20, 22, 24, 26, 25, 27,
		31, 32, 63, 64, 0x80000000, 0xffffffff,
	};
	char what[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		snprintf(what, sizeof(what), "type %#x", unknown[i]);
		expect(&e, TYPE(unknown[i]), -EOPNOTSUPP, what);
	}
	expect(&e, CMD(FLUSH, .data = buf, .len = lbs), -EINVAL,
	       "flush with data");
	expect(&e, CMD(FLUSH, .len = 1), -EINVAL, "flush with a length");
	expect(&e, CMD(FLUSH, .data = buf), -EINVAL, "flush with an address");
	expect(&e, CMD(FLUSH, .sector = 8), -EINVAL, "flush with a sector");
	expect(&e, CMD(GET_ID, .sector = 8, .data = buf, .len = 20), -EINVAL,
	       "id with a sector");
	expect(&e, CMD(GET_ID, .data = buf), -EINVAL, "id of 0 bytes");
	expect(&e, CMD(GET_ID, .data = buf, .len = 19), -EINVAL,
	       "id of 19 bytes");
	good_run(&e, "wrong types");
}

static void set_op(struct io_uring_sqe *sqe, void *arg)
{
	sqe->cmd_op = *(uint32_t *)arg;
}

static void operations(void)
{
	uint32_t unknown[] = {
		0, 3, 4, 0x80, 0x81, UINT32_MAX, BLKFLSBUF, BLKGETSIZE64,
		VIRTBLK_IOC_LIMITS, VIRTBLK_URING_CMD64 ^ (1u << 16),
		_IOWR(VIRTBLK_IOC_MAGIC, 0x82, struct virtblk_uring_cmd64),
		_IOWR('N', 0x80, char[72]) /* NVME_URING_CMD_IO */,
	};
	char what[64];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(unknown); i++) {
		snprintf(what, sizeof(what), "cmd_op %#x", unknown[i]);
		expect_tweaked(&e, IN(0, lbs), set_op, &unknown[i],
			       -ENOTTY, what);
	}
	good_run(&e, "unknown operations");
}

static void rings(void)
{
	struct io_uring iopoll;
	struct t_res r = { 0 };
	unsigned int i;
	uint32_t op;
	int bad = 0;

	for (op = VIRTBLK_URING_CMD_IO; op <= VIRTBLK_URING_CMD_IO_VEC; op++)
		for (i = 0; i < e.repeat; i++) {
			r = t_cmd_tweaked(&e.ring64, VBLK_SQE64, e.dev.cfd,
					  IN(0, lbs), set_op, &op);
			bad |= r.res != -EOPNOTSUPP;
		}
	if (!ok(!bad, "128-byte command on a 64-byte ring: -EOPNOTSUPP"))
		diag("the last one gave %s", t_res_name(r.res));

	if (e.dev.lim.nr_poll_queues)
		bail("this disk is to have no poll queues");
	t_ring(&iopoll, 4, IORING_SETUP_IOPOLL);
	for (i = 0, bad = 0; i < e.repeat; i++) {
		r.res = t_cmd(&iopoll, VBLK_SQE64, e.dev.cfd, IN(0, lbs));
		bad |= r.res != -EOPNOTSUPP;
	}
	if (!ok(!bad, "IOPOLL ring and no poll queues: -EOPNOTSUPP"))
		diag("the last one gave %s", t_res_name(r.res));
	io_uring_queue_exit(&iopoll);
	good_run(&e, "wrong rings");
}

int main(int argc, char **argv)
{
	t_watchdog(150);
	errors_init(&e, t_disk(argc, argv), O_RDWR);
	lbs = e.dev.lim.logical_block_size;
	buf = t_alloc(1 << 20);

	lengths();
	vectors();
	places();
	flags();
	high_flags();
	types();
	operations();
	rings();
	return tap_done();
}
