// SPDX-License-Identifier: GPL-2.0
/*
 * The character device /dev/vdXc0: virtio-blk commands from io_uring straight
 * to the virtqueue and back.
 */
#include <linux/blkdev.h>
#include <linux/capability.h>
#include <linux/delay.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/part_stat.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#include "virtio_blk.h"

#define CREATE_TRACE_POINTS
#include "virtio_blk_trace.h"

#define VIRTBLK_CHR_MINORS	(MINORMASK + 1)

/* How long a command waits for memory to be mapped through, in tries of 1 ms. */
#define VIRTBLK_DMA_TRIES	5000

static bool chr_claim = true;
module_param(chr_claim, bool, 0644);
MODULE_PARM_DESC(chr_claim,
		 "Opening /dev/vdXc0 for writing claims the disk as a mount does (default: on)");

static dev_t virtblk_chr_base;
static struct class *virtblk_chr_class;

/**
 * struct virtblk_chr_cmd - a command as read from the SQE, once
 * @type: VIRTIO_BLK_T_*
 * @ioprio: for the device
 * @sector: first sector
 * @flags: VIRTBLK_CMD_F_*
 * @src: its data
 * @range: the range of a discard-like command without a range array
 */
struct virtblk_chr_cmd {
	u32 type;
	u32 ioprio;
	u64 sector;
	u32 flags;
	struct virtblk_src src;
	struct virtio_blk_discard_write_zeroes range;
};

/*
 * Reading the SQE
 */

static int virtblk_chr_read_sqe128(struct io_uring_cmd *ioucmd,
				   struct virtblk_chr_cmd *c)
{
	const struct virtblk_uring_cmd *u = io_uring_sqe_cmd(ioucmd->sqe);

	/* Without it the ring has nothing behind the first 64 bytes. */
	if (!(c->src.issue_flags & IO_URING_F_SQE128))
		return -EOPNOTSUPP;
	c->type = READ_ONCE(u->type);
	c->ioprio = READ_ONCE(u->ioprio);
	c->sector = READ_ONCE(u->sector);
	c->src.addr = READ_ONCE(u->data);
	c->src.len = READ_ONCE(u->data_len);
	c->flags = READ_ONCE(u->flag);
	return READ_ONCE(u->reserved) ? -EINVAL : 0;
}

static int virtblk_chr_read_sqe64(struct io_uring_cmd *ioucmd,
				  struct virtblk_chr_cmd *c)
{
	const struct virtblk_uring_cmd64 *u = io_uring_sqe_cmd(ioucmd->sqe);

	c->type = READ_ONCE(u->type);
	c->ioprio = READ_ONCE(u->ioprio);
	c->sector = READ_ONCE(u->sector);
	c->flags = READ_ONCE(u->flags);
	c->src.addr = READ_ONCE(ioucmd->sqe->addr);
	c->src.len = READ_ONCE(ioucmd->sqe->len);
	return READ_ONCE(ioucmd->sqe->file_index) ? -EINVAL : 0;
}

static int virtblk_chr_read_sqe(struct io_uring_cmd *ioucmd,
				unsigned int issue_flags,
				struct virtblk_chr_cmd *c)
{
	c->src.ioucmd = ioucmd;
	c->src.issue_flags = issue_flags;
	c->src.truncate = false;
	c->src.fixed = ioucmd->flags & IORING_URING_CMD_FIXED;
	c->src.vec = false;

	switch (ioucmd->cmd_op) {
	case VIRTBLK_URING_CMD64_VEC:
		c->src.vec = true;
		fallthrough;
	case VIRTBLK_URING_CMD64:
		return virtblk_chr_read_sqe64(ioucmd, c);
	case VIRTBLK_URING_CMD_IO_VEC:
		c->src.vec = true;
		fallthrough;
	case VIRTBLK_URING_CMD_IO:
		return virtblk_chr_read_sqe128(ioucmd, c);
	default:
		return -ENOTTY;
	}
}

/*
 * Checking, and mapping the data, by type of command
 */

/* Are @bytes from @sector on whole blocks of the disk? */
static bool virtblk_chr_range_ok(struct virtio_blk *vblk, u64 sector, u64 bytes)
{
	u64 capacity = get_capacity(vblk->disk);
	u32 mask = vblk->caps.block_size - 1;

	return bytes && sector < capacity &&
	       bytes >> SECTOR_SHIFT <= capacity - sector &&
	       !(((sector << SECTOR_SHIFT) | bytes) & mask);
}

static __always_inline int virtblk_chr_prep_rw(struct virtio_blk *vblk,
					       struct virtblk_chr_cmd *c,
					       struct virtblk_data *d)
{
	int err;

