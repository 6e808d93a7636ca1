/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Private structures of the virtio-blk driver.
 *
 * One struct virtio_blk per device, one struct virtblk_vq per virtqueue. The
 * block device (virtio_blk_mq.c) and the character device (virtio_blk_chr.c)
 * put their commands on the same virtqueues; virtio_blk_vq.c keeps the peace
 * between them.
 *
 * Lifetime: struct virtio_blk and all that hangs on it, except for the
 * virtqueues themselves, lives until the last reference to chr_dev is gone.
 * References are held by the driver binding, by the gendisk until its last
 * user has closed it, and by each open file of the character device.
 *
 * Locks, outermost first: fail_lock, chr_lock, virtblk_vq.lock.
 */
#ifndef _VIRTIO_BLK_PRIVATE_H
#define _VIRTIO_BLK_PRIVATE_H

#include <linux/blk-mq.h>
#include <linux/bvec.h>
#include <linux/cdev.h>
#include <linux/device.h>
#include <linux/io_uring/cmd.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "compat/compat.h"
#include "virtio_blk_ring.h"

#define VIRTBLK_PART_BITS	4
#define VIRTBLK_VQ_NAME_LEN	24

/* A status that no device writes: what still reads so was not confirmed. */
#define VIRTBLK_S_UNSET		0xff

struct virtblk_cmd_list {
	struct virtblk_cmd *head;
	struct virtblk_cmd **tail;
};

static inline void virtblk_cmd_list_init(struct virtblk_cmd_list *l)
{
	l->head = NULL;
	l->tail = &l->head;
}

static inline void virtblk_cmd_list_add(struct virtblk_cmd_list *l,
					struct virtblk_cmd *cmd)
{
	cmd->next = NULL;
	*l->tail = cmd;
	l->tail = &cmd->next;
}

static inline struct virtblk_cmd *
virtblk_cmd_list_pop(struct virtblk_cmd_list *l)
{
	struct virtblk_cmd *cmd = l->head;

	if (cmd) {
		l->head = cmd->next;
		if (!l->head)
			l->tail = &l->head;
	}
	return cmd;
}

/**
 * struct virtblk_req - per-request data of the block side
 * @cmd: the command
 * @ranges: range array of a discard-like request; &@range, or allocated
 * @range: the usual case of one range
 * @sg_table: @sg, chained to more from the kernel's pools if needed
 * @sg: first segments
 */
struct virtblk_req {
	struct virtblk_cmd cmd;
	struct virtio_blk_discard_write_zeroes *ranges;
	struct virtio_blk_discard_write_zeroes range;
	struct sg_table sg_table;
	struct scatterlist sg[VIRTBLK_INLINE_SEGS];
};

/* What a struct virtblk_data holds, in its @held. */
#define VIRTBLK_HELD_PINS	1	/* the pages of @bv are pinned */
#define VIRTBLK_HELD_BVECS	2	/* @bvecs */
#define VIRTBLK_HELD_DESCS	4	/* @descs */
#define VIRTBLK_HELD_RANGES	8	/* @ranges */

/**
 * struct virtblk_data - the memory that a passthrough command transfers, and
 *	how the command is counted
 * @bv: the memory as bio_vecs: a registered buffer's own, @inl or @bvecs
 * @skip: bytes to skip in the first of them
 * @len: bytes
 * @sectors: for the statistics
 * @segs: segments in the sense of seg_max and size_max
 * @nr: bio_vecs filled in @inl or @bvecs; 0 for a registered buffer
 * @held: what has to be given back, VIRTBLK_HELD_*
 * @to_device: the device reads it
 * @stat_group: statistics group, or negative if the command is not counted
 * @bvecs: allocated bio_vecs
 * @descs: table of descriptors with the data filled in, for more segments than
 *	a command has room for
 * @ranges: kernel copy of a range array (then @bv is its one bio_vec)
 * @inl: room for small commands
 *
 * The last four mean something only if @held or @nr say so: most commands do
 * without them, and for those nobody clears or copies them.
 */
struct virtblk_data {
	const struct bio_vec *bv;
	u32 skip;
	u32 len;
	u32 sectors;
	u16 segs;
	u16 nr;
	u8 held;
	bool to_device;
	s8 stat_group;
	struct bio_vec *bvecs;
	struct vring_desc *descs;
	struct virtio_blk_discard_write_zeroes *ranges;
	struct bio_vec inl[VIRTBLK_INLINE_SEGS];
};

