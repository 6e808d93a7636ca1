// SPDX-License-Identifier: MIT
#include "options.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind {
	K_BOOL,		/* int: 0 or 1; the long form alone means 1 */
	K_INT,		/* int */
	K_NUM,		/* uint64_t */
	K_SIZE,		/* uint64_t with a suffix k, m, g or t */
	K_SECONDS,	/* uint64_t nanoseconds */
	K_JSON,		/* int json, const char *json_file */
	K_HEADING,	/* only a line in the help */
	K_REFUSED,	/* of fio's t/io_uring, not here */
};

struct def {
	int letter;	/* 0: long form only */
	const char *name;
	enum kind kind;
	size_t at;
	uint64_t min, max;
	const char *arg;
	const char *text;
};

#define AT(field) offsetof(struct options, field)
#define HEAD(text) { .kind = K_HEADING, .name = text }
#define BOOL(l, n, f, t) { l, n, K_BOOL, AT(f), 0, 1, "0|1", t }
#define NO_MAX UINT64_MAX

static const struct def defs[] = {
	HEAD("Letters shared with fio's t/io_uring"),
	{ 'b', "block-size", K_SIZE, AT(bs), 512, 1U << 30, "BYTES", "bytes in one I/O" },
	{ 'd', "depth", K_NUM, AT(depth), 1, 16384, "N", "I/Os in flight, per thread" },
	{ 's', "submit", K_NUM, AT(submit), 1, 16384, "N", "most I/Os in one submission" },
	{ 'c', "complete", K_NUM, AT(complete), 1, 16384, "N",
	  "completions to wait for once the depth is reached" },
	BOOL('p', "polled", polled, "poll for completions (IOPOLL); needs poll queues"),
	BOOL('B', "fixed-buffers", fixed_bufs, "register the buffers"),
	BOOL('F', "fixed-files", fixed_files, "register the files"),
	BOOL('O', "direct", direct, "O_DIRECT for block devices and files"),
	{ 'n', "threads", K_NUM, AT(threads), 1, 1024, "N",
	  "threads, each with a ring of its own" },
	BOOL('u', "passthrough", passthrough,
	     "commands for /dev/vdXc0 (or NVMe's /dev/ngXnY) instead of reads and writes"),
	BOOL('N', "nop", nop, "NOPs that touch no device: the floor"),
	BOOL('t', "latency", latency, "measure submit and completion latency"),
	{ 'r', "runtime", K_SECONDS, AT(runtime), 0, 1U << 30, "SEC",
	  "run time, 0: until ^C" },
	BOOL('R', "random", random, "random offsets; 0: sequential"),
	BOOL('X', "registered-ring", reg_ring, "register the ring's own descriptor"),

	HEAD("What to do"),
	BOOL(0, "write", write, "write. DESTROYS the data in the range"),
	{ 0, "read-percent", K_NUM, AT(read_percent), 0, 100, "N",
	  "reads in 100 I/Os of a --write run" },
	{ 0, "offset", K_SIZE, AT(offset), 0, NO_MAX, "BYTES", "start of the range" },
	{ 0, "size", K_SIZE, AT(size), 0, NO_MAX, "BYTES", "length of the range, 0: to the end" },
	{ 0, "ios", K_NUM, AT(ios), 0, NO_MAX, "N", "I/Os per thread, 0: no limit" },
	{ 0, "warmup", K_SECONDS, AT(warmup), 0, 1U << 30, "SEC", "run so long before measuring" },
	{ 0, "warmup-ios", K_NUM, AT(warmup_ios), 0, NO_MAX, "N",
	  "run so many I/Os per thread before measuring" },
	{ 0, "seed", K_NUM, AT(seed), 0, NO_MAX, "N", "of the random offsets" },

	HEAD("The ring"),
	BOOL(0, "sqpoll", sqpoll, "let a kernel thread submit (SQPOLL)"),
	{ 0, "sqpoll-cpu", K_INT, AT(sqpoll_cpu), 0, INT_MAX, "CPU", "bind that thread" },
	{ 0, "sqpoll-idle", K_NUM, AT(sqpoll_idle), 0, UINT_MAX, "MS",
	  "it sleeps after so long without work" },
	BOOL(0, "defer-taskrun", defer_taskrun, "complete only when asked (DEFER_TASKRUN)"),
	BOOL(0, "hybrid-poll", hybrid, "sleep, then poll (HYBRID_IOPOLL, Linux 6.13); implies -p1"),
	{ 0, "sqe", K_NUM, AT(sqe), 64, 128, "64|128", "bytes in an SQE" },
	{ 0, "cqe", K_NUM, AT(cqe), 16, 32, "16|32", "bytes in a CQE" },
	BOOL(0, "thp", thp, "huge pages for the buffers"),

	HEAD("What to measure and print"),
	BOOL(0, "submit-time", submit_time, "time inside io_uring_submit()"),
	BOOL(0, "verify", verify,
	     "each sector carries its offset and a generation, and reads check them"),
	{ 0, "generation", K_NUM, AT(generation), 1, UINT_MAX, "N",
	  "generation that --verify writes, or a read-only --verify expects" },
	{ 0, "max-errors", K_NUM, AT(max_errors), 1, NO_MAX, "N", "stop after so many errors" },
	{ 0, "stall", K_SECONDS, AT(stall), 1, 1U << 30, "SEC",
	  "give up after so long without a completion" },
	BOOL(0, "quiet", quiet, "no line each second"),
	{ 0, "json", K_JSON, AT(json), 0, 0, "FILE", "JSON to FILE, or instead of the text" },

	{ 'a', NULL, K_REFUSED, 0, 0, 0, NULL, "legacy aio is not offered, only io_uring" },
	{ 'S', NULL, K_REFUSED, 0, 0, 0, NULL,
	  "synchronous I/O is not offered, only io_uring" },
	{ 'D', NULL, K_REFUSED, 0, 0, 0, NULL,
	  "premapped buffers are not offered; -B1 registers them" },
	{ 'T', NULL, K_REFUSED, 0, 0, 0, NULL,
	  "not needed, times come from CLOCK_MONOTONIC; leave it out" },
	{ 'P', NULL, K_REFUSED, 0, 0, 0, NULL, "start the tool with numactl instead" },
};

