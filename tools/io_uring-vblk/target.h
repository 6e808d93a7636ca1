/* SPDX-License-Identifier: MIT */
/* What is read and written: opening it, its size and limits, reasons not to. */
#ifndef VBLK_TARGET_H
#define VBLK_TARGET_H

#include <linux/virtio_blk.h>
#include <stdbool.h>
#include <stdint.h>

#include "fail.h"
#include "options.h"

enum target_kind {
	TARGET_FILE,
	TARGET_BLOCK,
	TARGET_VBLK,	/* /dev/vdXc0 */
	TARGET_NVME,	/* /dev/ngXnY */
};

struct target {
	const char *path;
	enum target_kind kind;
	int fd;
	uint64_t bytes;
	uint32_t block;		/* logical block, bytes */
	uint32_t nsid;		/* NVMe */
	struct virtblk_limits lim;	/* TARGET_VBLK */

	uint64_t first;		/* byte where the range starts */
	uint64_t blocks;	/* I/Os of options.bs that fit in the range */
};

/* Opens @path for what @o wants to do; -1 with the reason in @f. */
int target_open(struct target *t, const char *path, const struct options *o, struct fail *f);
void target_close(struct target *t);

/* Bytes of the SQEs that commands for @t travel in. */
unsigned int target_sqe_size(const struct target *t, const struct options *o);

const char *target_kind_name(enum target_kind kind);

/*
 * What a failed I/O on @t means, in one line; @res is cqe->res. Returns the exit code: 2 if
 * the device or kernel cannot do this at all, 1 for an I/O error.
 */
int target_explain(const struct target *t, const struct options *o, int res, bool write,
		   char *buf, size_t n);

/* nvme.c */
int nvme_identify(struct target *t, struct fail *f);

#endif /* VBLK_TARGET_H */
