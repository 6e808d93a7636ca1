// SPDX-License-Identifier: GPL-2.0
/*
 * The virtqueues, shared by the block and the character device: setting them
 * up, putting commands on them, taking completed ones off, and seeing to it
 * that neither side starves the other when descriptors run short.
 *
 * A side that finds no descriptor waits: passthrough commands are parked on
 * the queue, block requests stay with blk-mq. While one side waits, the other
 * may hold at most half of the ring, so the first gets its half as commands
 * complete. A command larger than half of the ring would wait for ever under
 * this rule; therefore a side that has waited for two rings' worth of
 * completions bars the other until it could go on.
 */
#include <linux/interrupt.h>
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/virtio_ring.h>

#include "virtio_blk.h"

#define VIRTBLK_SLOTS_PER_CHUNK	16
#define VIRTBLK_MIN_SLOTS	256U

static void virtblk_vq_callback(struct virtqueue *vq);

/*
 * The other side waits: may a command of @segs segments be added all the same?
 * Caller holds vq->lock.
 */
bool virtblk_vq_may_share(struct virtblk_vq *vq, bool chr, unsigned int segs)
{
	unsigned int mine = chr ? vq->chr_descs : vq->mq_descs;
	unsigned int age = chr ? vq->chr_age : vq->mq_age;
	unsigned int other_age = chr ? vq->mq_age : vq->chr_age;
	unsigned int limit = 2 * vq->num;

	/* Of two that have waited too long, the longer waiting one goes first. */
	if (other_age > limit && (chr ? other_age > age : other_age >= age))
		return false;
	if (age > limit || (!vq->chr_descs && !vq->mq_descs))
		return true;
	return mine + virtblk_vq_need(vq, segs) <= vq->num / 2;
}

/* Through the kernel's ring code: header, data, status, as scatterlists. */
static noinline int virtblk_vq_core_add(struct virtblk_vq *vq,
					struct virtblk_cmd *cmd,
					struct scatterlist *data,
					unsigned int segs, bool to_device)
{
	struct scatterlist hdr, status, *sgs[3];
	unsigned int out = 0, in = 0;

	if (unlikely(vq->vq->num_free < virtblk_vq_need(vq, segs)))
		return -ENOSPC;
	sg_init_one(&hdr, &cmd->hdr, sizeof(cmd->hdr));
	sgs[out++] = &hdr;
	if (segs) {
		if (to_device)
			sgs[out++] = data;
		else
			sgs[out + in++] = data;
	}
	sg_init_one(&status, &cmd->status, sizeof(cmd->status));
	sgs[out + in++] = &status;
	return virtqueue_add_sgs(vq->vq, sgs, out, in, cmd, GFP_ATOMIC);
}

/**
 * virtblk_vq_add_sg() - put a block request on the ring
 * @vq: the queue, locked by the caller
 * @cmd: the command
 * @sg: its data, if any
 * @segs: entries of @sg
 * @to_device: the device reads the data
 *
 * Return: 0; -ENOSPC no descriptor free; -EIO the queue is broken; -ENOMEM
 * the data could not be mapped for DMA, or no memory for the descriptors.
 */
int virtblk_vq_add_sg(struct virtblk_vq *vq, struct virtblk_cmd *cmd,
		      struct scatterlist *sg, unsigned int segs, bool to_device)
{
	int err;

	if (unlikely(vq->dead))
		return -EIO;
	if (likely(vq->ring.on))
		err = virtblk_ring_add_sg(&vq->ring, cmd, sg, segs, to_device);
	else
		err = virtblk_vq_core_add(vq, cmd, sg, segs, to_device);
	if (unlikely(err))
		return err;
	cmd->descs = virtblk_vq_need(vq, segs);
	vq->mq_descs += cmd->descs;
	vq->mq_waiting = false;
	vq->mq_age = 0;
	vq->stats.mq_cmds++;
	return 0;
}

/* virtblk_vq_add_data() through the kernel's ring code. */
int virtblk_vq_core_add_data(struct virtblk_vq *vq, struct virtblk_cmd *cmd,
			     const struct virtblk_data *d)
{
	struct scatterlist inl[VIRTBLK_INLINE_SEGS], *sg = vq->sg;

	if (d->segs <= VIRTBLK_INLINE_SEGS)
		sg = inl;
	if (d->segs)
		virtblk_data_to_sg(vq->vblk, d, sg);
	return virtblk_vq_core_add(vq, cmd, sg, d->segs, d->to_device);
}

