// SPDX-License-Identifier: MIT
/*
 * Opening the char node for writing claims the disk as a mount does.
 *
 * usage: claim DISK [off]
 *
 * DISK carries an ext4 file system, or has a first partition that does. With
 * "off" the driver was loaded with the claim turned off.
 */
#define _GNU_SOURCE
#include <sys/mount.h>
#include <sys/stat.h>

#include "t.h"

#define DIR	"/mnt"

static char chr[32], blk[32], part[36];
static int off;

/* 0 or an errno */
static int try_open(const char *path, int flags, int *fd)
{
	*fd = open(path, flags | O_CLOEXEC);
	return *fd < 0 ? errno : 0;
}

static int opens(int flags)
{
	int fd, ret = try_open(chr, flags, &fd);

	if (!ret)
		close(fd);
	return ret;
}

static int try_mount(const char *path)
{
	return mount(path, DIR, "ext4", 0, NULL) ? errno : 0;
}

static void is_errno(int got, int want, const char *what)
{
	is_res(-got, -want, "%s: %s", what, want ? t_res_name(-want) : "works");
}

/* Somebody holds the disk or a part of it: only readers come in. */
static void held(const char *by)
{
	int want = off ? 0 : EBUSY;
	char what[96];

	snprintf(what, sizeof(what), "%s: opening for reading", by);
	is_errno(opens(O_RDONLY), 0, what);
	snprintf(what, sizeof(what), "%s: opening for writing", by);
	is_errno(opens(O_WRONLY), want, what);
	snprintf(what, sizeof(what), "%s: opening for both", by);
	is_errno(opens(O_RDWR), want, what);
}

static void mounted(const char *node)
{
	int err = try_mount(node);

	if (!ok(!err, "mount %s", node)) {
		diag("%s", strerror(err));
		return;
	}
	held("mounted");
	if (umount(DIR))
		bail("umount: %s", strerror(errno));
	is_errno(opens(O_RDWR), 0, "unmounted again: opening for both");
}

static void exclusive(const char *node)
{
	int fd, err = try_open(node, O_RDONLY | O_EXCL, &fd);

	is_errno(err, 0, "an exclusive open of the block node");
	if (err)
		return;
	held("opened exclusively");
	close(fd);
	is_errno(opens(O_RDWR), 0, "closed again: opening for both");
}

/* Writers keep others out, as long as one of them is there. */
static void writers(const char *node)
{
	int want = off ? 0 : EBUSY;
	int first, second, third, fd, err;

	is_errno(try_open(chr, O_RDWR, &first), 0, "a writer");
	is_errno(try_open(chr, O_WRONLY, &second), 0, "a second writer");
	is_errno(try_open(chr, O_RDONLY, &third), 0, "a reader beside them");

	err = try_mount(node);
	is_errno(err, want, "mounting while there are writers");
	if (!err)
		umount(DIR);
	err = try_open(blk, O_RDONLY | O_EXCL, &fd);
	is_errno(err, want, "an exclusive open while there are writers");
	if (!err)
		close(fd);
	err = try_open(blk, O_RDWR, &fd);
	is_errno(err, 0, "an ordinary open while there are writers");
	if (!err)
		close(fd);

	close(first);
	err = try_mount(node);
	is_errno(err, want, "mounting while one writer is left");
	if (!err)
		umount(DIR);
	close(second);
	err = try_mount(node);
	is_errno(err, 0, "mounting when only the reader is left");
	if (!err)
		umount(DIR);
	close(third);
}

/* However often: the claim is neither lost nor left behind. */
static void many_times(const char *node)
{
	int i, bad = 0;

	for (i = 0; i < 50; i++) {
		bad |= opens(O_RDWR) | opens(O_WRONLY);
		bad |= try_mount(node);
		bad |= opens(O_RDWR) != (off ? 0 : EBUSY);
		bad |= umount(DIR);
	}
	ok(!bad, "50 rounds of writer, mount, refused writer, unmount");
}

int main(int argc, char **argv)
{
	const char *node = blk;
	struct stat st;

	if (argc < 2)
		bail("usage: claim DISK [off]");
	off = argc > 2 && !strcmp(argv[2], "off");
	t_watchdog(60);
	snprintf(chr, sizeof(chr), "/dev/%sc0", argv[1]);
	snprintf(blk, sizeof(blk), "/dev/%s", argv[1]);
	snprintf(part, sizeof(part), "/dev/%s1", argv[1]);
	if (!stat(part, &st))
		node = part;
	diag("%s, mounting %s%s", chr, node, off ? ", claim off" : "");

	mounted(node);
	exclusive(node);
	if (node != blk)
		exclusive(blk);
	writers(node);
	many_times(node);
	return tap_done();
}
