// SPDX-License-Identifier: MIT
#include "report.h"

#include <inttypes.h>
#include <string.h>

static const double percents[] = { 1, 10, 50, 90, 95, 99, 99.9, 99.99, 99.999 };

static uint64_t timeval_ns(struct timeval a, struct timeval b)
{
	return (b.tv_sec - a.tv_sec) * 1000000000LL + (b.tv_usec - a.tv_usec) * 1000LL;
}

static double ratio(double a, double b)
{
	return b ? a / b : 0;
}

/*
 * The time that a look at the clock adds to the interval between two looks:
 * what is least of many intervals with nothing in them.
 */
static uint64_t clock_cost(void)
{
	uint64_t best = UINT64_MAX, a, b;
	int i;

	for (i = 0; i < 2000; i++) {
		a = now_ns();
		b = now_ns();
		if (b - a < best)
			best = b - a;
	}
	return best;
}

static void add_job(struct totals *t, const struct job *j)
{
	uint64_t done = j->close.done - j->open.done;

	t->cqes += done;
	t->errors += j->errors;
	t->ios += done - (j->close.errors - j->open.errors);
	t->writes += j->close.writes - j->open.writes;
	t->enters += j->close.enters - j->open.enters;
	t->submit_ns += j->close.submit_ns - j->open.submit_ns;
	t->submit_calls += j->close.submit_calls - j->open.submit_calls;
	t->job_ns += j->close.cpu_ns - j->open.cpu_ns;
	t->checked += j->checked;
	t->mismatches += j->mismatches;
	if (j->timed) {
		hist_merge(&t->slat, j->slat);
		hist_merge(&t->clat, j->clat);
	}
}

void totals_make(struct totals *t, const struct control *c, struct job *jobs)
{
	uint64_t from = UINT64_MAX, to = 0;
	unsigned int i;

	memset(t, 0, sizeof(*t));
	hist_init(&t->slat);
	hist_init(&t->clat);
	for (i = 0; i < c->nr_jobs; i++) {
		add_job(t, &jobs[i]);
		if (jobs[i].open.ns < from)
			from = jobs[i].open.ns;
		if (jobs[i].close.ns > to)
			to = jobs[i].close.ns;
	}
	t->seconds = to > from ? (to - from) / 1e9 : 0;
	t->reads = t->cqes > t->writes ? t->cqes - t->writes : 0;
	t->user_ns = timeval_ns(c->self[0].ru_utime, c->self[1].ru_utime);
	t->system_ns = timeval_ns(c->self[0].ru_stime, c->self[1].ru_stime);
	if (c->o->submit_time) {
		t->clock_ns = clock_cost();
		t->submit_net = ratio(t->submit_ns, t->submit_calls) - t->clock_ns;
	}
}

void report_live(FILE *out, const struct control *c, struct job *jobs, double seconds)
{
	static uint64_t last_done, last_enters;
	static double last;
	uint64_t done = 0, enters = 0;
	unsigned int i;
	double iops;

	for (i = 0; i < c->nr_jobs; i++) {
		done += __atomic_load_n(&jobs[i].done, __ATOMIC_RELAXED);
		enters += __atomic_load_n(&jobs[i].enters, __ATOMIC_RELAXED);
	}
	iops = ratio(done - last_done, seconds - last);
	fprintf(out, "%6.1f s  IOPS %.0f  BW %.1f MiB/s  I/Os per call %.1f\n", seconds, iops,
		c->o->nop ? 0 : iops * c->o->bs / (1 << 20),
		ratio(done - last_done, enters - last_enters));
	fflush(out);
	last_done = done;
	last_enters = enters;
	last = seconds;
}

static void text_latency(FILE *out, const char *name, const struct hist *h)
{
	size_t i;

	fprintf(out, "%s latency (ns): mean %.0f, min %llu, max %llu\n", name, hist_mean(h),
		h->count ? (ull)h->min : 0, (ull)h->max);
	for (i = 0; i < ARRAY_SIZE(percents); i++)
		fprintf(out, "  %7g %% %12llu\n", percents[i],
			(ull)hist_percentile(h, percents[i]));
}

