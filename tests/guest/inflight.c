// SPDX-License-Identifier: MIT
/*
 * Commands in flight while the disk goes away. Every kind of ring gets some,
 * then the host (or the script, by sysfs) removes the device. Each command must
 * be answered, and afterwards everything on the open descriptors says ENODEV.
 *
 * usage: inflight [disk] [depth] [late|alone]	with a throttled disk
 *
 * With "late", nobody asks for answers before the disk is gone, so polled
 * commands are in the device with nobody polling. With "alone" as well, and the
 * only descriptor is a read-only one of the char node, which holds nothing of
 * the block device. Says "@reached in flight" when all are submitted.
 */
#define _GNU_SOURCE
#include <linux/fs.h>
#include <linux/hdreg.h>
#include <poll.h>
#include <time.h>

#include "t.h"

static struct t_dev dev;
static unsigned int depth = 8;
static int alone;

static const unsigned int hows[] = {
	0, T_128, T_SQPOLL, T_DEFER, T_ASYNC, T_FIXED, T_REGFILE, T_POLL,
	T_POLL | T_FIXED,
};

static struct run {
	struct io_uring ring;
	char *buf;
	unsigned int how, asked, done, gone, bad;
} runs[ARRAY_SIZE(hows)];

static void start(struct run *r, unsigned int how)
{
	struct iovec iov;
	unsigned int i;

	r->how = how;
	r->buf = t_alloc(depth * 4096ul);
	iov = (struct iovec){ r->buf, depth * 4096ul };
	t_ring(&r->ring, depth, t_setup_flags(how));
	if ((how & T_FIXED) && io_uring_register_buffers(&r->ring, &iov, 1))
		bail("cannot register a buffer");
	if ((how & T_REGFILE) &&
	    io_uring_register_files(&r->ring, &dev.cfd, 1))
		bail("cannot register a file");
	for (i = 0; i < depth; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ring);
		enum vblk_form form = how & T_128 ? VBLK_SQE128 : VBLK_SQE64;
		int fd = how & T_REGFILE ? 0 : dev.cfd;

		if (i % 4 == 3 && !alone)
			vblk_prep_write(sqe, form, fd, r->buf + i * 4096, 4096,
					i * 4096);
		else
			vblk_prep_read(sqe, form, fd, r->buf + i * 4096, 4096,
				       i * 4096);
		if (how & T_FIXED)
			vblk_set_fixed(sqe, 0);
		if (how & T_REGFILE)
			sqe->flags |= IOSQE_FIXED_FILE;
		if (how & T_ASYNC)
			sqe->flags |= IOSQE_ASYNC;
	}
	r->asked = io_uring_submit(&r->ring);
}

/* 0: the device confirmed it. EIO, ENODEV: it went away. Nothing else. */
static void reap(struct run *r)
{
	struct io_uring_cqe *cqe;

	while (r->done + r->gone + r->bad < r->asked) {
		if (io_uring_wait_cqe(&r->ring, &cqe))
			bail("%s: no answer", t_how_name(r->how));
		if (!cqe->res)
			r->done++;
		else if (cqe->res == -EIO || cqe->res == -ENODEV)
			r->gone++;
		else if (!r->bad++)
			diag("an answer is %s", t_res_name(cqe->res));
		io_uring_cqe_seen(&r->ring, cqe);
	}
	ok(r->asked == depth && !r->bad, "%s: all %u commands were answered",
	   t_how_name(r->how), depth);
	diag("%u done, %u gone", r->done, r->gone);
}

static int wait_gone(void)
{
	uint64_t bytes;
	int tries;

	for (tries = 0; tries < 600; tries++) {
		/* The removal ends with the nodes; the block one goes later. */
		if (ioctl(dev.cfd, BLKGETSIZE64, &bytes) && errno == ENODEV &&
		    access(dev.blk, F_OK))
			return 1;
		usleep(100000);
	}
	return 0;
}

static void after(void)
{
	static const uint32_t types[] = {
		VIRTIO_BLK_T_IN, VIRTIO_BLK_T_OUT, VIRTIO_BLK_T_FLUSH,
		VIRTIO_BLK_T_GET_ID, VIRTIO_BLK_T_DISCARD,
		VIRTIO_BLK_T_WRITE_ZEROES,
	};
	char *buf = t_alloc(4096);
	struct virtblk_limits lim = { .size = sizeof(lim) };
	struct hd_geometry geo;
	struct io_uring ring;
	unsigned int i;
	int n;

	/* Until the last of it is freed; the removal may not be over yet. */
	sleep(2);
	t_ring(&ring, 4, 0);
	for (i = 0; i < ARRAY_SIZE(types); i++) {
		struct vblk_cmd cmd = { .type = types[i], .data = buf,
					.len = 4096 };

		if (types[i] == VIRTIO_BLK_T_FLUSH ||
		    types[i] == VIRTIO_BLK_T_DISCARD ||
		    types[i] == VIRTIO_BLK_T_WRITE_ZEROES)
			cmd.data = NULL;
		if (types[i] == VIRTIO_BLK_T_FLUSH)
			cmd.len = 0;
		is_res(t_cmd(&ring, VBLK_SQE64, dev.cfd, &cmd), -ENODEV,
		       "afterwards, type %u: -ENODEV", types[i]);
	}
	ok(ioctl(dev.cfd, VIRTBLK_IOC_LIMITS, &lim) && errno == ENODEV,
	   "afterwards, the limits: ENODEV");
	ok(ioctl(dev.cfd, BLKROGET, &n) && errno == ENODEV,
	   "afterwards, BLKROGET: ENODEV");
	if (!alone) {
		ok(ioctl(dev.bfd, HDIO_GETGEO, &geo),
		   "afterwards, no geometry");
		ok(pread(dev.bfd, buf, 4096, 0) <= 0,
		   "afterwards, no block reads");
	}
	n = open(dev.chr, O_RDONLY);
	if (!ok(n < 0 && (errno == ENOENT || errno == ENXIO ||
			  errno == ENODEV), "afterwards, no new open"))
		diag("open gave %d, %s", n, strerror(errno));
}

int main(int argc, char **argv)
{
	int late = argc > 3;
	unsigned int i, nr = 0;

	if (argc > 2)
		depth = atoi(argv[2]);
	t_watchdog(100);
	alone = late && !strcmp(argv[3], "alone");
	t_open(&dev, t_disk(argc, argv), alone ? O_RDONLY : O_RDWR,
	       alone ? -1 : O_RDONLY);
	for (i = 0; i < ARRAY_SIZE(hows); i++) {
		if ((hows[i] & T_POLL) && !dev.lim.nr_poll_queues)
			continue;
		start(&runs[nr++], hows[i]);
	}
	printf("@reached in flight\n");
	fflush(stdout);

	if (late)
		ok(wait_gone(), "the disk is gone");
	/* Polled rings complete only while somebody asks. */
	for (i = nr; i-- > 0;)
		reap(&runs[i]);
	if (!late)
		ok(wait_gone(), "the disk is gone");
	after();
	t_close(&dev);
	return tap_done();
}
