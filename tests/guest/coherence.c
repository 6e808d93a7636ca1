// SPDX-License-Identifier: MIT
/*
 * Written through the char node, read through the page cache of the block
 * node: the cache is dropped when the char node's last writer closes, and not
 * on account of readers.
 *
 * usage: coherence [disk]
 */
#define _GNU_SOURCE
#include "t.h"

#define LEN	(256u * 1024)
#define OFFSET	(4u << 20)

static struct t_dev dev;
static int buffered;		/* keeps the page cache alive */

static void write_char(int fd, uint64_t gen)
{
	struct io_uring ring;
	char *buf = t_alloc(LEN);
	struct vblk_cmd cmd = {
		.type = VIRTIO_BLK_T_OUT, .sector = OFFSET / T_SECTOR,
		.data = buf, .len = LEN,
	};
	int res;

	t_ring(&ring, 4, 0);
	t_fill(buf, LEN, OFFSET, gen);
	res = t_cmd(&ring, VBLK_SQE64, fd, &cmd);
	if (res)
		bail("write: %s", t_res_name(res));
	io_uring_queue_exit(&ring);
}

static int open_char(int mode)
{
	int fd = open(dev.chr, mode);

	if (fd < 0)
		bail("open %s: %s", dev.chr, strerror(errno));
	return fd;
}

static int cached_is(uint64_t gen)
{
	return !t_pread_check(buffered, OFFSET, LEN, gen);
}

static void last_writer_drops(void)
{
	int first = open_char(O_RDWR), second = open_char(O_WRONLY);
	int reader = open_char(O_RDONLY);

	ok(cached_is(1), "generation 1 is in the page cache");
	write_char(first, 2);
	close(first);
	/* Not asked of the driver, but what the next check stands on. */
	diag("one writer left: the cache has generation %d",
	     cached_is(1) ? 1 : 2);
	close(second);
	ok(cached_is(2), "the last writer closed: generation 2 is read");
	close(reader);
	ok(cached_is(2), "a reader closed: the same");
}

/* Dirty pages of the block node must not be lost by the drop. */
static void dirty_pages_survive(void)
{
	char *buf = t_alloc(LEN);
	int fd = open_char(O_RDWR);

	t_fill(buf, LEN, OFFSET + LEN, 9);
	if (pwrite(buffered, buf, LEN, OFFSET + LEN) != LEN)
		bail("buffered write: %s", strerror(errno));
	close(fd);
	ok(!t_pread_check(buffered, OFFSET + LEN, LEN, 9),
	   "buffered writes are still there after a writer closed");
	ok(!fsync(buffered), "fsync");
	ok(!t_pread_check(dev.bfd, OFFSET + LEN, LEN, 9),
	   "and reach the disk");
}

/* Each round a first and last writer. */
static void many_rounds(void)
{
	uint64_t gen;
	int bad = 0;

	for (gen = 10; gen < 30; gen++) {
		int fd = open_char(O_RDWR);

		write_char(fd, gen);
		close(fd);
		bad |= !cached_is(gen);
	}
	ok(!bad, "20 rounds of write, close and buffered read");
}

int main(int argc, char **argv)
{
	t_watchdog(60);
	t_open(&dev, t_disk(argc, argv), O_RDONLY, O_RDWR);
	t_pwrite_pattern(dev.bfd, OFFSET, LEN, 1);
	buffered = open(dev.blk, O_RDWR);
	if (buffered < 0)
		bail("open %s: %s", dev.blk, strerror(errno));
	last_writer_drops();
	dirty_pages_survive();
	many_rounds();
	return tap_done();
}
