// SPDX-License-Identifier: MIT
/* io_uring-vblk: IOPS and latency of virtio-blk passthrough, see its man page. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "job.h"
#include "options.h"
#include "report.h"
#include "target.h"

#define SECOND	1000000000ULL

static int say(const struct fail *f)
{
	fprintf(stderr, "io_uring-vblk: %s\n", f->msg);
	return f->code;
}

/*
 * All targets share a ring, so its SQE size, and success in cqe->res, must be
 * the same for all.
 */
static int check_mix(const struct control *c, struct fail *f)
{
	const struct target *a = &c->targets[0], *b;
	unsigned int i;

	if (a->kind == TARGET_NVME && (c->o->sqe == 64 || c->o->cqe == 16))
		return refuse(f, "NVMe commands need --sqe=128 and --cqe=32");
	for (i = 1; i < c->nr_targets; i++) {
		b = &c->targets[i];
		if (c->o->passthrough && a->kind != b->kind)
			return refuse(f,
				      "%s and %s take different commands; run the tool twice",
				      a->path, b->path);
		if (!strcmp(a->path, b->path))
			return refuse(f, "%s is given twice; use -n2 for two threads",
				      a->path);
	}
	return 0;
}

static int open_targets(struct control *c, struct fail *f)
{
	unsigned int i, nr = c->o->nop ? 0 : c->o->nr_paths;

	c->targets = calloc(nr + 1, sizeof(*c->targets));
	if (!c->targets)
		return refuse(f, "no memory");
	for (i = 0; i < nr; i++) {
		if (target_open(&c->targets[i], c->o->paths[i], c->o, f))
			return -1;
		c->nr_targets++;
	}
	return nr ? check_mix(c, f) : 0;
}

static int start_jobs(struct control *c, struct job *jobs, struct fail *f)
{
	unsigned int i;
	int err;

	pthread_barrier_init(&c->ready, NULL, c->nr_jobs);
	pthread_barrier_init(&c->opened, NULL, c->nr_jobs);
	pthread_barrier_init(&c->closed, NULL, c->nr_jobs);
	c->main = pthread_self();
	c->running = c->nr_jobs;
	for (i = 0; i < c->nr_jobs; i++) {
		jobs[i].c = c;
		jobs[i].index = i;
		err = pthread_create(&jobs[i].thread, NULL, job_thread, &jobs[i]);
		if (err)
			return refuse(f, "cannot start thread %u: %s; lower -n", i + 1,
				      strerror(err));
	}
	return 0;
}

/* What the main thread waits for while the jobs run. */
struct monitor {
	struct control *c;
	struct job *jobs;
	FILE *live;		/* NULL: no line each second */
	uint64_t start;
	uint64_t tick;		/* of the next live line */
	uint64_t done;		/* at the last progress */
	uint64_t progress;	/* when that was */
	bool interrupted;
};

static uint64_t next_event(const struct monitor *m)
{
	const struct options *o = m->c->o;
	uint64_t open = atomic_load(&m->c->open_ns), at = m->tick;

	if (o->warmup && atomic_load(&m->c->phase) == PHASE_WARMUP &&
	    m->start + o->warmup < at)
		at = m->start + o->warmup;
	if (o->runtime && open && atomic_load(&m->c->phase) != PHASE_STOP &&
	    open + o->runtime < at)
		at = open + o->runtime;
	return at;
}

static void end_warmup(struct monitor *m)
{
	int warm = PHASE_WARMUP;

	atomic_compare_exchange_strong(&m->c->phase, &warm, PHASE_RUN);
}

/* A device that does not answer must not keep the user waiting for ever. */
static void check_stall(struct monitor *m, uint64_t now)
{
	uint64_t done = 0, inflight = 0;
	unsigned int i;

	for (i = 0; i < m->c->nr_jobs; i++) {
		done += __atomic_load_n(&m->jobs[i].done, __ATOMIC_RELAXED);
		inflight += __atomic_load_n(&m->jobs[i].inflight, __ATOMIC_RELAXED);
	}
	if (done != m->done) {
		m->done = done;
		m->progress = now;
	}
	if (now - m->progress < m->c->o->stall)
		return;
	fprintf(stderr,
		"io_uring-vblk: no completion for %g s, %llu I/Os in flight; giving up\n",
		(now - m->progress) / 1e9, (ull)inflight);
	fflush(NULL);
	_exit(EXIT_IO);
}

static void on_time(struct monitor *m, uint64_t now)
{
	const struct options *o = m->c->o;
	uint64_t open = atomic_load(&m->c->open_ns);

	if (o->warmup && now >= m->start + o->warmup)
		end_warmup(m);
	if (o->runtime && open && now >= open + o->runtime)
		atomic_store(&m->c->phase, PHASE_STOP);
	if (now < m->tick)
		return;
	if (m->live && open)
		report_live(m->live, m->c, m->jobs, (now - m->start) / 1e9);
	check_stall(m, now);
	m->tick += SECOND;
}

