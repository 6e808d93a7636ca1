// SPDX-License-Identifier: MIT
/*
 * The histogram of io_uring-vblk against sorted samples: a percentile is never
 * off by more than the width of a bucket, min, max and mean are exact.
 */
#include <fail.h>
#include <hist.h>
#include <math.h>
#include <string.h>
#include <tap.h>

#define SAMPLES	20000

static const double percents[] = { 0, 0.01, 1, 10, 50, 90, 95, 99, 99.9, 99.99, 99.999, 100 };

static uint64_t state = 1;

static uint64_t rnd(void)
{
	state = state * 6364136223846793005ULL + 1442695040888963407ULL;
	return state >> 11;
}

static int order(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The smallest sample that at least @percent of all do not exceed. */
static uint64_t exact(const uint64_t *sorted, unsigned int n, double percent)
{
	uint64_t rank = ceil(percent / 100 * n);

	return sorted[rank ? rank - 1 : 0];
}

static void compare(const char *name, uint64_t *v, unsigned int n)
{
	static struct hist h;
	unsigned int i, bad = 0;
	double sum = 0;

	hist_init(&h);
	for (i = 0; i < n; i++) {
		hist_add(&h, v[i]);
		sum += v[i];
	}
	qsort(v, n, sizeof(*v), order);
	for (i = 0; i < ARRAY_SIZE(percents); i++) {
		uint64_t want = exact(v, n, percents[i]);
		uint64_t got = hist_percentile(&h, percents[i]);
		uint64_t off = got > want ? got - want : want - got;

		if (off <= want / HIST_SUB)
			continue;
		bad++;
		diag("%s: %g %%: got %llu, sorted samples say %llu", name, percents[i],
		     (unsigned long long)got, (unsigned long long)want);
	}
	is_int(bad, 0, "%s: percentiles of %u samples", name, n);
	ok(h.min == v[0] && h.max == v[n - 1], "%s: min and max", name);
	ok(fabs(hist_mean(&h) - sum / n) <= sum / n / 1000000000, "%s: mean", name);
}

static void test_distributions(void)
{
	static uint64_t v[SAMPLES];
	unsigned int i;

	for (i = 0; i < SAMPLES; i++)
		v[i] = rnd() % 100;
	compare("small values", v, SAMPLES);
	for (i = 0; i < SAMPLES; i++)
		v[i] = rnd() % 10000000;
	compare("uniform", v, SAMPLES);
	for (i = 0; i < SAMPLES; i++)
		v[i] = rnd() >> rnd() % 50;
	compare("every order of magnitude", v, SAMPLES);
	for (i = 0; i < SAMPLES; i++)
		v[i] = i % 100 ? 80000 + rnd() % 1000 : 9000000 + rnd() % 1000000;
	compare("two humps", v, SAMPLES);
	for (i = 0; i < SAMPLES; i++)
		v[i] = 123457;
	compare("all the same", v, SAMPLES);
	v[0] = 77777;
	compare("one sample", v, 1);
	v[0] = 5;
	v[1] = 1000003;
	compare("two samples", v, 2);
}

/* Buckets follow each other without gap or overlap and are narrow. */
static void test_buckets(void)
{
	unsigned int i, bad = 0;

	for (i = 0; i < HIST_BUCKETS; i++) {
		uint64_t low = hist_lowest(i), high = hist_highest(i);

		bad += hist_index(low) != i || hist_index(high) != i;
		bad += high - low > low / HIST_SUB;
		bad += i && low != hist_highest(i - 1) + 1;
	}
	is_int(bad, 0, "%u buckets cover all values, narrow ones", HIST_BUCKETS);
	is_int(hist_index(0), 0, "the first bucket holds 0");
	is_int(hist_index(UINT64_MAX), HIST_BUCKETS - 1, "the last one the greatest value");
}

static void test_merge(void)
{
	static struct hist a, b, all;
	unsigned int i;

	hist_init(&a);
	hist_init(&b);
	hist_init(&all);
	for (i = 0; i < 1000; i++) {
		uint64_t v = rnd() % 1000000;

		hist_add(i % 3 ? &a : &b, v);
		hist_add(&all, v);
	}
	hist_merge(&a, &b);
	ok(!memcmp(&a, &all, sizeof(a)), "two halves merged are the whole");
	hist_init(&b);
	hist_merge(&a, &b);
	ok(!memcmp(&a, &all, sizeof(a)), "an empty one changes nothing");
	is_int(hist_percentile(&b, 50), 0, "an empty one has no percentiles");
	is_int(hist_mean(&b), 0, "and no mean");
}

int main(void)
{
	test_buckets();
	test_distributions();
	test_merge();
	return tap_done();
}
