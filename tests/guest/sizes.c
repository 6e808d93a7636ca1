// SPDX-License-Identifier: MIT
/*
 * Lengths, addresses and shapes of buffers up to the limits: exact data, and
 * not a byte beyond the buffer.
 *
 * usage: sizes [disk]
 */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "t.h"

#define PAGE	4096ul
#define GUARD	64u
#define AREA	(9ul << 20)

static struct t_dev dev;
static struct io_uring ring;
static uint32_t lbs;
static char *area;
static uint64_t gen = 100;

/* Both directions through one buffer at @at; NULL iov for a flat one. */
static int round_trip(char *at, uint32_t len, const struct iovec *iov,
		      unsigned int nr)
{
	struct vblk_cmd cmd = {
		.vec = !!iov,
		.data = iov ? (const void *)iov : at,
		.len = iov ? nr : len,
		.sector = 2048,
	};
	uint64_t offset = cmd.sector * T_SECTOR;
	int res;

	t_fill(at, len, offset, ++gen);
	cmd.type = VIRTIO_BLK_T_OUT;
	res = t_cmd(&ring, VBLK_SQE64, dev.cfd, &cmd);
	if (res)
		return res;
	if (t_pread_check(dev.bfd, offset, len, gen))
		return 1;
	memset(at, 0xee, len);
	cmd.type = VIRTIO_BLK_T_IN;
	res = t_cmd(&ring, VBLK_SQE64, dev.cfd, &cmd);
	if (res)
		return res;
	return t_check(at, len, offset, gen);
}

/* @len bytes that the device can take in one command however they lie. */
static uint32_t fits(uint32_t len)
{
	uint64_t most = dev.lim.max_segments > 1 ?
			(dev.lim.max_segments - 1) * PAGE : PAGE;

	if (most > dev.lim.max_bytes)
		most = dev.lim.max_bytes;
	if (len > most)
		len = most;
	return len / lbs * lbs;
}

static int guards_intact(const char *at, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < GUARD; i++)
		if ((unsigned char)at[-1 - (int)i] != 0xa5 ||
		    (unsigned char)at[len + i] != 0xa5)
			return 0;
	return 1;
}

static void flat(void)
{
	static const uint32_t lengths[] = {
		512, 1024, 4096, 4096 + 512, 8192, 12288 + 1024, 65536, 131072,
		1 << 20, 4 << 20,
	};
	static const unsigned int shifts[] = { 0, 512, 1024, 4, 1, 3, 511 };
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		uint32_t len = fits(lengths[i]);

		if (!len)
			len = lbs;
		for (j = 0; j < ARRAY_SIZE(shifts); j++) {
			char *at = area + PAGE + shifts[j];
			int res;

			memset(at - GUARD, 0xa5, len + 2 * GUARD);
			res = round_trip(at, len, NULL, 0);
			if (!ok(!res && guards_intact(at, len),
				"%u bytes at address ...%03x", len, shifts[j]))
				diag("result %s", t_res_name(res));
		}
	}
}

/* Pages in reverse order, so that none can be merged. */
static void most_segments(void)
{
	struct vblk_cmd cmd = { .type = VIRTIO_BLK_T_IN, .vec = 1 };
	unsigned int nr = dev.lim.max_segments;
	struct iovec *iov;
	unsigned int i;
	int bad = 0;

	if (nr > dev.lim.max_bytes / lbs)
		nr = dev.lim.max_bytes / lbs;
	if (nr > 1024)
		nr = 1024;
	iov = t_alloc(nr * sizeof(*iov));
	t_pwrite_pattern(dev.bfd, 0, nr * lbs, ++gen);
	memset(area, 0xee, nr * PAGE);
	for (i = 0; i < nr; i++) {
		iov[i].iov_base = area + (nr - 1 - i) * PAGE;
		iov[i].iov_len = lbs;
	}
	cmd.data = iov;
	cmd.len = nr;
	is_res(t_cmd(&ring, VBLK_SQE64, dev.cfd, &cmd), 0,
	       "read into %u scattered pages, the most that fit", nr);
	for (i = 0; i < nr; i++)
		bad |= t_check(iov[i].iov_base, lbs, i * lbs, gen);
	ok(!bad, "each page got its part");
	munmap(iov, nr * sizeof(*iov));
}

