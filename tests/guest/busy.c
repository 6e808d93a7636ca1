// SPDX-License-Identifier: MIT
/*
 * Both nodes under load at once, everything verified: each worker has a region
 * of its own, keeps its depth full with random reads and writes and knows the
 * generation of each block. Nothing may be lost or come twice, and both nodes
 * must go on for as long as the test runs.
 *
 * usage: busy [-t SECONDS] [-q DEPTH] [-w WORKERS-PER-NODE] [-b BLOCK] [-p]
 *	       [-s STALL] [DISK]
 *
 * -p makes the char node's rings polled. -s is how many seconds a node may go
 * without progress (default 5).
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

#include "t.h"

#define MAX_WORKERS	16u

static unsigned int seconds = 4, depth = 64, workers = 2, bs = 4096;
static unsigned int stall = 5, char_how;
static const char *disk = "vda";

static struct shared {
	volatile int stop;
	volatile uint64_t done[MAX_WORKERS];
	volatile int bad[MAX_WORKERS];
} *shared;

/* One process. Block n of its region has generation gen[n], 0 if none. */
struct worker {
	struct t_dev dev;
	struct io_uring ring;
	unsigned int id, how, blocks;
	uint64_t base;		/* byte offset of the region */
	uint32_t *gen;
	char *in_flight;	/* per block */
	char *bufs;
	struct slot {
		unsigned int block;
		int write, used;
	} *slots;
	unsigned int rand;
};

static unsigned int next_random(struct worker *w)
{
	w->rand = w->rand * 1664525 + 1013904223;
	return w->rand >> 8;
}

static void submit_one(struct worker *w, unsigned int n)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&w->ring);
	struct slot *s = &w->slots[n];
	char *buf = w->bufs + (size_t)n * bs;
	uint64_t offset;

	if (!sqe)
		bail("worker %u: no SQE", w->id);
	do {
		s->block = next_random(w) % w->blocks;
	} while (w->in_flight[s->block]);
	s->used = 1;
	s->write = !w->gen[s->block] || next_random(w) % 2;
	w->in_flight[s->block] = 1;
	offset = w->base + (uint64_t)s->block * bs;

	if (s->write)
		t_fill(buf, bs, offset, ++w->gen[s->block]);
	else
		memset(buf, 0xee, bs);
	if (w->how & T_BLOCK && s->write)
		io_uring_prep_write(sqe, w->dev.bfd, buf, bs, offset);
	else if (w->how & T_BLOCK)
		io_uring_prep_read(sqe, w->dev.bfd, buf, bs, offset);
	else if (s->write)
		vblk_prep_write(sqe, VBLK_SQE64, w->dev.cfd, buf, bs, offset);
	else
		vblk_prep_read(sqe, VBLK_SQE64, w->dev.cfd, buf, bs, offset);
	io_uring_sqe_set_data64(sqe, n);
}

static int answer(struct worker *w, const struct io_uring_cqe *cqe)
{
	int want = w->how & T_BLOCK ? (int)bs : 0;
	struct slot *s = &w->slots[cqe->user_data];

	if (cqe->user_data >= depth || !s->used) {
		diag("worker %u: answer %llu was not asked", w->id,
		     (unsigned long long)cqe->user_data);
		return 1;
	}
	s->used = 0;
	w->in_flight[s->block] = 0;
	if (cqe->res != want) {
		diag("worker %u: %s gave %s", w->id,
		     s->write ? "write" : "read", t_res_name(cqe->res));
		return 1;
	}
	shared->done[w->id]++;
	if (s->write)
		return 0;
	return t_check(w->bufs + cqe->user_data * bs, bs,
		       w->base + (uint64_t)s->block * bs, w->gen[s->block]);
}

static void work(struct worker *w)
{
	struct io_uring_cqe *cqe;
	unsigned int n, inflight = 0;
	int bad = 0;

	for (n = 0; n < depth; n++, inflight++)
		submit_one(w, n);
	while (inflight) {
		int ret = io_uring_submit_and_wait(&w->ring, 1);

		if (ret < 0 && ret != -EINTR)
			bail("worker %u: submit: %s", w->id, strerror(-ret));
		while (!io_uring_peek_cqe(&w->ring, &cqe)) {
			n = cqe->user_data;
			bad |= answer(w, cqe);
			io_uring_cqe_seen(&w->ring, cqe);
			inflight--;
			if (!shared->stop && !bad) {
				submit_one(w, n);
				inflight++;
			}
		}
	}
	shared->bad[w->id] = bad;
}

