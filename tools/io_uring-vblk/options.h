/* SPDX-License-Identifier: MIT */
#ifndef VBLK_OPTIONS_H
#define VBLK_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "fail.h"

#define AUTO	(-1)		/* int options: decided when the ring is made */

/* Seconds are kept in nanoseconds, sizes in bytes. */
struct options {
	uint64_t bs;
	uint64_t depth;
	uint64_t submit;	/* SQEs in one submission */
	uint64_t complete;	/* CQEs to wait for when the depth is reached */
	uint64_t threads;
	int polled;
	int fixed_bufs;
	int fixed_files;
	int direct;
	int passthrough;
	int nop;
	int random;
	int reg_ring;

	int write;
	uint64_t read_percent;	/* of a --write run */
	uint64_t offset;
	uint64_t size;		/* 0: to the end */
	uint64_t runtime;	/* 0: until interrupted */
	uint64_t ios;		/* per thread, 0: no limit */
	uint64_t warmup;
	uint64_t warmup_ios;
	uint64_t seed;

	int sqpoll;
	int sqpoll_cpu;
	uint64_t sqpoll_idle;	/* ms */
	int defer_taskrun;
	int hybrid;
	uint64_t sqe;		/* 64, 128 or 0: by what the device takes */
	uint64_t cqe;		/* 16, 32 or 0 */
	int thp;

	int latency;
	int submit_time;
	int verify;
	uint64_t generation;	/* 0: chosen by us, or any */
	uint64_t max_errors;
	uint64_t stall;
	int quiet;
	int json;
	const char *json_file;	/* NULL: stdout */

	char **paths;
	int nr_paths;
	int help;
	int version;
};

void options_default(struct options *o);

/* 0, or -1 with the reason in @f. */
int options_parse(struct options *o, int argc, char **argv, struct fail *f);
void options_help(FILE *out);

#endif /* VBLK_OPTIONS_H */
