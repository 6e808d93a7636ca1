// SPDX-License-Identifier: GPL-2.0
/*
 * From a caller's buffer to the segments of a command: registered buffers as
 * they are, other memory pinned for as long as the device has it.
 */
#include <linux/compat.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>

#include "virtio_blk.h"

/* Pages pinned in one go. */
#define VIRTBLK_PIN_BATCH	16

void virtblk_data_init(struct virtblk_data *d)
{
	d->bv = d->inl;
	d->skip = 0;
	d->len = 0;
	d->segs = 0;
	d->nr = 0;
	d->max = VIRTBLK_INLINE_SEGS;
	d->pinned = false;
	d->to_device = false;
	d->table = NULL;
	d->ranges = NULL;
}

/* @to takes over what @from holds. */
void virtblk_data_move(struct virtblk_data *to, const struct virtblk_data *from)
{
	unsigned int i;

	to->bv = from->bv;
	to->skip = from->skip;
	to->len = from->len;
	to->segs = from->segs;
	to->nr = from->nr;
	to->pinned = from->pinned;
	to->to_device = from->to_device;
	to->table = from->table;
	to->ranges = from->ranges;
	if (from->bv == from->inl) {
		to->bv = to->inl;
		for (i = 0; i < from->nr; i++)
			to->inl[i] = from->inl[i];
	}
}

/* Unpin and free. Pages that the device wrote become dirty, which may sleep. */
void virtblk_data_release(struct virtblk_data *d)
{
	unsigned int i;

	for (i = 0; d->pinned && i < d->nr; i++) {
		const struct bio_vec *bv = &d->bv[i];
		u32 end = bv->bv_offset + bv->bv_len;

		unpin_user_page_range_dirty_lock(bv->bv_page,
						 DIV_ROUND_UP(end, PAGE_SIZE),
						 !d->to_device);
	}
	/* Most have neither, and even kfree(NULL) is a call. */
	if (unlikely(d->table))
		kfree(d->table);
	if (unlikely(d->ranges))
		kfree(d->ranges);
	d->table = NULL;
	d->ranges = NULL;
	d->pinned = false;
	d->nr = 0;
}

static gfp_t virtblk_gfp(const struct virtblk_src *src)
{
	if (src->issue_flags & IO_URING_F_NONBLOCK)
		return GFP_NOWAIT | __GFP_NOWARN;
	return GFP_KERNEL;
}

/* io_uring repeats the command in a worker, where memory can be waited for. */
static int virtblk_nomem(const struct virtblk_src *src)
{
	return src->issue_flags & IO_URING_F_NONBLOCK ? -EAGAIN : -ENOMEM;
}

static int virtblk_data_grow(struct virtio_blk *vblk, struct virtblk_data *d,
			     const struct virtblk_src *src)
{
	unsigned int max = vblk->caps.seg_max;

	if (d->table || max <= VIRTBLK_INLINE_SEGS)
		return -EINVAL;
	d->table = kmalloc_array(max, sizeof(*d->table), virtblk_gfp(src));
	if (!d->table)
		return virtblk_nomem(src);
	memcpy(d->table, d->inl, d->nr * sizeof(*d->inl));
	d->bv = d->table;
	d->max = max;
	return 0;
}

static phys_addr_t virtblk_bv_end(const struct bio_vec *bv)
{
	return page_to_phys(bv->bv_page) + bv->bv_offset + bv->bv_len;
}

/*
 * Append to the bio_vecs of @d. Only whole pages are merged: a page that two
 * iovecs share is pinned twice and has to be unpinned twice.
 */
static int virtblk_data_append(struct virtio_blk *vblk, struct virtblk_data *d,
			       const struct virtblk_src *src, struct page *page,
			       unsigned int offset, unsigned int len)
{
	struct bio_vec *bv = d->table ?: d->inl;
	int err;

	if (d->nr && !offset &&
	    virtblk_bv_end(&bv[d->nr - 1]) == page_to_phys(page)) {
		bv[d->nr - 1].bv_len += len;
		return 0;
	}
	if (unlikely(d->nr == d->max)) {
		err = virtblk_data_grow(vblk, d, src);
		if (err)
			return err;
		bv = d->table;
	}
	bvec_set_page(&bv[d->nr++], page, len, offset);
	return 0;
}