/* All blocks once more through the other node. */
static void check_region(struct worker *w)
{
	unsigned int block;

	for (block = 0; block < w->blocks; block++)
		if (w->gen[block] &&
		    t_pread_check(w->dev.bfd, w->base + (uint64_t)block * bs,
				  bs, w->gen[block]))
			shared->bad[w->id] = 1;
}

static void worker(unsigned int id, unsigned int nr)
{
	struct worker w = { .id = id, .rand = id + 1 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	w.how = id % 2 ? T_BLOCK : char_how;
	t_open(&w.dev, disk, O_RDWR, O_RDWR);
	w.blocks = w.dev.bytes / nr / bs;
	if (w.blocks > 4096)
		w.blocks = 4096;
	if (w.blocks < depth * 2)
		bail("%s is too small for %u workers", disk, nr);
	w.base = w.dev.bytes / nr / bs * bs * id;
	w.gen = t_alloc(w.blocks * sizeof(*w.gen));
	w.in_flight = t_alloc(w.blocks);
	w.slots = t_alloc(depth * sizeof(*w.slots));
	w.bufs = t_alloc((size_t)depth * bs);
	t_ring(&w.ring, depth, t_setup_flags(w.how));
	work(&w);
	check_region(&w);
	exit(shared->bad[id] ? 1 : 0);
}

static uint64_t done(unsigned int node, unsigned int nr)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = node; i < nr; i += 2)
		sum += shared->done[i];
	return sum;
}

/* The longest time, in tenths of a second, that each node stood still. */
static void watch(unsigned int nr, unsigned int longest[2])
{
	uint64_t last[2] = { 0 }, now;
	unsigned int still[2] = { 0 }, tick, node;

	for (tick = 0; tick < seconds * 10; tick++) {
		nanosleep(&(struct timespec){ .tv_nsec = 100000000 }, NULL);
		for (node = 0; node < 2; node++) {
			now = done(node, nr);
			still[node] = now == last[node] ? still[node] + 1 : 0;
			if (still[node] > longest[node])
				longest[node] = still[node];
			last[node] = now;
		}
	}
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:q:w:b:s:p")) != -1) {
		switch (c) {
		case 't':
			seconds = atoi(optarg);
			break;
		case 'q':
			depth = atoi(optarg);
			break;
		case 'w':
			workers = atoi(optarg);
			break;
		case 'b':
			bs = atoi(optarg);
			break;
		case 's':
			stall = atoi(optarg);
			break;
		case 'p':
			char_how |= T_POLL;
			break;
		default:
			exit(2);
		}
	}
	if (optind < argc)
		disk = argv[optind];
	if (!workers || workers * 2 > MAX_WORKERS)
		bail("1 to %u workers", MAX_WORKERS / 2);
}

int main(int argc, char **argv)
{
	unsigned int longest[2] = { 0 }, nr, i;
	int status, failed = 0;
	pid_t pids[MAX_WORKERS];

	options(argc, argv);
	nr = workers * 2;
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (shared == MAP_FAILED)
		bail("mmap: %s", strerror(errno));
	for (i = 0; i < nr; i++) {
		pids[i] = fork();
		if (!pids[i])
			worker(i, nr);
	}
	/* Workers end by themselves, or not: then this one tells. */
	t_watchdog(seconds + 60);
	watch(nr, longest);
	shared->stop = 1;
	for (i = 0; i < nr; i++) {
		waitpid(pids[i], &status, 0);
		if (status)
			diag("worker %u: wait status %#x", i, status);
		failed |= status;
	}
	ok(!failed, "%u workers of depth %u, blocks of %u: all data right", nr,
	   depth, bs);
	for (i = 0; i < 2; i++) {
		diag("%s node: %llu commands, longest pause %u.%u s",
		     i ? "block" : "char", (unsigned long long)done(i, nr),
		     longest[i] / 10, longest[i] % 10);
		ok(done(i, nr) >= depth && longest[i] < stall * 10,
		   "the %s node kept going", i ? "block" : "char");
	}
	return tap_done();
}
