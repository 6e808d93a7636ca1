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
#include <linux/hrtimer.h>
#include <linux/io_uring/cmd.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/virtio.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_config.h>
#include <linux/virtio_ring.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#include "compat/compat.h"

#define VIRTBLK_PART_BITS	4
#define VIRTBLK_VQ_NAME_LEN	24

/* A status that no device writes: what still reads so was not confirmed. */
#define VIRTBLK_S_UNSET		0xff

/* Segments of a command that need no table of their own. */
#define VIRTBLK_INLINE_SEGS	4

/* Places in a command's table of descriptors. */
enum {
	VIRTBLK_DESC_HDR,
	VIRTBLK_DESC_STATUS,
	VIRTBLK_DESC_DATA,
};

/**
 * struct virtblk_cmd - what a virtqueue holds: one command of either side
 * @hdr: read by the device (5.2.6)
 * @next: chain of completed or of parked commands
 * @table_phys: physical address of @table
 * @big_table: descriptors of more than @table holds, or NULL
 * @descs: descriptors of the ring that it occupies
 * @is_chr: member of a struct virtblk_slot, otherwise of a struct virtblk_req
 * @status: written by the device, last of all
 * @table: descriptors of header, data and status, where we fill the ring
 */
struct virtblk_cmd {
	struct virtio_blk_outhdr hdr;
	struct virtblk_cmd *next;
	phys_addr_t table_phys;
	struct vring_desc *big_table;
	u16 descs;
	bool is_chr;
	u8 status;
	struct vring_desc table[VIRTBLK_DESC_DATA + VIRTBLK_INLINE_SEGS];
};

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

/**
 * struct virtblk_data - the memory that a passthrough command transfers
 * @bv: the memory as bio_vecs: a registered buffer's own, @inl or @table
 * @skip: bytes to skip in the first of them
 * @len: bytes
 * @segs: segments in the sense of seg_max and size_max
 * @nr: bio_vecs filled in @inl or @table; 0 for a registered buffer
 * @max: bio_vecs that fit
 * @pinned: the pages of @bv are pinned
 * @to_device: the device reads it
 * @table: allocated bio_vecs, or NULL
 * @ranges: kernel copy of a range array (then @bv is its one bio_vec)
 * @inl: room for small commands
 */
struct virtblk_data {
	const struct bio_vec *bv;
	u32 skip;
	u32 len;
	u16 segs;
	u16 nr;
	u16 max;
	bool pinned;
	bool to_device;
	struct bio_vec *table;
	struct virtio_blk_discard_write_zeroes *ranges;
	struct bio_vec inl[VIRTBLK_INLINE_SEGS];
};

/**
 * struct virtblk_slot - one passthrough command in flight
 * @cmd: the command
 * @ioucmd: whom to tell
 * @start: jiffies when it was submitted
 * @sectors: for the statistics
 * @stat_group: statistics group, or negative if it is not counted
 * @data: what it transfers
 * @range: the range of a discard-like command without a range array
 */
