// SPDX-License-Identifier: MIT
#include "hist.h"

#include <string.h>

void hist_init(struct hist *h)
{
	memset(h, 0, sizeof(*h));
	h->min = UINT64_MAX;
}

void hist_merge(struct hist *to, const struct hist *from)
{
	unsigned int i;

	to->count += from->count;
	to->sum += from->sum;
	if (from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	for (i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

double hist_mean(const struct hist *h)
{
	return h->count ? (double)h->sum / h->count : 0;
}

uint64_t hist_lowest(unsigned int i)
{
	unsigned int shift;

	if (i < 2 * HIST_SUB)
		return i;
	shift = (i >> HIST_SUB_BITS) - 1;
	return (uint64_t)((i & (HIST_SUB - 1)) + HIST_SUB) << shift;
}

uint64_t hist_highest(unsigned int i)
{
	return i + 1 < HIST_BUCKETS ? hist_lowest(i + 1) - 1 : UINT64_MAX;
}

static uint64_t hist_clamp(const struct hist *h, uint64_t v)
{
	if (v < h->min)
		return h->min;
	return v > h->max ? h->max : v;
}

uint64_t hist_percentile(const struct hist *h, double percent)
{
	uint64_t rank, seen = 0;
	unsigned int i;

	if (!h->count)
		return 0;
	rank = (uint64_t)(percent / 100.0 * h->count);
	if ((double)rank < percent / 100.0 * h->count)
		rank++;
	if (!rank)
		return h->min;
	if (rank >= h->count)
		return h->max;
	for (i = 0; i < HIST_BUCKETS; i++) {
		seen += h->bucket[i];
		if (seen >= rank)
			break;
	}
	return hist_clamp(h, hist_lowest(i) + (hist_highest(i) - hist_lowest(i)) / 2);
}
