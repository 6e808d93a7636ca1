// SPDX-License-Identifier: MIT
/*
 * The form of the published proposal (December 2024) exactly as its programs
 * issue it: cmd_op 1 and 2, a ring with SQE128 and CQE32, a 40-byte command in
 * a zeroed SQE. Nothing of this project's headers and no liburing: the numbers
 * are written out, so that a change of ours cannot hide. Also built as 32-bit
 * code, where pointers and iovecs are half as wide.
 *
 * usage: published [/dev/vdac0]
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "tap.h"

#define ENTRIES	8u

struct command {
	uint32_t type;
	uint32_t ioprio;
	uint64_t sector;
	uint64_t data;
	uint32_t data_len;
	uint32_t flag;
	uint64_t unused;
};

_Static_assert(sizeof(struct command) == 40, "the proposal's command");

static int ring_fd, fd;
static char *sq, *cq, *sqes;
static struct io_uring_params p;

static void map_ring(void)
{
	p.flags = IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
	ring_fd = syscall(__NR_io_uring_setup, ENTRIES, &p);
	if (ring_fd < 0)
		bail("io_uring_setup: %s", strerror(errno));
	sq = mmap(NULL, p.sq_off.array + p.sq_entries * 4,
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_fd,
		  IORING_OFF_SQ_RING);
	cq = mmap(NULL, p.cq_off.cqes + p.cq_entries * 32,
		  PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring_fd,
		  IORING_OFF_CQ_RING);
	sqes = mmap(NULL, p.sq_entries * 128, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_POPULATE, ring_fd, IORING_OFF_SQES);
	if (sq == MAP_FAILED || cq == MAP_FAILED || sqes == MAP_FAILED)
		bail("mmap of the ring: %s", strerror(errno));
}

#define SQ(field) ((uint32_t *)(sq + p.sq_off.field))
#define CQ(field) ((uint32_t *)(cq + p.cq_off.field))

/* One command; its result, and whether the CQE's second half is 0. */
static int issue(uint32_t op, const struct command *c)
{
	uint32_t tail = *SQ(tail), slot = tail & (ENTRIES - 1), head;
	char *sqe = sqes + slot * 128;
	struct io_uring_sqe *s = (void *)sqe;
	char *cqe;
	int32_t res;
	uint64_t big[2];

	memset(sqe, 0, 128);
	s->opcode = IORING_OP_URING_CMD;
	s->fd = fd;
	memcpy(sqe + 8, &op, 4);
	s->user_data = 0x1234567890abcdefull + tail;
	memcpy(sqe + 48, c, sizeof(*c));
	SQ(array)[slot] = slot;
	__atomic_store_n(SQ(tail), tail + 1, __ATOMIC_RELEASE);
	if (syscall(__NR_io_uring_enter, ring_fd, 1, 1, IORING_ENTER_GETEVENTS,
		    NULL, 0) != 1)
		bail("io_uring_enter: %s", strerror(errno));

	head = *CQ(head);
	if (head == __atomic_load_n(CQ(tail), __ATOMIC_ACQUIRE))
		bail("no answer");
	cqe = cq + p.cq_off.cqes + (head & (p.cq_entries - 1)) * 32;
	if (memcmp(cqe, &s->user_data, 8))
		bail("somebody else's answer");
	memcpy(&res, cqe + 8, 4);
	memcpy(big, cqe + 16, 16);
	if (big[0] || big[1])
		diag("big_cqe is not 0 but %#llx %#llx",
		     (unsigned long long)big[0], (unsigned long long)big[1]);
	__atomic_store_n(CQ(head), head + 1, __ATOMIC_RELEASE);
	return big[0] || big[1] ? -1000 : res;
}

static void fill(unsigned char *buf, unsigned int len, unsigned int seed)
{
	unsigned int i;

	for (i = 0; i < len; i++)
		buf[i] = seed + i * 7 + (i >> 8);
}

static void flat(unsigned char *buf, unsigned char *want)
{
	struct command c = {
		.type = 1, .sector = 64, .data = (uintptr_t)buf,
		.data_len = 8192,
	};

	fill(buf, 8192, 3);
	memcpy(want, buf, 8192);
	is_int(issue(1, &c), 0, "cmd_op 1: write");
	memset(buf, 0, 8192);
	c.type = 0;
	is_int(issue(1, &c), 0, "cmd_op 1: read");
	ok(!memcmp(buf, want, 8192), "the data");
}

static void vectored(unsigned char *buf, unsigned char *want)
{
	struct iovec iov[3] = {
		{ buf, 4096 }, { buf + 4096, 512 }, { buf + 8192, 3584 },
	};
	struct command c = {
		.type = 1, .sector = 128, .data = (uintptr_t)iov, .data_len = 3,
	};

	fill(buf, 16384, 99);
	memcpy(want, buf, 4608);
	memcpy(want + 4608, buf + 8192, 3584);
	is_int(issue(2, &c), 0, "cmd_op 2: write from 3 iovecs");
	memset(buf, 0, 16384);
	c.type = 0;
	is_int(issue(2, &c), 0, "cmd_op 2: read into 3 iovecs");
	ok(!memcmp(buf, want, 4608) && !memcmp(buf + 8192, want + 4608, 3584),
	   "the data");
	c.data = (uintptr_t)buf;
	c.data_len = 8192;
	is_int(issue(1, &c), 0, "cmd_op 1: the same at once");
	ok(!memcmp(buf, want, 8192), "the data");
}

static void others(unsigned char *buf)
{
	struct command c = { .type = 4 };

	is_int(issue(1, &c), 0, "flush");
	c = (struct command){
		.type = 8, .data = (uintptr_t)buf, .data_len = 20,
	};
	is_int(issue(1, &c), 0, "id");
	diag("id: %.20s", buf);
	c = (struct command){ .type = 99 };
	is_int(issue(1, &c), -EOPNOTSUPP, "unknown type: -EOPNOTSUPP");
	c = (struct command){ .type = 0, .data = (uintptr_t)buf };
	is_int(issue(1, &c), -EINVAL, "length 0: -EINVAL");
	c.data_len = 512;
	c.flag = 1u << 31;
	is_int(issue(1, &c), -EINVAL, "unknown flag: -EINVAL");
	c.flag = 0;
	is_int(issue(3, &c), -ENOTTY, "cmd_op 3: -ENOTTY");
	c.data = 8;
	is_int(issue(1, &c), -EFAULT, "bad address: -EFAULT");
}

int main(int argc, char **argv)
{
	unsigned char *buf, *want;

	alarm(60);
	fd = open(argc > 1 ? argv[1] : "/dev/vdac0", O_RDWR);
	if (fd < 0)
		bail("open: %s", strerror(errno));
	buf = aligned_alloc(4096, 16384);
	want = malloc(16384);
	if (!buf || !want)
		bail("no memory");
	map_ring();
	diag("%u-bit program", (unsigned int)sizeof(long) * 8);
	flat(buf, want);
	vectored(buf, want);
	others(buf);
	return tap_done();
}
