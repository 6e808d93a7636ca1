// SPDX-License-Identifier: MIT
#define _GNU_SOURCE
#include "target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include <vblk_cmd.h>

#define NO_POLL_QUEUES "%s has no poll queues; load its driver with poll_queues=1, or use -p0"

const char *target_kind_name(enum target_kind kind)
{
	static const char *const names[] = { "file", "block", "virtio-blk", "nvme" };

	return names[kind];
}

/* Writes the value of a sysfs file of block device @dev into @v. */
static int sysfs_queue_attr(dev_t dev, const char *attr, unsigned long *v)
{
	/* A partition has no queue of its own; its disk is the parent folder. */
	static const char *const where[] = { "queue", "../queue" };
	char path[128];
	size_t i;
	FILE *fp;
	int ok;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/sys/dev/block/%u:%u/%s/%s", major(dev),
			 minor(dev), where[i], attr);
		fp = fopen(path, "re");
		if (!fp)
			continue;
		ok = fscanf(fp, "%lu", v) == 1;
		fclose(fp);
		return ok ? 0 : -1;
	}
	return -1;
}

/* "/dev/vda" for /dev/vda and for /dev/vdac0. */
static void disk_of(const char *path, char *disk, size_t n)
{
	size_t len;

	snprintf(disk, n, "%s", path);
	len = strlen(disk);
	if (len > 2 && !strcmp(disk + len - 2, "c0"))
		disk[len - 2] = '\0';
}

/* @dev is @disk itself or one of its partitions. */
static bool on_disk(const char *dev, const char *disk)
{
	size_t len = strlen(disk);

	if (strncmp(dev, disk, len))
		return false;
	dev += len;
	dev += *dev == 'p';
	return dev[strspn(dev, "0123456789")] == '\0';
}

/* Looks in a table whose lines start with a device and a place. */
static int held_in(const char *table, const char *disk, char *dev, char *place)
{
	char line[1024];
	FILE *fp = fopen(table, "re");
	int found = 0;

	if (!fp)
		return 0;
	while (!found && fgets(line, sizeof(line), fp))
		found = sscanf(line, "%255s %255s", dev, place) == 2 && on_disk(dev, disk);
	fclose(fp);
	return found;
}

/* EBUSY of a writer: name the holder where that can be found out. */
static int explain_busy(const char *path, struct fail *f)
{
	char disk[256], dev[256], place[256];

	disk_of(path, disk, sizeof(disk));
	if (held_in("/proc/self/mounts", disk, dev, place))
		return refuse(f, "%s: cannot write, %s is mounted on %s; unmount it first",
			      path, dev, place);
	if (held_in("/proc/swaps", disk, dev, place))
		return refuse(f, "%s: cannot write, %s is in use as swap; swapoff it first",
			      path, dev);
	return refuse(f, "%s: cannot write, a mount, volume or other writer holds the disk (lsblk)",
		      path);
}

static int explain_open(const char *path, const struct options *o, int err, struct fail *f)
{
	switch (err) {
	case EBUSY:
		return explain_busy(path, f);
	case EACCES:
	case EPERM:
		return refuse(f, "%s: no permission to %s; be root or in the group of the node",
			      path, o->write ? "write" : "read");
	case EROFS:
		return refuse(f, "%s is read-only; leave out --write", path);
	case ENOENT:
		return refuse(f, "%s does not exist%s", path, o->passthrough ?
			      "; is our virtio_blk.ko loaded? see ls /dev/vd*c0" : "");
	case ENODEV:
	case ENXIO:
		return refuse(f, "%s: the device behind this node has gone", path);
	case EINVAL:
		return refuse(f, "%s: its file system has no O_DIRECT; use -O0", path);
	default:
		return refuse(f, "%s: cannot open: %s", path, strerror(err));
	}
}