void report_text(FILE *out, const struct control *c, const struct totals *t)
{
	const struct options *o = c->o;

	fprintf(out, "%llu I/Os in %.3f s: IOPS %.0f, BW %.1f MiB/s", (ull)t->ios, t->seconds,
		ratio(t->ios, t->seconds),
		o->nop ? 0 : ratio(t->ios * o->bs, t->seconds) / (1 << 20));
	if (t->writes && t->reads)
		fprintf(out, ", %llu reads, %llu writes", (ull)t->reads, (ull)t->writes);
	fprintf(out, "\nI/Os per call %.2f, CPU per I/O %.0f ns, errors %llu\n",
		ratio(t->cqes, t->enters), ratio(t->user_ns + t->system_ns, t->cqes),
		(ull)t->errors);
	if (o->submit_time)
		fprintf(out, "io_uring_submit %.0f ns per call, %.0f ns per I/O, clock taken off\n",
			t->submit_net, ratio(t->submit_net * t->submit_calls, t->cqes));
	if (o->latency) {
		text_latency(out, "submit", &t->slat);
		text_latency(out, "complete", &t->clat);
	}
	if (o->verify)
		fprintf(out, "verified %llu blocks of generation %u, %llu wrong\n",
			(ull)t->checked, c->run, (ull)t->mismatches);
}

/* An object or array that is being written. */
struct json {
	FILE *out;
	unsigned int depth;
	bool comma;		/* the next member needs one before it */
};