	if (unlikely(c->flags))
		return -EINVAL;
	c->src.limit = vblk->caps.max_bytes;
	/* Of a vector the length is known only when it is mapped. */
	if (!c->src.vec &&
	    unlikely(!virtblk_chr_range_ok(vblk, c->sector, c->src.len)))
		return -EINVAL;
	d->to_device = c->type == VIRTIO_BLK_T_OUT;
	err = virtblk_map_data(vblk, d, &c->src);
	if (unlikely(err))
		return err;
	if (c->src.vec &&
	    unlikely(!virtblk_chr_range_ok(vblk, c->sector, d->len))) {
		virtblk_data_release(vblk, d);
		return -EINVAL;
	}
	d->sectors = d->len >> SECTOR_SHIFT;
	d->stat_group = d->to_device ? STAT_WRITE : STAT_READ;
	return 0;
}

static int virtblk_chr_prep_flush(struct virtblk_chr_cmd *c,
				  struct virtblk_data *d)
{
	if (c->flags || c->sector || c->src.addr || c->src.len || c->src.fixed)
		return -EINVAL;
	d->stat_group = STAT_FLUSH;
	return 0;
}

static int virtblk_chr_prep_get_id(struct virtio_blk *vblk,
				   struct virtblk_chr_cmd *c,
				   struct virtblk_data *d)
{
	int err;

	if (c->flags || c->sector)
		return -EINVAL;
	c->src.limit = VIRTIO_BLK_ID_BYTES;
	c->src.truncate = true;
	err = virtblk_map_data(vblk, d, &c->src);
	if (err)
		return err;
	if (d->len < VIRTIO_BLK_ID_BYTES) {
		virtblk_data_release(vblk, d);
		return -EINVAL;
	}
	return 0;
}

/* Check one range of @sectors sectors. */
static int virtblk_chr_check_range(struct virtio_blk *vblk,
				   const struct virtblk_range_limits *lim,
				   u64 sector, u64 sectors)
{
	if (sectors > lim->max_sectors ||
	    !virtblk_chr_range_ok(vblk, sector, sectors << SECTOR_SHIFT))
		return -EINVAL;
	return 0;
}

/* Bytes from the sector on, the form without a range array. */
static int virtblk_chr_prep_one_range(struct virtio_blk *vblk,
				      struct virtblk_chr_cmd *c,
				      const struct virtblk_range_limits *lim,
				      struct virtblk_data *d)
{
	u32 sectors = c->src.len >> SECTOR_SHIFT;
	int err;

	if (c->src.vec || c->src.fixed || c->src.len & (SECTOR_SIZE - 1))
		return -EINVAL;
	err = virtblk_chr_check_range(vblk, lim, c->sector, sectors);
	if (err)
		return err;
	c->range.sector = cpu_to_le64(c->sector);
	c->range.num_sectors = cpu_to_le32(sectors);
	c->range.flags = cpu_to_le32(c->flags & VIRTBLK_CMD_F_UNMAP ?
				     VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP : 0);
	d->sectors = sectors;
	/* The range is mapped once it is in the slot. */
	d->len = sizeof(c->range);
	return 0;
}

static int virtblk_chr_prep_ranges(struct virtio_blk *vblk,
				   struct virtblk_chr_cmd *c,
				   const struct virtblk_range_limits *lim,
				   struct virtblk_data *d, u32 known_flags)
{
	unsigned int i, nr;
	int err;

	if (c->sector || c->flags)
		return -EINVAL;
	c->src.limit = lim->max_ranges * sizeof(*d->ranges);
	err = virtblk_map_ranges(vblk, d, &c->src);
	if (err)
		return err;

	nr = d->len / sizeof(*d->ranges);
	for (i = 0; i < nr && !err; i++) {
		struct virtio_blk_discard_write_zeroes *r = &d->ranges[i];

		if (le32_to_cpu(r->flags) & ~known_flags)
			err = -EINVAL;
		else
			err = virtblk_chr_check_range(vblk, lim,
						      le64_to_cpu(r->sector),
						      le32_to_cpu(r->num_sectors));
		d->sectors += le32_to_cpu(r->num_sectors);
	}
	if (err)
		virtblk_data_release(vblk, d);
	return err;
}

static int virtblk_chr_prep_discard(struct virtio_blk *vblk,
				    struct virtblk_chr_cmd *c,
				    struct virtblk_data *d)
{
	const struct virtblk_range_limits *lim = &vblk->caps.discard;
	u32 range_flags = 0;

