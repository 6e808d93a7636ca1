// SPDX-License-Identifier: GPL-2.0
/*
 * The block side: blk-mq requests to the virtqueue and back.
 */
#include <linux/module.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>

#include "virtio_blk.h"

static blk_status_t virtblk_mq_status(u8 status)
{
	switch (status) {
	case VIRTIO_BLK_S_OK:
		return BLK_STS_OK;
	case VIRTIO_BLK_S_UNSUPP:
		return BLK_STS_NOTSUPP;
	default:
		return BLK_STS_IOERR;
	}
}

/* One range for each bio of a discard-like request. */
static blk_status_t virtblk_mq_fill_ranges(struct request *req,
					   struct virtblk_req *vbr, bool unmap)
{
	unsigned int nr = blk_rq_nr_discard_segments(req), n = 0;
	struct virtio_blk_discard_write_zeroes *range = &vbr->range;
	__le32 flags = cpu_to_le32(unmap ? VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP : 0);
	struct bio *bio;

	if (nr > 1) {
		range = kmalloc_array(nr, sizeof(*range), GFP_ATOMIC);
		if (!range)
			return BLK_STS_RESOURCE;
	}
	vbr->ranges = range;

	if (nr == 1) {
		range->flags = flags;
		range->num_sectors = cpu_to_le32(blk_rq_sectors(req));
		range->sector = cpu_to_le64(blk_rq_pos(req));
		n = 1;
	} else {
		__rq_for_each_bio(bio, req) {
			if (WARN_ON_ONCE(n == nr))
				break;
			range[n].flags = flags;
			range[n].num_sectors = cpu_to_le32(bio_sectors(bio));
			range[n].sector = cpu_to_le64(bio->bi_iter.bi_sector);
			n++;
		}
	}
	vbr->sg_table.sgl = vbr->sg;
	vbr->sg_table.nents = 1;
	sg_init_one(vbr->sg, range, n * sizeof(*range));
	return BLK_STS_OK;
}

static void virtblk_mq_unprep(struct virtblk_req *vbr)
{
	if (vbr->ranges) {
		if (vbr->ranges != &vbr->range)
			kfree(vbr->ranges);
		vbr->ranges = NULL;
	} else if (vbr->sg_table.nents) {
		sg_free_table_chained(&vbr->sg_table, VIRTBLK_INLINE_SEGS);
	}
	vbr->sg_table.nents = 0;
}

static blk_status_t virtblk_mq_map(struct request *req, struct virtblk_req *vbr)
{
	unsigned int nr = blk_rq_nr_phys_segments(req);

	vbr->sg_table.sgl = vbr->sg;
	if (sg_alloc_table_chained(&vbr->sg_table, nr, vbr->sg,
				   VIRTBLK_INLINE_SEGS))
		return BLK_STS_RESOURCE;
	vbr->sg_table.nents = blk_rq_map_sg(req->q, req, vbr->sg_table.sgl);
	return BLK_STS_OK;
}

/* Turn a request into a command. What it took, virtblk_mq_unprep() gives back. */
static blk_status_t virtblk_mq_prep(struct virtio_blk *vblk, struct request *req)
{
	struct virtblk_req *vbr = blk_mq_rq_to_pdu(req);
	blk_status_t status = BLK_STS_OK;
	u64 sector = 0;
	u32 type;

	vbr->ranges = NULL;
	vbr->sg_table.nents = 0;

	switch (req_op(req)) {
	case REQ_OP_READ:
		type = VIRTIO_BLK_T_IN;
		sector = blk_rq_pos(req);
		break;
	case REQ_OP_WRITE:
		type = VIRTIO_BLK_T_OUT;
		sector = blk_rq_pos(req);
		break;
	case REQ_OP_FLUSH:
		type = VIRTIO_BLK_T_FLUSH;
		break;
	case REQ_OP_DISCARD:
		type = VIRTIO_BLK_T_DISCARD;
		status = virtblk_mq_fill_ranges(req, vbr, false);
		break;
	case REQ_OP_WRITE_ZEROES:
		type = VIRTIO_BLK_T_WRITE_ZEROES;
		status = virtblk_mq_fill_ranges(req, vbr,
						vblk->caps.wz_may_unmap &&
						!(req->cmd_flags & REQ_NOUNMAP));
		break;
	case REQ_OP_SECURE_ERASE:
		type = VIRTIO_BLK_T_SECURE_ERASE;
		status = virtblk_mq_fill_ranges(req, vbr, false);
		break;
	case REQ_OP_DRV_IN:
		type = VIRTIO_BLK_T_GET_ID;
		break;
	default:
		return BLK_STS_NOTSUPP;
	}
	if (status == BLK_STS_OK && !vbr->ranges && blk_rq_nr_phys_segments(req))
		status = virtblk_mq_map(req, vbr);
	if (status == BLK_STS_OK)
		virtblk_cmd_init(vblk, &vbr->cmd, type, req_get_ioprio(req),
				 sector);
	return status;
}

