// SPDX-License-Identifier: MIT
/* Shared by the guest programs; what each function does is told in t.h. */
#define _GNU_SOURCE
#include <linux/fs.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "t.h"

static const char *const how_names[T_BIT_END] = {
	[T_BIT_128] = "128",		[T_BIT_VEC] = "vec",
	[T_BIT_FIXED] = "fixed",	[T_BIT_POLL] = "poll",
	[T_BIT_SQPOLL] = "sqpoll",	[T_BIT_DEFER] = "defer",
	[T_BIT_ASYNC] = "async",	[T_BIT_LINK] = "link",
	[T_BIT_REGFILE] = "regfile",	[T_BIT_BLOCK] = "block",
};

const char *t_how_name(unsigned int how)
{
	static char name[128];
	unsigned int bit;

	name[0] = '\0';
	for (bit = 0; bit < T_BIT_END; bit++) {
		if (!(how & (1u << bit)))
			continue;
		if (name[0])
			strcat(name, " ");
		strcat(name, how_names[bit]);
	}
	return name[0] ? name : "simplest";
}

int t_how_valid(unsigned int how)
{
	/* The kernel refuses this pair. */
	if ((how & T_SQPOLL) && (how & T_DEFER))
		return 0;
	/* The block node has no SQE forms, and no fixed vectors before 6.15. */
	if ((how & T_BLOCK) && (how & T_128))
		return 0;
	if ((how & T_BLOCK) && (how & T_VEC) && (how & T_FIXED))
		return 0;
	return 1;
}

const char *t_disk(int argc, char **argv)
{
	return argc > 1 ? argv[1] : "vda";
}

void t_limits(int fd, struct virtblk_limits *lim)
{
	memset(lim, 0, sizeof(*lim));
	lim->size = sizeof(*lim);
	if (ioctl(fd, VIRTBLK_IOC_LIMITS, lim) < 0)
		bail("VIRTBLK_IOC_LIMITS: %s", strerror(errno));
}

static int open_node(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		bail("open %s: %s", path, strerror(errno));
	return fd;
}

void t_open(struct t_dev *dev, const char *disk, int chr_mode, int blk_mode)
{
	memset(dev, 0, sizeof(*dev));
	snprintf(dev->chr, sizeof(dev->chr), "/dev/%sc0", disk);
	snprintf(dev->blk, sizeof(dev->blk), "/dev/%s", disk);
	dev->cfd = -1;
	dev->bfd = -1;

	if (chr_mode >= 0) {
		dev->cfd = open_node(dev->chr, chr_mode);
		t_limits(dev->cfd, &dev->lim);
		dev->bytes = dev->lim.capacity * T_SECTOR;
	}
	if (blk_mode >= 0) {
		dev->bfd = open_node(dev->blk, blk_mode | O_DIRECT);
		if (ioctl(dev->bfd, BLKGETSIZE64, &dev->bytes) < 0)
			bail("BLKGETSIZE64 %s: %s", dev->blk, strerror(errno));
	}
}

void t_close(struct t_dev *dev)
{
	if (dev->cfd >= 0)
		close(dev->cfd);
	if (dev->bfd >= 0)
		close(dev->bfd);
	dev->cfd = -1;
	dev->bfd = -1;
}

/* What the queues looked like: a hang can seldom be had twice. */
static void tell_state(void)
{
	static const char queues[] =
		"head -n 20 /sys/kernel/debug/virtio_blk/*/queues | sed 's/^/# /'";
	int tries = 50;
	pid_t pid = vfork();

	if (!pid) {
		execl("/bin/sh", "sh", "-c", queues, NULL);
		_exit(TAP_FAIL);
	}
	/* Not for ever: it may hang on the same thing. */
	while (pid > 0 && tries-- && waitpid(pid, NULL, WNOHANG) != pid)
		usleep(100000);
}

static void timed_out(int sig)
{
	static const char msg[] = "\nBail out! hung: the watchdog barked\n";

	(void)sig;
	if (write(STDOUT_FILENO, msg, sizeof(msg) - 1) > 0)
		tell_state();
	_exit(TAP_FAIL);
}

void t_watchdog(unsigned int seconds)
{
	signal(SIGALRM, timed_out);
	alarm(seconds);
}

void *t_alloc(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		bail("mmap %zu: %s", len, strerror(errno));
	return p;
}