/* The node's type must be the one that -u asks for. */
static int check_node(const struct target *t, const struct options *o, const struct stat *st,
		      struct fail *f)
{
	if (S_ISCHR(st->st_mode) && !o->passthrough)
		return refuse(f, "%s is a character device; commands to it need -u1",
			      t->path);
	if (S_ISBLK(st->st_mode) && o->passthrough)
		return refuse(f, "%s is a block device; -u1 wants its /dev/vdXc0, or use -u0",
			      t->path);
	if (S_ISREG(st->st_mode) && o->passthrough)
		return refuse(f, "%s is a file; -u1 wants /dev/vdXc0, or use -u0", t->path);
	if (!S_ISCHR(st->st_mode) && !S_ISBLK(st->st_mode) && !S_ISREG(st->st_mode))
		return refuse(f, "%s is neither a device nor a file", t->path);
	return 0;
}

static int open_node(struct target *t, const struct options *o, const struct stat *st,
		     struct fail *f)
{
	int flags = (o->write ? O_RDWR : O_RDONLY) | O_CLOEXEC;

	if (!o->passthrough && o->direct)
		flags |= O_DIRECT;
	/* Claims the disk, as the character node does by itself. */
	if (S_ISBLK(st->st_mode) && o->write)
		flags |= O_EXCL;
	t->fd = open(t->path, flags);
	return t->fd < 0 ? explain_open(t->path, o, errno, f) : 0;
}

static int ask_block(struct target *t, const struct options *o, dev_t dev, struct fail *f)
{
	unsigned long poll = 1;
	int ro = 0, block = 0;

	t->kind = TARGET_BLOCK;
	if (ioctl(t->fd, BLKGETSIZE64, &t->bytes) || ioctl(t->fd, BLKSSZGET, &block))
		return refuse(f, "%s: cannot ask its size: %s", t->path, strerror(errno));
	t->block = block;
	if (o->write && !ioctl(t->fd, BLKROGET, &ro) && ro)
		return refuse(f, "%s is read-only; leave out --write", t->path);
	if (o->polled && !sysfs_queue_attr(dev, "io_poll", &poll) && !poll)
		return refuse(f, NO_POLL_QUEUES, t->path);
	return 0;
}

static int check_vblk(const struct target *t, const struct options *o, struct fail *f)
{
	const struct virtblk_limits *lim = &t->lim;

	if (o->polled && !lim->nr_poll_queues)
		return refuse(f, NO_POLL_QUEUES, t->path);
	if (o->write && lim->features & VIRTBLK_FEAT_READ_ONLY)
		return refuse(f, "%s is read-only; leave out --write", t->path);
	if (o->sqe == 64 && !(lim->features & VIRTBLK_FEAT_SQE64))
		return refuse(f, "%s: this kernel passes no 64-byte SQEs on; use --sqe=128",
			      t->path);
	if (o->bs > lim->max_bytes)
		return refuse(f, "%s takes at most %u bytes in one command; use -b%u",
			      t->path, lim->max_bytes, lim->max_bytes);
	return 0;
}

static int ask_char(struct target *t, const struct options *o, struct fail *f)
{
	t->lim.size = sizeof(t->lim);
	if (!ioctl(t->fd, VIRTBLK_IOC_LIMITS, &t->lim)) {
		t->kind = TARGET_VBLK;
		t->bytes = t->lim.capacity << 9;
		t->block = t->lim.logical_block_size;
		return check_vblk(t, o, f);
	}
	if (errno == ENODEV)
		return explain_open(t->path, o, errno, f);
	if (!nvme_identify(t, f))
		return 0;
	return refuse(f, "%s takes neither virtio-blk nor NVMe commands; name a /dev/vdXc0",
		      t->path);
}

static int ask(struct target *t, const struct options *o, const struct stat *st,
	       struct fail *f)
{
	if (S_ISCHR(st->st_mode))
		return ask_char(t, o, f);
	if (S_ISBLK(st->st_mode))
		return ask_block(t, o, st->st_rdev, f);
	t->kind = TARGET_FILE;
	t->bytes = st->st_size;
	t->block = 512;
	return 0;
}