#define NR_DEFS	ARRAY_SIZE(defs)
#define LONG_BASE 256	/* getopt_long value of defs[i] is LONG_BASE + i */

void options_default(struct options *o)
{
	*o = (struct options) {
		.bs = 4096, .depth = 128, .submit = 32, .complete = 32,
		.threads = 1, .fixed_bufs = 1, .fixed_files = 1, .direct = 1,
		.random = 1, .reg_ring = 1, .seed = 1, .sqpoll_cpu = AUTO,
		.sqpoll_idle = 1000, .defer_taskrun = AUTO, .thp = AUTO,
		.max_errors = 1, .stall = 60 * 1000000000ULL,
	};
}

/* "-d, --depth" as the user may have written it. */
static const char *def_name(const struct def *d, char *buf, size_t n)
{
	if (d->letter && d->name)
		snprintf(buf, n, "-%c (--%s)", d->letter, d->name);
	else if (d->letter)
		snprintf(buf, n, "-%c", d->letter);
	else
		snprintf(buf, n, "--%s", d->name);
	return buf;
}

static int suffix_shift(const char *s)
{
	static const char *const names = "kmgt";
	const char *at;

	if (!*s)
		return 0;
	at = strchr(names, *s | 0x20);
	if (!at)
		return -1;
	s++;
	if (!strcmp(s, "iB") || !strcmp(s, "ib"))
		s += 2;
	return *s ? -1 : 10 * (int)(at - names + 1);
}

static int parse_number(const struct def *d, const char *s, uint64_t *v, struct fail *f)
{
	char name[64], *end;
	int shift;

	def_name(d, name, sizeof(name));
	errno = 0;
	*v = strtoull(s, &end, 0);
	if (end == s || *s == '-' || errno)
		return refuse(f, "%s wants a number, not '%s'", name, s);
	shift = d->kind == K_SIZE ? suffix_shift(end) : *end ? -1 : 0;
	if (shift < 0)
		return refuse(f, "%s: cannot read '%s'%s", name, s,
				d->kind == K_SIZE ? "; suffixes are k, m, g, t" : "");
	if (*v > UINT64_MAX >> shift)
		return refuse(f, "%s: '%s' is too large", name, s);
	*v <<= shift;
	if (*v < d->min || *v > d->max)
		return refuse(f, "%s: %s is outside of %llu to %llu", name, s,
				(ull)d->min, (ull)d->max);
	return 0;
}