/**
 * struct virtblk_slot - one passthrough command in flight
 * @cmd: the command
 * @ioucmd: whom to tell
 * @start: jiffies when it was submitted
 * @data: what it transfers
 * @range: the range of a discard-like command without a range array
 */
struct virtblk_slot {
	struct virtblk_cmd cmd;
	struct io_uring_cmd *ioucmd;
	unsigned long start;
	struct virtblk_data data;
	struct virtio_blk_discard_write_zeroes range;
};

/**
 * struct virtblk_pdu - our part of struct io_uring_cmd
 * @next: chain of completed commands
 * @vq: the queue that the command is on, for polling
 * @slot: slot whose pages wait to be unpinned, or NULL
 * @res: the result
 */
struct virtblk_pdu {
	struct io_uring_cmd *next;
	struct virtblk_vq *vq;
	struct virtblk_slot *slot;
	s32 res;
};

static inline struct virtblk_pdu *virtblk_pdu(struct io_uring_cmd *ioucmd)
{
	return io_uring_cmd_to_pdu(ioucmd, struct virtblk_pdu);
}

enum virtblk_chr_state {
	VIRTBLK_CHR_LIVE,
	VIRTBLK_CHR_FROZEN,	/* commands wait */
	VIRTBLK_CHR_DEAD,	/* commands fail with -ENODEV */
};

/* Counters of one queue, in debugfs. Guarded by virtblk_vq.lock. */
struct virtblk_vq_stats {
	u64 chr_cmds;		/* passthrough commands put on the ring */
	u64 mq_cmds;		/* block requests put on the ring */
	u64 kicks;		/* notifications sent to the device */
	u64 irqs;		/* interrupts taken, or looks of the wrap timer */
	u64 polls;		/* looks at the ring by pollers */
	u64 parked;		/* passthrough commands that found no descriptor */
	u64 no_slot;		/* passthrough commands that found no slot */
	u64 mq_stops;		/* block requests that found no descriptor */
	u64 nudges;		/* times that the watchdog found no progress */
};

/**
 * struct virtblk_vq - one virtqueue and what shares it
 * @lock: guards everything below it. Taken in interrupt context.
 * @vq: the virtqueue, NULL while there is none
 * @ring: our own state of it
 * @dead: no command may be put on @vq any more
 * @chr_state: what happens to passthrough commands
 * @num: descriptors of the ring
 * @indirect: a command of any size takes one descriptor
 * @free: stack of free slots
 * @nr_free: how many
 * @waiters: tasks that wait, or are about to, on @wait
 * @chr_inflight: passthrough commands on the ring
 * @chr_descs: descriptors they occupy
 * @mq_descs: descriptors occupied by the block side
 * @mq_waiting: a block request found no descriptor, and none could go on since
 * @mq_stopped: @hctx is stopped and has to be started again
 * @taken: commands that have left the ring, ever
 * @taken_seen: what it was when the watchdog last looked
 * @chr_age: commands completed since the head of @parked could go on
 * @mq_age: commands completed since a block request could go on
 * @parked: passthrough commands that found no descriptor, in order
 * @plug: the plug that will kick for us, or NULL
 * @plug_cb: our link in it
 * @sg: room for the segments of one big command while it is being added
 * @stats: see there
 * @wait: tasks waiting for a slot or for the end of a freeze; has its own lock
 * @vblk: the device
 * @hctx: the block side's hardware context
 * @slots: all slots, in chunks
 * @nr_slots: how many there are
 * @polled: has no interrupt
 * @name: in /proc/interrupts
 */
struct virtblk_vq {
	spinlock_t lock;	/* see above */
	struct virtqueue *vq;
	bool dead;
	bool indirect;
	bool mq_waiting;
	bool mq_stopped;
	u8 chr_state;
	unsigned int num;
	unsigned int nr_free;
	unsigned int waiters;
	unsigned int chr_inflight;
	unsigned int chr_descs;
	unsigned int mq_descs;
	struct virtblk_slot **free;
	struct blk_plug *plug;
	struct virtblk_cmd_list parked;
	unsigned int taken;
	unsigned int taken_seen;
	unsigned int chr_age;
	unsigned int mq_age;
	struct blk_plug_cb plug_cb;
	struct scatterlist *sg;
	struct virtblk_vq_stats stats;
	struct virtblk_ring ring;