static int virtblk_map_plain(struct virtio_blk *vblk, struct virtblk_data *d,
			     const struct virtblk_src *src, unsigned long addr,
			     u32 len)
{
	unsigned int gup_flags = d->to_device ? 0 : FOLL_WRITE;
	struct page *pages[VIRTBLK_PIN_BATCH] __uninitialized;
	unsigned int offset = offset_in_page(addr), n;
	int pinned, i, err;

	d->pinned = true;
	while (len) {
		n = min_t(u32, DIV_ROUND_UP(offset + (u64)len, PAGE_SIZE),
			  VIRTBLK_PIN_BATCH);
		pinned = pin_user_pages_fast(addr & PAGE_MASK, n, gup_flags, pages);
		if (unlikely(pinned <= 0))
			return pinned == -ENOMEM || pinned == -EINTR ? pinned :
								       -EFAULT;

		for (i = 0; i < pinned; i++) {
			n = min_t(u32, len, PAGE_SIZE - offset);
			err = virtblk_data_append(vblk, d, src, pages[i], offset, n);
			if (unlikely(err)) {
				unpin_user_pages(pages + i, pinned - i);
				return err;
			}
			addr += n;
			len -= n;
			d->len += n;
			offset = 0;
		}
	}
	return 0;
}

static int virtblk_import(const struct virtblk_src *src, u64 addr, u32 len,
			  int rw, struct iov_iter *iter)
{
	return virtblk_compat_import_fixed(addr, len, rw, iter, src->ioucmd,
					   src->issue_flags);
}

/* One piece of a vectored command inside the registered buffer. */
static int virtblk_map_fixed_piece(struct virtio_blk *vblk,
				   struct virtblk_data *d,
				   const struct virtblk_src *src, u64 addr, u32 len)
{
	struct iov_iter iter __uninitialized;
	int err;

	err = virtblk_import(src, addr, len, d->to_device ? WRITE : READ, &iter);
	if (err)
		return err;
	while (len) {
		const struct bio_vec *bv = iter.bvec;
		u32 n = min_t(u32, len, bv->bv_len - iter.iov_offset);

		err = virtblk_data_append(vblk, d, src, bv->bv_page,
					  bv->bv_offset + iter.iov_offset, n);
		if (err)
			return err;
		d->len += n;
		len -= n;
		iter.bvec++;
		iter.iov_offset = 0;
	}
	return 0;
}

/* Nothing to pin and nothing to copy: io_uring keeps the buffer in place. */
static int virtblk_map_fixed(struct virtblk_data *d,
			     const struct virtblk_src *src, u32 len)
{
	struct iov_iter iter __uninitialized;
	int err;

	err = virtblk_import(src, src->addr, len, d->to_device ? WRITE : READ,
			     &iter);
	if (unlikely(err))
		return err;
	d->bv = iter.bvec;
	d->skip = iter.iov_offset;
	d->len = len;
	return 0;
}

/*
 * The next segment of at most @it->max bytes: physically contiguous memory is
 * one segment however many bio_vecs it comes in.
 */
bool virtblk_next_seg(struct virtblk_seg_iter *it, struct bio_vec *seg)
{
	u32 n;

	if (!it->left)
		return false;
	n = min3(it->bv->bv_len - it->skip, it->left, it->max);
	bvec_set_page(seg, it->bv->bv_page, n, it->bv->bv_offset + it->skip);
	for (;;) {
		it->left -= n;
		it->skip += n;
		if (it->skip == it->bv->bv_len) {
			it->bv++;
			it->skip = 0;
		}
		if (!it->left || seg->bv_len == it->max || it->skip ||
		    page_to_phys(it->bv->bv_page) + it->bv->bv_offset !=
		    virtblk_bv_end(seg))
			return true;
		n = min3(it->bv->bv_len, it->left, it->max - seg->bv_len);
		seg->bv_len += n;
	}
}

static int virtblk_count_segs(const struct virtio_blk *vblk,
			      struct virtblk_data *d)
{
	struct virtblk_seg_iter it = virtblk_seg_iter(vblk, d);
	unsigned int segs = 0;
	struct bio_vec seg;

	/* The usual small command. */
	if (likely(d->len <= d->bv->bv_len - d->skip && d->len <= it.max)) {
		d->segs = 1;
		return 0;
	}
	while (virtblk_next_seg(&it, &seg))
		if (++segs > vblk->caps.seg_max)
			return -EINVAL;
	d->segs = segs;
	return 0;
}

/* Fill a table of d->segs entries. */
void virtblk_data_to_sg(const struct virtio_blk *vblk,
			const struct virtblk_data *d, struct scatterlist *sg)
{
	struct virtblk_seg_iter it = virtblk_seg_iter(vblk, d);
	struct bio_vec seg;

	sg_init_table(sg, d->segs);
	for (; virtblk_next_seg(&it, &seg); sg++)
		sg_set_page(sg, seg.bv_page, seg.bv_len, seg.bv_offset);
}

/* Element @i of the iovec array. */
static int virtblk_get_iovec(const struct virtblk_src *src, u32 i, u64 *addr,
			     u64 *len)
{
	void __user *array = u64_to_user_ptr(src->addr);
	struct iovec iov;

	if (io_uring_cmd_is_compat(src->issue_flags)) {
		struct compat_iovec ciov;

		array += i * sizeof(ciov);
		if (copy_from_user(&ciov, array, sizeof(ciov)))
			return -EFAULT;
		*addr = ciov.iov_base;
		*len = ciov.iov_len;
		return 0;
	}
	array += i * sizeof(iov);
	if (copy_from_user(&iov, array, sizeof(iov)))
		return -EFAULT;
	*addr = (unsigned long)iov.iov_base;
	*len = iov.iov_len;
	return 0;
}

