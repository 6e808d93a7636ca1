// SPDX-License-Identifier: MIT
/*
 * Data where there is no memory to take it: -EFAULT, nothing transferred, no
 * slot kept.
 *
 * usage: badmem [disk]
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "errors.h"

#define PAGE	4096ul
#define FIXED_LEN (4 * PAGE)

static struct errors e;
static char *good;		/* two pages */
static char *none;		/* two pages without access */
static char *half;		/* one page, then one without access */
static char *rdonly;		/* two pages */

static void map_all(void)
{
	good = t_alloc(2 * PAGE);
	none = t_alloc(2 * PAGE);
	half = t_alloc(2 * PAGE);
	rdonly = t_alloc(2 * PAGE);
	memset(half, 0x5a, PAGE);
	if (mprotect(none, 2 * PAGE, PROT_NONE) ||
	    mprotect(half + PAGE, PAGE, PROT_NONE) ||
	    mprotect(rdonly, 2 * PAGE, PROT_READ))
		bail("mprotect: %s", strerror(errno));
}

/* The command as it is, and with the same memory through an iovec. */
static void fault(uint32_t type, const void *data, uint32_t len,
		  const char *what)
{
	struct vblk_cmd cmd = { .type = type, .data = data, .len = len };
	struct iovec iov[2] = {
		{ good, type == VIRTIO_BLK_T_GET_ID ? 0 : PAGE },
		{ (void *)data, len },
	};
	char text[96];

	expect(&e, &cmd, -EFAULT, what);
	cmd.vec = 1;
	cmd.data = iov + 1;
	cmd.len = 1;
	snprintf(text, sizeof(text), "%s, by iovec", what);
	expect(&e, &cmd, -EFAULT, text);
	cmd.data = iov;
	cmd.len = 2;
	snprintf(text, sizeof(text), "%s, by a second iovec", what);
	expect(&e, &cmd, -EFAULT, text);
}

static void plain(void)
{
	void *wild[] = {
		(void *)8, (void *)0x7ffffffff000, (void *)0x800000000000,
		(void *)0xffff888000000000, (void *)-PAGE,
	};
	char what[96];
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(wild); i++) {
		snprintf(what, sizeof(what), "read to %p", wild[i]);
		fault(VIRTIO_BLK_T_IN, wild[i], PAGE, what);
		snprintf(what, sizeof(what), "write from %p", wild[i]);
		fault(VIRTIO_BLK_T_OUT, wild[i], PAGE, what);
	}
	fault(VIRTIO_BLK_T_IN, NULL, PAGE, "read to address 0");
	fault(VIRTIO_BLK_T_OUT, NULL, PAGE, "write from address 0");
	fault(VIRTIO_BLK_T_IN, none, 2 * PAGE, "read to PROT_NONE");
	fault(VIRTIO_BLK_T_OUT, none, 2 * PAGE, "write from PROT_NONE");
	fault(VIRTIO_BLK_T_IN, rdonly, 2 * PAGE, "read to PROT_READ");
	fault(VIRTIO_BLK_T_IN, half, 2 * PAGE, "read that ends in PROT_NONE");
	fault(VIRTIO_BLK_T_OUT, half, 2 * PAGE, "write that ends in PROT_NONE");
	ok(half[0] == 0x5a && half[PAGE - 1] == 0x5a,
	   "what is in front of PROT_NONE is as it was");
	fault(VIRTIO_BLK_T_GET_ID, none, VIRTIO_BLK_ID_BYTES,
	      "id to PROT_NONE");
	fault(VIRTIO_BLK_T_GET_ID, half + PAGE - 19, VIRTIO_BLK_ID_BYTES,
	      "id whose last byte is PROT_NONE");
	good_run(&e, "bad addresses");
}

static void arrays(void)
{
	struct vblk_cmd cmd = {
		.type = VIRTIO_BLK_T_IN, .vec = 1, .data = none, .len = 1,
	};

	expect(&e, &cmd, -EFAULT, "iovec array in PROT_NONE");
	cmd.data = NULL;
	expect(&e, &cmd, -EFAULT, "iovec array at address 0");
	cmd.data = half + PAGE - sizeof(struct iovec);
	*(struct iovec *)cmd.data = (struct iovec){ good, PAGE };
	cmd.len = 2;
	expect(&e, &cmd, -EFAULT, "iovec array that ends in PROT_NONE");
	cmd.data = (void *)-16;
	expect(&e, &cmd, -EFAULT, "iovec array at the top of the kernel");
	good_run(&e, "bad arrays");
}

static void ranges(void)
{
	struct vblk_cmd cmd = {
		.type = VIRTIO_BLK_T_DISCARD, .data = none,
		.len = sizeof(struct virtio_blk_discard_write_zeroes),
	};

	expect(&e, &cmd, -EFAULT, "discard ranges in PROT_NONE");
	cmd.type = VIRTIO_BLK_T_WRITE_ZEROES;
	expect(&e, &cmd, -EFAULT, "zero ranges in PROT_NONE");
	cmd.data = half + PAGE - 8;
	expect(&e, &cmd, -EFAULT, "a zero range that ends in PROT_NONE");
	good_run(&e, "bad ranges");
}

static void fix(struct io_uring_sqe *sqe, void *arg)
{
	vblk_set_fixed(sqe, *(unsigned int *)arg);
}

static void fixed_fault(char *data, uint32_t len, unsigned int index,
			const char *what)
{
	struct vblk_cmd cmd = { .data = data, .len = len };

	cmd.type = VIRTIO_BLK_T_IN;
	expect_tweaked(&e, &cmd, fix, &index, -EFAULT, what);
	cmd.type = VIRTIO_BLK_T_OUT;
	expect_tweaked(&e, &cmd, fix, &index, -EFAULT, what);
}

static void fixed(void)
{
	char *area = t_alloc(FIXED_LEN + 2 * PAGE);
	struct iovec iov = { area + PAGE, FIXED_LEN };
	char *buf = iov.iov_base;

	fixed_fault(buf, PAGE, 0, "fixed, none registered");
	if (io_uring_register_buffers(&e.ring64, &iov, 1) ||
	    io_uring_register_buffers(&e.ring128, &iov, 1))
		bail("cannot register a buffer");

	fixed_fault(buf, PAGE, 1, "fixed, index one too high");
	fixed_fault(buf, PAGE, 65535, "fixed, highest index");
	fixed_fault(buf, FIXED_LEN + PAGE, 0, "fixed, longer than the buffer");
	fixed_fault(buf + FIXED_LEN, PAGE, 0, "fixed, behind the buffer");
	fixed_fault(buf + FIXED_LEN - PAGE, 2 * PAGE, 0,
		    "fixed, across the end of the buffer");
	fixed_fault(buf - PAGE, 2 * PAGE, 0,
		    "fixed, from in front of the buffer");
	fixed_fault((char *)-PAGE, 2 * PAGE, 0, "fixed, wrapping round");
	fixed_fault(NULL, PAGE, 0, "fixed, at address 0");
	good_run(&e, "bad registered buffers");
}

int main(int argc, char **argv)
{
	t_watchdog(150);
	errors_init(&e, t_disk(argc, argv), O_RDWR);
	map_all();
	plain();
	arrays();
	ranges();
	fixed();
	return tap_done();
}
