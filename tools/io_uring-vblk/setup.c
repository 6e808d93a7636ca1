// SPDX-License-Identifier: MIT
/* What a job needs before its first I/O. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "job.h"
#include "ring.h"

static int no_memory(struct job *j)
{
	return refuse(&j->fail, "no memory; lower -d, -b or -n");
}

/*
 * Which targets are the job's: with more targets than jobs each job has every
 * nr_jobs-th one, otherwise jobs share targets in turn.
 */
static unsigned int lane_target(const struct job *j, unsigned int lane)
{
	const struct control *c = j->c;

	if (c->nr_targets > c->nr_jobs)
		return j->index + lane * c->nr_jobs;
	return j->index % c->nr_targets;
}

static unsigned int count_lanes(const struct job *j)
{
	const struct control *c = j->c;

	if (c->nr_targets <= c->nr_jobs)
		return 1;
	return (c->nr_targets - j->index + c->nr_jobs - 1) / c->nr_jobs;
}

/*
 * Random I/O goes to the whole range. Jobs that share a target get a part each
 * if they run in sequence, or must know what is on the disk.
 */
static void lane_part(const struct job *j, const struct target *t, uint64_t *from,
		      uint64_t *blocks)
{
	const struct control *c = j->c;
	unsigned int sharers, nth;

	*from = 0;
	*blocks = t->blocks;
	if (c->nr_targets >= c->nr_jobs || (c->o->random && !c->o->verify))
		return;
	sharers = (c->nr_jobs - j->index % c->nr_targets + c->nr_targets - 1) / c->nr_targets;
	nth = j->index / c->nr_targets;
	*from = t->blocks / sharers * nth;
	*blocks = nth + 1 == sharers ? t->blocks - *from : t->blocks / sharers;
}

static int setup_lane(struct job *j, struct lane *l, struct target *t)
{
	const struct options *o = j->c->o;
	uint64_t from;

	l->t = t;
	l->place = sqe_place(t, 1U << j->sqe_shift);
	if (!t) {
		l->blocks = 1;
		return 0;
	}
	lane_part(j, t, &from, &l->blocks);
	if (!l->blocks)
		return refuse(&j->fail, "%s: the range has too few blocks for %llu threads",
			      t->path, (ull)o->threads);
	l->first = (t->first + from * o->bs) >> l->place.shift;
	l->step = o->bs >> l->place.shift;
	if (o->verify)
		return verify_init(&l->verify, l->blocks, j->c->run, o->write, &j->fail);
	return 0;
}

static int setup_lanes(struct job *j)
{
	unsigned int i;

	j->nr_lanes = j->c->o->nop ? 1 : count_lanes(j);
	if (j->nr_lanes > j->depth)
		return refuse(&j->fail, "%u devices in one thread need -d%u or -n%u",
			      j->nr_lanes, j->nr_lanes, j->c->nr_targets);
	j->lanes = calloc(j->nr_lanes, sizeof(*j->lanes));
	if (!j->lanes)
		return no_memory(j);
	for (i = 0; i < j->nr_lanes; i++) {
		struct target *t = j->c->o->nop ? NULL : &j->c->targets[lane_target(j, i)];

		if (setup_lane(j, &j->lanes[i], t))
			return -1;
	}
	return 0;
}

static size_t buffer_stride(const struct options *o)
{
	return (o->bs + 4095) & ~(size_t)4095;
}

