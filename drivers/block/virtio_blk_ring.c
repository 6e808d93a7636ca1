// SPDX-License-Identifier: GPL-2.0
/*
 * Our own hands on a split virtqueue (2.7), in place of the kernel's ring code.
 *
 * That code allocates and frees a table of descriptors for each command and
 * walks scatterlists; here the command brings its table along, and what is
 * left is some twenty stores. The transport still owns the virtqueue: it
 * allocates the ring, gives us the interrupt and carries the notification.
 *
 * The kernel's idea of the ring stays as it was when the queue was made. The
 * one place where that shows is the interrupt: it is passed on only if the
 * device's used index differs from the kernel's, which rests at 0. So once in
 * 65,536 commands an interrupt may be swallowed. While that can be, a timer
 * looks after the ring, see virtblk_ring_wrap_timer().
 *
 * Taken where all of this holds: split ring, VIRTIO 1 (little-endian), indirect
 * descriptors, and memory that the device sees as the CPU does. Everything
 * else goes through the kernel's functions, see virtio_blk_vq.c.
 *
 * All functions want vq->lock held, except where they say otherwise.
 */
#include <linux/hrtimer.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/virtio_ring.h>
#include <xen/xen.h>

#include "virtio_blk.h"

/* How often the timer looks, at first and at most. */
#define VIRTBLK_WRAP_FIRST_NS	(100 * NSEC_PER_USEC)
#define VIRTBLK_WRAP_MAX_NS	(4 * NSEC_PER_MSEC)

static bool direct_ring = true;
module_param(direct_ring, bool, 0444);
MODULE_PARM_DESC(direct_ring,
		 "Fill split rings without the kernel's ring code where possible (default: on)");

static __virtio16 virtblk_ring16(u16 v)
{
	return (__force __virtio16)cpu_to_le16(v);
}

static __virtio32 virtblk_ring32(u32 v)
{
	return (__force __virtio32)cpu_to_le32(v);
}

static __virtio64 virtblk_ring64(u64 v)
{
	return (__force __virtio64)cpu_to_le64(v);
}

static u16 virtblk_ring_to16(__virtio16 v)
{
	return le16_to_cpu((__force __le16)v);
}

/* Can the ring of this device be handled here? */
static bool virtblk_ring_possible(struct virtio_device *vdev)
{
	return direct_ring &&
	       virtio_has_feature(vdev, VIRTIO_F_VERSION_1) &&
	       virtio_has_feature(vdev, VIRTIO_RING_F_INDIRECT_DESC) &&
	       !virtio_has_feature(vdev, VIRTIO_F_RING_PACKED) &&
	       !virtio_has_feature(vdev, VIRTIO_F_IN_ORDER) &&
	       !virtio_has_feature(vdev, VIRTIO_F_ORDER_PLATFORM) &&
	       !virtio_has_feature(vdev, VIRTIO_F_NOTIFICATION_DATA) &&
	       virtio_has_dma_quirk(vdev) && !xen_domain();
}

static u16 virtblk_ring_used_idx(const struct virtblk_ring *r)
{
	return virtblk_ring_to16(READ_ONCE(r->vring.used->idx));
}

static enum hrtimer_restart virtblk_ring_wrap_timer(struct hrtimer *timer)
{
	struct virtblk_ring *r = container_of(timer, struct virtblk_ring, wrap);
	struct virtblk_vq *vq = container_of(r, struct virtblk_vq, ring);
	bool again;