static void json_string(struct json *js, const char *s)
{
	fputc('"', js->out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(js->out, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(js->out, "\\u%04x", *s);
		else
			fputc(*s, js->out);
	}
	fputc('"', js->out);
}

/* What stands before a value; elements of an array have no @name. */
static void json_name(struct json *js, const char *name)
{
	fprintf(js->out, "%s\n%*s", js->comma ? "," : "", 2 * js->depth, "");
	js->comma = true;
	if (!name)
		return;
	json_string(js, name);
	fputs(": ", js->out);
}

static void json_open(struct json *js, const char *name, char bracket)
{
	json_name(js, name);
	fputc(bracket, js->out);
	js->depth++;
	js->comma = false;
}

static void json_close(struct json *js, char bracket)
{
	js->depth--;
	fprintf(js->out, "\n%*s%c", 2 * js->depth, "", bracket);
	js->comma = true;
}

static void json_u64(struct json *js, const char *name, uint64_t v)
{
	json_name(js, name);
	fprintf(js->out, "%" PRIu64, v);
}

static void json_real(struct json *js, const char *name, double v)
{
	json_name(js, name);
	fprintf(js->out, "%.4f", v);
}

static void json_text(struct json *js, const char *name, const char *v)
{
	json_name(js, name);
	json_string(js, v);
}

static void json_options(struct json *js, const struct options *o, const struct job *j)
{
	json_open(js, "options", '{');
	json_u64(js, "block_size", o->bs);
	json_u64(js, "depth", o->depth);
	json_u64(js, "submit", o->submit);
	json_u64(js, "complete", o->complete);
	json_u64(js, "threads", o->threads);
	json_u64(js, "polled", o->polled);
	json_u64(js, "hybrid_poll", o->hybrid);
	json_u64(js, "fixed_buffers", o->fixed_bufs);
	json_u64(js, "fixed_files", o->fixed_files);
	json_u64(js, "direct", o->direct);
	json_u64(js, "passthrough", o->passthrough);
	json_u64(js, "nop", o->nop);
	json_u64(js, "random", o->random);
	json_u64(js, "write", o->write);
	json_u64(js, "read_percent", o->read_percent);
	json_u64(js, "sqpoll", o->sqpoll);
	json_u64(js, "defer_taskrun", !!(j->ring_flags & IORING_SETUP_DEFER_TASKRUN));
	json_u64(js, "sqe", 1U << j->sqe_shift);
	json_u64(js, "cqe", j->ring_flags & IORING_SETUP_CQE32 ? 32 : 16);
	json_u64(js, "verify", o->verify);
	json_u64(js, "seed", o->seed);
	json_close(js, '}');
}

static void json_targets(struct json *js, const struct control *c)
{
	unsigned int i;

	json_open(js, "targets", '[');
	for (i = 0; i < c->nr_targets; i++) {
		const struct target *t = &c->targets[i];

		json_open(js, NULL, '{');
		json_text(js, "path", t->path);
		json_text(js, "kind", target_kind_name(t->kind));
		json_u64(js, "bytes", t->bytes);
		json_u64(js, "logical_block", t->block);
		json_u64(js, "first", t->first);
		json_u64(js, "blocks", t->blocks);
		json_close(js, '}');
	}
	json_close(js, ']');
}

static void json_latency(struct json *js, const char *name, const struct hist *h)
{
	char percent[32];
	size_t i;

	json_open(js, name, '{');
	json_u64(js, "count", h->count);
	json_real(js, "mean", hist_mean(h));
	json_u64(js, "min", h->count ? h->min : 0);
	json_u64(js, "max", h->max);
	json_open(js, "percentiles", '{');
	for (i = 0; i < ARRAY_SIZE(percents); i++) {
		snprintf(percent, sizeof(percent), "%g", percents[i]);
		json_u64(js, percent, hist_percentile(h, percents[i]));
	}
	json_close(js, '}');
	json_close(js, '}');
}

static void json_counters(struct json *js, const struct options *o, const struct totals *t)
{
	uint64_t cpu = t->user_ns + t->system_ns;

	json_real(js, "seconds", t->seconds);
	json_u64(js, "ios", t->ios);
	json_u64(js, "reads", t->reads);
	json_u64(js, "writes", t->writes);
	json_u64(js, "errors", t->errors);
	json_real(js, "iops", ratio(t->ios, t->seconds));
	json_real(js, "bytes_per_second", o->nop ? 0 : ratio(t->ios * o->bs, t->seconds));
	json_u64(js, "enters", t->enters);
	json_u64(js, "cqes", t->cqes);
	json_real(js, "ios_per_enter", ratio(t->cqes, t->enters));
	json_u64(js, "cpu_ns", cpu);
	json_u64(js, "cpu_user_ns", t->user_ns);
	json_u64(js, "cpu_system_ns", t->system_ns);
	json_real(js, "cpu_ns_per_io", ratio(cpu, t->cqes));
	json_u64(js, "job_cpu_ns", t->job_ns);
	json_real(js, "job_cpu_ns_per_io", ratio(t->job_ns, t->cqes));
}

static void json_submit(struct json *js, const struct totals *t)
{
	json_u64(js, "submit_ns", t->submit_ns);
	json_u64(js, "submit_calls", t->submit_calls);
	json_u64(js, "clock_ns", t->clock_ns);
	json_real(js, "submit_ns_per_call", t->submit_net);
	json_real(js, "submit_ns_per_io", ratio(t->submit_net * t->submit_calls, t->cqes));
	json_u64(js, "submit_ns_min", t->slat.count ? t->slat.min : 0);
	json_u64(js, "submit_ns_median", hist_percentile(&t->slat, 50));
}

static void json_verify(struct json *js, const struct control *c, const struct totals *t)
{
	json_open(js, "verify", '{');
	json_u64(js, "generation", c->run);
	json_u64(js, "checked", t->checked);
	json_u64(js, "mismatches", t->mismatches);
	json_close(js, '}');
}

static void json_jobs(struct json *js, const struct control *c, const struct job *jobs)
{
	unsigned int i;

	json_open(js, "jobs", '[');
	for (i = 0; i < c->nr_jobs; i++) {
		const struct job *j = &jobs[i];

		json_open(js, NULL, '{');
		json_u64(js, "cqes", j->close.done - j->open.done);
		json_u64(js, "errors", j->errors);
		json_u64(js, "enters", j->close.enters - j->open.enters);
		json_real(js, "seconds", (j->close.ns - j->open.ns) / 1e9);
		json_close(js, '}');
	}
	json_close(js, ']');
}

void report_json(FILE *out, const struct control *c, const struct totals *t,
		 const struct job *jobs, const struct fail *fail)
{
	struct json js = { .out = out, .depth = 1 };

	fputc('{', out);
	json_text(&js, "tool", "io_uring-vblk");
	json_text(&js, "version", VERSION);
	json_options(&js, c->o, &jobs[0]);
	json_targets(&js, c);
	json_counters(&js, c->o, t);
	if (c->o->submit_time)
		json_submit(&js, t);
	if (c->o->latency) {
		json_latency(&js, "submit_latency_ns", &t->slat);
		json_latency(&js, "complete_latency_ns", &t->clat);
	}
	if (c->o->verify)
		json_verify(&js, c, t);
	json_jobs(&js, c, jobs);
	json_text(&js, "error", fail->msg);
	fputs("\n}\n", out);
}