	/* Not guarded: own lock, or constant. */
	wait_queue_head_t wait ____cacheline_aligned_in_smp;
	struct virtio_blk *vblk;
	struct blk_mq_hw_ctx *hctx;
	struct virtblk_slot **slots;
	unsigned int nr_slots;
	bool polled;
	char name[VIRTBLK_VQ_NAME_LEN];
} ____cacheline_aligned_in_smp;

/**
 * struct virtblk_range_limits - for DISCARD, WRITE_ZEROES, SECURE_ERASE
 * @max_sectors: sectors in one range; 0: the command is not offered
 * @max_ranges: ranges in one command
 * @granularity: bytes
 */
struct virtblk_range_limits {
	u32 max_sectors;
	u32 max_ranges;
	u32 granularity;
};

/* What the device can do. Constant from probe to remove. */
struct virtblk_caps {
	u64 types;		/* bit n: commands of type n */
	u32 block_size;		/* logical block, bytes */
	u32 physical_block_size;
	u32 alignment_offset;
	u32 io_min;
	u32 io_opt;
	u32 seg_max;
	u32 size_max;
	u32 max_bytes;		/* one passthrough IN or OUT */
	bool wz_may_unmap;
	bool flush;		/* FLUSH means something to the device */
	struct virtblk_range_limits discard;
	struct virtblk_range_limits write_zeroes;
	struct virtblk_range_limits secure_erase;
};

/**
 * struct virtio_blk - one device
 * @vqs: the virtqueues: interrupt-driven ones first, then polled ones
 * @nr_vqs: how many in all
 * @nr_poll: how many polled ones
 * @disk: the block device
 * @caps: what the device can do
 * @cpu_vq: virtqueue index of each CPU for interrupt-driven commands
 * @cpu_poll_vq: the same for polled ones, NULL without poll queues
 * @tables: cache of tables for large commands: bio_vecs, or descriptors
 * @direct_ring: we fill the rings ourselves
 * @vdev: the virtio device. Not to be used once @failed is set or the driver
 *	is unbound.
 * @tag_set: of @disk
 * @index: the X of /dev/vdX
 * @config_work: handles a change of the configuration
 * @watchdog: looks for a device that broke in silence
 * @fail_lock: one task at a time declares the device failed
 * @failed: the device was reset for good; guarded by @fail_lock
 * @cdev: the character device
 * @chr_dev: its device, whose reference count is that of this structure
 * @chr_lock: guards @chr_writers and @claim
 * @chr_writers: open files that may write
 * @claim: the exclusive opening of the block device that they share
 * @debugfs: directory of the counters
 */
struct virtio_blk {
	struct virtblk_vq *vqs;
	unsigned int nr_vqs;
	unsigned int nr_poll;
	struct gendisk *disk;
	struct virtblk_caps caps;
	unsigned int *cpu_vq;
	unsigned int *cpu_poll_vq;
	struct kmem_cache *tables;
	bool direct_ring;

	struct virtio_device *vdev;
	struct blk_mq_tag_set tag_set;
	int index;
	struct work_struct config_work;
	struct delayed_work watchdog;
	struct mutex fail_lock;		/* see above */
	bool failed;

	struct cdev cdev;
	struct device chr_dev;
	struct mutex chr_lock;		/* see above */
	unsigned int chr_writers;
	struct file *claim;
	struct dentry *debugfs;
};

static inline struct virtblk_vq *virtblk_vq_of(struct virtqueue *vq)
{
	struct virtio_blk *vblk = vq->vdev->priv;

	return &vblk->vqs[vq->index];
}

/* Fill in the header; the status cannot be mistaken for an answer. */
static inline void virtblk_cmd_init(struct virtio_blk *vblk,
				    struct virtblk_cmd *cmd, u32 type,
				    u32 ioprio, u64 sector)
{
	cmd->hdr.type = cpu_to_virtio32(vblk->vdev, type);
	cmd->hdr.ioprio = cpu_to_virtio32(vblk->vdev, ioprio);
	cmd->hdr.sector = cpu_to_virtio64(vblk->vdev, sector);
	cmd->status = VIRTBLK_S_UNSET;
}

/* virtio_blk_vq.c */

/* Commands taken off a ring under its lock, to be finished without it. */
struct virtblk_done {
	struct virtblk_cmd_list mq;
	struct virtblk_cmd_list slots;
	struct io_uring_cmd *chr;
	struct io_uring_cmd **chr_tail;
	struct blk_mq_hw_ctx *restart;
	unsigned int wake;
	unsigned int nr;
	bool notify;
};

