/* SPDX-License-Identifier: MIT */
/*
 * SQEs of the loop. All but the place on the disk is known before the loop
 * starts, so each request has a finished SQE as a template; the loop copies it
 * and stores one number.
 */
#ifndef VBLK_SQE_H
#define VBLK_SQE_H

#include <liburing.h>
#include <stdbool.h>
#include <stdint.h>

#include "options.h"
#include "target.h"

struct sqe_request {
	const struct options *o;
	const struct target *t;	/* NULL: NOP */
	unsigned int sqe_size;
	int fd;			/* or index, with registered files */
	unsigned int index;	/* user_data, and the registered buffer */
	void *buf;
	bool write;
};

/* Fills @sqe for byte 0 of the disk; user_data is r->index. */
void sqe_fill(struct io_uring_sqe *sqe, const struct sqe_request *r);

/*
 * Where an SQE carries the place on the disk: a 64-bit number at byte @at, in
 * units of 1 << @shift bytes.
 */
struct sqe_place {
	unsigned int at;
	unsigned int shift;
};

struct sqe_place sqe_place(const struct target *t, unsigned int sqe_size);

#endif /* VBLK_SQE_H */