/* How much of a piece of @len bytes may be taken after @have bytes. */
static int virtblk_clip(const struct virtblk_src *src, u32 have, u64 *len)
{
	if (likely(*len <= src->limit - have))
		return 0;
	if (!src->truncate)
		return -EINVAL;
	*len = src->limit - have;
	return 0;
}

static int virtblk_map_vec(struct virtio_blk *vblk, struct virtblk_data *d,
			   const struct virtblk_src *src)
{
	u64 addr, len;
	int err;
	u32 i;

	if (src->len > UIO_MAXIOV)
		return -EINVAL;
	for (i = 0; i < src->len; i++) {
		err = virtblk_get_iovec(src, i, &addr, &len);
		if (!err)
			err = virtblk_clip(src, d->len, &len);
		if (!err && len)
			err = src->fixed ?
				virtblk_map_fixed_piece(vblk, d, src, addr, len) :
				virtblk_map_plain(vblk, d, src, addr, len);
		if (err)
			return err;
	}
	return 0;
}

/**
 * virtblk_map_data() - make a caller's buffer ready for the device
 * @vblk: the device
 * @d: initialised, with to_device set; describes the buffer afterwards
 * @src: where the buffer is
 *
 * May sleep. Return: 0, then @d has to be released; or -EFAULT, -EINVAL,
 * -EAGAIN, -ENOMEM, then nothing is held.
 */
int virtblk_map_data(struct virtio_blk *vblk, struct virtblk_data *d,
		     const struct virtblk_src *src)
{
	u64 len = src->len;
	int err;

	if (unlikely(src->vec)) {
		err = virtblk_map_vec(vblk, d, src);
	} else {
		err = virtblk_clip(src, 0, &len);
		if (likely(!err && len))
			err = src->fixed ? virtblk_map_fixed(d, src, len) :
				virtblk_map_plain(vblk, d, src, src->addr, len);
	}
	if (likely(!err && d->len))
		err = virtblk_count_segs(vblk, d);
	if (unlikely(err))
		virtblk_data_release(d);
	return err;
}

/* The data is @len bytes at @p, memory of the kernel's linear mapping. */
void virtblk_map_kernel(struct virtblk_data *d, void *p, u32 len)
{
	bvec_set_page(&d->inl[0], virt_to_page(p), len, offset_in_page(p));
	d->bv = d->inl;
	d->nr = 1;
	d->segs = 1;
	d->len = len;
}

static int virtblk_copy_piece(void *to, const struct virtblk_src *src, u64 addr,
			      u32 len)
{
	struct iov_iter iter __uninitialized;
	int err;

	if (!src->fixed)
		return copy_from_user(to, u64_to_user_ptr(addr), len) ?
			-EFAULT : 0;
	err = virtblk_import(src, addr, len, WRITE, &iter);
	if (err)
		return err;
	return copy_from_iter(to, len, &iter) == len ? 0 : -EFAULT;
}

static int virtblk_copy_vec(void *to, const struct virtblk_src *src, u32 *total)
{
	u64 addr, len;
	int err;
	u32 i;

	if (src->len > UIO_MAXIOV)
		return -EINVAL;
	for (*total = 0, i = 0; i < src->len; i++) {
		err = virtblk_get_iovec(src, i, &addr, &len);
		if (!err)
			err = virtblk_clip(src, *total, &len);
		if (!err && len)
			err = virtblk_copy_piece(to + *total, src, addr, len);
		if (err)
			return err;
		*total += len;
	}
	return 0;
}

/**
 * virtblk_map_ranges() - copy a range array into the kernel
 * @d: initialised; owns the copy, d->ranges, of d->len bytes afterwards
 * @src: where the array is
 *
 * A copy, so that the caller cannot change what has been checked. May sleep.
 * Return: as virtblk_map_data().
 */
int virtblk_map_ranges(struct virtblk_data *d, const struct virtblk_src *src)
{
	u32 size = src->vec ? src->limit : src->len;
	int err = 0;

	if (!size || size > src->limit)
		return -EINVAL;
	d->ranges = kmalloc(size, virtblk_gfp(src));
	if (!d->ranges)
		return virtblk_nomem(src);
	if (src->vec)
		err = virtblk_copy_vec(d->ranges, src, &size);
	else
		err = virtblk_copy_piece(d->ranges, src, src->addr, size);
	if (!err && (!size || size % sizeof(*d->ranges)))
		err = -EINVAL;
	if (err) {
		virtblk_data_release(d);
		return err;
	}
	virtblk_map_kernel(d, d->ranges, size);
	return 0;
}
