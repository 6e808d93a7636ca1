/* SPDX-License-Identifier: MIT */
/*
 * Fill io_uring SQEs with virtio-blk commands for /dev/vdXc0.
 *
 * Header-only, C and C++, on top of liburing. The caller gets an SQE from
 * io_uring_get_sqe(), fills it with one of these functions, and sets user_data
 * and SQE flags afterwards:
 *
 *	sqe = io_uring_get_sqe(&ring);
 *	vblk_prep_read(sqe, VBLK_SQE64, fd, buf, 4096, offset);
 *	io_uring_sqe_set_data(sqe, req);
 *
 * VBLK_SQE64 works on every ring; VBLK_SQE128 needs IORING_SETUP_SQE128.
 * Offsets and lengths are bytes and multiples of the logical block size. The
 * result in cqe->res is explained in <linux/virtio_blk.h>.
 */
#ifndef VBLK_CMD_H
#define VBLK_CMD_H

#include <errno.h>
#include <liburing.h>
#include <linux/virtio_blk.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum vblk_form {
	VBLK_SQE64,	/* VIRTBLK_URING_CMD64, any ring */
	VBLK_SQE128,	/* VIRTBLK_URING_CMD_IO, IORING_SETUP_SQE128 */
};

/**
 * struct vblk_cmd - one command, whatever the form it travels in
 * @type: VIRTIO_BLK_T_*
 * @ioprio: priority for the device, 0 for none
 * @flags: VIRTBLK_CMD_F_*
 * @vec: @data is an iovec array of @len elements
 * @sector: first 512-byte sector
 * @data: address of the data
 * @len: bytes of data, or number of iovecs
 */
struct vblk_cmd {
	uint32_t type;
	uint16_t ioprio;
	uint16_t flags;
	int vec;
	uint64_t sector;
	const void *data;
	uint32_t len;
};

/* Fill @sqe with @cmd for the open /dev/vdXc0 @fd. */
static inline void vblk_prep(struct io_uring_sqe *sqe, enum vblk_form form,
			     int fd, const struct vblk_cmd *cmd)
{
	io_uring_prep_rw(IORING_OP_URING_CMD, sqe, fd, NULL, 0, 0);

	if (form == VBLK_SQE128) {
		struct virtblk_uring_cmd c;

		memset(&c, 0, sizeof(c));
		c.type = cmd->type;
		c.ioprio = cmd->ioprio;
		c.sector = cmd->sector;
		c.data = (uintptr_t)cmd->data;
		c.data_len = cmd->len;
		c.flag = cmd->flags;
		memcpy((char *)sqe + offsetof(struct io_uring_sqe, cmd), &c,
		       sizeof(c));
		sqe->cmd_op = cmd->vec ? VIRTBLK_URING_CMD_IO_VEC :
					 VIRTBLK_URING_CMD_IO;
	} else {
		struct virtblk_uring_cmd64 c;

		c.sector = cmd->sector;
		c.type = cmd->type;
		c.ioprio = cmd->ioprio;
		c.flags = cmd->flags;
		memcpy((char *)sqe + offsetof(struct io_uring_sqe, cmd), &c,
		       sizeof(c));
		sqe->addr = (uintptr_t)cmd->data;
		sqe->len = cmd->len;
		sqe->cmd_op = cmd->vec ? VIRTBLK_URING_CMD64_VEC :
					 VIRTBLK_URING_CMD64;
	}
}

/* The data lies in the registered buffer @buf_index. Call after vblk_prep*(). */
static inline void vblk_set_fixed(struct io_uring_sqe *sqe, unsigned int buf_index)
{
	sqe->uring_cmd_flags |= IORING_URING_CMD_FIXED;
	sqe->buf_index = (uint16_t)buf_index;
}

/* For the functions below. */
static inline void vblk_prep_simple(struct io_uring_sqe *sqe,
				    enum vblk_form form, int fd, uint32_t type,
				    uint16_t flags, int vec, const void *data,
				    uint32_t len, uint64_t offset)
{
	struct vblk_cmd cmd;

	cmd.type = type;
	cmd.ioprio = 0;
	cmd.flags = flags;
	cmd.vec = vec;
	cmd.sector = offset >> 9;
	cmd.data = data;
	cmd.len = len;
	vblk_prep(sqe, form, fd, &cmd);
}

