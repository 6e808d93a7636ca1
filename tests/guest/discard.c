// SPDX-License-Identifier: MIT
/*
 * DISCARD and WRITE_ZEROES at places that the host looks at afterwards
 * (tests/discard.t has the same list). The image is full of 0x55 before.
 *
 * usage: discard [disk]
 */
#define _GNU_SOURCE
#include "t.h"

#define MIB	(1ull << 20)
#define SECTORS(n)	((n) * MIB / T_SECTOR)

typedef struct virtio_blk_discard_write_zeroes range_t;

static struct t_dev dev;
static struct io_uring ring64, ring128;
static unsigned char *buf;

static int filled(const unsigned char *p, unsigned char value)
{
	return *p == value && !memcmp(p, p + 1, MIB - 1);
}

/* The MiB at @mib, read by both nodes, has only @value. */
static int both_read(unsigned int mib, unsigned char value)
{
	struct vblk_cmd cmd = {
		.type = VIRTIO_BLK_T_IN, .data = buf, .len = MIB / 4,
	};
	unsigned int i;
	int res;

	if (pread(dev.bfd, buf, MIB, mib * MIB) != MIB || !filled(buf, value))
		return 0;
	memset(buf, 0xee, MIB);
	for (i = 0; i < 4; i++) {
		cmd.sector = (mib * MIB + i * MIB / 4) / T_SECTOR;
		cmd.data = buf + i * MIB / 4;
		res = t_cmd(&ring64, VBLK_SQE64, dev.cfd, &cmd);
		if (res) {
			diag("read gave %s", t_res_name(res));
			return 0;
		}
	}
	return filled(buf, value);
}

static void region(unsigned int from, unsigned int nr, const char *what)
{
	unsigned int i;
	int good = 1;

	for (i = 0; i < nr; i++)
		good &= both_read(from + i, 0);
	ok(good, "%s: %u MiB at %u read as zeroes", what, nr, from);
	ok(both_read(from - 1, 0x55) && both_read(from + nr, 0x55),
	   "%s: what is around it is as it was", what);
}

static void len_form(uint32_t type, unsigned int mib, unsigned int nr,
		     unsigned int flags, int form128, const char *what)
{
	struct vblk_cmd cmd = {
		.type = type, .flags = flags, .sector = SECTORS(mib),
		.len = nr * MIB,
	};

	is_res(t_cmd(form128 ? &ring128 : &ring64,
		     form128 ? VBLK_SQE128 : VBLK_SQE64, dev.cfd, &cmd), 0,
	       "%s", what);
	region(mib, nr, what);
}

static void array_form(uint32_t type, range_t *ranges, unsigned int nr,
		       int form128, const char *what)
{
	struct vblk_cmd cmd = {
		.type = type, .data = ranges, .len = nr * sizeof(*ranges),
	};
	unsigned int i;

	is_res(t_cmd(form128 ? &ring128 : &ring64,
		     form128 ? VBLK_SQE128 : VBLK_SQE64, dev.cfd, &cmd), 0,
	       "%s", what);
	for (i = 0; i < nr; i++)
		region(ranges[i].sector / SECTORS(1),
		       ranges[i].num_sectors / SECTORS(1), what);
}

/* Ranges at an odd address, in pieces, in a registered buffer. */
static void odd_places(void)
{
	range_t range = { .sector = SECTORS(33), .num_sectors = SECTORS(1) };
	char *odd = (char *)buf + MIB - sizeof(range) - 3;
	struct vblk_cmd cmd = {
		.type = VIRTIO_BLK_T_WRITE_ZEROES, .data = odd,
		.len = sizeof(range),
	};
	struct iovec iov[2] = { { odd, 5 }, { odd + 5, sizeof(range) - 5 } };
	struct iovec whole = { buf, MIB };
	struct io_uring_sqe *sqe;

	memcpy(odd, &range, sizeof(range));
	is_res(t_cmd(&ring64, VBLK_SQE64, dev.cfd, &cmd), 0, "odd address");
	region(33, 1, "odd address");

	range.sector = SECTORS(35);
	memcpy(odd, &range, sizeof(range));
	cmd.vec = 1;
	cmd.data = iov;
	cmd.len = 2;
	is_res(t_cmd(&ring64, VBLK_SQE64, dev.cfd, &cmd), 0, "two iovecs");
	region(35, 1, "two iovecs");

	range.sector = SECTORS(37);
	memcpy(odd, &range, sizeof(range));
	if (io_uring_register_buffers(&ring64, &whole, 1))
		bail("cannot register a buffer");
	sqe = io_uring_get_sqe(&ring64);
	cmd.vec = 0;
	cmd.data = odd;
	cmd.len = sizeof(range);
	vblk_prep(sqe, VBLK_SQE64, dev.cfd, &cmd);
	vblk_set_fixed(sqe, 0);
	is_res(t_submit1(&ring64).res, 0, "registered buffer");
	region(37, 1, "registered buffer");
}

int main(int argc, char **argv)
{
	range_t discards[2] = {
		{ .sector = SECTORS(12), .num_sectors = SECTORS(1) },
		{ .sector = SECTORS(14), .num_sectors = SECTORS(1) },
	};
	unsigned int most;
	range_t zeroes[2] = {
		{ .sector = SECTORS(28), .num_sectors = SECTORS(1) },
		{ .sector = SECTORS(30), .num_sectors = SECTORS(1),
		  .flags = VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP },
	};

	t_watchdog(100);
	t_open(&dev, t_disk(argc, argv), O_RDWR, O_RDWR);
	t_ring(&ring64, 4, 0);
	t_ring(&ring128, 4, IORING_SETUP_SQE128);
	buf = t_alloc(MIB);
	ok(dev.lim.features & VIRTBLK_FEAT_UNMAP, "the unmap flag is offered");

	len_form(VIRTIO_BLK_T_DISCARD, 4, 4, 0, 0, "discard by length");
	len_form(VIRTIO_BLK_T_DISCARD, 9, 1, 0, 1, "discard by length, 128");
	/* QEMU 7.2 takes one range in a command, later ones may take more. */
	most = dev.lim.max_discard_ranges;
	diag("%u ranges fit in a discard", most);
	array_form(VIRTIO_BLK_T_DISCARD, discards, most < 2 ? 1 : 2, 0,
		   "discard by ranges");
	if (most < 2)
		array_form(VIRTIO_BLK_T_DISCARD, discards + 1, 1, 0,
			   "discard by a second range");
	discards[0].sector = SECTORS(17);
	array_form(VIRTIO_BLK_T_DISCARD, discards, 1, 1,
		   "discard by a range, 128");
	len_form(VIRTIO_BLK_T_WRITE_ZEROES, 20, 2, 0, 0, "zeroes");
	len_form(VIRTIO_BLK_T_WRITE_ZEROES, 24, 2, VIRTBLK_CMD_F_UNMAP, 1,
		 "zeroes with unmap");
	array_form(VIRTIO_BLK_T_WRITE_ZEROES, &zeroes[0], 1, 0,
		   "zeroes by a range");
	array_form(VIRTIO_BLK_T_WRITE_ZEROES, &zeroes[1], 1, 1,
		   "zeroes by a range with unmap");

	odd_places();
	return tap_done();
}

