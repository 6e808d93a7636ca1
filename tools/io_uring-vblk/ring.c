// SPDX-License-Identifier: MIT
#include "ring.h"

#include <errno.h>
#include <string.h>

static unsigned int wanted_flags(const struct options *o, unsigned int sqe_size,
				 unsigned int cqe_size)
{
	unsigned int flags = 0;

	if (o->polled)
		flags |= IORING_SETUP_IOPOLL;
	if (o->hybrid)
		flags |= IORING_SETUP_HYBRID_IOPOLL;
	if (o->sqpoll)
		flags |= IORING_SETUP_SQPOLL;
	if (o->sqpoll && o->sqpoll_cpu != AUTO)
		flags |= IORING_SETUP_SQ_AFF;
	if (sqe_size == 128)
		flags |= IORING_SETUP_SQE128;
	if (cqe_size == 32)
		flags |= IORING_SETUP_CQE32;
	if (o->defer_taskrun && !o->sqpoll)
		flags |= IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN;
	return flags;
}

static int try_ring(struct io_uring *ring, const struct options *o, unsigned int flags)
{
	struct io_uring_params p = {
		.flags = flags,
		.sq_thread_cpu = flags & IORING_SETUP_SQ_AFF ? o->sqpoll_cpu : 0,
		.sq_thread_idle = o->sqpoll_idle,
	};

	return io_uring_queue_init_params(o->depth, ring, &p);
}

/* True if leaving out @flag would help. */
static int guilty(const struct options *o, unsigned int flags, unsigned int flag)
{
	struct io_uring ring;

	if (!(flags & flag) || try_ring(&ring, o, flags & ~flag))
		return 0;
	io_uring_queue_exit(&ring);
	return 1;
}

static int explain_einval(const struct options *o, unsigned int flags, struct fail *f)
{
	static const struct {
		unsigned int flag;
		const char *text;
	} known[] = {
		{ IORING_SETUP_HYBRID_IOPOLL,
		  "this kernel has no hybrid polling (Linux 6.13 has); use -p1" },
		{ IORING_SETUP_DEFER_TASKRUN,
		  "this kernel has no DEFER_TASKRUN (Linux 6.1 has); use --defer-taskrun=0" },
		{ IORING_SETUP_SQE128,
		  "this kernel has no 128-byte SQEs (Linux 5.19 has); use --sqe=64" },
		{ IORING_SETUP_CQE32,
		  "this kernel has no 32-byte CQEs (Linux 5.19 has); use --cqe=16" },
		{ IORING_SETUP_SQ_AFF,
		  "that CPU cannot run the SQPOLL thread; choose another --sqpoll-cpu" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (guilty(o, flags, known[i].flag))
			return refuse(f, "%s", known[i].text);
	return refuse(f, "io_uring refuses this combination of ring options");
}

#define ROOT_ONLY \
	"io_uring is for root only (kernel.io_uring_disabled=1); be root or in kernel.io_uring_group"

static int explain_eperm(const struct options *o, struct fail *f)
{
	FILE *fp = fopen("/proc/sys/kernel/io_uring_disabled", "re");
	int level = 0;

	if (fp) {
		if (fscanf(fp, "%d", &level) != 1)
			level = 0;
		fclose(fp);
	}
	if (level == 2)
		return refuse(f, "io_uring is off; turn it on: sysctl kernel.io_uring_disabled=0");
	if (level == 1)
		return refuse(f, ROOT_ONLY);
	if (o->sqpoll)
		return refuse(f, "no permission for --sqpoll; run as root or leave it out");
	return refuse(f, "no permission for io_uring; a seccomp filter or LSM forbids it");
}

static int explain_setup(const struct options *o, unsigned int flags, int err, struct fail *f)
{
	switch (err) {
	case EINVAL:
		return explain_einval(o, flags, f);
	case EPERM:
	case EACCES:
		return explain_eperm(o, f);
	case ENOMEM:
		return refuse(f, "no memory for the ring; raise ulimit -l or lower -d");
	case EMFILE:
		return refuse(f, "too many open files; raise ulimit -n or lower -n");
	default:
		return refuse(f, "no ring: %s; has this kernel io_uring?", strerror(err));
	}
}

int ring_open(struct io_uring *ring, const struct options *o, unsigned int sqe_size,
	      unsigned int cqe_size, struct fail *f)
{
	unsigned int flags = wanted_flags(o, sqe_size, cqe_size);
	int ret = try_ring(ring, o, flags);

	if (ret == -EINVAL && o->defer_taskrun == AUTO &&
	    flags & IORING_SETUP_DEFER_TASKRUN) {
		flags &= ~(IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SINGLE_ISSUER);
		ret = try_ring(ring, o, flags);
	}
	if (ret)
		return explain_setup(o, flags, -ret, f);
	/* Only a saving: kernels before 5.18 do without. */
	if (o->reg_ring)
		io_uring_register_ring_fd(ring);
	return 0;
}

int ring_register_buffers(struct io_uring *ring, const struct iovec *iov, unsigned int nr,
			  struct fail *f)
{
	int ret = io_uring_register_buffers(ring, iov, nr);

	if (ret == -ENOMEM)
		return refuse(f, "may not lock the buffers; raise ulimit -l, lower -d, or use -B0");
	if (ret)
		return refuse(f, "cannot register the buffers: %s; use -B0", strerror(-ret));
	return 0;
}

int ring_register_files(struct io_uring *ring, const int *fds, unsigned int nr,
			struct fail *f)
{
	int ret = io_uring_register_files(ring, fds, nr);

	if (ret)
		return refuse(f, "cannot register the files: %s; use -F0", strerror(-ret));
	return 0;
}
