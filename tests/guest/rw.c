// SPDX-License-Identifier: MIT
/*
 * Every way to move data, both directions, through both nodes: written by the
 * way under test and read by plain O_DIRECT calls through the other node, then
 * the other way round.
 *
 * usage: rw [disk] [irq|poll]
 *
 * Combinations the driver does not have must say so with -EOPNOTSUPP.
 */
#define _GNU_SOURCE
#include "t.h"

#define BS	4096u
#define COUNT	16u
#define DEPTH	8u

static struct t_dev dev;
static struct io_uring plain;		/* to check through the char node */
static uint64_t gen = 1;

/* Move the whole range through the char node in one command of its own. */
static int char_io(int write, uint64_t offset, uint64_t g)
{
	static char *buf;
	struct vblk_cmd cmd = {
		.type = write ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN,
		.sector = offset / T_SECTOR,
		.len = COUNT * BS,
	};
	int res;

	if (!buf)
		buf = t_alloc(COUNT * BS);
	if (write)
		t_fill(buf, COUNT * BS, offset, g);
	cmd.data = buf;
	res = t_cmd(&plain, VBLK_SQE64, dev.cfd, &cmd);
	if (res) {
		diag("simple char command: %s", t_res_name(res));
		return res;
	}
	return write ? 0 : t_check(buf, COUNT * BS, offset, g);
}

static int write_other(unsigned int how, uint64_t offset, uint64_t g)
{
	if (how & T_BLOCK)
		return char_io(1, offset, g);
	t_pwrite_pattern(dev.bfd, offset, COUNT * BS, g);
	return 0;
}

static int check_other(unsigned int how, uint64_t offset, uint64_t g)
{
	if (how & T_BLOCK)
		return char_io(0, offset, g);
	return t_pread_check(dev.bfd, offset, COUNT * BS, g);
}

/* The driver says whether it has this one; then it must, or must not, work. */
static int expected(unsigned int how)
{
	if (how & T_BLOCK)
		return 0;
	if ((how & T_VEC) && (how & T_FIXED) &&
	    !(dev.lim.features & VIRTBLK_FEAT_FIXED_VEC))
		return -EOPNOTSUPP;
	if (!(how & T_128) && !(dev.lim.features & VIRTBLK_FEAT_SQE64))
		return -EOPNOTSUPP;
	return 0;
}

static void combination(unsigned int how)
{
	struct t_xfer x = {
		.how = how,
		.offset = (gen % 64) * COUNT * BS,
		.bs = BS,
		.count = COUNT,
		.depth = DEPTH,
	};
	int want = expected(how);
	int wrote, other_read, other_wrote, read;

	x.write = 1;
	x.gen = gen++;
	wrote = t_xfer(&dev, &x);
	if (want) {
		is_res(wrote, want, "refused: %s", t_how_name(how));
		return;
	}
	other_read = check_other(how, x.offset, x.gen);

	x.write = 0;
	x.gen = gen++;
	other_wrote = write_other(how, x.offset, x.gen);
	read = t_xfer(&dev, &x);

	if (!ok(!wrote && !other_read && !other_wrote && !read, "round trip: %s",
		t_how_name(how)))
		diag("write %d, read by the other node %d, written by the other node %d, read %d",
		     wrote, other_read, other_wrote, read);
}

int main(int argc, char **argv)
{
	int poll = argc > 2 && !strcmp(argv[2], "poll");
	unsigned int how, made = 0;

	t_watchdog(200);
	t_open(&dev, t_disk(argc, argv), O_RDWR, O_RDWR);
	t_ring(&plain, 4, 0);
	if (poll && !dev.lim.nr_poll_queues)
		bail("%s has no poll queues", dev.chr);

	for (how = 0; how < T_HOW_END; how++) {
		if (!t_how_valid(how) || !!(how & T_POLL) != poll)
			continue;
		combination(how);
		made++;
	}
	diag("%u combinations of %u bits", made, T_BIT_END);
	return tap_done();
}
