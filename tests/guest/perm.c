// SPDX-License-Identifier: MIT
/*
 * Who may do what: root and an ordinary user, each way to open, each type,
 * disks that can be written and not. A refused command changes nothing.
 *
 * usage: perm [disk] [ro]	ro: the disk is read-only by itself
 */
#define _GNU_SOURCE
#include <linux/fs.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "t.h"

#define USER	1000
#define OFFSET	(1u << 20)
#define NEW	2u

static struct t_dev dev;
static char *before;		/* what is at OFFSET when all begins */
static uint32_t lbs;
static int read_only;

static const struct {
	const char *name;
	uint32_t type;
	int reads, writes;
} types[] = {
	{ "read", VIRTIO_BLK_T_IN, 1, 0 },
	{ "write", VIRTIO_BLK_T_OUT, 0, 1 },
	{ "flush", VIRTIO_BLK_T_FLUSH, 0, 0 },
	{ "id", VIRTIO_BLK_T_GET_ID, 1, 0 },
	{ "discard", VIRTIO_BLK_T_DISCARD, 0, 1 },
	{ "write zeroes", VIRTIO_BLK_T_WRITE_ZEROES, 0, 1 },
	{ "secure erase", VIRTIO_BLK_T_SECURE_ERASE, 0, 1 },
	{ "type 99", 99, 0, 0 },
};

static const struct {
	const char *name;
	int flags, reads, writes;
} modes[] = {
	{ "read-only", O_RDONLY, 1, 0 },
	{ "write-only", O_WRONLY, 0, 1 },
	{ "read-write", O_RDWR, 1, 1 },
};

static int want(unsigned int mode, unsigned int t, int user)
{
	/* What the device does not have is that first of all. */
	if (types[t].type >= 64 ||
	    !(dev.lim.types & (1ull << types[t].type)))
		return -EOPNOTSUPP;
	if (types[t].reads && !modes[mode].reads)
		return -EBADF;
	if (types[t].writes && !modes[mode].writes)
		return -EBADF;
	if (types[t].writes && read_only)
		return -EROFS;
	if (types[t].type == VIRTIO_BLK_T_SECURE_ERASE && user)
		return -EPERM;
	return 0;
}

static int issue(struct io_uring *ring, int fd, unsigned int t, void *buf)
{
	struct vblk_cmd cmd = {
		.type = types[t].type,
		.sector = OFFSET / T_SECTOR,
		.data = buf,
		.len = lbs,
	};

	if (cmd.type == VIRTIO_BLK_T_OUT)
		t_fill(buf, lbs, OFFSET, NEW);
	if (cmd.type == VIRTIO_BLK_T_FLUSH || cmd.type == VIRTIO_BLK_T_GET_ID)
		cmd.sector = 0;
	if (cmd.type == VIRTIO_BLK_T_FLUSH)
		cmd.len = 0;
	if (cmd.type == VIRTIO_BLK_T_FLUSH || types[t].writes)
		cmd.data = cmd.type == VIRTIO_BLK_T_OUT ? buf : NULL;
	return t_cmd(ring, VBLK_SQE64, fd, &cmd);
}

/* By root's descriptor of the block node, which the user's process inherits. */
static int unchanged(void)
{
	char *now = t_alloc(lbs);
	int same = pread(dev.bfd, now, lbs, OFFSET) == (ssize_t)lbs &&
		   !memcmp(now, before, lbs);

	munmap(now, lbs);
	return same;
}

/* One cell: the answer, and whether the data changed, which it must not. */
static void cell(struct io_uring *ring, int fd, unsigned int mode,
		 unsigned int t, int user, void *buf)
{
	int expected = want(mode, t, user);
	int got = issue(ring, fd, t, buf);

	is_res(got, expected, "%s, %s%s: %s: %s", user ? "user" : "root",
	       modes[mode].name, read_only ? ", read-only disk" : "",
	       types[t].name, t_res_name(expected));
	if (!types[t].writes)
		return;
	if (got)
		ok(unchanged(), "the data is as it was");
	else if (pwrite(dev.bfd, before, lbs, OFFSET) != (ssize_t)lbs)
		bail("cannot put the old data back");
}