	virtblk_vq_complete(vq);
	spin_lock(&vq->lock);
	/* Over once the command that makes the index 0 has been seen. */
	again = !vq->dead && (s16)r->last_used < 0;
	r->wrap_ns = min_t(u64, 2 * r->wrap_ns, VIRTBLK_WRAP_MAX_NS);
	/* Unless the next wrap has started it again already. */
	again = again && !hrtimer_is_queued(timer);
	if (again)
		hrtimer_forward_now(timer, ns_to_ktime(r->wrap_ns));
	spin_unlock(&vq->lock);
	return again ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

/* Before the first queue is made. May sleep, no lock. */
void virtblk_ring_init(struct virtblk_ring *r)
{
	hrtimer_setup(&r->wrap, virtblk_ring_wrap_timer, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL);
}

/**
 * virtblk_ring_start() - take a fresh virtqueue over, if possible
 * @vq: its queue
 * @q: the virtqueue, which nobody uses yet
 *
 * May sleep, no lock. Return: 0, and r->on tells; or -ENOMEM.
 */
int virtblk_ring_start(struct virtblk_vq *vq, struct virtqueue *q)
{
	struct virtblk_ring *r = &vq->ring;
	unsigned int i;

	r->on = false;
	if (!virtblk_ring_possible(q->vdev))
		return 0;

	r->vring = *virtqueue_get_vring(q);
	r->mask = r->vring.num - 1;
	r->free = kvmalloc_array(r->vring.num, sizeof(*r->free), GFP_KERNEL);
	r->cmds = kvcalloc(r->vring.num, sizeof(*r->cmds), GFP_KERNEL);
	if (!r->free || !r->cmds) {
		virtblk_ring_stop(vq);
		return -ENOMEM;
	}
	for (i = 0; i < r->vring.num; i++) {
		r->free[i] = i;
		r->vring.desc[i].flags = virtblk_ring16(VRING_DESC_F_INDIRECT);
	}
	r->nr_free = r->vring.num;
	r->polled = vq->polled;
	r->event_idx = virtio_has_feature(q->vdev, VIRTIO_RING_F_EVENT_IDX);
	r->avail_idx = 0;
	r->kicked = 0;
	r->last_used = 0;
	r->on = true;
	return 0;
}

/* The device is reset and the ring empty. May sleep, no lock. */
void virtblk_ring_stop(struct virtblk_vq *vq)
{
	struct virtblk_ring *r = &vq->ring;

	hrtimer_cancel(&r->wrap);
	kvfree(r->free);
	kvfree(r->cmds);
	r->free = NULL;
	r->cmds = NULL;
}

static void virtblk_desc_set(struct vring_desc *desc, phys_addr_t addr, u32 len,
			     u16 flags, u16 next)
{
	desc->addr = virtblk_ring64(addr);
	desc->len = virtblk_ring32(len);
	desc->flags = virtblk_ring16(flags);
	desc->next = virtblk_ring16(next);
}

/*
 * A command's table: header, status, and then the data. The order in which the
 * device sees them is that of the links, header to data to status (5.2.6), so
 * the first two can stay as they are from one command to the next.
 */
static void virtblk_ring_frame(struct vring_desc *table, struct virtblk_cmd *cmd)
{
	virtblk_desc_set(&table[VIRTBLK_DESC_HDR], virt_to_phys(&cmd->hdr),
			 sizeof(cmd->hdr), VRING_DESC_F_NEXT, VIRTBLK_DESC_DATA);
	virtblk_desc_set(&table[VIRTBLK_DESC_STATUS], virt_to_phys(&cmd->status),
			 sizeof(cmd->status), VRING_DESC_F_WRITE, 0);
}

/* Once for each command, before it is used for the first time. */
void virtblk_ring_init_cmd(struct virtblk_cmd *cmd)
{
	virtblk_ring_frame(cmd->table, cmd);
	cmd->table_phys = virt_to_phys(cmd->table);
	cmd->big_table = NULL;
}

/* The table for @segs segments of data, or NULL. */
static struct vring_desc *virtblk_ring_table(struct virtblk_cmd *cmd,
					     unsigned int segs)
{
	if (likely(segs <= VIRTBLK_INLINE_SEGS))
		return cmd->table;
	cmd->big_table = kmalloc_array(segs + VIRTBLK_DESC_DATA,
				       sizeof(*cmd->big_table), GFP_ATOMIC);
	if (likely(cmd->big_table))
		virtblk_ring_frame(cmd->big_table, cmd);
	return cmd->big_table;
}

/* Link the data to the status, and put the table onto the ring. */
static void virtblk_ring_publish(struct virtblk_ring *r, struct virtblk_cmd *cmd,
				 struct vring_desc *table, unsigned int segs)
{
	u16 head = r->free[--r->nr_free];
	struct vring_desc *desc = &r->vring.desc[head];

	table[VIRTBLK_DESC_HDR].next =
		virtblk_ring16(segs ? VIRTBLK_DESC_DATA : VIRTBLK_DESC_STATUS);
	if (segs)
		table[VIRTBLK_DESC_DATA + segs - 1].next =
			virtblk_ring16(VIRTBLK_DESC_STATUS);
	desc->addr = virtblk_ring64(likely(!cmd->big_table) ? cmd->table_phys :
				    virt_to_phys(table));
	desc->len = virtblk_ring32((segs + VIRTBLK_DESC_DATA) * sizeof(*table));
	r->cmds[head] = cmd;
	r->vring.avail->ring[r->avail_idx & r->mask] = virtblk_ring16(head);

	/* The device may look as soon as it sees the index. */
	virt_wmb();
	r->avail_idx++;
	WRITE_ONCE(r->vring.avail->idx, virtblk_ring16(r->avail_idx));
	if (unlikely(!r->avail_idx) && !r->polled) {
		r->wrap_ns = VIRTBLK_WRAP_FIRST_NS;
		hrtimer_start(&r->wrap, ns_to_ktime(r->wrap_ns), HRTIMER_MODE_REL);
	}
}

/* Add a command with its data in a scatterlist. Return: 0, -ENOSPC, -ENOMEM. */
int virtblk_ring_add_sg(struct virtblk_ring *r, struct virtblk_cmd *cmd,
			struct scatterlist *sg, unsigned int segs, bool to_device)
{
	u16 flags = VRING_DESC_F_NEXT | (to_device ? 0 : VRING_DESC_F_WRITE);
	struct vring_desc *table;
	unsigned int i;

