/* SPDX-License-Identifier: MIT */
/*
 * Log-linear histogram of times: each power of two is cut into HIST_SUB equal
 * buckets, so that a bucket is never wider than 1/HIST_SUB of its value.
 * Values below HIST_SUB have a bucket of their own.
 */
#ifndef VBLK_HIST_H
#define VBLK_HIST_H

#include <stdint.h>

#define HIST_SUB_BITS	7
#define HIST_SUB	(1U << HIST_SUB_BITS)
#define HIST_BUCKETS	((64 - HIST_SUB_BITS + 1) * HIST_SUB)

struct hist {
	uint64_t count;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	uint64_t bucket[HIST_BUCKETS];
};

void hist_init(struct hist *h);
void hist_merge(struct hist *to, const struct hist *from);
double hist_mean(const struct hist *h);

/* Least and greatest value that bucket @i counts. */
uint64_t hist_lowest(unsigned int i);
uint64_t hist_highest(unsigned int i);

/*
 * The smallest value that at least @percent of the recorded ones do not
 * exceed, as the middle of its bucket and never outside of [min, max]. An
 * empty histogram gives 0.
 */
uint64_t hist_percentile(const struct hist *h, double percent);

static inline unsigned int hist_index(uint64_t v)
{
	unsigned int shift;

	if (v < HIST_SUB)
		return v;
	shift = 63 - __builtin_clzll(v) - HIST_SUB_BITS;
	return (shift << HIST_SUB_BITS) + (unsigned int)(v >> shift);
}

static inline void hist_add(struct hist *h, uint64_t v)
{
	h->count++;
	h->sum += v;
	if (v < h->min)
		h->min = v;
	if (v > h->max)
		h->max = v;
	h->bucket[hist_index(v)]++;
}

#endif /* VBLK_HIST_H */
