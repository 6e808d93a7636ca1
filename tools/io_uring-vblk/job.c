// SPDX-License-Identifier: MIT
/*
 * The loop: keep the depth, submit up to a batch when there is room, wait for
 * completions only when the depth is reached, reap all.
 *
 * It is compiled several times. Those without CAREFUL read no clock, call
 * nothing but liburing's submit, and are what instruction counts are taken from.
 */
#define _GNU_SOURCE
#include "job.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define unlikely(x)	__builtin_expect(!!(x), 0)

#define MAX_REFUSED	1000

/*
 * What a loop can do. The functions of the loop take these bits as a constant,
 * so that each loop is compiled without the tests for what it does not do.
 */
#define CAREFUL		1U	/* measure latency, check data */
#define MIXED		2U	/* reads and writes */
#define WIDE		4U	/* 128-byte SQEs */

static __always_inline uint64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * 1000000000ULL + ts.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

/* For the numbers that the main thread looks at meanwhile. */
#define publish(to, value) __atomic_store_n(to, value, __ATOMIC_RELAXED)

static void stop_all(struct job *j)
{
	atomic_store(&j->c->phase, PHASE_STOP);
	pthread_kill(j->c->main, SIGUSR1);
}

/* An error that ends the run, unless --max-errors allows more of them. */
static void count_error(struct job *j, int code, const char *what)
{
	j->errors++;
	fail_set(&j->fail, code, "%s", what);
	if (j->errors >= j->c->o->max_errors)
		stop_all(j);
}

static uint64_t request_offset(const struct request *r)
{
	return r->place << r->lane->place.shift;
}

static __attribute_noinline__ void bad_cqe(struct job *j, const struct request *r, int res)
{
	char what[400], line[480];
	int code;

	if (!r->lane->t) {
		snprintf(line, sizeof(line), "a NOP failed: %s", strerror(-res));
		count_error(j, EXIT_CONFIG, line);
		return;
	}
	code = target_explain(r->lane->t, j->c->o, res, r->write, what, sizeof(what));
	snprintf(line, sizeof(line), "%s (at byte %llu)", what, (ull)request_offset(r));
	count_error(j, code, line);
}

/*
 * 64-bit linear congruential generator. Block numbers use its upper bits,
 * which are the good ones.
 */
static __always_inline uint64_t random64(uint64_t state)
{
	return state * 0xda942042e4dd58b5ULL + 0x9e3779b97f4a7c15ULL;
}

static __always_inline uint64_t scale(uint64_t rnd, uint64_t n)
{
	return (__uint128_t)rnd * n >> 64;
}

static __always_inline uint64_t next_block(struct lane *l, uint64_t rnd, bool random)
{
	uint64_t block = l->next;

	if (random)
		return scale(rnd, l->blocks);
	l->next = block + 1 == l->blocks ? 0 : block + 1;
	return block;
}

static __always_inline void put_place(struct io_uring_sqe *sqe, unsigned int at,
				      uint64_t place)
{
	memcpy((char *)sqe + at, &place, sizeof(place));
}

/*
 * --verify: change @block to one that is idle, and give a write its data.
 * False if no block is left for now.
 */
static bool prepare_verify(struct job *j, struct request *r, uint64_t *block, bool write)
{
	struct lane *l = r->lane;
	uint64_t place;

	if (!(j->readback ? verify_take_written(&l->verify, block)
			  : verify_take(&l->verify, block)))
		return false;
	r->block = *block;
	if (!write)
		return true;
	place = l->first + *block * l->step;
	r->generation = verify_next_generation(&l->verify, *block);
	verify_fill(r->buf, j->c->o->bs, place << l->place.shift, r->generation);
	return true;
}

/*
 * Puts up to @n I/Os on the submission ring; returns how many. Fields of @j
 * that the compiler would read again after each store are read once.
 */
static __always_inline unsigned int fill(struct job *j, unsigned int n, const unsigned int can)
{
	const unsigned int mask = j->free_mask, first = j->free_head;
	const unsigned int sqe_size = can & WIDE ? 128 : 64;
	const unsigned char *const templates = j->templates;
	const bool random = j->random;
	struct request *const reqs = j->reqs;
	unsigned int head = first;
	uint64_t rnd = j->rng;

	for (; head - first < n; head++) {
		const unsigned int index = j->free[head & mask];
		struct request *r = &reqs[index];
		struct lane *l = r->lane;
		size_t slot = index;
		struct io_uring_sqe *sqe;
		uint64_t block, place;

		rnd = random64(rnd);
		block = next_block(l, rnd, random);
		if (can & MIXED) {
			r->write = (rnd >> 16 & 0xffff) >= j->write_from;
			slot = 2 * index + r->write;
		}
		if (can & CAREFUL && j->verify && !prepare_verify(j, r, &block, r->write))
			break;
		sqe = io_uring_get_sqe(&j->ring);
		if (unlikely(!sqe))
			break;
		place = l->first + block * l->step;
		r->place = place;
		memcpy(sqe, templates + slot * sqe_size, sqe_size);
		put_place(sqe, l->place.at, place);
	}
	n = head - first;
	j->free_head = head;
	j->rng = rnd;
	j->issued += n;
	publish(&j->inflight, j->inflight + n);
	return n;
}