	d->to_device = true;
	d->stat_group = STAT_DISCARD;
	if (c->type == VIRTIO_BLK_T_SECURE_ERASE) {
		if (!capable(CAP_SYS_ADMIN))
			return -EPERM;
		lim = &vblk->caps.secure_erase;
		d->stat_group = STAT_WRITE;
	} else if (c->type == VIRTIO_BLK_T_WRITE_ZEROES) {
		lim = &vblk->caps.write_zeroes;
		d->stat_group = STAT_WRITE;
		if (vblk->caps.wz_may_unmap)
			range_flags = VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP;
	}
	if (c->src.addr)
		return virtblk_chr_prep_ranges(vblk, c, lim, d, range_flags);
	if (c->flags & ~(range_flags ? VIRTBLK_CMD_F_UNMAP : 0))
		return -EINVAL;
	return virtblk_chr_prep_one_range(vblk, c, lim, d);
}

static int virtblk_chr_may_read(struct file *file)
{
	return likely(file->f_mode & FMODE_READ) ? 0 : -EBADF;
}

static int virtblk_chr_may_write(struct virtio_blk *vblk, struct file *file)
{
	if (unlikely(!(file->f_mode & FMODE_WRITE)))
		return -EBADF;
	if (unlikely(bdev_read_only(vblk->disk->part0)))
		return -EROFS;
	return 0;
}

/* Anything but a read or a write. */
static noinline int virtblk_chr_prep_other(struct virtio_blk *vblk,
					   struct virtblk_chr_cmd *c,
					   struct virtblk_data *d)
{
	struct file *file = c->src.ioucmd->file;
	int err;

	switch (c->type) {
	case VIRTIO_BLK_T_FLUSH:
		return virtblk_chr_prep_flush(c, d);
	case VIRTIO_BLK_T_GET_ID:
		err = virtblk_chr_may_read(file);
		return err ?: virtblk_chr_prep_get_id(vblk, c, d);
	default:
		err = virtblk_chr_may_write(vblk, file);
		return err ?: virtblk_chr_prep_discard(vblk, c, d);
	}
}

/* Check the whole command and map its data. */
static __always_inline int virtblk_chr_prep(struct virtio_blk *vblk,
					    struct virtblk_chr_cmd *c,
					    struct virtblk_data *d)
{
	struct file *file = c->src.ioucmd->file;
	int err;

	virtblk_data_init(d);
	if (unlikely(c->type >= 64 || !(vblk->caps.types & BIT_ULL(c->type))))
		return -EOPNOTSUPP;
	if (likely(c->type <= VIRTIO_BLK_T_OUT)) {
		err = c->type == VIRTIO_BLK_T_OUT ?
			virtblk_chr_may_write(vblk, file) :
			virtblk_chr_may_read(file);
		return likely(!err) ? virtblk_chr_prep_rw(vblk, c, d) : err;
	}
	return virtblk_chr_prep_other(vblk, c, d);
}

/*
 * Statistics, as of an ordinary I/O on the whole disk: what
 * bdev_start_io_acct() and bdev_end_io_acct() do, inline, and without
 * disabling preemption again under our lock.
 */

static bool virtblk_chr_disk_busy(struct block_device *part)
{
	long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += part_stat_local_read_cpu(part, in_flight[0], cpu) +
		       part_stat_local_read_cpu(part, in_flight[1], cpu);
	return sum > 0;
}

/* Time counts as busy if an I/O ends now, or if one was in flight. */
static __always_inline void virtblk_chr_acct_ticks(struct block_device *part,
						   unsigned long now, bool end)
{
	unsigned long stamp = READ_ONCE(part->bd_stamp);

	if (unlikely(time_after(now, stamp)) &&
	    try_cmpxchg(&part->bd_stamp, &stamp, now) &&
	    (end || virtblk_chr_disk_busy(part)))
		__part_stat_add(part, io_ticks, now - stamp);
}

/* Caller holds vq->lock, which also keeps us on this CPU. */
static __always_inline void virtblk_chr_acct_start(struct gendisk *disk,
						   struct virtblk_slot *s)
{
	struct block_device *part = disk->part0;

	if (unlikely(s->data.stat_group < 0))
		return;
	if (unlikely(!blk_queue_io_stat(disk->queue))) {
		s->data.stat_group = -1;
		return;
	}
	s->start = jiffies;
	virtblk_chr_acct_ticks(part, s->start, false);
	part_stat_local_inc(part, in_flight[s->data.stat_group != STAT_READ]);
}

static __always_inline void virtblk_chr_acct_end(struct block_device *part,
						 struct virtblk_slot *s,
						 unsigned long now)
{
	int group = s->data.stat_group;

	if (unlikely(group < 0))
		return;
	virtblk_chr_acct_ticks(part, now, true);
	__part_stat_add(part, ios[group], 1);
	__part_stat_add(part, sectors[group], s->data.sectors);
	if (now != s->start)
		__part_stat_add(part, nsecs[group], jiffies_to_nsecs(now - s->start));
	part_stat_local_dec(part, in_flight[group != STAT_READ]);
}