/* Caller holds vq->lock. Return: virtblk_vq_notify() has to follow. */
bool virtblk_vq_kick_prepare(struct virtblk_vq *vq)
{
	if (unlikely(vq->dead))
		return false;
	if (!(likely(vq->ring.on) ? virtblk_ring_kick_prepare(&vq->ring) :
				    virtqueue_kick_prepare(vq->vq)))
		return false;
	vq->stats.kicks++;
	return true;
}

/*
 * Tell the device. Not under vq->lock, which matters: it is an exit to the
 * host. RCU keeps the virtqueue, see virtblk_vqs_delete().
 */
void virtblk_vq_notify(struct virtblk_vq *vq)
{
	struct virtqueue *q;

	rcu_read_lock();
	q = READ_ONCE(vq->vq);
	if (q)
		virtqueue_notify(q);
	rcu_read_unlock();
}

static void virtblk_vq_unplug(struct blk_plug_cb *cb, bool from_schedule)
{
	struct virtblk_vq *vq = container_of(cb, struct virtblk_vq, plug_cb);
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&vq->lock, flags);
	vq->plug = NULL;
	notify = virtblk_vq_kick_prepare(vq);
	spin_unlock_irqrestore(&vq->lock, flags);
	if (notify)
		virtblk_vq_notify(vq);
}

/*
 * Link the queue into a plug. Each queue has one link, enough for the one
 * submitter that it usually has: no allocation. Others kick for themselves.
 *
 * The plug ends before the system call does that submitted the command, and
 * until then the command holds a reference to the file, so the queue cannot
 * vanish while it is linked.
 *
 * Caller holds vq->lock. Return: it is linked.
 */
bool virtblk_vq_plug(struct virtblk_vq *vq, struct blk_plug *plug)
{
	if (vq->plug)
		return false;
	vq->plug = plug;
	vq->plug_cb.callback = virtblk_vq_unplug;
	list_add_tail(&vq->plug_cb.list, &plug->cb_list);
	return true;
}

static void virtblk_done_init(struct virtblk_done *done)
{
	memset(done, 0, sizeof(*done));
	virtblk_cmd_list_init(&done->mq);
	virtblk_cmd_list_init(&done->slots);
	done->chr_tail = &done->chr;
}

/* @cmd has left the ring. Caller holds vq->lock. */
static __always_inline void virtblk_vq_take(struct virtblk_vq *vq,
					    struct virtblk_cmd *cmd,
					    struct virtblk_done *done)
{
	done->nr++;
	if (cmd->is_chr) {
		vq->chr_inflight--;
		vq->chr_descs -= cmd->descs;
		virtblk_cmd_list_add(&done->slots, cmd);
		return;
	}
	vq->mq_descs -= cmd->descs;
	virtblk_cmd_list_add(&done->mq, cmd);
	if (unlikely(cmd->big_table)) {
		kfree(cmd->big_table);
		cmd->big_table = NULL;
	}
}

/* After the last virtblk_vq_take(). */
static void virtblk_vq_taken(struct virtblk_vq *vq, struct virtblk_done *done)
{
	vq->taken += done->nr;
	if (done->slots.head)
		virtblk_chr_reap(vq, done);
}

/*
 * Put parked commands on the ring, in order, as far as they fit. What cannot
 * be mapped for DMA now stays for the next completion, or the watchdog.
 * Caller holds vq->lock.
 */
static void virtblk_vq_unpark(struct virtblk_vq *vq, struct virtblk_done *done)
{
	struct virtblk_slot *slot;
	bool added = false;
	int err;

	while (vq->parked.head) {
		slot = container_of(vq->parked.head, struct virtblk_slot, cmd);
		if (!virtblk_vq_may_add(vq, true, slot->data.segs))
			break;
		err = virtblk_vq_add_data(vq, &slot->cmd, &slot->data);
		if (err == -ENOSPC || err == -ENOMEM)
			break;
		virtblk_cmd_list_pop(&vq->parked);
		vq->chr_age = 0;
		if (err)
			virtblk_chr_fail(vq, slot, -ENODEV, done);
		else
			added = true;
	}
	if (added)
		done->notify |= virtblk_vq_kick_prepare(vq);
}

