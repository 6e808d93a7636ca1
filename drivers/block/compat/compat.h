/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The one place where kernels differ. The driver is written for the newest
 * interfaces; what an older kernel lacks is put in terms of what it has here.
 */
#ifndef _VIRTIO_BLK_COMPAT_H
#define _VIRTIO_BLK_COMPAT_H

#include <linux/blk-mq.h>
#include <linux/blk-mq-virtio.h>
#include <linux/hrtimer.h>
#include <linux/io_uring/cmd.h>

/* 6.10: keeps the compiler from clearing a variable that is filled in anyway. */
#ifndef __uninitialized
#define __uninitialized
#endif

/* 6.15 (b66509b8497f): a handle that tells rings apart. */
static inline void *io_uring_cmd_ctx_handle(struct io_uring_cmd *cmd)
{
	return cmd_to_io_kiocb(cmd)->ctx;
}

/* 6.18: res2 goes through a function of its own. */
static inline void io_uring_cmd_done32(struct io_uring_cmd *cmd, s32 ret,
				       u64 res2, unsigned int issue_flags)
{
	io_uring_cmd_done(cmd, ret, res2, issue_flags);
}

/* The import of a registered buffer has learnt issue_flags in 6.15. */
static inline int virtblk_compat_import_fixed(u64 ubuf, unsigned long len,
					      int rw, struct iov_iter *iter,
					      struct io_uring_cmd *cmd,
					      unsigned int issue_flags)
{
	return io_uring_cmd_import_fixed(ubuf, len, rw, iter, cmd);
}

/* 6.13 (908a1d775422): one call in place of an initialisation and a store. */
static inline void hrtimer_setup(struct hrtimer *timer,
				 enum hrtimer_restart (*function)(struct hrtimer *),
				 clockid_t clock, enum hrtimer_mode mode)
{
	hrtimer_init(timer, clock, mode);
	timer->function = function;
}

/* Whether the ring belongs to a 32-bit task. */
static inline bool io_uring_cmd_is_compat(unsigned int issue_flags)
{
	return issue_flags & IO_URING_F_COMPAT;
}

/*
 * Before 6.15 (5eff57fa9f3a) an -EAGAIN copied the SQE but left ioucmd->sqe on
 * the original, which is the user's again by the time the command is repeated
 * in a worker. Make the copy ourselves, where io_uring would have it; it then
 * sees that nothing is left to copy.
 */
static inline void virtblk_compat_keep_sqe(struct io_uring_cmd *cmd,
					   unsigned int issue_flags)
{
	void *copy = cmd_to_io_kiocb(cmd)->async_data;
	size_t size = sizeof(*cmd->sqe);

	if (issue_flags & IO_URING_F_SQE128)
		size *= 2;
	if (cmd->sqe != copy) {
		memcpy(copy, cmd->sqe, size);
		cmd->sqe = copy;
	}
}

/* 6.14 (9bc1e897a821): the virtio bus answers for the affinity of its vectors. */
static inline void virtblk_compat_map_queues(struct blk_mq_queue_map *map,
					     struct virtio_device *vdev)
{
	blk_mq_virtio_map_queues(map, vdev, 0);
}

#endif