unsigned int t_setup_flags(unsigned int how)
{
	unsigned int flags = 0;

	if (how & T_128)
		flags |= IORING_SETUP_SQE128 | IORING_SETUP_CQE32;
	if (how & T_POLL)
		flags |= IORING_SETUP_IOPOLL;
	if (how & T_SQPOLL)
		flags |= IORING_SETUP_SQPOLL;
	if (how & T_DEFER)
		flags |= IORING_SETUP_SINGLE_ISSUER |
			 IORING_SETUP_DEFER_TASKRUN;
	return flags;
}

void t_ring(struct io_uring *ring, unsigned int entries, unsigned int flags)
{
	struct io_uring_params p = {
		.flags = flags,
		.sq_thread_idle = 100,
	};
	int ret = io_uring_queue_init_params(entries, ring, &p);

	if (ret)
		bail("io_uring_setup flags %#x: %s", flags, strerror(-ret));
}

struct t_res t_submit1(struct io_uring *ring)
{
	struct t_res r = { 0 };
	struct io_uring_cqe *cqe;
	int ret;

	ret = io_uring_submit(ring);
	if (ret >= 0)
		ret = io_uring_wait_cqe(ring, &cqe);
	if (ret < 0) {
		r.res = ret;
		return r;
	}
	r.res = cqe->res;
	if (ring->flags & IORING_SETUP_CQE32)
		memcpy(r.big, cqe->big_cqe, sizeof(r.big));
	io_uring_cqe_seen(ring, cqe);
	return r;
}

struct t_res t_cmd_tweaked(struct io_uring *ring, enum vblk_form form, int fd,
			   const struct vblk_cmd *cmd, t_tweak tweak, void *arg)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(ring);

	if (!sqe)
		bail("no SQE in an idle ring");
	vblk_prep(sqe, form, fd, cmd);
	io_uring_sqe_set_data64(sqe, 0);
	if (tweak)
		tweak(sqe, arg);
	return t_submit1(ring);
}

int t_cmd(struct io_uring *ring, enum vblk_form form, int fd,
	  const struct vblk_cmd *cmd)
{
	return t_cmd_tweaked(ring, form, fd, cmd, NULL, NULL).res;
}

const char *t_res_name(int res)
{
	static char names[4][40];
	static unsigned int turn;
	char *s = names[turn++ % ARRAY_SIZE(names)];
	const char *name = res < 0 ? strerrorname_np(-res) : NULL;

	if (name)
		snprintf(s, sizeof(names[0]), "-%s", name);
	else if (res > 0)
		snprintf(s, sizeof(names[0]), "status %d", res);
	else
		snprintf(s, sizeof(names[0]), "%d", res);
	return s;
}

int is_res(int got, int want, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_vok(got == want, fmt, ap);
	va_end(ap);
	if (got != want)
		diag("got %s, expected %s", t_res_name(got), t_res_name(want));
	return got == want;
}

/* Word 0 is the offset, word 1 the generation; the rest mixes both. */
static uint64_t pattern_word(uint64_t offset, uint64_t gen, unsigned int word)
{
	if (word == 0)
		return offset;
	if (word == 1)
		return gen;
	return (offset + word * 0x9e3779b97f4a7c15ull) ^ (gen << 40) ^ gen;
}

void t_fill(void *buf, size_t len, uint64_t offset, uint64_t gen)
{
	unsigned char *p = buf;
	size_t done, word;

	for (done = 0; done < len; done += T_SECTOR) {
		for (word = 0; word < T_SECTOR / 8; word++) {
			uint64_t w = pattern_word(offset + done, gen, word);

			memcpy(p + done + word * 8, &w, 8);
		}
	}
}

int t_check(const void *buf, size_t len, uint64_t offset, uint64_t gen)
{
	const unsigned char *p = buf;
	size_t done, word;

	for (done = 0; done < len; done += T_SECTOR) {
		for (word = 0; word < T_SECTOR / 8; word++) {
			uint64_t want = pattern_word(offset + done, gen, word);
			uint64_t got;

			memcpy(&got, p + done + word * 8, 8);
			if (got == want)
				continue;
			memcpy(&got, p + done, 8);
			memcpy(&want, p + done + 8, 8);
			diag("offset %#llx generation %llu: word %zu differs; "
			     "block says offset %#llx generation %llu",
			     (unsigned long long)(offset + done),
			     (unsigned long long)gen, word,
			     (unsigned long long)got, (unsigned long long)want);
			return 1;
		}
	}
	return 0;
}