/*
 * Apart from mq_waiting, since a batch may find room while the hardware queue
 * is still stopped on behalf of an earlier request.
 */
static void virtblk_vq_restart_mq(struct virtblk_vq *vq,
				  struct virtblk_done *done)
{
	if (unlikely(vq->mq_stopped)) {
		vq->mq_stopped = false;
		done->restart = vq->hctx;
	}
}

/* After commands have left the ring, let those go on that wait for it. */
static void virtblk_vq_restart(struct virtblk_vq *vq, struct virtblk_done *done)
{
	if (unlikely(vq->parked.head)) {
		vq->chr_age += done->nr;
		if (vq->chr_state == VIRTBLK_CHR_LIVE)
			virtblk_vq_unpark(vq, done);
	}
	if (unlikely(vq->mq_waiting))
		vq->mq_age += done->nr;
	virtblk_vq_restart_mq(vq, done);
}

/* What the device says is checked: nonsense breaks the queue. */
static noinline void virtblk_vq_bad_used(struct virtblk_vq *vq)
{
	if (!virtqueue_is_broken(vq->vq))
		dev_err(&vq->vq->vdev->dev,
			"%s: the used ring names a descriptor that is not in use\n",
			vq->name);
	__virtqueue_break(vq->vq);
}

static void virtblk_vq_reap_ring(struct virtblk_vq *vq, struct virtblk_done *done)
{
	struct virtblk_ring *r = &vq->ring;
	struct virtblk_cmd *cmd;
	u16 used;

	while ((used = virtblk_ring_used_idx(r)) != r->last_used) {
		/* The entries are there once the index says so, not before. */
		virt_rmb();
		do {
			cmd = virtblk_ring_take(r);
			if (unlikely(!cmd)) {
				virtblk_vq_bad_used(vq);
				return;
			}
			virtblk_vq_take(vq, cmd, done);
		} while (r->last_used != used);
	}
}

/*
 * Take all completed commands off the ring. Caller holds vq->lock, and calls
 * virtblk_vq_taken() in the end.
 *
 * The used length is the device's word and worth nothing (devices report odd
 * ones); the status byte alone says what happened.
 */
static void virtblk_vq_reap(struct virtblk_vq *vq, struct virtblk_done *done)
{
	struct virtblk_cmd *cmd;
	unsigned int len;

	if (likely(vq->ring.on)) {
		virtblk_vq_reap_ring(vq, done);
		return;
	}
	while ((cmd = virtqueue_get_buf(vq->vq, &len)))
		virtblk_vq_take(vq, cmd, done);
}

static void virtblk_vq_disable_cb(struct virtblk_vq *vq)
{
	if (likely(vq->ring.on))
		virtblk_ring_disable_cb(&vq->ring);
	else
		virtqueue_disable_cb(vq->vq);
}

/* Return: false if there is something to reap already. */
static bool virtblk_vq_enable_cb(struct virtblk_vq *vq)
{
	if (likely(vq->ring.on))
		return virtblk_ring_enable_cb(&vq->ring);
	return virtqueue_enable_cb(vq->vq);
}

/*
 * As virtblk_vq_reap(), and the next completion is to interrupt. Whoever takes
 * commands off an interrupt-driven queue has to ask for that anew: with an event
 * index the device is asked for one interrupt at a time.
 */
static void virtblk_vq_reap_and_arm(struct virtblk_vq *vq,
				    struct virtblk_done *done)
{
	do {
		virtblk_vq_disable_cb(vq);
		virtblk_vq_reap(vq, done);
	} while (!virtblk_vq_enable_cb(vq) && !virtqueue_is_broken(vq->vq));
}

/*
 * The part of completion that needs no lock. @ring is the ring that the caller
 * polls for, whose commands may be completed on the spot.
 */
static void virtblk_vq_finish(struct virtblk_vq *vq, struct virtblk_done *done,
			      struct io_comp_batch *iob, void *ring)
{
	if (done->notify)
		virtblk_vq_notify(vq);
	if (done->chr)
		virtblk_chr_finish(done->chr, ring);
	if (done->mq.head)
		virtblk_mq_finish(&done->mq, iob);
	if (unlikely(done->restart))
		blk_mq_start_stopped_hw_queue(done->restart, true);
	if (unlikely(done->wake))
		wake_up_nr(&vq->wait, done->wake);
}