static bool virtblk_chr_gone(struct virtio_blk *vblk)
{
	return READ_ONCE(vblk->vqs[0].chr_state) == VIRTBLK_CHR_DEAD;
}

/*
 * Slots
 */

/* Caller holds vq->lock. Return: how many of vq->wait to wake, 0 or 1. */
static unsigned int virtblk_chr_free_slot(struct virtblk_vq *vq,
					  struct virtblk_slot *s)
{
	vq->free[vq->nr_free++] = s;
	return vq->waiters ? 1 : 0;
}

/* Whether those who wait on @vq can go on; they look again under the lock. */
static bool virtblk_chr_ready(struct virtblk_vq *vq)
{
	switch (READ_ONCE(vq->chr_state)) {
	case VIRTBLK_CHR_LIVE:
		return READ_ONCE(vq->nr_free);
	case VIRTBLK_CHR_FROZEN:
		return false;
	default:
		return true;
	}
}

/*
 * Wait in an io_uring worker for a slot or for the end of a suspend. A fatal
 * signal ends it, and the freezer may pass.
 */
static int virtblk_chr_wait(struct virtblk_vq *vq)
{
	int err;

	/* Whoever frees a slot after this sees us. */
	spin_lock_irq(&vq->lock);
	vq->waiters++;
	spin_unlock_irq(&vq->lock);

	err = ___wait_event(vq->wait, virtblk_chr_ready(vq),
			    (TASK_KILLABLE | TASK_FREEZABLE), 1, 0, schedule());

	spin_lock_irq(&vq->lock);
	vq->waiters--;
	spin_unlock_irq(&vq->lock);
	return err ? -EINTR : 0;
}

/*
 * Submission
 */

/* Move the prepared command into a slot of the queue. Caller holds vq->lock. */
static __always_inline struct virtblk_slot *
virtblk_chr_fill_slot(struct virtblk_vq *vq, const struct virtblk_chr_cmd *c,
		      const struct virtblk_data *d)
{
	struct virtblk_slot *s = vq->free[vq->nr_free - 1];
	u64 sector = c->sector;

	s->ioucmd = c->src.ioucmd;
	virtblk_data_move(&s->data, d);
	if (unlikely(c->type > VIRTIO_BLK_T_OUT)) {
		/* That of a discard is in its ranges. */
		sector = 0;
		if (d->len && !d->segs) {
			s->range = c->range;
			virtblk_map_kernel(&s->data, &s->range, sizeof(s->range));
		}
	}
	virtblk_cmd_init(vq->vblk, &s->cmd, c->type, c->ioprio, sector);
	return s;
}

/*
 * Put the command on the ring, or park it. Caller holds vq->lock.
 *
 * Return: 0, the command is ours; -EAGAIN no slot; -ENOMEM no memory to map
 * it for DMA; -ENODEV.
 */
static __always_inline int
virtblk_chr_queue_locked(struct virtblk_vq *vq, const struct virtblk_chr_cmd *c,
			 const struct virtblk_data *d, bool *notify)
{
	struct virtblk_slot *s;
	int err = -ENOSPC;

	if (unlikely(vq->chr_state != VIRTBLK_CHR_LIVE))
		return vq->chr_state == VIRTBLK_CHR_DEAD ? -ENODEV : -EAGAIN;
	if (unlikely(!vq->nr_free)) {
		vq->stats.no_slot++;
		return -EAGAIN;
	}
	s = virtblk_chr_fill_slot(vq, c, d);
	if (likely(!vq->parked.head && virtblk_vq_may_add(vq, true, s->data.segs)))
		err = virtblk_vq_add_data(vq, &s->cmd, &s->data);
	if (likely(!err)) {
		if (!virtblk_vq_kick_deferred(vq))
			*notify = virtblk_vq_kick_prepare(vq);
	} else if (err == -ENOSPC) {
		virtblk_cmd_list_add(&vq->parked, &s->cmd);
		vq->stats.parked++;
		/* What waits here may be what makes room. */
		*notify = virtblk_vq_kick_prepare(vq);
	} else {
		return err == -EIO ? -ENODEV : err;
	}
	vq->nr_free--;
	virtblk_pdu(s->ioucmd)->vq = vq;
	virtblk_chr_acct_start(vq->vblk->disk, s);
	if (trace_virtblk_chr_submit_enabled())
		trace_virtblk_chr_submit(vq, s->ioucmd, c->type, c->sector, d->len);
	return 0;
}