/* Caller holds vq->lock. */
static int virtblk_mq_add(struct virtblk_vq *vq, struct request *req)
{
	struct virtblk_req *vbr = blk_mq_rq_to_pdu(req);
	unsigned int segs = vbr->sg_table.nents;
	bool to_device = vbr->ranges || req_op(req) == REQ_OP_WRITE;

	if (!virtblk_vq_may_add(vq, false, segs))
		return -ENOSPC;
	return virtblk_vq_add_sg(vq, &vbr->cmd, vbr->sg_table.sgl, segs,
				 to_device);
}

/*
 * The ring has no room, or none for this side. Completions restart the queue,
 * and there will be some, as the room is taken by commands. Caller holds
 * vq->lock, or else the last of them could pass unseen.
 */
static void virtblk_mq_wait(struct virtblk_vq *vq, struct blk_mq_hw_ctx *hctx)
{
	vq->mq_waiting = true;
	vq->mq_stopped = true;
	vq->stats.mq_stops++;
	blk_mq_stop_hw_queue(hctx);
}

static blk_status_t virtblk_mq_queue_rq(struct blk_mq_hw_ctx *hctx,
					const struct blk_mq_queue_data *bd)
{
	struct virtio_blk *vblk = hctx->queue->queuedata;
	struct virtblk_vq *vq = hctx->driver_data;
	struct request *req = bd->rq;
	struct virtblk_req *vbr = blk_mq_rq_to_pdu(req);
	unsigned long flags;
	blk_status_t status;
	bool notify = false;
	int err;

	status = virtblk_mq_prep(vblk, req);
	if (unlikely(status))
		return status;
	blk_mq_start_request(req);

	spin_lock_irqsave(&vq->lock, flags);
	err = virtblk_mq_add(vq, req);
	if (unlikely(err == -ENOSPC))
		virtblk_mq_wait(vq, hctx);
	if (bd->last || err)
		notify = virtblk_vq_kick_prepare(vq);
	spin_unlock_irqrestore(&vq->lock, flags);
	if (notify)
		virtblk_vq_notify(vq);
	if (likely(!err))
		return BLK_STS_OK;

	virtblk_mq_unprep(vbr);
	switch (err) {
	case -ENOSPC:
		return BLK_STS_DEV_RESOURCE;
	case -ENOMEM:
		return BLK_STS_RESOURCE;
	default:
		return BLK_STS_IOERR;
	}
}

static void virtblk_mq_commit_rqs(struct blk_mq_hw_ctx *hctx)
{
	struct virtblk_vq *vq = hctx->driver_data;
	unsigned long flags;
	bool notify;

	spin_lock_irqsave(&vq->lock, flags);
	notify = virtblk_vq_kick_prepare(vq);
	spin_unlock_irqrestore(&vq->lock, flags);
	if (notify)
		virtblk_vq_notify(vq);
}

/* Add requests of one hardware queue under one lock and with one kick. */
static void virtblk_mq_add_batch(struct virtblk_vq *vq, struct rq_list *batch)
{
	struct request *req;
	unsigned long flags;
	bool notify;
	int err = 0;

	spin_lock_irqsave(&vq->lock, flags);
	while ((req = rq_list_pop(batch))) {
		err = virtblk_mq_add(vq, req);
		if (unlikely(err))
			break;
	}
	notify = virtblk_vq_kick_prepare(vq);
	spin_unlock_irqrestore(&vq->lock, flags);
	if (notify)
		virtblk_vq_notify(vq);

	/* What found no room comes again through queue_rq, which can wait. */
	for (; unlikely(req); req = rq_list_pop(batch)) {
		virtblk_mq_unprep(blk_mq_rq_to_pdu(req));
		blk_mq_requeue_request(req, true);
	}
}

static void virtblk_mq_queue_rqs(struct rq_list *rqlist)
{
	struct rq_list requeue = { }, batch = { };
	struct blk_mq_hw_ctx *hctx = NULL;
	struct request *req;

	while ((req = rq_list_pop(rqlist))) {
		if (hctx && hctx != req->mq_hctx)
			virtblk_mq_add_batch(hctx->driver_data, &batch);
		hctx = req->mq_hctx;
		if (unlikely(virtblk_mq_prep(req->q->queuedata, req))) {
			virtblk_mq_unprep(blk_mq_rq_to_pdu(req));
			rq_list_add_tail(&requeue, req);
			continue;
		}
		blk_mq_start_request(req);
		rq_list_add_tail(&batch, req);
	}
	if (!rq_list_empty(&batch))
		virtblk_mq_add_batch(hctx->driver_data, &batch);
	*rqlist = requeue;
}

static void virtblk_mq_complete(struct request *req)
{
	struct virtblk_req *vbr = blk_mq_rq_to_pdu(req);

	virtblk_mq_unprep(vbr);
	blk_mq_end_request(req, virtblk_mq_status(READ_ONCE(vbr->cmd.status)));
}