/* Complete what an interrupt-driven queue has. Any context. */
void virtblk_vq_complete(struct virtblk_vq *vq)
{
	struct virtblk_done done;
	unsigned long flags;

	virtblk_done_init(&done);
	spin_lock_irqsave(&vq->lock, flags);
	vq->stats.irqs++;
	if (likely(!vq->dead)) {
		virtblk_vq_reap_and_arm(vq, &done);
		virtblk_vq_taken(vq, &done);
		virtblk_vq_restart(vq, &done);
	}
	spin_unlock_irqrestore(&vq->lock, flags);
	virtblk_vq_finish(vq, &done, NULL, NULL);
}

static void virtblk_vq_callback(struct virtqueue *q)
{
	virtblk_vq_complete(virtblk_vq_of(q));
}

/**
 * virtblk_vq_poll() - complete what a polled queue has
 * @vq: the queue
 * @iob: batch for block requests, or NULL
 * @ring: handle of the polling ring, or NULL
 *
 * Process context. Return: number of commands completed.
 */
int virtblk_vq_poll(struct virtblk_vq *vq, struct io_comp_batch *iob, void *ring)
{
	struct virtblk_done done;
	unsigned long flags;

	virtblk_done_init(&done);
	spin_lock_irqsave(&vq->lock, flags);
	vq->stats.polls++;
	if (likely(!vq->dead)) {
		virtblk_vq_reap(vq, &done);
		if (done.nr) {
			virtblk_vq_taken(vq, &done);
			virtblk_vq_restart(vq, &done);
		}
	}
	spin_unlock_irqrestore(&vq->lock, flags);
	virtblk_vq_finish(vq, &done, iob, ring);
	return done.nr;
}

/*
 * Has @vq had nothing completed since the last time, although it holds
 * commands? Caller holds vq->lock.
 */
static bool virtblk_vq_stalled(struct virtblk_vq *vq)
{
	bool stalled = vq->chr_descs + vq->mq_descs &&
		       vq->taken == vq->taken_seen;

	vq->taken_seen = vq->taken;
	return stalled;
}

/*
 * The watchdog's part: parked commands that no completion will wake, and
 * queues that stand still. The latter are most likely slow; but hosts have
 * been seen to lose a notification or an interrupt, and telling them again and
 * looking ourselves costs little.
 */
void virtblk_vqs_retry(struct virtio_blk *vblk)
{
	struct virtblk_done done;
	unsigned int i;

	for (i = 0; i < vblk->nr_vqs; i++) {
		struct virtblk_vq *vq = &vblk->vqs[i];

		virtblk_done_init(&done);
		spin_lock_irq(&vq->lock);
		if (!vq->dead && virtblk_vq_stalled(vq)) {
			vq->stats.nudges++;
			done.notify = true;
			if (vq->polled)
				virtblk_vq_reap(vq, &done);
			else
				virtblk_vq_reap_and_arm(vq, &done);
			virtblk_vq_taken(vq, &done);
			virtblk_vq_restart(vq, &done);
		} else if (!vq->dead && vq->chr_state == VIRTBLK_CHR_LIVE) {
			virtblk_vq_unpark(vq, &done);
		}
		spin_unlock_irq(&vq->lock);
		virtblk_vq_finish(vq, &done, NULL, NULL);
	}
}

bool virtblk_vqs_broken(struct virtio_blk *vblk)
{
	unsigned int i;

	for (i = 0; i < vblk->nr_vqs; i++)
		if (vblk->vqs[i].vq && virtqueue_is_broken(vblk->vqs[i].vq))
			return true;
	return false;
}

/* The next command that a device, now reset, never answered. */
static struct virtblk_cmd *virtblk_vq_detach(struct virtblk_vq *vq)
{
	if (!vq->vq)
		return NULL;
	return vq->ring.on ? virtblk_ring_detach(&vq->ring) :
			     virtqueue_detach_unused_buf(vq->vq);
}

/* Caller holds vq->lock. */
static void virtblk_vq_fail_parked(struct virtblk_vq *vq,
				   struct virtblk_done *done)
{
	struct virtblk_cmd *cmd;

	while ((cmd = virtblk_cmd_list_pop(&vq->parked)))
		virtblk_chr_fail(vq, container_of(cmd, struct virtblk_slot, cmd),
				 -ENODEV, done);
}