static struct virtblk_vq *virtblk_chr_pick_vq(struct virtio_blk *vblk,
					      unsigned int issue_flags)
{
	unsigned int cpu = raw_smp_processor_id();

	if (issue_flags & IO_URING_F_IOPOLL)
		return &vblk->vqs[vblk->cpu_poll_vq[cpu]];
	return &vblk->vqs[vblk->cpu_vq[cpu]];
}

/*
 * io_uring repeats a command that would have to wait in a worker, where it may.
 * There -EAGAIN goes to a caller who wants no waiting at all; but with IOPOLL
 * io_uring would only try again, and again.
 */
static bool virtblk_chr_nowait(const struct virtblk_chr_cmd *c)
{
	if (c->src.issue_flags & IO_URING_F_NONBLOCK)
		return true;
	return c->src.ioucmd->file->f_flags & O_NONBLOCK &&
	       !(c->src.issue_flags & IO_URING_F_IOPOLL);
}

static __always_inline int virtblk_chr_queue(struct virtio_blk *vblk,
					     const struct virtblk_chr_cmd *c,
					     const struct virtblk_data *d)
{
	struct virtblk_vq *vq = virtblk_chr_pick_vq(vblk, c->src.issue_flags);
	unsigned int tries = 0;
	unsigned long flags;
	bool notify;
	int err;

	for (;;) {
		notify = false;
		spin_lock_irqsave(&vq->lock, flags);
		err = virtblk_chr_queue_locked(vq, c, d, &notify);
		spin_unlock_irqrestore(&vq->lock, flags);
		if (notify)
			virtblk_vq_notify(vq);
		if (likely(err != -EAGAIN && err != -ENOMEM))
			return err;
		if (virtblk_chr_nowait(c))
			return -EAGAIN;
		if (err == -EAGAIN) {
			err = virtblk_chr_wait(vq);
			if (err)
				return err;
		} else {
			if (++tries == VIRTBLK_DMA_TRIES)
				return err;
			if (fatal_signal_pending(current))
				return -EINTR;
			usleep_range(500, 1000);
		}
	}
}

/*
 * What is inline from here down is so because each command passes through it
 * once, and calls would add a fifth to the cost of submission.
 */
static __always_inline int virtblk_chr_issue(struct virtio_blk *vblk,
					     struct io_uring_cmd *ioucmd,
					     unsigned int issue_flags)
{
	/* Clearing these would cost as much as submitting does. */
	struct virtblk_chr_cmd c __uninitialized;
	struct virtblk_data d __uninitialized;
	int err;

	err = virtblk_chr_read_sqe(ioucmd, issue_flags, &c);
	if (unlikely(err))
		return err;
	if (issue_flags & IO_URING_F_IOPOLL && unlikely(!vblk->nr_poll))
		return -EOPNOTSUPP;
	err = virtblk_chr_prep(vblk, &c, &d);
	/* A disk that has gone has no size either: no reason to say -EINVAL. */
	if (unlikely(err))
		return virtblk_chr_gone(vblk) ? -ENODEV : err;
	/* A disk without a cache has nothing to flush. */
	if (c.type == VIRTIO_BLK_T_FLUSH && !vblk->caps.flush)
		return virtblk_chr_gone(vblk) ? -ENODEV : 0;
	err = virtblk_chr_queue(vblk, &c, &d);
	if (unlikely(err)) {
		virtblk_data_release(vblk, &d);
		return err;
	}
	return -EIOCBQUEUED;
}

static int virtblk_chr_uring_cmd(struct io_uring_cmd *ioucmd,
				 unsigned int issue_flags)
{
	int err = virtblk_chr_issue(ioucmd->file->private_data, ioucmd,
				    issue_flags);

	if (unlikely(err == -EAGAIN))
		virtblk_compat_keep_sqe(ioucmd, issue_flags);
	return err;
}

/*
 * Completion
 */

/* What the device's status byte means for cqe->res. */
static s32 virtblk_chr_result(u8 status)
{
	/* Never written: nothing says that the command was done. */
	return status == VIRTBLK_S_UNSET ? -EIO : status;
}

static __always_inline void virtblk_chr_done(struct virtblk_vq *vq,
					     struct virtblk_slot *s, s32 res,
					     struct virtblk_done *done)
{
	struct io_uring_cmd *ioucmd = s->ioucmd;
	struct virtblk_pdu *pdu = virtblk_pdu(ioucmd);

	pdu->next = NULL;
	pdu->res = res;
	*done->chr_tail = ioucmd;
	done->chr_tail = &pdu->next;

