// SPDX-License-Identifier: MIT
/*
 * The SQE is the caller's again when submission returns: commands that are
 * still on their way (async, linked behind a slow one, waiting for a slot) must
 * not look at it any more. Each slot is filled with another command right after
 * io_uring_enter.
 *
 * usage: reuse [disk]	with a disk of a small queue-size
 */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <sys/utsname.h>

#include "t.h"

#define BS	4096u

static struct t_dev dev;
static uint64_t gen = 1;

/* What would do visible damage: a write of poison over the first blocks. */
static void poison(struct io_uring *ring, unsigned int entries, int form128,
		   char *bad)
{
	size_t size = form128 ? 128 : 64;
	char *sqes = (char *)ring->sq.sqes;
	struct io_uring_sqe tmpl[2];
	unsigned int i;

	memset(tmpl, 0, sizeof(tmpl));
	vblk_prep_write(tmpl, form128 ? VBLK_SQE128 : VBLK_SQE64, dev.cfd,
			bad, BS, 0);
	for (i = 0; i < entries; i++)
		memcpy(sqes + i * size, tmpl, size);
}

static void one(unsigned int how, unsigned int nr, const char *what)
{
	int form128 = !!(how & T_128);
	char *bufs = t_alloc((size_t)nr * BS), *bad = t_alloc(BS);
	struct iovec *iov = t_alloc(nr * sizeof(*iov));
	struct io_uring_cqe *cqe;
	struct io_uring ring;
	unsigned int i;
	int wrong = 0;

	memset(bad, 0x66, BS);
	t_pwrite_pattern(dev.bfd, 0, BS, ++gen);
	t_ring(&ring, nr, t_setup_flags(how));
	for (i = 0; i < nr; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);
		uint64_t offset = (i + 1ull) * BS;
		struct vblk_cmd cmd = {
			.type = VIRTIO_BLK_T_OUT,
			.sector = offset / T_SECTOR,
			.data = bufs + (size_t)i * BS, .len = BS,
		};

		t_fill(bufs + (size_t)i * BS, BS, offset, gen);
		iov[i].iov_base = bufs + (size_t)i * BS;
		iov[i].iov_len = BS;
		if (how & T_VEC) {
			cmd.vec = 1;
			cmd.data = &iov[i];
			cmd.len = 1;
		}
		vblk_prep(sqe, form128 ? VBLK_SQE128 : VBLK_SQE64, dev.cfd,
			  &cmd);
		if (how & T_ASYNC)
			sqe->flags |= IOSQE_ASYNC;
		if ((how & T_LINK) && i + 1 < nr)
			sqe->flags |= IOSQE_IO_LINK;
	}
	if (io_uring_submit(&ring) != (int)nr)
		bail("cannot submit %u commands", nr);
	poison(&ring, nr, form128, bad);
	for (i = 0; i < nr; i++) {
		if (io_uring_wait_cqe(&ring, &cqe))
			bail("no answer");
		if (cqe->res && !wrong++)
			diag("command gave %s", t_res_name(cqe->res));
		io_uring_cqe_seen(&ring, cqe);
	}
	for (i = 0; i <= nr && !wrong; i++)
		wrong = t_pread_check(dev.bfd, (uint64_t)i * BS, BS, gen);
	ok(!wrong, "%u commands, %s", nr, what);
	io_uring_queue_exit(&ring);
	munmap(bufs, (size_t)nr * BS);
	munmap(bad, BS);
	munmap(iov, nr * sizeof(*iov));
}

/*
 * Before 6.15 io_uring keeps a pointer to the SQE of a linked command and hands
 * it to the driver when its turn comes; no driver can know better.
 */
static int kernel_reads_links_late(void)
{
	struct utsname u;
	unsigned int major, minor;

	if (uname(&u) || sscanf(u.release, "%u.%u", &major, &minor) != 2)
		bail("uname");
	return major < 6 || (major == 6 && minor < 15);
}

int main(int argc, char **argv)
{
	unsigned int how, many;

	t_watchdog(100);
	t_open(&dev, t_disk(argc, argv), O_RDWR, O_RDWR);
	many = dev.lim.queue_depth * 8;
	if (many > 1024)
		many = 1024;
	for (how = 0; how < T_HOW_END; how++) {
		/* No SQPOLL here: its thread may take SQEs whenever it likes. */
		if (how & ~(T_128 | T_VEC | T_ASYNC | T_LINK | T_DEFER))
			continue;
		if ((how & T_LINK) && !(how & T_ASYNC) &&
		    kernel_reads_links_late()) {
			skip(t_how_name(how),
			     "this kernel's io_uring reads linked SQEs late");
			continue;
		}
		one(how, many, t_how_name(how));
	}
	return tap_done();
}
