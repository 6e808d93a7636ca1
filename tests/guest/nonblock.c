// SPDX-License-Identifier: MIT
/*
 * More commands than slots on a disk that is slow: with an ordinary descriptor
 * each of them is done in its turn, with O_NONBLOCK those that find no slot
 * say -EAGAIN, and never wait.
 *
 * usage: nonblock [disk]	with a small and throttled disk
 */
#define _GNU_SOURCE
#include "t.h"

static const char *disk;

static void run(int flags)
{
	unsigned int i, nr, done = 0, again = 0, other = 0;
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	struct t_dev dev;
	char *buf;

	t_open(&dev, disk, O_RDONLY | flags, -1);
	nr = 2 * dev.lim.queue_depth;
	buf = t_alloc(nr * 4096ul);
	t_ring(&ring, nr, 0);
	for (i = 0; i < nr; i++)
		vblk_prep_read(io_uring_get_sqe(&ring), VBLK_SQE64, dev.cfd,
			       buf + i * 4096ul, 4096, i * 4096);
	if (io_uring_submit(&ring) != (int)nr)
		bail("cannot submit %u commands", nr);
	for (i = 0; i < nr; i++) {
		if (io_uring_wait_cqe(&ring, &cqe))
			bail("no answer");
		if (!cqe->res)
			done++;
		else if (cqe->res == -EAGAIN)
			again++;
		else if (!other++)
			diag("an answer is %s", t_res_name(cqe->res));
		io_uring_cqe_seen(&ring, cqe);
	}
	diag("depth %u: %u done, %u -EAGAIN", dev.lim.queue_depth, done, again);
	ok(!other, "only 0 and -EAGAIN");
	if (flags & O_NONBLOCK)
		ok(again && done >= dev.lim.queue_depth,
		   "O_NONBLOCK: those beyond the depth say -EAGAIN");
	else
		ok(done == nr, "without it, all are done");
	io_uring_queue_exit(&ring);
	t_close(&dev);
}

int main(int argc, char **argv)
{
	disk = t_disk(argc, argv);
	t_watchdog(60);
	run(0);
	run(O_NONBLOCK);
	run(0);
	return tap_done();
}
