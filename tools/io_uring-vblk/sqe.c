// SPDX-License-Identifier: MIT
#include "sqe.h"

#include <linux/nvme_ioctl.h>
#include <stddef.h>
#include <string.h>
#include <vblk_cmd.h>

#define NVME_CMD_WRITE 0x01
#define NVME_CMD_READ  0x02

#define AT_CMD offsetof(struct io_uring_sqe, cmd)

static void fill_rw(struct io_uring_sqe *sqe, const struct sqe_request *r)
{
	unsigned int bs = r->o->bs;

	if (r->o->fixed_bufs && r->write)
		io_uring_prep_write_fixed(sqe, r->fd, r->buf, bs, 0, r->index);
	else if (r->o->fixed_bufs)
		io_uring_prep_read_fixed(sqe, r->fd, r->buf, bs, 0, r->index);
	else if (r->write)
		io_uring_prep_write(sqe, r->fd, r->buf, bs, 0);
	else
		io_uring_prep_read(sqe, r->fd, r->buf, bs, 0);
}

static void fill_vblk(struct io_uring_sqe *sqe, const struct sqe_request *r)
{
	enum vblk_form form = r->sqe_size == 128 ? VBLK_SQE128 : VBLK_SQE64;

	if (r->write)
		vblk_prep_write(sqe, form, r->fd, r->buf, r->o->bs, 0);
	else
		vblk_prep_read(sqe, form, r->fd, r->buf, r->o->bs, 0);
	if (r->o->fixed_bufs)
		vblk_set_fixed(sqe, r->index);
}

static void fill_nvme(struct io_uring_sqe *sqe, const struct sqe_request *r)
{
	struct nvme_uring_cmd cmd = {
		.opcode = r->write ? NVME_CMD_WRITE : NVME_CMD_READ,
		.nsid = r->t->nsid,
		.addr = (uintptr_t)r->buf,
		.data_len = r->o->bs,
		.cdw12 = r->o->bs / r->t->block - 1,
	};

	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, r->fd, NULL, 0, 0);
	sqe->cmd_op = NVME_URING_CMD_IO;
	memcpy((char *)sqe + AT_CMD, &cmd, sizeof(cmd));
	if (r->o->fixed_bufs) {
		sqe->uring_cmd_flags = IORING_URING_CMD_FIXED;
		sqe->buf_index = r->index;
	}
}

void sqe_fill(struct io_uring_sqe *sqe, const struct sqe_request *r)
{
	memset(sqe, 0, r->sqe_size);
	if (!r->t)
		io_uring_prep_nop(sqe);
	else if (r->t->kind == TARGET_VBLK)
		fill_vblk(sqe, r);
	else if (r->t->kind == TARGET_NVME)
		fill_nvme(sqe, r);
	else
		fill_rw(sqe, r);
	if (r->t && r->o->fixed_files)
		io_uring_sqe_set_flags(sqe, IOSQE_FIXED_FILE);
	io_uring_sqe_set_data64(sqe, r->index);
}

struct sqe_place sqe_place(const struct target *t, unsigned int sqe_size)
{
	if (t && t->kind == TARGET_VBLK && sqe_size == 128)
		return (struct sqe_place) {
			AT_CMD + offsetof(struct virtblk_uring_cmd, sector), 9
		};
	if (t && t->kind == TARGET_VBLK)
		return (struct sqe_place) {
			AT_CMD + offsetof(struct virtblk_uring_cmd64, sector), 9
		};
	/* cdw10 and cdw11 are the two halves of the first block, low one first. */
	if (t && t->kind == TARGET_NVME)
		return (struct sqe_place) { AT_CMD + offsetof(struct nvme_uring_cmd, cdw10),
					    __builtin_ctz(t->block) };
	return (struct sqe_place) { offsetof(struct io_uring_sqe, off), 0 };
}