/* liburing enters the kernel only if the thread sleeps or there is a wait. */
static bool sqpoll_enters(struct job *j, unsigned int wait)
{
	return wait || IO_URING_READ_ONCE(*j->ring.sq.kflags) & IORING_SQ_NEED_WAKEUP;
}

/* io_uring_submit_and_wait() failed. Busy is no failure while I/Os are under way. */
static __attribute_noinline__ void bad_submit(struct job *j, int err)
{
	char line[128];

	if (err == EINTR)
		return;
	if ((err == EAGAIN || err == EBUSY) && ++j->refused < MAX_REFUSED) {
		usleep(100);
		return;
	}
	snprintf(line, sizeof(line), "io_uring_enter failed: %s", strerror(err));
	refuse(&j->fail, "%s", line);
	j->errors++;
	stop_all(j);
}

static __always_inline void submit(struct job *j, unsigned int wait)
{
	int ret;

	if (j->sqpoll) {
		if (io_uring_cq_ready(&j->ring) >= wait)
			wait = 0;
		publish(&j->enters, j->enters + sqpoll_enters(j, wait));
	} else {
		publish(&j->enters, j->enters + 1);
	}
	ret = io_uring_submit_and_wait(&j->ring, wait);
	if (unlikely(ret < 0))
		bad_submit(j, -ret);
	else
		j->refused = 0;
}

/* Submission alone between two looks at the clock, then the wait. */
static void submit_timed(struct job *j, unsigned int n, unsigned int wait)
{
	uint64_t t0, t1;
	unsigned int i;

	t0 = now_ns();
	submit(j, 0);
	t1 = now_ns();
	j->submit_ns += t1 - t0;
	j->submit_calls++;
	for (i = 1; i <= n; i++) {
		unsigned int index = j->free[(j->free_head - i) & j->free_mask];

		j->reqs[index].submitted = t1;
		hist_add(j->slat, t1 - t0);
	}
	if (wait && io_uring_cq_ready(&j->ring) < wait)
		submit(j, wait);
}

static void mismatch(struct job *j, const struct request *r, const char *why)
{
	char line[400];

	j->mismatches++;
	snprintf(line, sizeof(line), "%s: wrong data at %s", r->lane->t->path, why);
	count_error(j, EXIT_IO, line);
}

/* An I/O of a --verify run has come back, with or without success. */
static void finish_verify(struct job *j, struct request *r, bool good)
{
	struct verify *v = &r->lane->verify;
	uint64_t generation, mask;
	char why[200];

	if (r->write) {
		v->count[r->block] = good ? (uint32_t)r->generation : 0;
	} else if (good && verify_expected(v, r->block, &generation, &mask)) {
		j->checked++;
		if (verify_check(r->buf, j->c->o->bs, request_offset(r), generation, mask,
				 why, sizeof(why)))
			mismatch(j, r, why);
	}
	verify_put(v, r->block);
}

static __always_inline void reap(struct job *j, const unsigned int can)
{
	const unsigned int mask = j->free_mask, first = j->free_tail;
	const int want = j->want;
	unsigned int head, tail = first, *const idle = j->free;
	struct request *const reqs = j->reqs;
	struct io_uring_cqe *cqe;
	uint64_t now = can & CAREFUL && j->timed ? now_ns() : 0;

	io_uring_for_each_cqe(&j->ring, head, cqe) {
		const unsigned int index = cqe->user_data;
		struct request *r = &reqs[index];

		if (unlikely(cqe->res != want))
			bad_cqe(j, r, cqe->res);
		if (can & CAREFUL && j->timed)
			hist_add(j->clat, now - r->submitted);
		if (can & CAREFUL && j->verify)
			finish_verify(j, r, cqe->res == want);
		if (can & MIXED)
			j->writes += r->write;
		idle[tail++ & mask] = index;
	}
	io_uring_cq_advance(&j->ring, tail - first);
	j->free_tail = tail;
	publish(&j->inflight, j->inflight - (tail - first));
	publish(&j->done, j->done + (tail - first));
}

static __always_inline unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

/* One turn: false when nothing is in flight and nothing could be added. */
static __always_inline bool turn(struct job *j, const unsigned int can)
{
	unsigned int n, wait = 0;

	n = least(j->batch, j->depth - j->inflight);
	if (unlikely(j->limit - j->issued < n))
		n = j->limit - j->issued;
	n = fill(j, n, can);
	if (j->inflight == j->depth || !n)
		wait = least(j->complete, j->inflight);
	if (can & CAREFUL && !j->inflight)
		return false;
	if (can & CAREFUL && j->timed && n)
		submit_timed(j, n, wait);
	else
		submit(j, wait);
	reap(j, can);
	return true;
}

