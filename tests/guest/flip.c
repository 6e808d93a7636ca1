// SPDX-License-Identifier: MIT
/*
 * An SQE that changes while the kernel reads it: a second thread flips type,
 * sector, length and address of SQEs that an SQPOLL ring is taking, on a
 * read-only descriptor. No write may ever reach the disk, no transfer may be
 * longer than the length that was checked.
 *
 * usage: flip [disk] [seconds]
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/mman.h>
#include <time.h>

#include "t.h"

#define ENTRIES	16u
#define SHORT	512u
#define LONG	32768u
#define CHECKED	(2u << 20)	/* the part of the disk that is compared */

static struct t_dev dev;
static struct io_uring ring;
static volatile int stop;
static char *area;

/* Both values are valid alone; only the type may not be what it becomes. */
static void *flipper(void *arg)
{
	volatile struct io_uring_sqe *sqes = ring.sq.sqes;
	unsigned int i, turn = 0;

	(void)arg;
	while (!stop) {
		turn++;
		for (i = 0; i < ENTRIES; i++) {
			volatile char *cmd = (volatile char *)&sqes[i] +
					     offsetof(struct io_uring_sqe, cmd);
			volatile uint32_t *type = (volatile uint32_t *)
				(cmd + offsetof(struct virtblk_uring_cmd64,
						type));

			*type = turn & 1 ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN;
			sqes[i].len = turn & 2 ? LONG : SHORT;
			sqes[i].addr = (uintptr_t)area +
				       (turn & 4 ? 4096 + LONG - SHORT : 4096);
		}
	}
	return NULL;
}

static void drain(unsigned long counts[3])
{
	struct io_uring_cqe *cqe;

	while (!io_uring_peek_cqe(&ring, &cqe)) {
		if (!cqe->res)
			counts[0]++;
		else if (cqe->res == -EBADF || cqe->res == -EFAULT)
			counts[1]++;
		else if (!counts[2]++)
			diag("an answer is %s", t_res_name(cqe->res));
		io_uring_cqe_seen(&ring, cqe);
	}
}

static void race(unsigned int seconds, unsigned long counts[3])
{
	time_t end = time(NULL) + seconds;
	struct io_uring_sqe *sqe;
	struct timespec pause = { .tv_nsec = 50000 };

	while (time(NULL) < end) {
		while ((sqe = io_uring_get_sqe(&ring)))
			vblk_prep_read(sqe, VBLK_SQE64, dev.cfd, area + 4096,
				       SHORT, 0);
		if (io_uring_submit(&ring) < 0)
			bail("submit");
		nanosleep(&pause, NULL);
		drain(counts);
	}
}

int main(int argc, char **argv)
{
	unsigned int seconds = argc > 2 ? atoi(argv[2]) : 5;
	unsigned long counts[3] = { 0 };	/* done, refused, else */
	pthread_t thread;

	t_watchdog(seconds + 60);
	t_open(&dev, t_disk(argc, argv), O_RDONLY, O_RDWR);
	t_pwrite_pattern(dev.bfd, 0, CHECKED, 1);
	/* LONG from the later address would run into the last page. */
	area = t_alloc(4096 + LONG + 4096);
	if (mprotect(area + 4096 + LONG, 4096, PROT_NONE))
		bail("mprotect");
	t_ring(&ring, ENTRIES, IORING_SETUP_SQPOLL);
	if (pthread_create(&thread, NULL, flipper, NULL))
		bail("no thread");
	race(seconds, counts);
	stop = 1;
	pthread_join(thread, NULL);
	nanosleep(&(struct timespec){ .tv_sec = 1 }, NULL);
	drain(counts);
	io_uring_queue_exit(&ring);

	diag("%lu reads done, %lu refused", counts[0], counts[1]);
	ok(counts[0] > 100, "reads were done");
	ok(counts[1] > 0, "others were refused, so the race was real");
	is_int(counts[2], 0, "no other answer");
	ok(!t_pread_check(dev.bfd, 0, CHECKED, 1), "nothing was written");
	return tap_done();
}