static int parse_bool(const struct def *d, const char *s, int *v, struct fail *f)
{
	char name[64];

	if (s && strcmp(s, "0") && strcmp(s, "1"))
		return refuse(f, "%s wants 0 or 1, not '%s'",
				def_name(d, name, sizeof(name)), s);
	*v = s ? *s - '0' : 1;
	return 0;
}

static int parse_seconds(const struct def *d, const char *s, uint64_t *v, struct fail *f)
{
	char name[64], *end;
	double sec;

	def_name(d, name, sizeof(name));
	sec = strtod(s, &end);
	if (end != s && !strcmp(end, "s"))
		end++;
	if (end == s || *end || !isfinite(sec) || sec < 0)
		return refuse(f, "%s wants seconds, not '%s'", name, s);
	if (sec < d->min || sec > d->max)
		return refuse(f, "%s: %s is outside of %llu to %llu seconds", name, s,
				(ull)d->min, (ull)d->max);
	*v = sec * 1e9;
	return 0;
}

static int parse_int(const struct def *d, const char *s, int *v, struct fail *f)
{
	uint64_t n;

	if (parse_number(d, s, &n, f))
		return -1;
	*v = n;
	return 0;
}

/* t/io_uring's own letters may stand in a script as long as they ask nothing. */
static int parse_refused(const struct def *d, const char *s, struct fail *f)
{
	if (!strcmp(s, "0"))
		return 0;
	return refuse(f, "-%c: %s", d->letter, d->text);
}

static int parse_one(struct options *o, const struct def *d, const char *s, struct fail *f)
{
	void *at = (char *)o + d->at;

	switch (d->kind) {
	case K_BOOL:
		return parse_bool(d, s, at, f);
	case K_INT:
		return parse_int(d, s, at, f);
	case K_NUM:
	case K_SIZE:
		return parse_number(d, s, at, f);
	case K_SECONDS:
		return parse_seconds(d, s, at, f);
	case K_REFUSED:
		return parse_refused(d, s, f);
	case K_JSON:
		o->json = 1;
		o->json_file = s;
		return 0;
	default:
		return -1;
	}
}

static int check_ring(const struct options *o, struct fail *f)
{
	if (o->sqe && o->sqe != 64 && o->sqe != 128)
		return refuse(f, "--sqe is 64 or 128");
	if (o->cqe && o->cqe != 16 && o->cqe != 32)
		return refuse(f, "--cqe is 16 or 32");
	if (o->sqpoll && o->defer_taskrun == 1)
		return refuse(f, "--sqpoll and --defer-taskrun exclude each other");
	if (!o->sqpoll && o->sqpoll_cpu != AUTO)
		return refuse(f, "--sqpoll-cpu needs --sqpoll");
	if (o->polled && !o->passthrough && !o->nop && !o->direct)
		return refuse(f, "polling needs O_DIRECT; use -O1 with -p1");
	return 0;
}

static int check_work(const struct options *o, struct fail *f)
{
	if (o->bs % 512)
		return refuse(f, "-b (--block-size): %llu is not a multiple of 512", (ull)o->bs);
	if (o->read_percent && !o->write)
		return refuse(f, "--read-percent needs --write, which destroys data");
	if (o->nop && (o->write || o->verify))
		return refuse(f, "-N1 moves no data: leave out --write and --verify");
	if (o->generation && !o->verify)
		return refuse(f, "--generation needs --verify");
	if (o->warmup && o->warmup_ios)
		return refuse(f, "give --warmup or --warmup-ios, not both");
	if (!o->nop && !o->nr_paths)
		return refuse(f, "no device given; for example: io_uring-vblk -u1 /dev/vdac0");
	return 0;
}

/* Settings that follow from others. */
static void settle(struct options *o)
{
	if (o->hybrid)
		o->polled = 1;
	if (o->submit > o->depth)
		o->submit = o->depth;
	if (o->complete > o->depth)
		o->complete = o->depth;
}