static void matrix(int user)
{
	struct io_uring ring;
	void *buf = t_alloc(lbs);
	unsigned int mode, t;

	t_ring(&ring, 4, 0);
	for (mode = 0; mode < ARRAY_SIZE(modes); mode++) {
		int fd = open(dev.chr, modes[mode].flags);

		/* A disk that cannot be written may say so at once. */
		if (fd < 0 && read_only && modes[mode].writes) {
			is_res(-errno, -EROFS, "opening %s: -EROFS",
			       modes[mode].name);
			continue;
		}
		if (!ok(fd >= 0, "%s opens it %s", user ? "user" : "root",
			modes[mode].name)) {
			diag("%s", strerror(errno));
			continue;
		}
		for (t = 0; t < ARRAY_SIZE(types); t++)
			cell(&ring, fd, mode, t, user, buf);
		close(fd);
	}
	io_uring_queue_exit(&ring);
}

/* Becomes the user for good, so in a child; its test count comes back. */
static void as_user(void (*fn)(void))
{
	int pipefd[2], status;
	pid_t pid;

	if (pipe(pipefd))
		bail("pipe: %s", strerror(errno));
	pid = fork();
	if (pid == 0) {
		if (setgid(USER) || setuid(USER))
			bail("setuid: %s", strerror(errno));
		fn();
		if (write(pipefd[1], &tap, sizeof(tap)) != sizeof(tap))
			bail("pipe");
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || status ||
	    read(pipefd[0], &tap, sizeof(tap)) != sizeof(tap))
		bail("the user's process ended with status %#x", status);
	close(pipefd[0]);
	close(pipefd[1]);
}

static void user_matrix(void)
{
	matrix(1);
}

static void user_shut_out(void)
{
	unsigned int mode;

	for (mode = 0; mode < ARRAY_SIZE(modes); mode++) {
		int fd = open(dev.chr, modes[mode].flags);

		ok(fd < 0 && errno == EACCES, "user cannot open it %s",
		   modes[mode].name);
	}
}

/* blockdev --setro binds the char node too, also one that is open already. */
static void set_read_only(void)
{
	int fd = open(dev.chr, O_RDWR);
	int on = 1, off = 0, got = -1;
	struct io_uring ring;
	void *buf = t_alloc(lbs);
	unsigned int t;

	if (fd < 0 || ioctl(dev.bfd, BLKROSET, &on))
		bail("BLKROSET: %s", strerror(errno));
	ok(!ioctl(fd, BLKROGET, &got) && got == 1, "BLKROGET says 1");
	read_only = 1;
	t_ring(&ring, 4, 0);
	for (t = 0; t < ARRAY_SIZE(types); t++)
		cell(&ring, fd, 2, t, 0, buf);
	close(fd);
	matrix(0);
	read_only = 0;
	if (ioctl(dev.bfd, BLKROSET, &off))
		bail("BLKROSET: %s", strerror(errno));
	matrix(0);
}

int main(int argc, char **argv)
{
	const char *disk = t_disk(argc, argv);
	struct stat st;

	t_watchdog(100);
	read_only = argc > 2 && !strcmp(argv[2], "ro");
	t_open(&dev, disk, O_RDONLY, read_only ? O_RDONLY : O_RDWR);
	lbs = dev.lim.logical_block_size;
	before = t_alloc(lbs);
	if (pread(dev.bfd, before, lbs, OFFSET) != (ssize_t)lbs)
		bail("cannot read %s", dev.blk);

	/* Read-only disks have these too, and say what is wrong with them. */
	ok(dev.lim.types & (1ull << VIRTIO_BLK_T_OUT) &&
	   dev.lim.types & (1ull << VIRTIO_BLK_T_FLUSH),
	   "write and flush are offered");
	if (stat(dev.chr, &st))
		bail("stat %s: %s", dev.chr, strerror(errno));
	ok(S_ISCHR(st.st_mode), "it is a character device");
	is_int(st.st_mode & 07777, 0600, "its mode is 0600");
	ok(!st.st_uid && !st.st_gid, "it belongs to root");
	as_user(user_shut_out);
	if (read_only) {
		matrix(0);
		return tap_done();
	}
	matrix(0);
	if (chmod(dev.chr, 0666))
		bail("chmod: %s", strerror(errno));
	as_user(user_matrix);
	set_read_only();
	return tap_done();
}
