/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Tracepoints of the passthrough path. Block requests have blktrace.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM virtio_blk

#if !defined(_VIRTIO_BLK_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define _VIRTIO_BLK_TRACE_H

#include <linux/tracepoint.h>

#include "virtio_blk.h"

TRACE_EVENT(virtblk_chr_submit,
	TP_PROTO(struct virtblk_vq *vq, struct io_uring_cmd *ioucmd, u32 type,
		 u64 sector, u32 len),
	TP_ARGS(vq, ioucmd, type, sector, len),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(unsigned int, queue)
		__field(void *, cmd)
		__field(u32, type)
		__field(u64, sector)
		__field(u32, len)
	),
	TP_fast_assign(
		__entry->dev = disk_devt(vq->vblk->disk);
		__entry->queue = vq - vq->vblk->vqs;
		__entry->cmd = ioucmd;
		__entry->type = type;
		__entry->sector = sector;
		__entry->len = len;
	),
	TP_printk("%d,%d queue=%u cmd=%p type=%u sector=%llu len=%u",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->queue,
		  __entry->cmd, __entry->type, __entry->sector, __entry->len)
);

TRACE_EVENT(virtblk_chr_complete,
	TP_PROTO(struct virtblk_vq *vq, struct io_uring_cmd *ioucmd, s32 res),
	TP_ARGS(vq, ioucmd, res),
	TP_STRUCT__entry(
		__field(dev_t, dev)
		__field(unsigned int, queue)
		__field(void *, cmd)
		__field(s32, res)
	),
	TP_fast_assign(
		__entry->dev = disk_devt(vq->vblk->disk);
		__entry->queue = vq - vq->vblk->vqs;
		__entry->cmd = ioucmd;
		__entry->res = res;
	),
	TP_printk("%d,%d queue=%u cmd=%p res=%d",
		  MAJOR(__entry->dev), MINOR(__entry->dev), __entry->queue,
		  __entry->cmd, __entry->res)
);

#endif /* _VIRTIO_BLK_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE virtio_blk_trace
#include <trace/define_trace.h>