int virtblk_vqs_find(struct virtio_blk *vblk);
void virtblk_vqs_delete(struct virtio_blk *vblk);
int virtblk_vqs_alloc(struct virtio_blk *vblk, unsigned int nr, unsigned int nr_poll);
int virtblk_vqs_alloc_slots(struct virtio_blk *vblk);
void virtblk_vqs_free(struct virtio_blk *vblk);
void virtblk_vqs_fail_parked(struct virtio_blk *vblk);
void virtblk_vqs_fail(struct virtio_blk *vblk);
bool virtblk_vqs_broken(struct virtio_blk *vblk);
void virtblk_vqs_retry(struct virtio_blk *vblk);
bool virtblk_vq_may_share(struct virtblk_vq *vq, bool chr, unsigned int segs);
int virtblk_vq_add_sg(struct virtblk_vq *vq, struct virtblk_cmd *cmd,
		      struct scatterlist *sg, unsigned int segs, bool to_device);
int virtblk_vq_core_add_data(struct virtblk_vq *vq, struct virtblk_cmd *cmd,
			     const struct virtblk_data *d);
void virtblk_vq_complete(struct virtblk_vq *vq);
bool virtblk_vq_kick_prepare(struct virtblk_vq *vq);
void virtblk_vq_notify(struct virtblk_vq *vq);
bool virtblk_vq_plug(struct virtblk_vq *vq, struct blk_plug *plug);
int virtblk_vq_poll(struct virtblk_vq *vq, struct io_comp_batch *iob,
		    void *ring);

/* Descriptors that a command of @segs segments takes. */
static inline unsigned int virtblk_vq_need(const struct virtblk_vq *vq,
					   unsigned int segs)
{
	return vq->indirect ? 1 : segs + 2;
}

/*
 * May a command of @segs segments be added, as far as the other side is
 * concerned? Caller holds vq->lock.
 */
static inline bool virtblk_vq_may_add(struct virtblk_vq *vq, bool chr,
				      unsigned int segs)
{
	bool other_waits = chr ? vq->mq_waiting : !!vq->parked.head;

	return likely(!other_waits) || virtblk_vq_may_share(vq, chr, segs);
}

/* Put a passthrough command on the ring: as virtblk_vq_add_sg(). */
static inline int virtblk_vq_add_data(struct virtblk_vq *vq,
				      struct virtblk_cmd *cmd,
				      const struct virtblk_data *d)
{
	int err;

	if (unlikely(vq->dead))
		return -EIO;
	if (unlikely(!vq->ring.on))
		err = virtblk_vq_core_add_data(vq, cmd, d);
	else if (likely(d->segs == 1))
		err = virtblk_ring_add_one(&vq->ring, cmd, bvec_phys(d->bv) + d->skip,
					   d->len, d->to_device);
	else
		err = virtblk_ring_add_table(&vq->ring, vq->vblk, cmd, d);
	if (unlikely(err))
		return err;
	cmd->descs = virtblk_vq_need(vq, d->segs);
	vq->chr_inflight++;
	vq->chr_descs += cmd->descs;
	vq->stats.chr_cmds++;
	return 0;
}

/*
 * Leave the kick to the end of the current task's plug, so that a batch of
 * commands costs one. Caller holds vq->lock. Return: the kick is taken care of.
 */
static inline bool virtblk_vq_kick_deferred(struct virtblk_vq *vq)
{
	struct blk_plug *plug = current->plug;

	if (!plug)
		return false;
	return likely(vq->plug == plug) || virtblk_vq_plug(vq, plug);
}

/* virtio_blk_mq.c */
extern const struct blk_mq_ops virtblk_mq_ops;
void virtblk_mq_finish(struct virtblk_cmd_list *list, struct io_comp_batch *iob);
int virtblk_mq_get_id(struct gendisk *disk, char *id);

/* virtio_blk_map.c */

/**
 * struct virtblk_src - where a passthrough command's data is
 * @ioucmd: the command
 * @addr: user address of the data, or of an iovec array
 * @len: bytes, or number of iovecs
 * @limit: bytes that the command may have at most
 * @issue_flags: as io_uring gave them
 * @vec: @addr is that of an iovec array
 * @fixed: the data lies in the command's registered buffer
 * @truncate: take @limit bytes of what is longer, instead of refusing it
 */
struct virtblk_src {
	struct io_uring_cmd *ioucmd;
	u64 addr;
	u32 len;
	u32 limit;
	unsigned int issue_flags;
	bool vec;
	bool fixed;
	bool truncate;
};

