// SPDX-License-Identifier: GPL-2.0
/*
 * virtio-blk commands out of io_u's. The layout of the commands is the
 * business of vblk_cmd.h.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vblk_cmd.h"

#include "../fio.h"
#include "virtblk.h"

/* Names of the status bytes, for messages. */
static const char *const status_name[] = {
	[VIRTIO_BLK_S_IOERR] = "the device answered IOERR",
	[VIRTIO_BLK_S_UNSUPP] = "the device answered UNSUPP, it does not know the command",
	[VIRTIO_BLK_S_ZONE_INVALID_CMD] = "the device answered ZONE_INVALID_CMD",
	[VIRTIO_BLK_S_ZONE_UNALIGNED_WP] = "the device answered ZONE_UNALIGNED_WP",
	[VIRTIO_BLK_S_ZONE_OPEN_RESOURCE] = "the device answered ZONE_OPEN_RESOURCE",
	[VIRTIO_BLK_S_ZONE_ACTIVE_RESOURCE] = "the device answered ZONE_ACTIVE_RESOURCE",
};

static void set_data(struct vblk_cmd *cmd, const struct io_u *io_u,
		     struct iovec *iov)
{
	cmd->ioprio = io_u->ioprio;
	if (!iov) {
		cmd->data = io_u->xfer_buf;
		cmd->len = io_u->xfer_buflen;
		return;
	}
	iov->iov_base = io_u->xfer_buf;
	iov->iov_len = io_u->xfer_buflen;
	cmd->vec = 1;
	cmd->data = iov;
	cmd->len = 1;
}

/*
 * Fill @sqe with the command for @io_u. SQE flags, file and user_data are left
 * for the caller to set, afterwards: this begins with an empty SQE, so that
 * nothing of the last use of the slot can stay. @iov has to live until the
 * command is done.
 */
int fio_virtblk_prep(struct io_uring_sqe *sqe, const struct fio_virtblk_ring *r,
		     const struct io_u *io_u, struct iovec *iov)
{
	enum vblk_form form = r->sqe_bytes == 128 ? VBLK_SQE128 : VBLK_SQE64;
	struct vblk_cmd cmd = { .sector = io_u->offset >> 9 };
	bool data = false;

	switch (io_u->ddir) {
	case DDIR_READ:
		cmd.type = VIRTIO_BLK_T_IN;
		data = true;
		break;
	case DDIR_WRITE:
		cmd.type = VIRTIO_BLK_T_OUT;
		data = true;
		break;
	case DDIR_TRIM:
		cmd.type = VIRTIO_BLK_T_DISCARD;
		cmd.len = io_u->xfer_buflen;
		break;
	case DDIR_SYNC:
	case DDIR_DATASYNC:
		cmd.type = VIRTIO_BLK_T_FLUSH;
		cmd.sector = 0;
		break;
	default:
		return -EOPNOTSUPP;
	}

	if (data)
		set_data(&cmd, io_u, r->vectored ? iov : NULL);
	memset(sqe, 0, r->sqe_bytes);
	vblk_prep(sqe, form, -1, &cmd);
	if (data && r->fixed)
		vblk_set_fixed(sqe, io_u->index);
	return 0;
}

/* The errno of a completion, 0 for success. */
int fio_virtblk_errno(int res)
{
	return vblk_res_to_errno(res);
}

/* What is behind the result of a failed command, beyond its errno. */
const char *fio_virtblk_why(int res)
{
	if (res > 0)
		return res < (int)FIO_ARRAY_SIZE(status_name) ?
			status_name[res] : "the device answered an unknown status";

	switch (-res) {
	case EPERM:
	case EACCES:
		return "a security policy forbids io_uring commands on this file";
	case EBADF:
		return "the file is not open for this direction";
	case EINVAL:
		return "outside of the disk, misaligned, or buffer in too many pieces (see iomem=mmaphuge)";
	case EIO:
		return "the device broke or went away with the command";
	case ENODEV:
		return "the disk has gone";
	case EOPNOTSUPP:
		return "neither disk nor driver offer such a command";
	case EROFS:
		return "the disk is read-only";
	}
	return "the command did not reach the device";
}

/*
 * Ask the disk for its limits. -ENOTTY, -EINVAL or the like means that this is
 * not one of our disks; the ioctl number belongs to nobody else.
 */
int fio_virtblk_query(int fd, struct virtblk_limits *limits)
{
	const size_t need = offsetof(struct virtblk_limits, queue_depth) +
			    sizeof(limits->queue_depth);

	memset(limits, 0, sizeof(*limits));
	limits->size = sizeof(*limits);
	if (ioctl(fd, VIRTBLK_IOC_LIMITS, limits) < 0)
		return -errno;
	if (limits->size < need || !limits->logical_block_size)
		return -EPROTO;
	return 0;
}