/* The disk goes: what has not reached the device will not do so any more. */
void virtblk_vqs_fail_parked(struct virtio_blk *vblk)
{
	struct virtblk_done done;
	unsigned int i;

	for (i = 0; i < vblk->nr_vqs; i++) {
		struct virtblk_vq *vq = &vblk->vqs[i];

		virtblk_done_init(&done);
		spin_lock_irq(&vq->lock);
		virtblk_vq_fail_parked(vq, &done);
		spin_unlock_irq(&vq->lock);
		virtblk_vq_finish(vq, &done, NULL, NULL);
	}
}

/*
 * The device has been reset and will answer nothing any more: complete all it
 * had with an error and let nothing new on the rings.
 */
void virtblk_vqs_fail(struct virtio_blk *vblk)
{
	struct virtblk_done done;
	struct virtblk_cmd *cmd;
	unsigned int i;

	for (i = 0; i < vblk->nr_vqs; i++) {
		struct virtblk_vq *vq = &vblk->vqs[i];

		virtblk_done_init(&done);
		spin_lock_irq(&vq->lock);
		vq->dead = true;
		vq->chr_state = VIRTBLK_CHR_DEAD;
		while ((cmd = virtblk_vq_detach(vq))) {
			cmd->status = VIRTBLK_S_UNSET;
			virtblk_vq_take(vq, cmd, &done);
		}
		virtblk_vq_taken(vq, &done);
		virtblk_vq_fail_parked(vq, &done);
		virtblk_vq_restart_mq(vq, &done);
		spin_unlock_irq(&vq->lock);
		virtblk_vq_finish(vq, &done, NULL, NULL);
		wake_up_all(&vq->wait);
	}
}

/* Take one virtqueue into use. */
static int virtblk_vq_start(struct virtio_blk *vblk, struct virtblk_vq *vq,
			    struct virtqueue *q)
{
	int err;

	err = virtblk_ring_start(vq, q);
	if (err)
		return err;
	/* A poller needs no interrupts, and on a shared line they would harm. */
	if (vq->polled && vq->ring.on)
		virtblk_ring_never_cb(&vq->ring);
	else if (vq->polled)
		virtqueue_disable_cb(q);

	spin_lock_irq(&vq->lock);
	WRITE_ONCE(vq->vq, q);
	vq->num = virtqueue_get_vring_size(q);
	vq->indirect = virtio_has_feature(vblk->vdev, VIRTIO_RING_F_INDIRECT_DESC);
	vq->dead = false;
	spin_unlock_irq(&vq->lock);
	return 0;
}

/* Nobody touches the virtqueues after this. Return: there were some. */
static bool virtblk_vqs_stop(struct virtio_blk *vblk)
{
	bool any = false;
	unsigned int i;

	for (i = 0; i < vblk->nr_vqs; i++) {
		struct virtblk_vq *vq = &vblk->vqs[i];

		spin_lock_irq(&vq->lock);
		any |= !!vq->vq;
		vq->dead = true;
		WRITE_ONCE(vq->vq, NULL);
		spin_unlock_irq(&vq->lock);
		virtblk_ring_stop(vq);
	}
	/* Wait for those in virtblk_vq_notify(). */
	synchronize_rcu();
	return any;
}

/**
 * virtblk_vqs_find() - have the transport set up the virtqueues
 * @vblk: the device; its vqs are allocated
 *
 * At probe and after a suspend. May sleep. Return: 0 or an errno.
 */
int virtblk_vqs_find(struct virtio_blk *vblk)
{
	struct irq_affinity desc = { };
	struct virtqueue_info *info;
	struct virtqueue **vqs;
	unsigned int i;
	int err = -ENOMEM;

	info = kcalloc(vblk->nr_vqs, sizeof(*info), GFP_KERNEL);
	vqs = kcalloc(vblk->nr_vqs, sizeof(*vqs), GFP_KERNEL);
	if (!info || !vqs)
		goto out;

	vblk->direct_ring = virtblk_ring_possible(vblk->vdev);
	for (i = 0; i < vblk->nr_vqs; i++) {
		info[i].name = vblk->vqs[i].name;
		if (!vblk->vqs[i].polled)
			info[i].callback = virtblk_vq_callback;
	}
	err = virtio_find_vqs(vblk->vdev, vblk->nr_vqs, vqs, info, &desc);
	if (err)
		goto out;
	for (i = 0; !err && i < vblk->nr_vqs; i++)
		err = virtblk_vq_start(vblk, &vblk->vqs[i], vqs[i]);
	if (err) {
		virtblk_vqs_stop(vblk);
		vblk->vdev->config->del_vqs(vblk->vdev);
	}
out:
	kfree(vqs);
	kfree(info);
	return err;
}

