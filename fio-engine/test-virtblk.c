// SPDX-License-Identifier: GPL-2.0
/*
 * The bytes that virtblk.c makes of an io_u, without fio and without a device.
 * Run by tests/fio-prep.t, which brings a fio.h of a few lines. Prints TAP.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "virtblk.c"

static unsigned int nr_tests;

static void check(bool good, const char *form, const char *what, const char *field)
{
	nr_tests++;
	printf("%sok %u - %s: %s: %s\n", good ? "" : "not ", nr_tests, form, what,
	       field);
}

/* A command as read back from the SQE, by the offsets of the ABI. */
struct seen {
	uint32_t cmd_op, type, ioprio, len, flags;
	uint64_t sector, data;
};

static uint64_t get(const void *base, size_t offset, size_t size)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)base + offset, size);
	return v;
}

static struct seen read_back(const struct io_uring_sqe *sqe, bool big)
{
	struct seen s = { .cmd_op = get(sqe, 8, 4) };

	if (big) {
		s.type = get(sqe, 48, 4);
		s.ioprio = get(sqe, 52, 4);
		s.sector = get(sqe, 56, 8);
		s.data = get(sqe, 64, 8);
		s.len = get(sqe, 72, 4);
		s.flags = get(sqe, 76, 4);
	} else {
		s.sector = get(sqe, 48, 8);
		s.type = get(sqe, 56, 4);
		s.ioprio = get(sqe, 60, 2);
		s.flags = get(sqe, 62, 2);
		s.data = get(sqe, 16, 8);
		s.len = get(sqe, 24, 4);
	}
	return s;
}

struct expect {
	const char *name;
	enum fio_ddir ddir;
	uint32_t type;
	bool data;	/* a buffer */
	bool where;	/* sector and length mean something */
};

static const struct expect expects[] = {
	{ "read", DDIR_READ, 0, true, true },
	{ "write", DDIR_WRITE, 1, true, true },
	{ "trim", DDIR_TRIM, 11, false, true },
	{ "fsync", DDIR_SYNC, 4, false, false },
	{ "fdatasync", DDIR_DATASYNC, 4, false, false },
};

static void check_command(const struct expect *e, bool big, bool vec, bool fixed)
{
	static char buf[8192];
	const struct fio_virtblk_ring ring = { big ? 128 : 64, false, vec, fixed };
	const struct io_u io_u = {
		.ddir = e->ddir, .index = 7, .ioprio = e->data ? 0x4003 : 0,
		.offset = 0x123456789000ULL, .xfer_buf = buf + 512,
		.xfer_buflen = 4096,
	};
	unsigned char raw[192];
	struct io_uring_sqe *sqe = (struct io_uring_sqe *)raw;
	struct iovec iov = { NULL, 0 };
	char form[64];
	struct seen s;
	uint32_t op;
	int ret;

	snprintf(form, sizeof(form), "%d%s%s", big ? 128 : 64, vec ? " vec" : "",
		 fixed ? " fixed" : "");
	/* what a former use left behind */
	memset(raw, 0xa5, sizeof(raw));
	ret = fio_virtblk_prep(sqe, &ring, &io_u, &iov);
	s = read_back(sqe, big);
	vec = vec && e->data;
	fixed = fixed && e->data;
	op = big ? 1U + vec : (vec ? 0xc010e881 : 0xc010e880);

	check(ret == 0, form, e->name, "accepted");
	check(get(sqe, 0, 1) == IORING_OP_URING_CMD && s.cmd_op == op, form,
	      e->name, "opcode");
	check(get(sqe, 1, 1) == 0 && get(sqe, 2, 2) == 0, form, e->name,
	      "no flag and priority is left over");
	check(s.type == e->type && s.flags == 0, form, e->name, "type");
	check(s.sector == (e->where ? io_u.offset / 512 : 0), form, e->name,
	      "sector");
	check(s.ioprio == io_u.ioprio, form, e->name, "priority");
	check(get(sqe, 28, 4) == (fixed ? IORING_URING_CMD_FIXED : 0) &&
	      get(sqe, 40, 2) == (fixed ? io_u.index : 0), form, e->name,
	      "registered buffer");
	if (vec)
		check(s.data == (uintptr_t)&iov && s.len == 1 &&
		      iov.iov_base == io_u.xfer_buf && iov.iov_len == 4096,
		      form, e->name, "iovec");
	else
		check(s.data == (e->data ? (uintptr_t)io_u.xfer_buf : 0) &&
		      s.len == (e->where ? 4096 : 0), form, e->name, "data");
	check(raw[ring.sqe_bytes] == 0xa5 &&
	      (!big || (get(sqe, 80, 8) == 0 && get(sqe, 96, 8) == 0 &&
			get(sqe, 120, 8) == 0)), form, e->name,
	      "its own bytes, no others");
}

static void check_refused(enum fio_ddir ddir, const char *name)
{
	const struct fio_virtblk_ring ring = { 64, false, false, false };
	const struct io_u io_u = { .ddir = ddir, .xfer_buflen = 4096 };
	struct io_uring_sqe sqe, before;

	memset(&before, 0xa5, sizeof(before));
	sqe = before;
	check(fio_virtblk_prep(&sqe, &ring, &io_u, NULL) == -EOPNOTSUPP &&
	      !memcmp(&sqe, &before, sizeof(sqe)), "64", name, "refused");
}

static void check_errno(int res, int err)
{
	char what[32];

	snprintf(what, sizeof(what), "result %d", res);
	check(fio_virtblk_errno(res) == err, "all", what, "errno");
	check(!res || *fio_virtblk_why(res), "all", what, "explained");
}

int main(void)
{
	unsigned int i, mode;

	for (mode = 0; mode < 8; mode++)
		for (i = 0; i < FIO_ARRAY_SIZE(expects); i++)
			check_command(&expects[i], mode & 1, mode & 2, mode & 4);
	check_refused(DDIR_SYNC_FILE_RANGE, "sync_file_range");
	check_refused(DDIR_WAIT, "wait");

	check_errno(0, 0);
	check_errno(1, EIO);
	check_errno(2, EOPNOTSUPP);
	check_errno(3, EIO);
	check_errno(255, EIO);
	check_errno(-EINVAL, EINVAL);
	check_errno(-ENODEV, ENODEV);
	check_errno(-EOPNOTSUPP, EOPNOTSUPP);
	printf("1..%u\n", nr_tests);
	return EXIT_SUCCESS;
}