struct virtblk_slot {
	struct virtblk_cmd cmd;
	struct io_uring_cmd *ioucmd;
	unsigned long start;
	u32 sectors;
	s8 stat_group;
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

/**
 * struct virtblk_ring - a split ring that we fill ourselves, virtio_blk_ring.c
 * @on: it is so; otherwise the kernel's ring code fills it
 * @event_idx: VIRTIO_RING_F_EVENT_IDX
 * @polled: without interrupts
 * @mask: descriptors - 1
 * @nr_free: free descriptors
 * @avail_idx: our index of the available ring
 * @kicked: what it was when the device was last told
 * @last_used: used entries seen
 * @vring: the ring's memory
 * @free: stack of free descriptors
 * @cmds: the command of each descriptor in use
 * @wrap: looks after the ring around an index of 0
 * @wrap_ns: until it looks again
 */
struct virtblk_ring {
	bool on;
	bool event_idx;
	bool polled;
	u16 mask;
	u16 nr_free;
	u16 avail_idx;
	u16 kicked;
	u16 last_used;
	struct vring vring;
	u16 *free;
	struct virtblk_cmd **cmds;
	struct hrtimer wrap;
	u64 wrap_ns;
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
int virtblk_vq_add_data(struct virtblk_vq *vq, struct virtblk_cmd *cmd,
			const struct virtblk_data *d);
void virtblk_vq_complete(struct virtblk_vq *vq);
bool virtblk_vq_kick_prepare(struct virtblk_vq *vq);
void virtblk_vq_notify(struct virtblk_vq *vq);
bool virtblk_vq_kick_deferred(struct virtblk_vq *vq);
int virtblk_vq_poll(struct virtblk_vq *vq, struct io_comp_batch *iob,
		    void *ring);

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

/* virtio_blk_ring.c */
void virtblk_ring_init(struct virtblk_ring *r);
void virtblk_ring_init_cmd(struct virtblk_cmd *cmd);
int virtblk_ring_start(struct virtblk_vq *vq, struct virtqueue *q);
void virtblk_ring_stop(struct virtblk_vq *vq);
int virtblk_ring_add_sg(struct virtblk_ring *r, struct virtblk_cmd *cmd,
			struct scatterlist *sg, unsigned int segs, bool to_device);
int virtblk_ring_add_data(struct virtblk_ring *r, const struct virtio_blk *vblk,
			  struct virtblk_cmd *cmd, const struct virtblk_data *d);
bool virtblk_ring_kick_prepare(struct virtblk_ring *r);
struct virtblk_cmd *virtblk_ring_get(struct virtblk_vq *vq);
struct virtblk_cmd *virtblk_ring_detach(struct virtblk_ring *r);
void virtblk_ring_disable_cb(struct virtblk_ring *r);
void virtblk_ring_never_cb(struct virtblk_ring *r);
bool virtblk_ring_enable_cb(struct virtblk_ring *r);

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

/* A walk over the segments of a command's data. */
struct virtblk_seg_iter {
	const struct bio_vec *bv;
	u32 skip;
	u32 left;
	u32 max;
};

static inline struct virtblk_seg_iter
virtblk_seg_iter(const struct virtio_blk *vblk, const struct virtblk_data *d)
{
	return (struct virtblk_seg_iter) {
		.bv	= d->bv,
		.skip	= d->skip,
		.left	= d->len,
		.max	= vblk->caps.size_max,
	};
}

bool virtblk_next_seg(struct virtblk_seg_iter *it, struct bio_vec *seg);

int virtblk_map_data(struct virtio_blk *vblk, struct virtblk_data *d,
		     const struct virtblk_src *src);
int virtblk_map_ranges(struct virtblk_data *d, const struct virtblk_src *src);
void virtblk_map_kernel(struct virtblk_data *d, void *p, u32 len);
void virtblk_data_init(struct virtblk_data *d);
void virtblk_data_move(struct virtblk_data *to, const struct virtblk_data *from);
void virtblk_data_release(struct virtblk_data *d);
void virtblk_data_to_sg(const struct virtio_blk *vblk,
			const struct virtblk_data *d, struct scatterlist *sg);

/* virtio_blk_chr.c */
int virtblk_chr_init(void);
void virtblk_chr_exit(void);
void virtblk_chr_setup(struct virtio_blk *vblk);
int virtblk_chr_add(struct virtio_blk *vblk);
void virtblk_chr_close(struct virtio_blk *vblk);
void virtblk_chr_freeze(struct virtio_blk *vblk);
void virtblk_chr_thaw(struct virtio_blk *vblk);
void virtblk_chr_drain(struct virtio_blk *vblk);
void virtblk_chr_reap(struct virtblk_vq *vq, struct virtblk_slot *slot,
		      struct virtblk_done *done);
void virtblk_chr_fail(struct virtblk_vq *vq, struct virtblk_slot *slot, int err,
		      struct virtblk_done *done);
void virtblk_chr_finish(struct io_uring_cmd *list, void *ring);

#endif
