// SPDX-License-Identifier: MIT
/*
 * The disk changes its size while it is open: uevent, new size on both nodes
 * and on descriptors that were open before, the new end works, what is past it
 * does not.
 *
 * usage: resize DISK NEW-BYTES
 *
 * Says "@reached waiting for SIZE" when the host may resize.
 */
#define _GNU_SOURCE
#include <linux/fs.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include "t.h"

static struct t_dev dev;
static struct io_uring ring;
static int uevents;

static void listen_uevents(void)
{
	struct sockaddr_nl addr = { .nl_family = AF_NETLINK, .nl_groups = 1 };

	uevents = socket(AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT);
	if (uevents < 0 || bind(uevents, (void *)&addr, sizeof(addr)))
		bail("uevent socket: %s", strerror(errno));
}

static int has(const char *msg, ssize_t len, const char *word)
{
	const char *p;

	for (p = msg; p < msg + len; p += strlen(p) + 1)
		if (!strcmp(p, word))
			return 1;
	return 0;
}

/* "change" of this disk with RESIZE=1, within 30 s */
static int wait_uevent(const char *disk)
{
	struct pollfd pfd = { .fd = uevents, .events = POLLIN };
	char msg[4096], name[64];

	snprintf(name, sizeof(name), "DEVNAME=%s", disk);
	while (poll(&pfd, 1, 30000) > 0) {
		ssize_t len = recv(uevents, msg, sizeof(msg) - 1, 0);

		if (len <= 0)
			return 0;
		msg[len] = '\0';
		if (has(msg, len, name) && has(msg, len, "ACTION=change") &&
		    has(msg, len, "RESIZE=1"))
			return 1;
	}
	return 0;
}

static int command(uint32_t type, uint64_t offset, void *buf, uint32_t len)
{
	struct vblk_cmd cmd = {
		.type = type, .sector = offset / T_SECTOR, .data = buf,
		.len = len,
	};

	return t_cmd(&ring, VBLK_SQE64, dev.cfd, &cmd);
}

static void sizes(const char *disk, uint64_t want)
{
	struct virtblk_limits lim;
	char path[64], text[32] = "";
	uint64_t bytes = 0;
	FILE *f;

	ok(!ioctl(dev.cfd, BLKGETSIZE64, &bytes) && bytes == want,
	   "char node: BLKGETSIZE64");
	t_limits(dev.cfd, &lim);
	is_int(lim.capacity, want / T_SECTOR, "char node: the limits");
	ok(!ioctl(dev.bfd, BLKGETSIZE64, &bytes) && bytes == want,
	   "block node: BLKGETSIZE64");
	snprintf(path, sizeof(path), "/sys/block/%s/size", disk);
	f = fopen(path, "r");
	if (f && fgets(text, sizeof(text), f))
		is_int(atoll(text), want / T_SECTOR, "sysfs");
	else
		ok(0, "sysfs");
	if (f)
		fclose(f);
}

int main(int argc, char **argv)
{
	uint64_t want, old, end;
	uint32_t lbs;
	char *buf;

	if (argc < 3)
		bail("usage: resize DISK NEW-BYTES");
	want = strtoull(argv[2], NULL, 0);
	t_watchdog(60);
	t_open(&dev, argv[1], O_RDWR, O_RDWR);
	lbs = dev.lim.logical_block_size;
	buf = t_alloc(2 * lbs);
	old = dev.bytes;
	t_ring(&ring, 4, 0);
	listen_uevents();
	if (want > old)
		is_res(command(VIRTIO_BLK_T_IN, old, buf, lbs), -EINVAL,
		       "before: past the end");
	printf("@reached waiting for %s\n", argv[2]);
	fflush(stdout);

	ok(wait_uevent(argv[1]), "uevent with RESIZE=1");
	sizes(argv[1], want);

	end = want - lbs;
	t_fill(buf, lbs, end, 5);
	is_res(command(VIRTIO_BLK_T_OUT, end, buf, lbs), 0,
	       "write the new last block");
	ok(!t_pread_check(dev.bfd, end, lbs, 5), "read it by the block node");
	is_res(command(VIRTIO_BLK_T_IN, want, buf, lbs), -EINVAL,
	       "past the new end");
	is_res(command(VIRTIO_BLK_T_OUT, end, buf, 2 * lbs), -EINVAL,
	       "across the new end");
	if (want > old) {
		t_pwrite_pattern(dev.bfd, old, lbs, 6);
		is_res(command(VIRTIO_BLK_T_IN, old, buf, lbs), 0,
		       "read what was past the old end");
		ok(!t_check(buf, lbs, old, 6), "its data");
	}
	return tap_done();
}
