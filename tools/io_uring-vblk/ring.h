/* SPDX-License-Identifier: MIT */
/* Making a ring, and saying why it cannot be made. */
#ifndef VBLK_RING_H
#define VBLK_RING_H

#include <liburing.h>
#include <sys/uio.h>

#include "fail.h"
#include "options.h"

/* liburing 2.3 knows kernels up to 6.1; the number is the kernel's ABI. */
#ifndef IORING_SETUP_HYBRID_IOPOLL
#define IORING_SETUP_HYBRID_IOPOLL	(1U << 17)
#endif

/* To be called by the thread that will submit. */
int ring_open(struct io_uring *ring, const struct options *o, unsigned int sqe_size,
	      unsigned int cqe_size, struct fail *f);
int ring_register_buffers(struct io_uring *ring, const struct iovec *iov, unsigned int nr,
			  struct fail *f);
int ring_register_files(struct io_uring *ring, const int *fds, unsigned int nr, struct fail *f);

#endif /* VBLK_RING_H */