	/* Memory is given back in task context, and the slot with it. */
	if (s->data.held) {
		pdu->slot = s;
		return;
	}
	pdu->slot = NULL;
	done->wake += virtblk_chr_free_slot(vq, s);
}

/* The commands of done->slots have left the ring. Caller holds vq->lock. */
void virtblk_chr_reap(struct virtblk_vq *vq, struct virtblk_done *done)
{
	struct block_device *part = vq->vblk->disk->part0;
	unsigned long now = jiffies;
	struct virtblk_cmd *cmd;
	struct virtblk_slot *s;
	s32 res;

	for (cmd = done->slots.head; cmd; cmd = cmd->next) {
		s = container_of(cmd, struct virtblk_slot, cmd);
		res = virtblk_chr_result(READ_ONCE(cmd->status));
		if (trace_virtblk_chr_complete_enabled())
			trace_virtblk_chr_complete(vq, s->ioucmd, res);
		virtblk_chr_acct_end(part, s, now);
		virtblk_chr_done(vq, s, res, done);
	}
	virtblk_cmd_list_init(&done->slots);
}

/* @s never reached the ring. Caller holds vq->lock. */
void virtblk_chr_fail(struct virtblk_vq *vq, struct virtblk_slot *s, int err,
		      struct virtblk_done *done)
{
	trace_virtblk_chr_complete(vq, s->ioucmd, err);
	virtblk_chr_acct_end(vq->vblk->disk->part0, s, jiffies);
	virtblk_chr_done(vq, s, err, done);
}

/* Unpin, and give back the slot. May sleep. */
static void virtblk_chr_release(struct virtblk_pdu *pdu)
{
	struct virtblk_slot *s = pdu->slot;
	struct virtblk_vq *vq = pdu->vq;
	unsigned int wake;

	if (!s)
		return;
	virtblk_data_release(vq->vblk, &s->data);
	spin_lock_irq(&vq->lock);
	wake = virtblk_chr_free_slot(vq, s);
	spin_unlock_irq(&vq->lock);
	if (wake)
		wake_up(&vq->wait);
}

static void virtblk_chr_task_work(struct io_uring_cmd *ioucmd,
				  unsigned int issue_flags)
{
	struct virtblk_pdu *pdu = virtblk_pdu(ioucmd);

	virtblk_chr_release(pdu);
	io_uring_cmd_done32(ioucmd, pdu->res, 0, issue_flags);
}

/*
 * Tell io_uring of the completed commands in @list. In place only for those of
 * @ring, whose lock the caller (its poller) holds; any other ring is told by
 * its own task.
 */
void virtblk_chr_finish(struct io_uring_cmd *list, void *ring)
{
	struct io_uring_cmd *ioucmd;

	while ((ioucmd = list)) {
		struct virtblk_pdu *pdu = virtblk_pdu(ioucmd);

		list = pdu->next;
		if (ring && io_uring_cmd_ctx_handle(ioucmd) == ring) {
			virtblk_chr_release(pdu);
			io_uring_cmd_done32(ioucmd, pdu->res, 0, 0);
		} else {
			io_uring_cmd_do_in_task_lazy(ioucmd, virtblk_chr_task_work);
		}
	}
}

static int virtblk_chr_iopoll(struct io_uring_cmd *ioucmd,
			      struct io_comp_batch *iob, unsigned int poll_flags)
{
	return virtblk_vq_poll(virtblk_pdu(ioucmd)->vq, NULL,
			       io_uring_cmd_ctx_handle(ioucmd));
}

/*
 * Open, release, ioctl
 */

/*
 * Write back or drop what is cached of the disk and its partitions, whose
 * users read and write past us.
 */
static void virtblk_chr_sync_cache(struct virtio_blk *vblk, bool drop)
{
	struct gendisk *disk = vblk->disk;
	struct block_device *part;
	unsigned long i;

	mutex_lock(&disk->open_mutex);
	xa_for_each(&disk->part_tbl, i, part) {
		sync_blockdev(part);
		if (drop)
			invalidate_bdev(part);
	}
	mutex_unlock(&disk->open_mutex);
}

/* The first writer claims the disk for all of them. Caller holds chr_lock. */
static int virtblk_chr_get_writer(struct virtio_blk *vblk)
{
	struct file *claim;

	if (!vblk->chr_writers) {
		if (chr_claim) {
			claim = bdev_file_open_by_dev(disk_devt(vblk->disk),
						      BLK_OPEN_READ | BLK_OPEN_WRITE,
						      vblk, NULL);
			if (IS_ERR(claim))
				return PTR_ERR(claim);
			vblk->claim = claim;
		}
		virtblk_chr_sync_cache(vblk, false);
	}
	vblk->chr_writers++;
	return 0;
}