static __always_inline void loop(struct job *j, int phase, const unsigned int can)
{
	while (atomic_load_explicit(&j->c->phase, memory_order_relaxed) == phase &&
	       j->issued < j->limit)
		if (!turn(j, can))
			break;
}

static unsigned int needs(const struct job *j)
{
	unsigned int what = 0;

	if (j->timed || j->verify)
		what |= CAREFUL;
	if (j->dirs == 2)
		what |= MIXED;
	if (j->sqe_shift == 7)
		what |= WIDE;
	return what;
}

static void run(struct job *j, int phase, uint64_t limit)
{
	j->limit = limit;
	switch (needs(j)) {
	case 0:
		loop(j, phase, 0);
		break;
	case MIXED:
		loop(j, phase, MIXED);
		break;
	case WIDE:
		loop(j, phase, WIDE);
		break;
	case WIDE | MIXED:
		loop(j, phase, WIDE | MIXED);
		break;
	case CAREFUL | MIXED:	/* careful jobs always have both directions */
		loop(j, phase, CAREFUL | MIXED);
		break;
	case CAREFUL | MIXED | WIDE:
		loop(j, phase, CAREFUL | MIXED | WIDE);
		break;
	}
}

/* Waits for all that is in flight. */
static void drain(struct job *j)
{
	while (j->inflight && j->refused < MAX_REFUSED) {
		submit(j, least(j->complete, j->inflight));
		reap(j, CAREFUL | MIXED);
	}
}

static void take_sample(struct job *j, struct sample *s)
{
	/* RUSAGE_THREAD would lag by up to a tick. */
	s->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	s->ns = now_ns();
	s->done = j->done;
	s->errors = j->errors;
	s->writes = j->dirs == 2 ? j->writes : j->c->o->write ? j->done : 0;
	s->enters = j->enters;
	s->submit_ns = j->submit_ns;
	s->submit_calls = j->submit_calls;
}

static void warm_up(struct job *j)
{
	const struct options *o = j->c->o;

	if (o->warmup)
		run(j, PHASE_WARMUP, UINT64_MAX);
	else if (o->warmup_ios)
		run(j, PHASE_WARMUP, o->warmup_ios);
	drain(j);
}

/* All jobs start measuring together. */
static void open_window(struct job *j)
{
	struct control *c = j->c;
	int warm = PHASE_WARMUP;

	if (pthread_barrier_wait(&c->opened) == PTHREAD_BARRIER_SERIAL_THREAD) {
		getrusage(RUSAGE_SELF, &c->self[0]);
		atomic_store(&c->open_ns, now_ns());
		pthread_kill(c->main, SIGUSR1);
	}
	atomic_compare_exchange_strong(&c->phase, &warm, PHASE_RUN);
	if (j->timed) {
		hist_init(j->slat);
		hist_init(j->clat);
	}
	take_sample(j, &j->open);
}

/*
 * With --ios the window ends with the last completion; otherwise when time is
 * up, with some I/Os still in flight that do not count.
 */
static void measure(struct job *j)
{
	struct control *c = j->c;

	run(j, PHASE_RUN, c->o->ios ? j->issued + c->o->ios : UINT64_MAX);
	if (c->o->ios && j->issued == j->limit)
		drain(j);
	take_sample(j, &j->close);
	if (pthread_barrier_wait(&c->closed) == PTHREAD_BARRIER_SERIAL_THREAD)
		getrusage(RUSAGE_SELF, &c->self[1]);
	drain(j);
}

static bool turn_careful(struct job *j)
{
	if (j->sqe_shift == 7)
		return turn(j, CAREFUL | MIXED | WIDE);
	return turn(j, CAREFUL | MIXED);
}

/* --verify --write: read all that was written, also after an interrupt. */
static void read_back(struct job *j)
{
	if (j->errors)
		return;
	j->readback = true;
	j->write_from = NO_WRITES;
	j->limit = UINT64_MAX;
	while (j->errors < j->c->o->max_errors && turn_careful(j))
		;
	drain(j);
}

void *job_thread(void *arg)
{
	struct job *j = arg;
	struct control *c = j->c;

	if (job_setup(j))
		atomic_store(&c->setup_failed, 1);
	pthread_barrier_wait(&c->ready);
	if (!atomic_load(&c->setup_failed)) {
		warm_up(j);
		open_window(j);
		measure(j);
		if (j->verify && c->o->write)
			read_back(j);
	}
	job_teardown(j);
	atomic_fetch_sub(&c->running, 1);
	pthread_kill(c->main, SIGUSR1);
	return NULL;
}