static void build_tables(char *letters, struct option *longs)
{
	size_t i;

	*letters++ = ':';
	for (i = 0; i < NR_DEFS; i++) {
		const struct def *d = &defs[i];
		bool opt = d->kind == K_BOOL || d->kind == K_JSON;

		if (d->letter) {
			*letters++ = d->letter;
			*letters++ = ':';
		}
		if (d->name && d->kind != K_HEADING)
			*longs++ = (struct option) {
				d->name, opt ? optional_argument : required_argument,
				NULL, LONG_BASE + i };
	}
	memcpy(letters, "hV", sizeof("hV"));
	*longs++ = (struct option) { "help", no_argument, NULL, 'h' };
	*longs++ = (struct option) { "version", no_argument, NULL, 'V' };
	*longs = (struct option) { 0 };
}

static const struct def *find_def(int c)
{
	size_t i;

	for (i = 0; i < NR_DEFS; i++)
		if (c == LONG_BASE + (int)i || (c < LONG_BASE && c == defs[i].letter && c))
			return &defs[i];
	return NULL;
}

static int bad_option(int c, char **argv, struct fail *f)
{
	const char *word = argv[optind - 1];

	if (c == ':')
		return refuse(f, "%s needs a value; see --help", word);
	if (optopt && optopt < LONG_BASE)
		return refuse(f, "unknown option -%c; see --help", optopt);
	return refuse(f, "unknown option %s; see --help", word);
}

int options_parse(struct options *o, int argc, char **argv, struct fail *f)
{
	struct option longs[NR_DEFS + 3];
	char letters[2 * NR_DEFS + 4];
	const struct def *d;
	int c;

	options_default(o);
	build_tables(letters, longs);
	opterr = 0;
	optind = 0;	/* glibc: start over, also for a second call */
	while ((c = getopt_long(argc, argv, letters, longs, NULL)) != -1) {
		if (c == 'h') {
			o->help = 1;
			return 0;
		}
		if (c == 'V') {
			o->version = 1;
			return 0;
		}
		d = find_def(c);
		if (c == '?' || c == ':' || !d)
			return bad_option(c, argv, f);
		if (parse_one(o, d, optarg, f))
			return -1;
	}
	o->paths = argv + optind;
	o->nr_paths = argc - optind;
	settle(o);
	return check_ring(o, f) ? -1 : check_work(o, f);
}

static void print_default(FILE *out, const struct options *o, const struct def *d)
{
	const void *at = (const char *)o + d->at;

	switch (d->kind) {
	case K_BOOL:
	case K_INT:
		if (*(const int *)at == AUTO)
			fprintf(out, " [auto]");
		else
			fprintf(out, " [%d]", *(const int *)at);
		break;
	case K_NUM:
	case K_SIZE:
		if (d->min && !*(const uint64_t *)at)
			fprintf(out, " [auto]");
		else
			fprintf(out, " [%llu]", *(const unsigned long long *)at);
		break;
	case K_SECONDS:
		fprintf(out, " [%g]", *(const uint64_t *)at / 1e9);
		break;
	default:
		break;
	}
}

static void help_line(FILE *out, const struct options *o, const struct def *d)
{
	char left[64];
	bool opt = d->kind == K_BOOL || d->kind == K_JSON;

	snprintf(left, sizeof(left), "%c%c%s--%s%s%s%s",
		 d->letter ? '-' : ' ', d->letter ? d->letter : ' ',
		 d->letter ? ", " : "  ", d->name, opt ? "[=" : "=", d->arg, opt ? "]" : "");
	fprintf(out, "  %-30s %s", left, d->text);
	print_default(out, o, d);
	fputc('\n', out);
}

void options_help(FILE *out)
{
	struct options o;
	size_t i;

	options_default(&o);
	fprintf(out, "Usage: io_uring-vblk [options] device...\n"
		"IOPS and latency of /dev/vdXc0, and of block devices and files to compare with.\n"
		"Defaults in brackets.\n");
	for (i = 0; i < NR_DEFS; i++) {
		if (defs[i].kind == K_HEADING)
			fprintf(out, "\n%s:\n", defs[i].name);
		else if (defs[i].kind != K_REFUSED)
			help_line(out, &o, &defs[i]);
	}
	fprintf(out, "\n  -h, --help                     this text\n"
		"  -V, --version                  the version\n\n"
		"Exit status: 0 done, 1 an I/O failed or data was wrong, 2 cannot be done as asked.\n");
}
