// SPDX-License-Identifier: MIT
/*
 * A task is killed with commands in flight into memory that only the pins hold:
 * it goes away when the device has answered, and every page is unpinned.
 *
 * usage: killed [disk]		with a throttled disk
 */
#define _GNU_SOURCE
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "t.h"

#define COMMANDS 8u

static const char *disk;

static long long vmstat(const char *name)
{
	char line[128], key[64];
	long long value = -1, v;
	FILE *f = fopen("/proc/vmstat", "r");

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%63s %lld", key, &v) == 2 &&
		    !strcmp(key, name))
			value = v;
	if (f)
		fclose(f);
	return value;
}

static long long pinned(void)
{
	return vmstat("nr_foll_pin_acquired") - vmstat("nr_foll_pin_released");
}

/* Never returns; says through the pipe that all is in flight. */
static void victim(unsigned int how, int unmap, int ready)
{
	struct io_uring ring;
	struct t_dev dev;
	unsigned int i;
	char *buf = t_alloc(COMMANDS * 65536);

	t_open(&dev, disk, O_RDONLY, -1);
	t_ring(&ring, COMMANDS, t_setup_flags(how));
	for (i = 0; i < COMMANDS; i++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&ring);

		vblk_prep_read(sqe, VBLK_SQE64, dev.cfd, buf + i * 65536,
			       32768, i * 65536);
		if (how & T_ASYNC)
			sqe->flags |= IOSQE_ASYNC;
	}
	io_uring_submit(&ring);
	if (unmap)
		munmap(buf, COMMANDS * 65536);
	usleep(200000);
	if (write(ready, "x", 1) != 1)
		_exit(1);
	for (;;)
		pause();
}

static void kill_one(unsigned int how, int unmap)
{
	int fds[2], status, tries;
	long long before = pinned();
	char c;
	pid_t pid;

	if (pipe(fds))
		bail("pipe");
	pid = fork();
	if (!pid)
		victim(how, unmap, fds[1]);
	if (read(fds[0], &c, 1) != 1)
		bail("the victim did not get going");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	ok(WIFSIGNALED(status), "killed: %s%s", t_how_name(how),
	   unmap ? ", unmapped" : "");
	for (tries = 0; tries < 300 && pinned() != before; tries++)
		usleep(100000);
	is_int(pinned(), before, "all pages are unpinned");
	close(fds[0]);
	close(fds[1]);
}

int main(int argc, char **argv)
{
	static const unsigned int hows[] = {
		0, T_DEFER, T_SQPOLL, T_ASYNC, T_POLL, T_POLL | T_DEFER,
	};
	struct t_xfer x = { .bs = 4096, .gen = 1, .write = 1 };
	struct t_dev dev;
	unsigned int i;

	disk = t_disk(argc, argv);
	t_watchdog(150);
	t_open(&dev, disk, O_RDWR, O_RDWR);
	for (i = 0; i < ARRAY_SIZE(hows); i++) {
		if ((hows[i] & T_POLL) && !dev.lim.nr_poll_queues)
			bail("%s has no poll queues", disk);
		kill_one(hows[i], 0);
		kill_one(hows[i], 1);
	}
	x.count = dev.lim.queue_depth < 64 ? dev.lim.queue_depth : 64;
	x.depth = x.count;
	ok(!t_xfer(&dev, &x), "afterwards %u writes at once pass", x.count);
	return tap_done();
}
