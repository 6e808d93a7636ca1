// SPDX-License-Identifier: MIT
/*
 * What io_uring-vblk puts into SQEs, without a device: a template with a place
 * stored into it is what the library's own function makes for that place.
 */
#include <linux/nvme_ioctl.h>
#include <sqe.h>
#include <string.h>
#include <tap.h>
#include <vblk_cmd.h>

#define FD	7
#define INDEX	5
#define OFFSET	0x123456000ULL

union wide {
	struct io_uring_sqe sqe;
	unsigned char bytes[128];
};

static char buffer[4096];

/* As the loop does it: a template, and the place on top. */
static void make(union wide *w, const struct sqe_request *r)
{
	struct sqe_place p = sqe_place(r->t, r->sqe_size);
	uint64_t place = OFFSET >> p.shift;

	memset(w, 0xee, sizeof(*w));
	sqe_fill(&w->sqe, r);
	memcpy(w->bytes + p.at, &place, sizeof(place));
}

static void finish(union wide *w, const struct sqe_request *r)
{
	if (r->o->fixed_files)
		w->sqe.flags |= IOSQE_FIXED_FILE;
	w->sqe.user_data = INDEX;
}

static int same(const union wide *a, const union wide *b, unsigned int size)
{
	unsigned int i;

	for (i = 0; i < size; i++) {
		if (a->bytes[i] == b->bytes[i])
			continue;
		diag("byte %u is 0x%02x, expected 0x%02x", i, a->bytes[i], b->bytes[i]);
		return 0;
	}
	return 1;
}

static void test_vblk(const struct sqe_request *r)
{
	enum vblk_form form = r->sqe_size == 128 ? VBLK_SQE128 : VBLK_SQE64;
	union wide got, want;

	make(&got, r);
	memset(&want, 0, sizeof(want));
	if (r->write)
		vblk_prep_write(&want.sqe, form, FD, buffer, sizeof(buffer), OFFSET);
	else
		vblk_prep_read(&want.sqe, form, FD, buffer, sizeof(buffer), OFFSET);
	if (r->o->fixed_bufs)
		vblk_set_fixed(&want.sqe, INDEX);
	finish(&want, r);
	ok(same(&got, &want, r->sqe_size), "virtio-blk %s, %u bytes, buffers %d, files %d",
	   r->write ? "write" : "read", r->sqe_size, r->o->fixed_bufs, r->o->fixed_files);
}

static void test_rw(const struct sqe_request *r)
{
	union wide got, want;

	make(&got, r);
	memset(&want, 0, sizeof(want));
	if (r->o->fixed_bufs && r->write)
		io_uring_prep_write_fixed(&want.sqe, FD, buffer, sizeof(buffer), OFFSET, INDEX);
	else if (r->o->fixed_bufs)
		io_uring_prep_read_fixed(&want.sqe, FD, buffer, sizeof(buffer), OFFSET, INDEX);
	else if (r->write)
		io_uring_prep_write(&want.sqe, FD, buffer, sizeof(buffer), OFFSET);
	else
		io_uring_prep_read(&want.sqe, FD, buffer, sizeof(buffer), OFFSET);
	finish(&want, r);
	ok(same(&got, &want, r->sqe_size), "%s of a file, %u bytes, buffers %d, files %d",
	   r->write ? "write" : "read", r->sqe_size, r->o->fixed_bufs, r->o->fixed_files);
}

static void test_nvme(const struct sqe_request *r)
{
	struct nvme_uring_cmd cmd;
	union wide got;
	uint64_t lba;

	make(&got, r);
	memcpy(&cmd, got.bytes + offsetof(struct io_uring_sqe, cmd), sizeof(cmd));
	lba = (uint64_t)cmd.cdw11 << 32 | cmd.cdw10;
	ok(got.sqe.opcode == IORING_OP_URING_CMD && got.sqe.cmd_op == NVME_URING_CMD_IO &&
	   got.sqe.fd == FD && got.sqe.user_data == INDEX, "NVMe: the SQE");
	is_int(cmd.opcode, r->write ? 1 : 2, "NVMe: opcode");
	is_int(cmd.nsid, 3, "NVMe: namespace");
	is_int(lba, OFFSET / r->t->block, "NVMe: first block of %u bytes", r->t->block);
	is_int(cmd.cdw12, sizeof(buffer) / r->t->block - 1, "NVMe: blocks, less one");
	ok(cmd.addr == (uintptr_t)buffer && cmd.data_len == sizeof(buffer), "NVMe: the buffer");
	is_int(got.sqe.uring_cmd_flags, r->o->fixed_bufs ? IORING_URING_CMD_FIXED : 0,
	       "NVMe: registered buffer or not");
}

static void test_nop(const struct options *o)
{
	struct sqe_request r = { .o = o, .sqe_size = 64, .index = INDEX };
	union wide got;

	sqe_fill(&got.sqe, &r);
	ok(got.sqe.opcode == IORING_OP_NOP && got.sqe.user_data == INDEX && !got.sqe.flags,
	   "a NOP is a NOP");
}

/* Each combination of form, direction, registered buffers and files. */
static void test_all(const struct target *t, void (*test)(const struct sqe_request *))
{
	unsigned int bits;

	for (bits = 0; bits < 16; bits++) {
		struct options o = { .bs = sizeof(buffer), .fixed_bufs = bits & 1,
				     .fixed_files = bits >> 1 & 1, .write = bits >> 2 & 1 };
		struct sqe_request r = { .o = &o, .t = t, .sqe_size = bits & 8 ? 128 : 64,
					 .fd = FD, .index = INDEX, .buf = buffer,
					 .write = o.write };

		if (t->kind != TARGET_NVME || r.sqe_size == 128)
			test(&r);
	}
}

int main(void)
{
	const struct target vblk = { .kind = TARGET_VBLK, .block = 512 };
	const struct target file = { .kind = TARGET_FILE, .block = 512 };
	const struct target nvme = { .kind = TARGET_NVME, .block = 512, .nsid = 3 };
	const struct target nvme4k = { .kind = TARGET_NVME, .block = 4096, .nsid = 3 };
	const struct options o = { .bs = 4096 };

	test_all(&vblk, test_vblk);
	test_all(&file, test_rw);
	test_all(&nvme, test_nvme);
	test_all(&nvme4k, test_nvme);
	test_nop(&o);
	return tap_done();
}