static int setup_arena(struct job *j)
{
	const struct options *o = j->c->o;
	size_t i;

	j->arena_bytes = buffer_stride(o) * j->depth;
	j->arena = mmap(NULL, j->arena_bytes, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (j->arena == MAP_FAILED) {
		j->arena = NULL;
		return no_memory(j);
	}
	if (o->thp != AUTO)
		madvise(j->arena, j->arena_bytes, o->thp ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
	/* Touch each page now; and what is written must not look like zeroes. */
	for (i = 0; i < j->arena_bytes; i++)
		j->arena[i] = i ^ i >> 9;
	return 0;
}

static int register_all(struct job *j)
{
	const struct options *o = j->c->o;
	struct iovec *iov;
	unsigned int i;
	int *fds, ret;

	if (o->nop)
		return 0;
	iov = calloc(j->depth, sizeof(*iov));
	fds = calloc(j->nr_lanes, sizeof(*fds));
	for (i = 0; iov && i < j->depth; i++)
		iov[i] = (struct iovec) { j->arena + i * buffer_stride(o), o->bs };
	for (i = 0; fds && i < j->nr_lanes; i++)
		fds[i] = j->lanes[i].t->fd;
	ret = iov && fds ? 0 : no_memory(j);
	if (!ret && o->fixed_bufs)
		ret = ring_register_buffers(&j->ring, iov, j->depth, &j->fail);
	if (!ret && o->fixed_files)
		ret = ring_register_files(&j->ring, fds, j->nr_lanes, &j->fail);
	free(iov);
	free(fds);
	return ret;
}

static void setup_request(struct job *j, unsigned int index)
{
	const struct options *o = j->c->o;
	unsigned int nth = index % j->nr_lanes, dir;
	struct request *r = &j->reqs[index];

	*r = (struct request) {
		.lane = &j->lanes[nth],
		.buf = j->arena + index * buffer_stride(o),
		.write = o->write,
	};
	for (dir = 0; dir < j->dirs; dir++) {
		size_t slot = (size_t)index * j->dirs + dir;
		struct sqe_request sr = {
			.o = o,
			.t = r->lane->t,
			.sqe_size = 1U << j->sqe_shift,
			.index = index,
			.buf = r->buf,
			.write = j->dirs == 2 ? dir == 1 : o->write == 1,
		};

		if (sr.t)
			sr.fd = o->fixed_files ? (int)nth : sr.t->fd;
		sqe_fill((struct io_uring_sqe *)(j->templates + (slot << j->sqe_shift)), &sr);
	}
	j->free[index] = index;
}

static int setup_requests(struct job *j)
{
	unsigned int i, size = 1;

	while (size < j->depth)
		size *= 2;
	j->free_mask = size - 1;
	j->free_tail = j->depth;
	j->free = calloc(size, sizeof(*j->free));
	j->reqs = aligned_alloc(64, j->depth * sizeof(*j->reqs));
	j->templates = aligned_alloc(128, ((size_t)j->depth * j->dirs) << 7);
	if (!j->free || !j->reqs || !j->templates)
		return no_memory(j);
	for (i = 0; i < j->depth; i++)
		setup_request(j, i);
	return 0;
}

static int setup_hists(struct job *j)
{
	if (!j->timed)
		return 0;
	j->slat = malloc(sizeof(*j->slat));
	j->clat = malloc(sizeof(*j->clat));
	if (!j->slat || !j->clat)
		return no_memory(j);
	hist_init(j->slat);
	hist_init(j->clat);
	return 0;
}

/* Spreads neighbouring seeds; the loop's generator alone would not. */
static uint64_t seed_of(uint64_t seed, unsigned int index)
{
	uint64_t z = seed * 0x9e3779b97f4a7c15ULL + index + 1;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
	return z ^ z >> 31;
}

static void setup_plan(struct job *j)
{
	const struct options *o = j->c->o;

	j->depth = o->depth;
	j->batch = o->submit;
	j->complete = o->complete;
	j->random = o->random;
	j->sqpoll = o->sqpoll;
	j->verify = o->verify;
	j->timed = o->latency || o->submit_time;
	j->rng = seed_of(o->seed, j->index);
	j->want = o->passthrough || o->nop ? 0 : (int)o->bs;
	/* As run() wants it; the read-back of --verify needs both in any case. */
	j->dirs = o->read_percent || j->timed || o->verify ? 2 : 1;
	j->write_from = o->write ? o->read_percent * NO_WRITES / 100 : NO_WRITES;
}

/* The target with the most demands decides the ring. */
static int setup_ring(struct job *j)
{
	const struct control *c = j->c;
	unsigned int sqe = c->o->sqe ? c->o->sqe : 64, cqe = c->o->cqe ? c->o->cqe : 16;

	if (!c->o->nop && c->nr_targets) {
		sqe = target_sqe_size(&c->targets[0], c->o);
		if (c->targets[0].kind == TARGET_NVME)
			cqe = 32;
	}
	j->sqe_shift = sqe == 128 ? 7 : 6;
	if (ring_open(&j->ring, c->o, sqe, cqe, &j->fail))
		return -1;
	j->has_ring = true;
	j->ring_flags = j->ring.flags;
	return 0;
}

int job_setup(struct job *j)
{
	setup_plan(j);
	if (setup_ring(j) || setup_lanes(j) || setup_arena(j))
		return -1;
	return register_all(j) || setup_requests(j) || setup_hists(j) ? -1 : 0;
}

void job_teardown(struct job *j)
{
	unsigned int i;

	/*
	 * The kernel takes a ring apart some time after its end. Until then it
	 * would keep the files, and so the disk from whoever wants it next.
	 */
	if (j->has_ring && j->c->o->fixed_files && !j->inflight)
		io_uring_unregister_files(&j->ring);
	if (j->has_ring)
		io_uring_queue_exit(&j->ring);
	for (i = 0; j->lanes && i < j->nr_lanes; i++)
		verify_free(&j->lanes[i].verify);
	if (j->arena)
		munmap(j->arena, j->arena_bytes);
	free(j->templates);
	free(j->reqs);
	free(j->free);
	free(j->lanes);
}
