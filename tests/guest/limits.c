// SPDX-License-Identifier: MIT
/*
 * What the char node says of itself: the limits query against sysfs and the
 * block node, the ioctls, the serial number.
 *
 * usage: limits [disk] [serial]
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <linux/fs.h>
#include <sys/mman.h>

#include "t.h"

static struct t_dev dev;
static const char *disk;

static long long sysfs(const char *file)
{
	char path[128];
	long long value = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/block/%s/%s", disk, file);
	f = fopen(path, "r");
	if (!f || fscanf(f, "%lld", &value) != 1)
		diag("cannot read %s", path);
	if (f)
		fclose(f);
	return value;
}

static int hardware_queues(void)
{
	char path[128];
	struct dirent *entry;
	int nr = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/sys/block/%s/mq", disk);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		nr += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return nr;
}

static void against_sysfs(void)
{
	const struct virtblk_limits *l = &dev.lim;

	is_int(l->abi_version, VIRTBLK_ABI_VERSION, "ABI version");
	is_int(l->size, sizeof(*l), "size filled in");
	is_int(l->capacity, sysfs("size"), "capacity");
	is_int(l->logical_block_size, sysfs("queue/logical_block_size"),
	       "logical block");
	is_int(l->physical_block_size, sysfs("queue/physical_block_size"),
	       "physical block");
	is_int(l->max_segments, sysfs("queue/max_segments"), "segments");
	is_int(l->max_segment_size, sysfs("queue/max_segment_size"),
	       "segment size");
	is_int(l->max_discard_sectors * 512ll,
	       sysfs("queue/discard_max_hw_bytes"), "discard limit");
	is_int(l->max_write_zeroes_sectors * 512ll,
	       sysfs("queue/write_zeroes_max_bytes"), "write zeroes limit");
	if (l->max_discard_sectors) {
		is_int(l->max_discard_ranges,
		       sysfs("queue/max_discard_segments"), "discard ranges");
		/* The block layer discards no less than a physical block. */
		is_int(l->discard_granularity > l->physical_block_size ?
		       l->discard_granularity : l->physical_block_size,
		       sysfs("queue/discard_granularity"),
		       "discard granularity");
	}
	is_int(l->nr_queues + l->nr_poll_queues, hardware_queues(), "queues");
	is_int(!!(l->features & VIRTBLK_FEAT_READ_ONLY), sysfs("ro"),
	       "read-only bit");
}

static void consistent(void)
{
	const struct virtblk_limits *l = &dev.lim;
	uint64_t must = 1ull << VIRTIO_BLK_T_IN | 1ull << VIRTIO_BLK_T_GET_ID;

	is_int(l->types & must, must, "reading and the id are offered");
	is_int(!!(l->types & (1ull << VIRTIO_BLK_T_DISCARD)),
	       !!l->max_discard_sectors, "discard: type and limit agree");
	is_int(!!(l->types & (1ull << VIRTIO_BLK_T_WRITE_ZEROES)),
	       !!l->max_write_zeroes_sectors,
	       "write zeroes: type and limit agree");
	is_int(!!(l->types & (1ull << VIRTIO_BLK_T_SECURE_ERASE)),
	       !!l->max_secure_erase_sectors,
	       "secure erase: type and limit agree");
	ok(l->max_bytes >= l->logical_block_size, "a block fits in a command");
	ok(l->max_segments >= 1, "a segment fits in a command");
	ok(l->queue_depth >= 1, "depth is not 0");
	is_int(l->reserved, 0, "reserved is 0");
	ok(!(l->features & ~(VIRTBLK_FEAT_SQE64 | VIRTBLK_FEAT_FIXED_VEC |
			     VIRTBLK_FEAT_READ_ONLY | VIRTBLK_FEAT_UNMAP |
			     VIRTBLK_FEAT_WRITE_CACHE)), "no unknown feature");
	diag("bytes %u, segments %u of %u, depth %u, queues %u + %u, types %#llx, features %#x",
	     l->max_bytes, l->max_segments, l->max_segment_size,
	     l->queue_depth, l->nr_queues, l->nr_poll_queues,
	     (unsigned long long)l->types, l->features);
}

/* Callers older and newer than the driver. */
static void sizes(void)
{
	unsigned char room[sizeof(dev.lim) + 64];
	uint32_t size;

	for (size = 0; size < 8; size++) {
		memset(room, 0, sizeof(room));
		memcpy(room, &size, 4);
		if (ioctl(dev.cfd, VIRTBLK_IOC_LIMITS, room) != -1 ||
		    errno != EINVAL)
			break;
	}
	is_int(size, 8, "sizes below 8: EINVAL");

	for (size = 8; size <= sizeof(room); size += 4) {
		uint32_t want = size < sizeof(dev.lim) ? size : sizeof(dev.lim);
		uint32_t got;

		memset(room, 0xa5, sizeof(room));
		memcpy(room, &size, 4);
		if (ioctl(dev.cfd, VIRTBLK_IOC_LIMITS, room))
			break;
		memcpy(&got, room, 4);
		if (got != want || memcmp(room + 4, (char *)&dev.lim + 4,
					  want - 4))
			break;
		if (want < sizeof(room) && room[want] != 0xa5)
			break;
	}
	is_int(size, sizeof(room) + 4, "any size from 8 on, never beyond it");
}