/* Read @len bytes at byte @offset of the disk into @buf. */
static inline void vblk_prep_read(struct io_uring_sqe *sqe, enum vblk_form form,
				  int fd, void *buf, uint32_t len,
				  uint64_t offset)
{
	vblk_prep_simple(sqe, form, fd, VIRTIO_BLK_T_IN, 0, 0, buf, len, offset);
}

/* Write @len bytes from @buf at byte @offset of the disk. */
static inline void vblk_prep_write(struct io_uring_sqe *sqe,
				   enum vblk_form form, int fd, const void *buf,
				   uint32_t len, uint64_t offset)
{
	vblk_prep_simple(sqe, form, fd, VIRTIO_BLK_T_OUT, 0, 0, buf, len, offset);
}

/* Read into @nr iovecs. They must stay until the command completes. */
static inline void vblk_prep_readv(struct io_uring_sqe *sqe,
				   enum vblk_form form, int fd,
				   const struct iovec *iov, uint32_t nr,
				   uint64_t offset)
{
	vblk_prep_simple(sqe, form, fd, VIRTIO_BLK_T_IN, 0, 1, iov, nr, offset);
}

/* Write from @nr iovecs. They must stay until the command completes. */
static inline void vblk_prep_writev(struct io_uring_sqe *sqe,
				    enum vblk_form form, int fd,
				    const struct iovec *iov, uint32_t nr,
				    uint64_t offset)
{
	vblk_prep_simple(sqe, form, fd, VIRTIO_BLK_T_OUT, 0, 1, iov, nr, offset);
}

/* Make the writes completed so far durable. */
static inline void vblk_prep_flush(struct io_uring_sqe *sqe,
				   enum vblk_form form, int fd)
{
	vblk_prep_simple(sqe, form, fd, VIRTIO_BLK_T_FLUSH, 0, 0, NULL, 0, 0);
}

/* Read the disk's serial into @buf of at least VIRTIO_BLK_ID_BYTES bytes. */
static inline void vblk_prep_get_id(struct io_uring_sqe *sqe,
				    enum vblk_form form, int fd, void *buf)
{
	vblk_prep_simple(sqe, form, fd, VIRTIO_BLK_T_GET_ID, 0, 0, buf,
			 VIRTIO_BLK_ID_BYTES, 0);
}

/* Tell the device that @len bytes at byte @offset are not needed any more. */
static inline void vblk_prep_discard(struct io_uring_sqe *sqe,
				     enum vblk_form form, int fd, uint32_t len,
				     uint64_t offset)
{
	vblk_prep_simple(sqe, form, fd, VIRTIO_BLK_T_DISCARD, 0, 0, NULL, len,
			 offset);
}

/*
 * Zero @len bytes at byte @offset. @flags is VIRTBLK_CMD_F_UNMAP if the device
 * may deallocate them, or 0.
 */
static inline void vblk_prep_write_zeroes(struct io_uring_sqe *sqe,
					  enum vblk_form form, int fd,
					  uint32_t len, uint64_t offset,
					  uint16_t flags)
{
	vblk_prep_simple(sqe, form, fd, VIRTIO_BLK_T_WRITE_ZEROES, flags, 0,
			 NULL, len, offset);
}

/* As discard, and the device promises that the data cannot be got back. */
static inline void vblk_prep_secure_erase(struct io_uring_sqe *sqe,
					  enum vblk_form form, int fd,
					  uint32_t len, uint64_t offset)
{
	vblk_prep_simple(sqe, form, fd, VIRTIO_BLK_T_SECURE_ERASE, 0, 0, NULL,
			 len, offset);
}

/*
 * The errno (positive) that a cqe->res stands for, 0 for success: the device's
 * status bytes as the block device reports them, and errnos as they are.
 */
static inline int vblk_res_to_errno(int res)
{
	if (res <= 0)
		return -res;
	switch (res) {
	case VIRTIO_BLK_S_UNSUPP:
		return EOPNOTSUPP;
	case VIRTIO_BLK_S_ZONE_OPEN_RESOURCE:
		return ETOOMANYREFS;
	case VIRTIO_BLK_S_ZONE_ACTIVE_RESOURCE:
		return EOVERFLOW;
	default:
		return EIO;
	}
}

#ifdef __cplusplus
}
#endif

#endif /* VBLK_CMD_H */
