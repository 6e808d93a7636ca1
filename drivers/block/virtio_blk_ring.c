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

/* Can the rings of this device be handled here? Features do not change. */
bool virtblk_ring_possible(struct virtio_device *vdev)
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
	if (!vq->vblk->direct_ring)
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

/* Around the data of a table: header to data to status, or header to status. */
static void virtblk_ring_link(struct vring_desc *table, unsigned int segs)
{
	table[VIRTBLK_DESC_HDR].next =
		virtblk_ring16(segs ? VIRTBLK_DESC_DATA : VIRTBLK_DESC_STATUS);
	if (segs)
		table[VIRTBLK_DESC_DATA + segs - 1].next =
			virtblk_ring16(VIRTBLK_DESC_STATUS);
}

/* The available index has become 0. Caller holds vq->lock. */
void virtblk_ring_wrapped(struct virtblk_ring *r)
{
	if (r->polled)
		return;
	r->wrap_ns = VIRTBLK_WRAP_FIRST_NS;
	hrtimer_start(&r->wrap, ns_to_ktime(r->wrap_ns), HRTIMER_MODE_REL);
}

/* The table for a block request, or NULL. */
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
	virtblk_ring_link(table, segs);
	virtblk_ring_publish(r, cmd, likely(!cmd->big_table) ? cmd->table_phys :
			     virt_to_phys(table), segs);
	return 0;
}

/*
 * Add a passthrough command of any number of segments. Many are in a table that
 * its data brings along. Return: 0, -ENOSPC.
 */
int virtblk_ring_add_table(struct virtblk_ring *r, const struct virtio_blk *vblk,
			   struct virtblk_cmd *cmd, const struct virtblk_data *d)
{
	bool brought = d->held & VIRTBLK_HELD_DESCS;
	struct vring_desc *table = brought ? d->descs : cmd->table;

	if (unlikely(!r->nr_free))
		return -ENOSPC;
	if (brought)
		virtblk_ring_frame(table, cmd);
	else
		virtblk_data_to_descs(vblk, d, table);
	virtblk_ring_link(table, d->segs);
	virtblk_ring_publish(r, cmd, brought ? virt_to_phys(table) :
			     cmd->table_phys, d->segs);
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