/* Caller holds chr_lock. */
static void virtblk_chr_put_writer(struct virtio_blk *vblk)
{
	if (--vblk->chr_writers)
		return;
	virtblk_chr_sync_cache(vblk, true);
	if (vblk->claim)
		bdev_fput(vblk->claim);
	vblk->claim = NULL;
}

/* The cdev's reference, which the file holds, keeps @vblk, ours the disk. */
static int virtblk_chr_open(struct inode *inode, struct file *file)
{
	struct virtio_blk *vblk = container_of(inode->i_cdev, struct virtio_blk, cdev);
	int err = 0;

	mutex_lock(&vblk->chr_lock);
	if (virtblk_chr_gone(vblk))
		err = -ENODEV;
	else if (file->f_mode & FMODE_WRITE)
		err = virtblk_chr_get_writer(vblk);
	if (!err)
		get_device(disk_to_dev(vblk->disk));
	mutex_unlock(&vblk->chr_lock);

	file->private_data = vblk;
	/* What an attempt to claim a disk says that has just gone. */
	return err == -ENXIO ? -ENODEV : err;
}

static int virtblk_chr_fop_release(struct inode *inode, struct file *file)
{
	struct virtio_blk *vblk = file->private_data;

	mutex_lock(&vblk->chr_lock);
	if (file->f_mode & FMODE_WRITE)
		virtblk_chr_put_writer(vblk);
	mutex_unlock(&vblk->chr_lock);
	put_device(disk_to_dev(vblk->disk));
	return 0;
}

static void virtblk_chr_fill_limits(struct virtio_blk *vblk,
				    struct virtblk_limits *l)
{
	const struct virtblk_caps *caps = &vblk->caps;

	l->abi_version = VIRTBLK_ABI_VERSION;
	l->capacity = get_capacity(vblk->disk);
	l->types = caps->types;
	l->features = VIRTBLK_FEAT_SQE64 | VIRTBLK_FEAT_FIXED_VEC;
	if (get_disk_ro(vblk->disk))
		l->features |= VIRTBLK_FEAT_READ_ONLY;
	if (bdev_write_cache(vblk->disk->part0))
		l->features |= VIRTBLK_FEAT_WRITE_CACHE;
	if (caps->wz_may_unmap)
		l->features |= VIRTBLK_FEAT_UNMAP;
	l->logical_block_size = caps->block_size;
	l->physical_block_size = caps->physical_block_size;
	l->max_bytes = caps->max_bytes;
	l->max_segments = caps->seg_max;
	l->max_segment_size = caps->size_max;
	l->max_discard_sectors = caps->discard.max_sectors;
	l->max_discard_ranges = caps->discard.max_ranges;
	l->discard_granularity = caps->discard.granularity;
	l->max_write_zeroes_sectors = caps->write_zeroes.max_sectors;
	l->max_write_zeroes_ranges = caps->write_zeroes.max_ranges;
	l->max_secure_erase_sectors = caps->secure_erase.max_sectors;
	l->max_secure_erase_ranges = caps->secure_erase.max_ranges;
	l->secure_erase_granularity = caps->secure_erase.granularity;
	l->nr_queues = vblk->nr_vqs - vblk->nr_poll;
	l->nr_poll_queues = vblk->nr_poll;
	l->queue_depth = vblk->vqs[0].nr_slots;
}

static int virtblk_chr_get_limits(struct virtio_blk *vblk, void __user *arg)
{
	struct virtblk_limits l = { };
	u32 size;

	if (get_user(size, (u32 __user *)arg))
		return -EFAULT;
	if (size < offsetofend(struct virtblk_limits, abi_version))
		return -EINVAL;
	virtblk_chr_fill_limits(vblk, &l);
	l.size = min_t(u32, size, sizeof(l));
	return copy_to_user(arg, &l, l.size) ? -EFAULT : 0;
}

static long virtblk_chr_ioctl(struct file *file, unsigned int cmd,
			      unsigned long arg)
{
	struct virtio_blk *vblk = file->private_data;
	void __user *p = (void __user *)arg;

	if (virtblk_chr_gone(vblk))
		return -ENODEV;
	switch (cmd) {
	case BLKGETSIZE64:
		return put_user((u64)get_capacity(vblk->disk) << SECTOR_SHIFT,
				(u64 __user *)p);
	case BLKSSZGET:
		return put_user((int)vblk->caps.block_size, (int __user *)p);
	case BLKPBSZGET:
		return put_user(vblk->caps.physical_block_size, (u32 __user *)p);
	case BLKROGET:
		return put_user(bdev_read_only(vblk->disk->part0) != 0,
				(int __user *)p);
	case VIRTBLK_IOC_LIMITS:
		return virtblk_chr_get_limits(vblk, p);
	default:
		return -ENOTTY;
	}
}

