/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A split virtqueue in our own hands: see virtio_blk_ring.c. What is inline here
 * is what each command passes through.
 */
#ifndef _VIRTIO_BLK_RING_H
#define _VIRTIO_BLK_RING_H

#include <linux/hrtimer.h>
#include <linux/virtio_blk.h>
#include <linux/virtio_ring.h>

struct scatterlist;
struct virtblk_data;
struct virtblk_vq;
struct virtio_blk;

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
 * @big_table: descriptors of a block request that has more than @table holds,
 *	or NULL
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

/**
 * struct virtblk_ring - a split ring that we fill ourselves
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

/* These rings are little-endian, whatever the CPU is. */
static inline __virtio16 virtblk_ring16(u16 v)
{
	return (__force __virtio16)cpu_to_le16(v);
}

static inline __virtio32 virtblk_ring32(u32 v)
{
	return (__force __virtio32)cpu_to_le32(v);
}

static inline __virtio64 virtblk_ring64(u64 v)
{
	return (__force __virtio64)cpu_to_le64(v);
}

static inline u16 virtblk_ring_to16(__virtio16 v)
{
	return le16_to_cpu((__force __le16)v);
}

static inline void virtblk_desc_set(struct vring_desc *desc, phys_addr_t addr,
				    u32 len, u16 flags, u16 next)
{
	desc->addr = virtblk_ring64(addr);
	desc->len = virtblk_ring32(len);
	desc->flags = virtblk_ring16(flags);
	desc->next = virtblk_ring16(next);
}

void virtblk_ring_init(struct virtblk_ring *r);
void virtblk_ring_init_cmd(struct virtblk_cmd *cmd);
bool virtblk_ring_possible(struct virtio_device *vdev);
int virtblk_ring_start(struct virtblk_vq *vq, struct virtqueue *q);
void virtblk_ring_stop(struct virtblk_vq *vq);
int virtblk_ring_add_sg(struct virtblk_ring *r, struct virtblk_cmd *cmd,
			struct scatterlist *sg, unsigned int segs, bool to_device);
int virtblk_ring_add_table(struct virtblk_ring *r, const struct virtio_blk *vblk,
			   struct virtblk_cmd *cmd, const struct virtblk_data *d);
bool virtblk_ring_kick_prepare(struct virtblk_ring *r);
void virtblk_ring_wrapped(struct virtblk_ring *r);
struct virtblk_cmd *virtblk_ring_detach(struct virtblk_ring *r);
void virtblk_ring_disable_cb(struct virtblk_ring *r);
void virtblk_ring_never_cb(struct virtblk_ring *r);
bool virtblk_ring_enable_cb(struct virtblk_ring *r);

/*
 * Put the table of @segs segments at @phys on the ring, which has a descriptor
 * left. Caller holds vq->lock.
 */
static inline void virtblk_ring_publish(struct virtblk_ring *r,
					struct virtblk_cmd *cmd,
					phys_addr_t phys, unsigned int segs)
{
	u16 head = r->free[--r->nr_free];
	struct vring_desc *desc = &r->vring.desc[head];

	desc->addr = virtblk_ring64(phys);
	desc->len = virtblk_ring32((segs + VIRTBLK_DESC_DATA) * sizeof(*desc));
	r->cmds[head] = cmd;
	r->vring.avail->ring[r->avail_idx & r->mask] = virtblk_ring16(head);

	/* The device may look as soon as it sees the index. */
	virt_wmb();
	r->avail_idx++;
	WRITE_ONCE(r->vring.avail->idx, virtblk_ring16(r->avail_idx));
	if (unlikely(!r->avail_idx))
		virtblk_ring_wrapped(r);
}

/* Add a command of one segment. Caller holds vq->lock. Return: 0 or -ENOSPC. */
static inline int virtblk_ring_add_one(struct virtblk_ring *r,
				       struct virtblk_cmd *cmd, phys_addr_t phys,
				       u32 len, bool to_device)
{
	if (unlikely(!r->nr_free))
		return -ENOSPC;
	cmd->table[VIRTBLK_DESC_HDR].next = virtblk_ring16(VIRTBLK_DESC_DATA);
	virtblk_desc_set(&cmd->table[VIRTBLK_DESC_DATA], phys, len,
			 VRING_DESC_F_NEXT | (to_device ? 0 : VRING_DESC_F_WRITE),
			 VIRTBLK_DESC_STATUS);
	virtblk_ring_publish(r, cmd, cmd->table_phys, 1);
	return 0;
}

static inline u16 virtblk_ring_used_idx(const struct virtblk_ring *r)
{
	return virtblk_ring_to16(READ_ONCE(r->vring.used->idx));
}

/*
 * Take the command of the next used entry, of which there is one. Caller holds
 * vq->lock. Return: NULL if the entry names a descriptor that is not in use.
 */
static inline struct virtblk_cmd *virtblk_ring_take(struct virtblk_ring *r)
{
	u32 id = le32_to_cpu((__force __le32)
			     READ_ONCE(r->vring.used->ring[r->last_used & r->mask].id));
	struct virtblk_cmd *cmd;

	if (unlikely(id > r->mask))
		return NULL;
	cmd = r->cmds[id];
	if (unlikely(!cmd))
		return NULL;
	r->cmds[id] = NULL;
	r->free[r->nr_free++] = id;
	r->last_used++;
	return cmd;
}

#endif