static void odd_vectors(void)
{
	static const unsigned int first[] = { 1, 3, 20, 100, 511, 4095, 4097 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(first); i++) {
		uint32_t len = fits(16384);
		struct iovec iov[3] = {
			{ area + PAGE, first[i] },
			{ area + PAGE + first[i], 0 },
			{ area + PAGE + first[i], len - first[i] },
		};
		int res = round_trip(area + PAGE, len, iov, 3);

		is_res(res, 0, "iovecs of %u, 0 and %u bytes", first[i],
		       len - first[i]);
	}
}

/* The last byte of the buffer is the last that may be touched. */
static void at_the_edge(void)
{
	uint32_t len = fits(8192);
	char *at;

	if (mprotect(area + 16 * PAGE, PAGE, PROT_NONE))
		bail("mprotect: %s", strerror(errno));
	at = area + 16 * PAGE - len;
	is_res(round_trip(at, len, NULL, 0), 0, "buffer that ends at PROT_NONE");
	mprotect(area + 16 * PAGE, PAGE, PROT_READ | PROT_WRITE);
}

static void ends_of_disk(void)
{
	struct vblk_cmd cmd = {
		.type = VIRTIO_BLK_T_OUT, .data = area, .len = lbs,
		.sector = dev.lim.capacity - lbs / T_SECTOR,
	};

	t_fill(area, lbs, dev.bytes - lbs, ++gen);
	is_res(t_cmd(&ring, VBLK_SQE64, dev.cfd, &cmd), 0, "write the last block");
	ok(!t_pread_check(dev.bfd, dev.bytes - lbs, lbs, gen),
	   "the last block is there");
	cmd.sector = 0;
	t_fill(area, lbs, 0, ++gen);
	is_res(t_cmd(&ring, VBLK_SQE64, dev.cfd, &cmd), 0, "write the first block");
	ok(!t_pread_check(dev.bfd, 0, lbs, gen), "the first block is there");
}

/* Registered, at every place of its area, and as large as the device takes. */
static void registered(void)
{
	struct iovec iov = { area, AREA };
	uint32_t len = fits(65536);
	struct vblk_cmd cmd = { .len = len, .sector = 4096 };
	uint64_t offset = cmd.sector * T_SECTOR;
	static const unsigned int at[] = { 0, 512, 4096, 5 * 512, 8192 + 7 };
	unsigned int i, dir;
	int res = 0;

	if (io_uring_register_buffers(&ring, &iov, 1))
		bail("cannot register a buffer");
	for (i = 0; i < ARRAY_SIZE(at); i++) {
		cmd.data = area + at[i];
		t_fill(area + at[i], len, offset, ++gen);
		for (dir = 0; !res && dir < 2; dir++) {
			struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

			cmd.type = dir ? VIRTIO_BLK_T_IN : VIRTIO_BLK_T_OUT;
			vblk_prep(sqe, VBLK_SQE64, dev.cfd, &cmd);
			vblk_set_fixed(sqe, 0);
			res = t_submit1(&ring).res;
			if (!dir)
				memset(area + at[i], 0xee, len);
		}
		is_res(res, 0, "%u registered bytes at %u", len, at[i]);
		ok(!t_check(area + at[i], len, offset, gen), "their data");
	}
	io_uring_unregister_buffers(&ring);
}

int main(int argc, char **argv)
{
	t_watchdog(100);
	t_open(&dev, t_disk(argc, argv), O_RDWR, O_RDWR);
	t_ring(&ring, 4, 0);
	lbs = dev.lim.logical_block_size;
	area = t_alloc(AREA);

	flat();
	most_segments();
	odd_vectors();
	at_the_edge();
	ends_of_disk();
	registered();
	return tap_done();
}
