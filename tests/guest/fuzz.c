// SPDX-License-Identifier: MIT
/*
 * Random commands: every flag, type, operation and length, sensible or not.
 * Each must be answered, with 0, a status or a documented errno, and a good
 * run must pass afterwards. The kernel log is the other half of the verdict.
 *
 * usage: fuzz [disk] [count] [seed]	destroys the disk's data
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "errors.h"

static struct errors e;
static char *area;
static uint64_t state;

static uint64_t rnd(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t pick(const uint64_t *list, unsigned int nr)
{
	return rnd() % 8 ? list[rnd() % nr] : rnd() >> (rnd() % 64);
}

#define PICK(list) pick(list, ARRAY_SIZE(list))

static void make(struct io_uring_sqe *sqe, int form128)
{
	static const uint64_t type[] = { 0, 1, 4, 8, 11, 13, 14, 0, 1, 11, 13 };
	static const uint64_t len[] = { 0, 1, 2, 16, 20, 32, 512, 4096, 65536 };
	static const uint64_t flags[] = { 0, 0, 0, 0, 1, 2, 3, 0xffff };
	static const uint64_t op[] = {
		VIRTBLK_URING_CMD64, VIRTBLK_URING_CMD64_VEC,
		VIRTBLK_URING_CMD_IO, VIRTBLK_URING_CMD_IO_VEC, 3,
	};
	const uint64_t sector[] = {
		0, 8, 1, e.dev.lim.capacity, e.dev.lim.capacity - 8, 2048,
	};
	const uint64_t data[] = {
		0, (uintptr_t)area, (uintptr_t)area + 512,
		(uintptr_t)area + 65536 - 512, (uintptr_t)area + 3,
	};
	struct vblk_cmd cmd = {
		.type = PICK(type), .ioprio = rnd() % 4 ? 0 : rnd(),
		.flags = PICK(flags), .vec = rnd() % 4 == 0,
		.sector = PICK(sector),
		.data = (void *)(uintptr_t)PICK(data), .len = PICK(len),
	};

	vblk_prep(sqe, form128 && rnd() % 2 ? VBLK_SQE128 : VBLK_SQE64,
		  e.dev.cfd, &cmd);
	if (rnd() % 8 == 0)
		sqe->cmd_op = PICK(op);
	if (rnd() % 3 == 0)
		vblk_set_fixed(sqe, rnd() % 4 ? 0 : rnd());
	if (rnd() % 16 == 0)
		sqe->uring_cmd_flags = rnd();
	if (rnd() % 8 == 0)
		sqe->flags |= IOSQE_ASYNC;
	if (rnd() % 32 == 0)
		sqe->file_index = rnd();
}

static int documented(int res)
{
	static const int errnos[] = {
		EBADF, EFAULT, EINVAL, ENOTTY, EOPNOTSUPP, EPERM,
	};
	unsigned int i;

	/* Status 1 and 2: the device may refuse what the driver may not know. */
	if (res >= 0)
		return res <= VIRTIO_BLK_S_UNSUPP;
	for (i = 0; i < ARRAY_SIZE(errnos); i++)
		if (res == -errnos[i])
			return 1;
	return 0;
}

static void batch(struct io_uring *ring, int form128, unsigned long *done,
		  int *bad)
{
	struct io_uring_cqe *cqe;
	unsigned int i;

	for (i = 0; i < 4; i++)
		make(io_uring_get_sqe(ring), form128);
	/* A command refused at submission ends the batch: submit the rest. */
	for (i = 0; i < 4;) {
		int ret = io_uring_submit(ring);

		if (ret <= 0)
			bail("submit gave %d", ret);
		i += ret;
	}
	for (i = 0; i < 4; i++) {
		if (io_uring_wait_cqe(ring, &cqe))
			bail("no answer");
		if (!cqe->res)
			++*done;
		if (!documented(cqe->res) && !(*bad)++)
			diag("an answer is %s", t_res_name(cqe->res));
		io_uring_cqe_seen(ring, cqe);
	}
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 0) : 20000;
	unsigned long i, done = 0;
	struct iovec *iov;
	int bad = 0;

	t_watchdog(150);
	state = argc > 3 ? strtoull(argv[3], NULL, 0) : 88172645463325252ull;
	diag("%lu commands, seed %llu", count, (unsigned long long)state);
	errors_init(&e, t_disk(argc, argv), O_RDWR);
	area = t_alloc(65536 + 4096);
	mprotect(area + 65536, 4096, PROT_NONE);
	/* What is taken for an iovec array should sometimes be one. */
	iov = (struct iovec *)area;
	for (i = 0; i < 32; i++)
		iov[i] = (struct iovec){ area + 4096 + i * 512, 512 };
	iov = &(struct iovec){ area, 65536 };
	if (io_uring_register_buffers(&e.ring64, iov, 1) ||
	    io_uring_register_buffers(&e.ring128, iov, 1))
		bail("cannot register a buffer");

	for (i = 0; i < count; i += 8) {
		batch(&e.ring64, 0, &done, &bad);
		batch(&e.ring128, 1, &done, &bad);
	}
	diag("%lu of them succeeded", done);
	ok(done > 0, "some succeeded");
	is_int(bad, 0, "no undocumented answer");
	t_pwrite_pattern(e.dev.bfd, GOOD_OFFSET,
			 e.dev.lim.queue_depth * 4096ul, GOOD_GEN);
	good_run(&e, "random commands");
	return tap_done();
}