static void faults(void)
{
	char *none = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	struct virtblk_limits *rdonly = t_alloc(4096);

	rdonly->size = sizeof(*rdonly);
	mprotect(rdonly, 4096, PROT_READ);
	ok(ioctl(dev.cfd, VIRTBLK_IOC_LIMITS, none) == -1 && errno == EFAULT,
	   "limits to PROT_NONE: EFAULT");
	ok(ioctl(dev.cfd, VIRTBLK_IOC_LIMITS, rdonly) == -1 && errno == EFAULT,
	   "limits to PROT_READ: EFAULT");
	ok(ioctl(dev.cfd, BLKGETSIZE64, none) == -1 && errno == EFAULT,
	   "BLKGETSIZE64 to PROT_NONE: EFAULT");
	ok(ioctl(dev.cfd, BLKFLSBUF, 0) == -1 && errno == ENOTTY,
	   "BLKFLSBUF: ENOTTY");
	ok(ioctl(dev.cfd, VIRTBLK_URING_CMD64, none) == -1 && errno == ENOTTY,
	   "a uring command as ioctl: ENOTTY");
}

static void block_ioctls(void)
{
	uint64_t bytes[2] = { 0, 1 };
	unsigned int phys[2] = { 0, 1 };
	int size[2] = { 0, 1 }, ro[2] = { 2, 3 };

	ok(!ioctl(dev.cfd, BLKGETSIZE64, &bytes[0]) &&
	   !ioctl(dev.bfd, BLKGETSIZE64, &bytes[1]) && bytes[0] == bytes[1],
	   "BLKGETSIZE64 as on the block node");
	ok(!ioctl(dev.cfd, BLKSSZGET, &size[0]) &&
	   !ioctl(dev.bfd, BLKSSZGET, &size[1]) && size[0] == size[1],
	   "BLKSSZGET as on the block node");
	ok(!ioctl(dev.cfd, BLKPBSZGET, &phys[0]) &&
	   !ioctl(dev.bfd, BLKPBSZGET, &phys[1]) && phys[0] == phys[1],
	   "BLKPBSZGET as on the block node");
	ok(!ioctl(dev.cfd, BLKROGET, &ro[0]) &&
	   !ioctl(dev.bfd, BLKROGET, &ro[1]) && ro[0] == ro[1],
	   "BLKROGET as on the block node");
}

/* Exactly 20 bytes, however long the buffer is. */
static void serial(const char *want)
{
	unsigned char buf[512], tail[512];
	char path[64], attr[64] = "";
	struct io_uring ring;
	struct vblk_cmd cmd = { .type = VIRTIO_BLK_T_GET_ID, .data = buf };
	static const uint32_t lengths[] = { 20, 21, 64, 512 };
	unsigned int i;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/block/%s/serial", disk);
	f = fopen(path, "r");
	if (f && fread(attr, 1, sizeof(attr) - 1, f) == 0)
		diag("%s is empty", path);
	if (f)
		fclose(f);
	attr[strcspn(attr, "\n")] = '\0';
	ok(!strcmp(attr, want), "serial attribute is \"%s\"", want);

	t_ring(&ring, 4, 0);
	memset(tail, 0xa5, sizeof(tail));
	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		memset(buf, 0xa5, sizeof(buf));
		cmd.len = lengths[i];
		is_res(t_cmd(&ring, VBLK_SQE64, dev.cfd, &cmd), 0,
		       "id into %u bytes", lengths[i]);
		ok(!strncmp((char *)buf, want, VIRTIO_BLK_ID_BYTES),
		   "it is the serial");
		ok(!memcmp(buf + 20, tail, sizeof(buf) - 20),
		   "nothing behind 20 bytes is touched");
	}
	/* What is behind it the device may fill or not: QEMU does not. */
	if (strlen(want) < 20)
		is_int(buf[strlen(want)], 0, "a short one ends with a NUL");
}

int main(int argc, char **argv)
{
	t_watchdog(60);
	disk = t_disk(argc, argv);
	t_open(&dev, disk, O_RDONLY, O_RDONLY);
	against_sysfs();
	consistent();
	sizes();
	faults();
	block_ioctls();
	if (argc > 2)
		serial(argv[2]);
	return tap_done();
}