void t_pwrite_pattern(int fd, uint64_t offset, size_t len, uint64_t gen)
{
	void *buf = t_alloc(len);
	ssize_t n;

	t_fill(buf, len, offset, gen);
	n = pwrite(fd, buf, len, offset);
	if (n != (ssize_t)len)
		bail("pwrite %zu at %#llx gave %zd: %s", len,
		     (unsigned long long)offset, n, strerror(errno));
	munmap(buf, len);
}

int t_pread_check(int fd, uint64_t offset, size_t len, uint64_t gen)
{
	void *buf = t_alloc(len);
	ssize_t n = pread(fd, buf, len, offset);
	int ret = 1;

	if (n == (ssize_t)len)
		ret = t_check(buf, len, offset, gen);
	else
		diag("pread %zu at %#llx gave %zd: %s", len,
		     (unsigned long long)offset, n, strerror(errno));
	munmap(buf, len);
	return ret;
}

/* A running transfer. Slot n has n-th part of the area and three iovecs. */
struct xfer_run {
	const struct t_dev *dev;
	const struct t_xfer *x;
	struct io_uring ring;
	char *area;
	struct iovec (*iov)[3];
	int fd;			/* descriptor, or index of the registered file */
};

static char *slot_buf(const struct xfer_run *run, unsigned int slot)
{
	return run->area + (size_t)slot * run->x->bs;
}

/* One block in three unequal pieces where its size allows that. */
static unsigned int split(struct iovec iov[3], char *buf, unsigned int bs,
			  unsigned int lbs)
{
	unsigned int first = bs >= 2 * lbs ? lbs : bs;
	unsigned int second = bs >= 4 * lbs ? 2 * lbs : bs - first;
	unsigned int nr = 0;
	unsigned int len[3] = { first, second, bs - first - second };

	while (nr < 3 && len[nr]) {
		iov[nr].iov_base = buf;
		iov[nr].iov_len = len[nr];
		buf += len[nr++];
	}
	return nr;
}

static void prep_block(struct xfer_run *run, struct io_uring_sqe *sqe,
		       unsigned int slot, uint64_t offset, unsigned int nr)
{
	const struct t_xfer *x = run->x;
	char *buf = slot_buf(run, slot);

	if (x->how & T_VEC) {
		if (x->write)
			io_uring_prep_writev(sqe, run->fd, run->iov[slot], nr,
					     offset);
		else
			io_uring_prep_readv(sqe, run->fd, run->iov[slot], nr,
					    offset);
	} else if (x->how & T_FIXED) {
		if (x->write)
			io_uring_prep_write_fixed(sqe, run->fd, buf, x->bs,
						  offset, slot);
		else
			io_uring_prep_read_fixed(sqe, run->fd, buf, x->bs,
						 offset, slot);
	} else if (x->write) {
		io_uring_prep_write(sqe, run->fd, buf, x->bs, offset);
	} else {
		io_uring_prep_read(sqe, run->fd, buf, x->bs, offset);
	}
}

static void prep_char(struct xfer_run *run, struct io_uring_sqe *sqe,
		      unsigned int slot, uint64_t offset, unsigned int nr)
{
	const struct t_xfer *x = run->x;
	struct vblk_cmd cmd = {
		.type = x->write ? VIRTIO_BLK_T_OUT : VIRTIO_BLK_T_IN,
		.vec = !!(x->how & T_VEC),
		.sector = offset / T_SECTOR,
		.data = slot_buf(run, slot),
		.len = x->bs,
	};

	if (x->how & T_VEC) {
		cmd.data = run->iov[slot];
		cmd.len = nr;
	}
	vblk_prep(sqe, x->how & T_128 ? VBLK_SQE128 : VBLK_SQE64, run->fd,
		  &cmd);
	if (x->how & T_FIXED)
		vblk_set_fixed(sqe, slot);
}

