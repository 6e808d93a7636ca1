// SPDX-License-Identifier: MIT
/*
 * Polled rings that share a poll queue: each gets its own answers, once. Also
 * commands without data, which must complete by polling as well, tasks that
 * change the CPU, and a task that is killed with commands in flight.
 *
 * usage: pollrings [disk]
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <sys/wait.h>

#include "t.h"

#define RINGS	4u
#define DEPTH	16u
#define COMMANDS 3000u
#define BS	4096u

static const char *disk;
static struct t_dev dev;

static void change_cpu(unsigned int i)
{
	static int cpus;
	cpu_set_t set;

	if (!cpus)
		cpus = sysconf(_SC_NPROCESSORS_ONLN);
	CPU_ZERO(&set);
	CPU_SET(i % cpus, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void prep(struct io_uring_sqe *sqe, unsigned int turn, char *buf)
{
	switch (turn % 6) {
	case 0:
		vblk_prep_flush(sqe, VBLK_SQE64, dev.cfd);
		break;
	case 1:
		vblk_prep_get_id(sqe, VBLK_SQE64, dev.cfd, buf);
		break;
	case 2:
		vblk_prep_write_zeroes(sqe, VBLK_SQE64, dev.cfd, BS, 1 << 20,
				       0);
		break;
	case 3:
		vblk_prep_discard(sqe, VBLK_SQE64, dev.cfd, BS, 1 << 20);
		break;
	default:
		vblk_prep_read(sqe, VBLK_SQE64, dev.cfd, buf, BS,
			       (turn % 64) * BS);
	}
}

/* 0 if each command was answered once, by its own ring, with success. */
static int ring_run(unsigned int id, unsigned int commands, unsigned int depth,
		    int no_data)
{
	unsigned char *seen = t_alloc(commands);
	char *bufs = t_alloc((size_t)depth * BS);
	unsigned int sent = 0, got = 0, i;
	struct io_uring ring;

	t_ring(&ring, depth, IORING_SETUP_IOPOLL);
	while (got < commands) {
		struct io_uring_sqe *sqe;
		struct io_uring_cqe *cqe;
		unsigned int batch = 0;

		while (batch < depth && sent < commands) {
			sqe = io_uring_get_sqe(&ring);
			prep(sqe, no_data ? sent % 4 : sent * 7 + id,
			     bufs + (size_t)batch * BS);
			io_uring_sqe_set_data64(sqe, (uint64_t)id << 32 | sent);
			sent++;
			batch++;
		}
		if (io_uring_submit(&ring) != (int)batch)
			return 1;
		if (id & 1)
			change_cpu(sent / depth);
		for (i = 0; i < batch; i++, got++) {
			uint32_t n;

			if (io_uring_wait_cqe(&ring, &cqe))
				return 1;
			n = cqe->user_data;
			if (cqe->user_data >> 32 != id || n >= sent ||
			    seen[n]++ || cqe->res) {
				diag("ring %u: answer %#llx with %s", id,
				     (unsigned long long)cqe->user_data,
				     t_res_name(cqe->res));
				return 1;
			}
			io_uring_cqe_seen(&ring, cqe);
		}
	}
	io_uring_queue_exit(&ring);
	return 0;
}

static void together(int kill_one)
{
	pid_t pids[RINGS + 1];
	unsigned int i;
	int status, failed = 0;

	for (i = 0; i < RINGS + !!kill_one; i++) {
		pids[i] = fork();
		if (!pids[i]) {
			alarm(90);
			/* The last one runs until it is killed. */
			_exit(ring_run(i + 1, i == RINGS ? 10000000 :
				       COMMANDS, DEPTH, 0));
		}
	}
	if (kill_one) {
		usleep(300000);
		kill(pids[RINGS], SIGKILL);
		waitpid(pids[RINGS], &status, 0);
		ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL,
		   "one of them was killed while it ran");
	}
	for (i = 0; i < RINGS; i++) {
		waitpid(pids[i], &status, 0);
		failed |= status;
	}
	ok(!failed, "%u polled rings in %u processes: %u commands each%s",
	   RINGS, RINGS, COMMANDS, kill_one ? ", one more was killed" : "");
}

/* Two rings of one task: the one that polls finds the other's commands. */
static void one_task_two_rings(void)
{
	struct io_uring ring[2];
	struct io_uring_cqe *cqe;
	char *buf = t_alloc(2 * DEPTH * BS);
	unsigned int round, r, i;
	int bad = 0;

	for (r = 0; r < 2; r++)
		t_ring(&ring[r], DEPTH, IORING_SETUP_IOPOLL);
	for (round = 0; round < 100 && !bad; round++) {
		for (r = 0; r < 2; r++) {
			for (i = 0; i < DEPTH; i++) {
				struct io_uring_sqe *sqe =
					io_uring_get_sqe(&ring[r]);

				prep(sqe, i, buf + (r * DEPTH + i) * BS);
				io_uring_sqe_set_data64(sqe, r);
			}
			io_uring_submit(&ring[r]);
		}
		for (r = 2; r-- > 0;) {
			for (i = 0; i < DEPTH; i++) {
				if (io_uring_wait_cqe(&ring[r], &cqe))
					bail("no answer");
				bad |= cqe->res || cqe->user_data != r;
				io_uring_cqe_seen(&ring[r], cqe);
			}
		}
	}
	ok(!bad, "two polled rings of one task, the later one asked first");
	for (r = 0; r < 2; r++)
		io_uring_queue_exit(&ring[r]);
}

int main(int argc, char **argv)
{
	disk = t_disk(argc, argv);
	t_watchdog(150);
	t_open(&dev, disk, O_RDWR, O_RDWR);
	if (!dev.lim.nr_poll_queues)
		bail("%s has no poll queues", dev.chr);
	t_pwrite_pattern(dev.bfd, 0, 64 * BS, 1);

	ok(!ring_run(1, 400, 1, 1), "commands without data, one at a time");
	ok(!ring_run(2, 2000, 32, 1), "commands without data, 32 at a time");
	ok(!ring_run(3, 2000, 32, 0), "reads among them, changing the CPU");
	one_task_two_rings();
	together(0);
	together(1);
	ok(!t_pread_check(dev.bfd, 0, 64 * BS, 1), "the data is as it was");
	return tap_done();
}