/* The device has been reset. Give the virtqueues back. */
void virtblk_vqs_delete(struct virtio_blk *vblk)
{
	if (virtblk_vqs_stop(vblk))
		vblk->vdev->config->del_vqs(vblk->vdev);
}

int virtblk_vqs_alloc(struct virtio_blk *vblk, unsigned int nr,
		      unsigned int nr_poll)
{
	unsigned int i;

	vblk->vqs = kcalloc(nr, sizeof(*vblk->vqs), GFP_KERNEL);
	if (!vblk->vqs)
		return -ENOMEM;
	vblk->nr_vqs = nr;
	vblk->nr_poll = nr_poll;

	for (i = 0; i < nr; i++) {
		struct virtblk_vq *vq = &vblk->vqs[i];

		spin_lock_init(&vq->lock);
		init_waitqueue_head(&vq->wait);
		virtblk_ring_init(&vq->ring);
		virtblk_cmd_list_init(&vq->parked);
		vq->vblk = vblk;
		vq->dead = true;
		vq->polled = i >= nr - nr_poll;
		snprintf(vq->name, sizeof(vq->name), "%s.%u",
			 vq->polled ? "req_poll" : "req", i);
	}
	return 0;
}

static int virtblk_vq_alloc_slots(struct virtblk_vq *vq, unsigned int seg_max)
{
	unsigned int nr = max(vq->num, VIRTBLK_MIN_SLOTS);
	unsigned int chunks = DIV_ROUND_UP(nr, VIRTBLK_SLOTS_PER_CHUNK);
	unsigned int i, j;

	vq->sg = kvmalloc_array(seg_max, sizeof(*vq->sg), GFP_KERNEL);
	vq->slots = kcalloc(chunks, sizeof(*vq->slots), GFP_KERNEL);
	vq->free = kvcalloc(chunks * VIRTBLK_SLOTS_PER_CHUNK, sizeof(*vq->free),
			    GFP_KERNEL);
	if (!vq->sg || !vq->slots || !vq->free)
		return -ENOMEM;

	vq->nr_slots = chunks * VIRTBLK_SLOTS_PER_CHUNK;
	for (i = 0; i < chunks; i++) {
		/* Devices read and write these, so no vmalloc. */
		vq->slots[i] = kcalloc(VIRTBLK_SLOTS_PER_CHUNK,
				       sizeof(**vq->slots), GFP_KERNEL);
		if (!vq->slots[i])
			return -ENOMEM;
		for (j = 0; j < VIRTBLK_SLOTS_PER_CHUNK; j++) {
			vq->slots[i][j].cmd.is_chr = true;
			virtblk_ring_init_cmd(&vq->slots[i][j].cmd);
			vq->free[vq->nr_free++] = &vq->slots[i][j];
		}
	}
	return 0;
}

/*
 * At least one slot for each descriptor, for no ring holds more commands than
 * that. More on a small ring, so that commands wait parked and go on in the
 * completion path, rather than each in a worker of io_uring.
 */
int virtblk_vqs_alloc_slots(struct virtio_blk *vblk)
{
	unsigned int i;
	int err;

	for (i = 0; i < vblk->nr_vqs; i++) {
		err = virtblk_vq_alloc_slots(&vblk->vqs[i], vblk->caps.seg_max);
		if (err)
			return err;
	}
	return 0;
}

void virtblk_vqs_free(struct virtio_blk *vblk)
{
	unsigned int i, j;

	for (i = 0; i < vblk->nr_vqs; i++) {
		struct virtblk_vq *vq = &vblk->vqs[i];

		for (j = 0; j < vq->nr_slots / VIRTBLK_SLOTS_PER_CHUNK; j++)
			kfree(vq->slots[j]);
		kfree(vq->slots);
		kvfree(vq->free);
		kvfree(vq->sg);
	}
	kfree(vblk->vqs);
	vblk->vqs = NULL;
	vblk->nr_vqs = 0;
}