	if (unlikely(!r->nr_free))
		return -ENOSPC;
	table = virtblk_ring_table(cmd, segs);
	if (unlikely(!table))
		return -ENOMEM;
	for (i = VIRTBLK_DESC_DATA; i < VIRTBLK_DESC_DATA + segs; i++) {
		virtblk_desc_set(&table[i], sg_phys(sg), sg->length, flags, i + 1);
		sg = sg_next(sg);
	}
	virtblk_ring_publish(r, cmd, table, segs);
	return 0;
}

static void virtblk_ring_fill(const struct virtio_blk *vblk,
			      const struct virtblk_data *d,
			      struct vring_desc *table, u16 flags)
{
	struct virtblk_seg_iter it = virtblk_seg_iter(vblk, d);
	struct bio_vec seg;
	unsigned int i;

	for (i = VIRTBLK_DESC_DATA; virtblk_next_seg(&it, &seg); i++)
		virtblk_desc_set(&table[i], bvec_phys(&seg), seg.bv_len, flags,
				 i + 1);
}

/* Add a command with its data in bio_vecs. Return: 0, -ENOSPC, -ENOMEM. */
int virtblk_ring_add_data(struct virtblk_ring *r, const struct virtio_blk *vblk,
			  struct virtblk_cmd *cmd, const struct virtblk_data *d)
{
	u16 flags = VRING_DESC_F_NEXT | (d->to_device ? 0 : VRING_DESC_F_WRITE);
	struct vring_desc *table;

	if (unlikely(!r->nr_free))
		return -ENOSPC;
	table = virtblk_ring_table(cmd, d->segs);
	if (unlikely(!table))
		return -ENOMEM;
	if (likely(d->segs == 1))
		virtblk_desc_set(&table[VIRTBLK_DESC_DATA],
				 bvec_phys(d->bv) + d->skip, d->len, flags, 0);
	else
		virtblk_ring_fill(vblk, d, table, flags);
	virtblk_ring_publish(r, cmd, table, d->segs);
	return 0;
}

/* Does the device want to hear of what was added since the last time? (2.7.13) */
bool virtblk_ring_kick_prepare(struct virtblk_ring *r)
{
	u16 old = r->kicked;

	/* The index has to be out before we read whether it is waited for. */
	virt_mb();
	r->kicked = r->avail_idx;
	if (r->event_idx)
		return vring_need_event(virtblk_ring_to16(READ_ONCE(vring_avail_event(&r->vring))),
					r->avail_idx, old);
	return !(READ_ONCE(r->vring.used->flags) &
		 virtblk_ring16(VRING_USED_F_NO_NOTIFY));
}

/*
 * The next completed command, or NULL. What the device says is checked: a
 * descriptor that it does not have breaks the queue.
 */
struct virtblk_cmd *virtblk_ring_get(struct virtblk_vq *vq)
{
	struct virtblk_ring *r = &vq->ring;
	struct virtblk_cmd *cmd;
	u32 id;

	if (r->last_used == virtblk_ring_used_idx(r))
		return NULL;
	/* The entry is there once the index says so, not before. */
	virt_rmb();
	id = le32_to_cpu((__force __le32)
			 READ_ONCE(r->vring.used->ring[r->last_used & r->mask].id));
	if (unlikely(id > r->mask || !r->cmds[id])) {
		if (!virtqueue_is_broken(vq->vq))
			dev_err(&vq->vq->vdev->dev,
				"%s: used ring names descriptor %u, which is not in use\n",
				vq->name, id);
		__virtqueue_break(vq->vq);
		return NULL;
	}
	cmd = r->cmds[id];
	r->cmds[id] = NULL;
	r->free[r->nr_free++] = id;
	r->last_used++;
	if (unlikely(cmd->big_table)) {
		kfree(cmd->big_table);
		cmd->big_table = NULL;
	}
	return cmd;
}

/* After a reset: the next command that the device never answered, or NULL. */
struct virtblk_cmd *virtblk_ring_detach(struct virtblk_ring *r)
{
	struct virtblk_cmd *cmd;
	unsigned int i;

	for (i = 0; r->cmds && i <= r->mask; i++) {
		cmd = r->cmds[i];
		if (!cmd)
			continue;
		r->cmds[i] = NULL;
		r->free[r->nr_free++] = i;
		kfree(cmd->big_table);
		cmd->big_table = NULL;
		return cmd;
	}
	return NULL;
}

/*
 * No interrupts. With an event index there is nothing to do: the device has
 * sent the one that it was asked for (2.7.7).
 */
void virtblk_ring_disable_cb(struct virtblk_ring *r)
{
	if (!r->event_idx)
		r->vring.avail->flags = virtblk_ring16(VRING_AVAIL_F_NO_INTERRUPT);
}

/* For a queue that is only polled. */
void virtblk_ring_never_cb(struct virtblk_ring *r)
{
	r->vring.avail->flags = virtblk_ring16(VRING_AVAIL_F_NO_INTERRUPT);
}

/*
 * An interrupt for the next completed command, please. Return: false if there
 * is one already.
 */
bool virtblk_ring_enable_cb(struct virtblk_ring *r)
{
	if (r->event_idx)
		WRITE_ONCE(vring_used_event(&r->vring), virtblk_ring16(r->last_used));
	else
		WRITE_ONCE(r->vring.avail->flags, 0);
	/* Pairs with the device's, between the used index and this. */
	virt_mb();
	return r->last_used == virtblk_ring_used_idx(r);
}