static void on_signal(struct monitor *m, int sig)
{
	if (sig != SIGINT && sig != SIGTERM)
		return;
	if (m->interrupted)
		_exit(128 + sig);
	m->interrupted = true;
	atomic_store(&m->c->phase, PHASE_STOP);
}

static void block_signals(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, SIGINT);
	sigaddset(set, SIGTERM);
	sigaddset(set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, set, NULL);
}

static void watch(struct monitor *m, const sigset_t *set)
{
	uint64_t now, at;
	struct timespec ts;
	int sig;

	m->start = now_ns();
	m->progress = m->start;
	m->tick = m->start + SECOND;
	while (atomic_load(&m->c->running)) {
		now = now_ns();
		at = next_event(m);
		at = at > now ? at - now : 0;
		ts = (struct timespec) { at / SECOND, at % SECOND };
		sig = sigtimedwait(set, NULL, &ts);
		if (sig > 0)
			on_signal(m, sig);
		on_time(m, now_ns());
	}
}

/* The first failure of any job, errors of the set-up before those of I/O. */
static void collect_failure(const struct control *c, const struct job *jobs, struct fail *f)
{
	unsigned int i;

	for (i = 0; i < c->nr_jobs; i++)
		if (jobs[i].fail.code)
			fail_set(f, jobs[i].fail.code, "%s", jobs[i].fail.msg);
}

static int report(struct control *c, struct job *jobs, const struct fail *run)
{
	static struct totals t;
	FILE *out = stdout;

	totals_make(&t, c, jobs);
	if (run->code != EXIT_CONFIG && (!c->o->json || c->o->json_file))
		report_text(stdout, c, &t);
	if (!c->o->json)
		return 0;
	if (c->o->json_file)
		out = fopen(c->o->json_file, "we");
	if (out)
		report_json(out, c, &t, jobs, run);
	if (!out || fflush(out) || ferror(out)) {
		fprintf(stderr, "io_uring-vblk: cannot write %s: %s\n",
			c->o->json_file ? c->o->json_file : "the output", strerror(errno));
		return EXIT_CONFIG;
	}
	return 0;
}

static int run_jobs(struct control *c, struct job *jobs, struct fail *f)
{
	struct monitor m = { .c = c, .jobs = jobs };
	sigset_t set;
	unsigned int i;
	int ret;

	if (!c->o->quiet)
		m.live = c->o->json && !c->o->json_file ? stderr : stdout;
	block_signals(&set);
	if (start_jobs(c, jobs, f))
		return f->code;
	watch(&m, &set);
	for (i = 0; i < c->nr_jobs; i++)
		pthread_join(jobs[i].thread, NULL);
	collect_failure(c, jobs, f);
	if (atomic_load(&c->setup_failed))
		return f->code;
	ret = report(c, jobs, f);
	return f->code ? f->code : ret;
}

/* Runs differ unless the user says otherwise, so that old data is not taken for new. */
static uint32_t run_number(const struct options *o)
{
	if (o->generation)
		return o->generation;
	return o->verify && o->write ? (uint32_t)time(NULL) : 0;
}

static struct job *alloc_jobs(unsigned int nr)
{
	struct job *jobs = aligned_alloc(_Alignof(struct job), nr * sizeof(*jobs));

	if (jobs)
		memset(jobs, 0, nr * sizeof(*jobs));
	return jobs;
}

static void clean_up(struct control *c, struct job *jobs)
{
	unsigned int i;

	for (i = 0; i < c->nr_jobs; i++) {
		free(jobs[i].slat);
		free(jobs[i].clat);
	}
	free(jobs);
	for (i = 0; i < c->nr_targets; i++)
		target_close(&c->targets[i]);
	free(c->targets);
}

int main(int argc, char **argv)
{
	static struct options o;
	static struct control c = { .o = &o };
	struct fail f = { 0 };
	struct job *jobs;

	if (options_parse(&o, argc, argv, &f))
		return say(&f);
	if (o.help) {
		options_help(stdout);
		return EXIT_OK;
	}
	if (o.version) {
		printf("io_uring-vblk %s\n", VERSION);
		return EXIT_OK;
	}
	if (open_targets(&c, &f))
		return say(&f);
	c.nr_jobs = o.threads;
	c.run = run_number(&o);
	jobs = alloc_jobs(c.nr_jobs);
	if (!jobs) {
		refuse(&f, "no memory; lower -n");
		return say(&f);
	}
	run_jobs(&c, jobs, &f);
	clean_up(&c, jobs);
	return f.code ? say(&f) : EXIT_OK;
}