static int set_range(struct target *t, const struct options *o, struct fail *f)
{
	uint64_t left;

	if (o->bs % t->block)
		return refuse(f, "%s has logical blocks of %u bytes; -b%llu is no multiple",
			      t->path, t->block, (ull)o->bs);
	if (o->offset % t->block)
		return refuse(f, "%s has logical blocks of %u bytes; --offset is no multiple",
			      t->path, t->block);
	if (o->offset >= t->bytes)
		return refuse(f, "%s ends at byte %llu, before the range", t->path,
			      (ull)t->bytes);
	left = t->bytes - o->offset;
	if (o->size > left)
		return refuse(f,
			      "%s ends at byte %llu, inside of the range; --size=%llu fits",
			      t->path, (ull)t->bytes, (ull)left);
	t->first = o->offset;
	t->blocks = (o->size ? o->size : left) / o->bs;
	if (!t->blocks)
		return refuse(f, "%s: the range is smaller than one I/O of %llu bytes",
			      t->path, (ull)o->bs);
	return 0;
}

int target_open(struct target *t, const char *path, const struct options *o, struct fail *f)
{
	struct stat st;

	*t = (struct target) { .path = path, .fd = -1 };
	if (stat(path, &st))
		return explain_open(path, o, errno, f);
	if (check_node(t, o, &st, f) || open_node(t, o, &st, f))
		return -1;
	if (ask(t, o, &st, f) || set_range(t, o, f)) {
		target_close(t);
		return -1;
	}
	return 0;
}

void target_close(struct target *t)
{
	if (t->fd >= 0)
		close(t->fd);
	t->fd = -1;
}

unsigned int target_sqe_size(const struct target *t, const struct options *o)
{
	if (t->kind == TARGET_NVME)
		return 128;
	if (o->sqe)
		return o->sqe;
	if (t->kind == TARGET_VBLK && !(t->lim.features & VIRTBLK_FEAT_SQE64))
		return 128;
	return 64;
}

static const char *advice(const struct target *t, const struct options *o, int err)
{
	switch (err) {
	case EOPNOTSUPP:
		if (o->polled)
			return "; no poll queues? load its driver with poll_queues=1, or use -p0";
		return "; the device or kernel does not offer this command";
	case EINVAL:
		if (t->kind == TARGET_FILE)
			return "; its file system may want a larger -b for O_DIRECT";
		return "; -b may be over the device's segment limits, or --offset unaligned";
	case EBADF:
		return "; the node is not open for this direction";
	case EPERM:
	case EACCES:
		return "; no permission, or a security module forbids it; run as root";
	case ENODEV:
		return "; the disk has gone";
	default:
		return "";
	}
}

int target_explain(const struct target *t, const struct options *o, int res, bool write,
		   char *buf, size_t n)
{
	int err;

	if (t->kind == TARGET_VBLK && res > 0) {
		snprintf(buf, n, "%s: the device answered status %d (%s)", t->path, res,
			 strerror(vblk_res_to_errno(res)));
		return EXIT_IO;
	}
	if (t->kind == TARGET_NVME && res > 0) {
		snprintf(buf, n, "%s: the device answered NVMe status 0x%x", t->path, res);
		return EXIT_IO;
	}
	if (res >= 0) {
		snprintf(buf, n, "%s: only %d of %llu bytes came", t->path, res, (ull)o->bs);
		return EXIT_IO;
	}
	err = -res;
	snprintf(buf, n, "%s: %s failed: %s%s", t->path, write ? "write" : "read",
		 strerror(err), advice(t, o, err));
	return err == EIO || err == ENODEV || err == ENOSPC || err == ENOMEM ? EXIT_IO
									     : EXIT_CONFIG;
}