static void virtblk_mq_complete_batch(struct io_comp_batch *iob)
{
	struct request *req;

	rq_list_for_each(&iob->req_list, req)
		virtblk_mq_unprep(blk_mq_rq_to_pdu(req));
	blk_mq_end_request_batch(iob);
}

/*
 * Finish requests taken off the ring: in one batch where that is possible.
 * @iob is the caller's batch, which the caller ends, or NULL.
 */
void virtblk_mq_finish(struct virtblk_cmd_list *list, struct io_comp_batch *iob)
{
	DEFINE_IO_COMP_BATCH(own);
	struct io_comp_batch *batch = iob ? iob : &own;
	struct virtblk_cmd *cmd;

	while ((cmd = virtblk_cmd_list_pop(list))) {
		struct virtblk_req *vbr = container_of(cmd, struct virtblk_req, cmd);
		struct request *req = blk_mq_rq_from_pdu(vbr);
		bool failed = READ_ONCE(cmd->status) != VIRTIO_BLK_S_OK;

		if (unlikely(blk_should_fake_timeout(req->q)))
			continue;
		if (!blk_mq_complete_request_remote(req) &&
		    !blk_mq_add_to_batch(req, batch, failed,
					 virtblk_mq_complete_batch))
			virtblk_mq_complete(req);
	}
	if (!rq_list_empty(&own.req_list))
		virtblk_mq_complete_batch(&own);
}

static int virtblk_mq_poll(struct blk_mq_hw_ctx *hctx, struct io_comp_batch *iob)
{
	return virtblk_vq_poll(hctx->driver_data, iob, NULL);
}

static int virtblk_mq_init_hctx(struct blk_mq_hw_ctx *hctx, void *data,
				unsigned int index)
{
	struct virtio_blk *vblk = data;

	hctx->driver_data = &vblk->vqs[index];
	vblk->vqs[index].hctx = hctx;
	return 0;
}

static void virtblk_mq_exit_hctx(struct blk_mq_hw_ctx *hctx, unsigned int index)
{
	struct virtblk_vq *vq = hctx->driver_data;

	/* No request is left, so nobody waits for a restart. */
	spin_lock_irq(&vq->lock);
	vq->mq_waiting = false;
	vq->mq_stopped = false;
	vq->hctx = NULL;
	spin_unlock_irq(&vq->lock);
}

static int virtblk_mq_init_request(struct blk_mq_tag_set *set,
				   struct request *req, unsigned int hctx_idx,
				   unsigned int numa_node)
{
	struct virtblk_req *vbr = blk_mq_rq_to_pdu(req);

	vbr->cmd.is_chr = false;
	virtblk_ring_init_cmd(&vbr->cmd);
	return 0;
}

static void virtblk_mq_map_queues(struct blk_mq_tag_set *set)
{
	struct virtio_blk *vblk = set->driver_data;
	unsigned int offset = 0, i;

	for (i = 0; i < set->nr_maps; i++) {
		struct blk_mq_queue_map *map = &set->map[i];

		map->queue_offset = offset;
		switch (i) {
		case HCTX_TYPE_DEFAULT:
			map->nr_queues = vblk->nr_vqs - vblk->nr_poll;
			break;
		case HCTX_TYPE_POLL:
			map->nr_queues = vblk->nr_poll;
			break;
		default:
			map->nr_queues = 0;
		}
		offset += map->nr_queues;
		if (!map->nr_queues)
			continue;
		/* Polled queues have no vector whose affinity could tell. */
		if (i == HCTX_TYPE_POLL)
			blk_mq_map_queues(map);
		else
			virtblk_compat_map_queues(map, vblk->vdev);
	}
}

const struct blk_mq_ops virtblk_mq_ops = {
	.queue_rq	= virtblk_mq_queue_rq,
	.queue_rqs	= virtblk_mq_queue_rqs,
	.commit_rqs	= virtblk_mq_commit_rqs,
	.complete	= virtblk_mq_complete,
	.poll		= virtblk_mq_poll,
	.init_request	= virtblk_mq_init_request,
	.init_hctx	= virtblk_mq_init_hctx,
	.exit_hctx	= virtblk_mq_exit_hctx,
	.map_queues	= virtblk_mq_map_queues,
};

/**
 * virtblk_mq_get_id() - ask the device for its serial
 * @disk: the disk
 * @id: room for VIRTIO_BLK_ID_BYTES; a short serial ends with a NUL
 *
 * May sleep. Return: 0 or an errno.
 */
int virtblk_mq_get_id(struct gendisk *disk, char *id)
{
	struct request *req;
	int err;

	req = blk_mq_alloc_request(disk->queue, REQ_OP_DRV_IN, 0);
	if (IS_ERR(req))
		return PTR_ERR(req);
	err = blk_rq_map_kern(disk->queue, req, id, VIRTIO_BLK_ID_BYTES,
			      GFP_KERNEL);
	if (!err)
		err = blk_status_to_errno(blk_execute_rq(req, false));
	blk_mq_free_request(req);
	return err;
}