static void prep(struct xfer_run *run, unsigned int slot, uint64_t offset,
		 int last)
{
	const struct t_xfer *x = run->x;
	struct io_uring_sqe *sqe = io_uring_get_sqe(&run->ring);
	unsigned int nr;

	if (!sqe)
		bail("ring has fewer SQEs than its depth");
	nr = split(run->iov[slot], slot_buf(run, slot), x->bs,
		   run->dev->lim.logical_block_size ?: T_SECTOR);
	if (x->how & T_BLOCK)
		prep_block(run, sqe, slot, offset, nr);
	else
		prep_char(run, sqe, slot, offset, nr);

	if (x->how & T_ASYNC)
		sqe->flags |= IOSQE_ASYNC;
	if ((x->how & T_LINK) && !last)
		sqe->flags |= IOSQE_IO_LINK;
	if (x->how & T_REGFILE)
		sqe->flags |= IOSQE_FIXED_FILE;
	io_uring_sqe_set_data64(sqe, slot);
}

/* Waits for @nr answers; each slot must give the right one exactly once. */
static int reap(struct xfer_run *run, unsigned int nr)
{
	int want = run->x->how & T_BLOCK ? (int)run->x->bs : 0;
	struct io_uring_cqe *cqe;
	char seen[nr];
	int first_bad = 0;
	unsigned int i;

	memset(seen, 0, sizeof(seen));
	for (i = 0; i < nr; i++) {
		int ret = io_uring_wait_cqe(&run->ring, &cqe);

		if (ret)
			bail("waiting for an answer: %s", strerror(-ret));
		if (cqe->user_data >= nr || seen[cqe->user_data]++)
			bail("answer for %llu, which was not asked",
			     (unsigned long long)cqe->user_data);
		if (cqe->res != want && !first_bad) {
			diag("%s: slot %llu gave %s", t_how_name(run->x->how),
			     (unsigned long long)cqe->user_data,
			     t_res_name(cqe->res));
			first_bad = cqe->res ?: 1;
		}
		io_uring_cqe_seen(&run->ring, cqe);
	}
	return first_bad;
}

static int one_batch(struct xfer_run *run, unsigned int first, unsigned int nr)
{
	const struct t_xfer *x = run->x;
	unsigned int slot;
	int ret;

	for (slot = 0; slot < nr; slot++) {
		uint64_t offset = x->offset + (uint64_t)(first + slot) * x->bs;

		if (x->write)
			t_fill(slot_buf(run, slot), x->bs, offset, x->gen);
		else
			memset(slot_buf(run, slot), 0xee, x->bs);
		prep(run, slot, offset, slot == nr - 1);
	}
	ret = io_uring_submit(&run->ring);
	if (ret != (int)nr)
		bail("%s: submitting %u gave %d", t_how_name(x->how), nr, ret);
	ret = reap(run, nr);
	for (slot = 0; !ret && !x->write && slot < nr; slot++)
		ret = t_check(slot_buf(run, slot), x->bs,
			      x->offset + (uint64_t)(first + slot) * x->bs,
			      x->gen);
	return ret;
}

static void register_all(struct xfer_run *run)
{
	const struct t_xfer *x = run->x;
	struct iovec iov[x->depth];
	unsigned int slot;
	int ret = 0;

	for (slot = 0; slot < x->depth; slot++) {
		iov[slot].iov_base = slot_buf(run, slot);
		iov[slot].iov_len = x->bs;
	}
	if (x->how & T_FIXED)
		ret = io_uring_register_buffers(&run->ring, iov, x->depth);
	if (ret)
		bail("registering %u buffers: %s", x->depth, strerror(-ret));
	if (x->how & T_REGFILE) {
		ret = io_uring_register_files(&run->ring, &run->fd, 1);
		run->fd = 0;
	}
	if (ret)
		bail("registering a file: %s", strerror(-ret));
}

int t_xfer(const struct t_dev *dev, const struct t_xfer *x)
{
	struct xfer_run run = {
		.dev = dev,
		.x = x,
		.area = t_alloc((size_t)x->depth * x->bs),
		.iov = t_alloc(x->depth * sizeof(*run.iov)),
		.fd = x->how & T_BLOCK ? dev->bfd : dev->cfd,
	};
	unsigned int done, nr;
	int ret = 0;

	t_ring(&run.ring, x->depth, t_setup_flags(x->how));
	register_all(&run);
	for (done = 0; !ret && done < x->count; done += nr) {
		nr = x->count - done < x->depth ? x->count - done : x->depth;
		ret = one_batch(&run, done, nr);
	}
	io_uring_queue_exit(&run.ring);
	munmap(run.area, (size_t)x->depth * x->bs);
	munmap(run.iov, x->depth * sizeof(*run.iov));
	return ret;
}
