/* SPDX-License-Identifier: MIT */
/* One thread with a ring of its own, and what all of them share. */
#ifndef VBLK_JOB_H
#define VBLK_JOB_H

#include <liburing.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "fail.h"
#include "hist.h"
#include "options.h"
#include "sqe.h"
#include "target.h"
#include "verify.h"

#define NO_WRITES	65536	/* job.write_from */

/* The phases only move forward. */
enum phase {
	PHASE_WARMUP,
	PHASE_RUN,
	PHASE_STOP,
};

struct control {
	const struct options *o;
	struct target *targets;
	unsigned int nr_targets;
	unsigned int nr_jobs;
	uint32_t run;			/* --verify: number of this run */

	_Atomic int phase;
	_Atomic int setup_failed;
	_Atomic unsigned int running;
	_Atomic uint64_t open_ns;	/* when measuring began, 0: not yet */

	/* Each job passes each of them once, also after a failure. */
	pthread_barrier_t ready, opened, closed;
	struct rusage self[2];		/* the process, at the window's ends */

	pthread_t main;			/* gets SIGUSR1 when a job has news */
};

/* One target as a job sees it. The loop works on block numbers from 0 on. */
struct lane {
	uint64_t blocks;
	uint64_t first;		/* block 0, in the units of the SQE */
	uint64_t step;		/* from block to block, same units */
	uint64_t next;		/* sequential: block that comes next */
	struct target *t;
	struct sqe_place place;
	struct verify verify;
};

/* Counters at one end of the measured window. */
struct sample {
	uint64_t ns;
	uint64_t done;
	uint64_t errors;
	uint64_t writes;
	uint64_t enters;
	uint64_t submit_ns;
	uint64_t submit_calls;
	uint64_t cpu_ns;
};

struct request {
	_Alignas(64)
	uint64_t place;		/* what the SQE said */
	uint64_t submitted;	/* --latency: ns */
	uint64_t block;		/* --verify */
	uint64_t generation;
	void *buf;
	struct lane *lane;
	bool write;
};

struct job {
	/* What the loop touches for each I/O. */
	_Alignas(64)
	struct io_uring ring;
	unsigned char *templates;	/* one for each request and direction */
	struct request *reqs;
	struct lane *lanes;
	unsigned int *free;		/* ring of idle requests */
	unsigned int free_mask;
	unsigned int free_head;		/* next to use */
	unsigned int free_tail;
	unsigned int sqe_shift;		/* log2 of the SQE's size */
	unsigned int dirs;		/* templates for one request: 1 or 2 */
	uint32_t write_from;		/* of 65536: numbers from here on write */
	int want;			/* cqe->res of success */
	bool random;
	bool sqpoll;
	bool timed;
	bool verify;
	bool readback;
	bool has_ring;
	uint64_t rng;

	unsigned int depth;
	unsigned int batch;
	unsigned int complete;
	unsigned int inflight;

	uint64_t issued;
	uint64_t limit;			/* the loop ends when so many are issued */
	uint64_t done;			/* the main thread reads it too */
	uint64_t errors;
	uint64_t writes;		/* of those done, if dirs is 2 */
	uint64_t enters;
	uint64_t submit_ns;
	uint64_t submit_calls;
	unsigned int refused;		/* submissions in a row that failed */

	/* The rest. */
	struct control *c;
	struct hist *slat, *clat;
	struct sample open, close;
	uint64_t checked;		/* --verify: blocks compared */
	uint64_t mismatches;
	unsigned int ring_flags;
	unsigned int nr_lanes;
	unsigned int index;
	unsigned char *arena;
	size_t arena_bytes;
	struct fail fail;
	pthread_t thread;
};

void *job_thread(void *arg);	/* struct job * */

/* setup.c: all that is needed before the first I/O; and the end of it. */
int job_setup(struct job *j);
void job_teardown(struct job *j);

uint64_t now_ns(void);

#endif /* VBLK_JOB_H */
