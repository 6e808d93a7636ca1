/* SPDX-License-Identifier: MIT */
/*
 * For programs that expect errors: each command is tried in both forms and
 * more often than the queue has slots, and after a group of them the queue
 * must still take a full load (a slot that an error path forgets is missed).
 */
#ifndef T_ERRORS_H
#define T_ERRORS_H

#include "t.h"

/* What a good run reads; the programs keep their own writes clear of it. */
#define GOOD_OFFSET	(16u << 20)
#define GOOD_GEN	7u

struct errors {
	struct t_dev dev;
	struct io_uring ring64;		/* ordinary SQEs */
	struct io_uring ring128;	/* SQE128, CQE32 */
	unsigned int repeat;
};

static inline void errors_init(struct errors *e, const char *disk, int mode)
{
	t_open(&e->dev, disk, mode, O_RDWR);
	t_ring(&e->ring64, 4, 0);
	t_ring(&e->ring128, 4, IORING_SETUP_SQE128 | IORING_SETUP_CQE32);
	e->repeat = e->dev.lim.queue_depth * 2 + 1;
	t_pwrite_pattern(e->dev.bfd, GOOD_OFFSET,
			 e->dev.lim.queue_depth * 4096ul, GOOD_GEN);
}

/* 0 if each of the tries gave @want, else prints the other answer. */
static inline int errors_repeat(struct errors *e, enum vblk_form form,
				const struct vblk_cmd *cmd, t_tweak tweak,
				void *arg, int want)
{
	struct io_uring *ring = form == VBLK_SQE128 ? &e->ring128 : &e->ring64;
	unsigned int i;

	for (i = 0; i < e->repeat; i++) {
		struct t_res r = t_cmd_tweaked(ring, form, e->dev.cfd, cmd,
					       tweak, arg);

		if (r.res != want) {
			diag("try %u gave %s, expected %s", i + 1,
			     t_res_name(r.res), t_res_name(want));
			return 1;
		}
	}
	return 0;
}

static inline void expect_tweaked(struct errors *e, const struct vblk_cmd *cmd,
				  t_tweak tweak, void *arg, int want,
				  const char *what)
{
	ok(!errors_repeat(e, VBLK_SQE64, cmd, tweak, arg, want),
	   "64-byte: %s: %s", what, t_res_name(want));
	ok(!errors_repeat(e, VBLK_SQE128, cmd, tweak, arg, want),
	   "128-byte: %s: %s", what, t_res_name(want));
}

static inline void expect(struct errors *e, const struct vblk_cmd *cmd,
			  int want, const char *what)
{
	expect_tweaked(e, cmd, NULL, NULL, want, what);
}

static inline void good_run(struct errors *e, const char *group)
{
	struct t_xfer x = {
		.offset = GOOD_OFFSET,
		.bs = 4096,
		.count = e->dev.lim.queue_depth,
		.depth = e->dev.lim.queue_depth,
		.gen = GOOD_GEN,
	};

	ok(!t_xfer(&e->dev, &x), "after %s: the char node takes a full load",
	   group);
	x.how = T_BLOCK;
	ok(!t_xfer(&e->dev, &x), "after %s: the block node takes a full load",
	   group);
}

#endif /* T_ERRORS_H */