static const struct file_operations virtblk_chr_fops = {
	.owner			= THIS_MODULE,
	.open			= virtblk_chr_open,
	.release		= virtblk_chr_fop_release,
	.unlocked_ioctl		= virtblk_chr_ioctl,
	.compat_ioctl		= compat_ptr_ioctl,
	.uring_cmd		= virtblk_chr_uring_cmd,
	.uring_cmd_iopoll	= virtblk_chr_iopoll,
};

/*
 * Coming and going
 */

/* Prepare what virtblk_chr_add() makes visible; frees nothing on its own. */
void virtblk_chr_setup(struct virtio_blk *vblk)
{
	mutex_init(&vblk->chr_lock);
	vblk->chr_dev.class = virtblk_chr_class;
	vblk->chr_dev.devt = MKDEV(MAJOR(virtblk_chr_base), vblk->index);
	cdev_init(&vblk->cdev, &virtblk_chr_fops);
	vblk->cdev.owner = THIS_MODULE;
}

int virtblk_chr_add(struct virtio_blk *vblk)
{
	vblk->chr_dev.parent = &vblk->vdev->dev;
	return cdev_device_add(&vblk->cdev, &vblk->chr_dev);
}

static void virtblk_chr_set_state(struct virtio_blk *vblk, u8 state)
{
	unsigned int i;

	for (i = 0; i < vblk->nr_vqs; i++) {
		struct virtblk_vq *vq = &vblk->vqs[i];

		spin_lock_irq(&vq->lock);
		if (vq->chr_state != VIRTBLK_CHR_DEAD)
			WRITE_ONCE(vq->chr_state, state);
		spin_unlock_irq(&vq->lock);
		wake_up_all(&vq->wait);
	}
}

/*
 * No new users and no new commands. Those on the rings go on. After this the
 * disk may be put: under chr_lock nobody gets a reference any more.
 */
void virtblk_chr_close(struct virtio_blk *vblk)
{
	cdev_device_del(&vblk->cdev, &vblk->chr_dev);
	mutex_lock(&vblk->chr_lock);
	virtblk_chr_set_state(vblk, VIRTBLK_CHR_DEAD);
	mutex_unlock(&vblk->chr_lock);
	virtblk_vqs_fail_parked(vblk);
}

/* Commands wait from here to virtblk_chr_thaw(). */
void virtblk_chr_freeze(struct virtio_blk *vblk)
{
	virtblk_chr_set_state(vblk, VIRTBLK_CHR_FROZEN);
}

void virtblk_chr_thaw(struct virtio_blk *vblk)
{
	virtblk_chr_set_state(vblk, VIRTBLK_CHR_LIVE);
	virtblk_vqs_retry(vblk);
}

static bool virtblk_chr_busy(struct virtio_blk *vblk)
{
	unsigned int i;

	for (i = 0; i < vblk->nr_vqs; i++)
		if (READ_ONCE(vblk->vqs[i].chr_inflight))
			return true;
	return false;
}

/*
 * Wait until no passthrough command is on a ring. The tasks that would poll
 * may be frozen or gone, so we do it for them. A device that has broken is
 * found by the watchdog, which empties the rings. May sleep.
 */
void virtblk_chr_drain(struct virtio_blk *vblk)
{
	unsigned int i;

	while (virtblk_chr_busy(vblk)) {
		for (i = 0; i < vblk->nr_vqs; i++)
			if (vblk->vqs[i].polled)
				virtblk_vq_poll(&vblk->vqs[i], NULL, NULL);
		usleep_range(500, 1000);
	}
}

/* The node is root's until a udev rule says otherwise. */
static char *virtblk_chr_devnode(const struct device *dev, umode_t *mode)
{
	if (mode)
		*mode = 0600;
	return NULL;
}

int __init virtblk_chr_init(void)
{
	int err;

	err = alloc_chrdev_region(&virtblk_chr_base, 0, VIRTBLK_CHR_MINORS,
				  "virtblk-chr");
	if (err)
		return err;
	virtblk_chr_class = class_create("virtblk-chr");
	if (IS_ERR(virtblk_chr_class)) {
		unregister_chrdev_region(virtblk_chr_base, VIRTBLK_CHR_MINORS);
		return PTR_ERR(virtblk_chr_class);
	}
	virtblk_chr_class->devnode = virtblk_chr_devnode;
	return 0;
}

void virtblk_chr_exit(void)
{
	class_destroy(virtblk_chr_class);
	unregister_chrdev_region(virtblk_chr_base, VIRTBLK_CHR_MINORS);
}