int virtblk_map_any(struct virtio_blk *vblk, struct virtblk_data *d,
		    const struct virtblk_src *src);
int virtblk_map_segs(struct virtio_blk *vblk, struct virtblk_data *d,
		     const struct virtblk_src *src);
int virtblk_map_ranges(struct virtio_blk *vblk, struct virtblk_data *d,
		       const struct virtblk_src *src);
void virtblk_map_kernel(struct virtblk_data *d, void *p, u32 len);
void virtblk_data_take_over(struct virtblk_data *to, const struct virtblk_data *from);
void virtblk_data_give_back(struct virtio_blk *vblk, struct virtblk_data *d);
void virtblk_data_to_sg(const struct virtio_blk *vblk,
			const struct virtblk_data *d, struct scatterlist *sg);
void virtblk_data_to_descs(const struct virtio_blk *vblk,
			   const struct virtblk_data *d, struct vring_desc *table);
int virtblk_tables_alloc(struct virtio_blk *vblk);

static inline void virtblk_data_init(struct virtblk_data *d)
{
	d->bv = d->inl;
	d->skip = 0;
	d->len = 0;
	d->sectors = 0;
	d->segs = 0;
	d->nr = 0;
	d->held = 0;
	d->to_device = false;
	d->stat_group = -1;
}

/* @to takes over what @from holds. */
static inline void virtblk_data_move(struct virtblk_data *to,
				     const struct virtblk_data *from)
{
	memcpy(to, from, offsetof(struct virtblk_data, bvecs));
	if (unlikely(from->nr | from->held))
		virtblk_data_take_over(to, from);
}

/* Unpin and free. Pages that the device wrote become dirty, which may sleep. */
static inline void virtblk_data_release(struct virtio_blk *vblk,
					struct virtblk_data *d)
{
	if (d->held)
		virtblk_data_give_back(vblk, d);
}

/* Nothing to pin and nothing to copy: io_uring keeps the buffer in place. */
static inline int virtblk_map_fixed(struct virtblk_data *d,
				    const struct virtblk_src *src, u32 len)
{
	struct iov_iter iter __uninitialized;
	int err;

	err = virtblk_compat_import_fixed(src->addr, len,
					  d->to_device ? WRITE : READ, &iter,
					  src->ioucmd, src->issue_flags);
	if (unlikely(err))
		return err;
	d->bv = iter.bvec;
	d->skip = iter.iov_offset;
	d->len = len;
	return 0;
}

static inline bool virtblk_one_seg(const struct virtio_blk *vblk,
				   const struct virtblk_data *d)
{
	return d->len <= d->bv->bv_len - d->skip && d->len <= vblk->caps.size_max;
}

/**
 * virtblk_map_data() - make a caller's buffer ready for the device
 * @vblk: the device
 * @d: initialised, with to_device set; describes the buffer afterwards
 * @src: where the buffer is
 *
 * May sleep. Return: 0, then @d has to be released; or -EFAULT, -EINVAL,
 * -EAGAIN, -EINTR, -ENOMEM, then nothing is held.
 */
static inline int virtblk_map_data(struct virtio_blk *vblk,
				   struct virtblk_data *d,
				   const struct virtblk_src *src)
{
	int err;

	if (!src->fixed || unlikely(src->vec || !src->len || src->len > src->limit))
		return virtblk_map_any(vblk, d, src);
	err = virtblk_map_fixed(d, src, src->len);
	if (unlikely(err))
		return err;
	if (unlikely(!virtblk_one_seg(vblk, d)))
		return virtblk_map_segs(vblk, d, src);
	d->segs = 1;
	return 0;
}

/* virtio_blk_chr.c */
int virtblk_chr_init(void);
void virtblk_chr_exit(void);
void virtblk_chr_setup(struct virtio_blk *vblk);
int virtblk_chr_add(struct virtio_blk *vblk);
void virtblk_chr_close(struct virtio_blk *vblk);
void virtblk_chr_freeze(struct virtio_blk *vblk);
void virtblk_chr_thaw(struct virtio_blk *vblk);
void virtblk_chr_drain(struct virtio_blk *vblk);
void virtblk_chr_reap(struct virtblk_vq *vq, struct virtblk_done *done);
void virtblk_chr_fail(struct virtblk_vq *vq, struct virtblk_slot *slot, int err,
		      struct virtblk_done *done);
void virtblk_chr_finish(struct io_uring_cmd *list, void *ring);

#endif
