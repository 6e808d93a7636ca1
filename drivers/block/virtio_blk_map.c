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
#define VIRTBLK_PIN_BATCH	64

/*
 * That the cache has a constructor keeps the kernel from clearing a table each
 * time that one is allocated, which costs more than all the rest of a command.
 */
static void virtblk_table_ctor(void *table)
{
}

/* Once seg_max is known. May sleep. Return: 0 or -ENOMEM. */
int virtblk_tables_alloc(struct virtio_blk *vblk)
{
	unsigned int nr = vblk->caps.seg_max + VIRTBLK_DESC_DATA;
	char name[32];

	BUILD_BUG_ON(sizeof(struct bio_vec) > sizeof(struct vring_desc));
	if (vblk->caps.seg_max <= VIRTBLK_INLINE_SEGS)
		return 0;
	snprintf(name, sizeof(name), "virtio_blk_table-%d", vblk->index);
	vblk->tables = kmem_cache_create(name, nr * sizeof(struct vring_desc), 0, 0,
					 virtblk_table_ctor);
	return vblk->tables ? 0 : -ENOMEM;
}

/* What virtblk_data_move() does for other than registered buffers. */
void virtblk_data_take_over(struct virtblk_data *to, const struct virtblk_data *from)
{
	unsigned int i;

	to->bvecs = from->bvecs;
	to->descs = from->descs;
	to->ranges = from->ranges;
	if (from->bv != from->inl)
		return;
	to->bv = to->inl;
	for (i = 0; i < from->nr; i++)
		to->inl[i] = from->inl[i];
}

static void virtblk_data_unpin(struct virtblk_data *d)
{
	unsigned int i;

	for (i = 0; i < d->nr; i++) {
		const struct bio_vec *bv = &d->bv[i];
		u32 end = bv->bv_offset + bv->bv_len;

		unpin_user_page_range_dirty_lock(bv->bv_page,
						 DIV_ROUND_UP(end, PAGE_SIZE),
						 !d->to_device);
	}
}

/* virtblk_data_release() of data that holds something. */
void virtblk_data_give_back(struct virtio_blk *vblk, struct virtblk_data *d)
{
	if (likely(d->held & VIRTBLK_HELD_PINS))
		virtblk_data_unpin(d);
	if (unlikely(d->held & VIRTBLK_HELD_BVECS))
		kmem_cache_free(vblk->tables, d->bvecs);
	if (unlikely(d->held & VIRTBLK_HELD_DESCS))
		kmem_cache_free(vblk->tables, d->descs);
	if (unlikely(d->held & VIRTBLK_HELD_RANGES))
		kfree(d->ranges);
	d->held = 0;
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

static void *virtblk_table(struct virtio_blk *vblk, const struct virtblk_src *src)
{
	return kmem_cache_alloc(vblk->tables, virtblk_gfp(src));
}

static int virtblk_data_grow(struct virtio_blk *vblk, struct virtblk_data *d,
			     const struct virtblk_src *src)
{
	if (d->held & VIRTBLK_HELD_BVECS || !vblk->tables)
		return -EINVAL;
	d->bvecs = virtblk_table(vblk, src);
	if (!d->bvecs)
		return virtblk_nomem(src);
	memcpy(d->bvecs, d->inl, d->nr * sizeof(*d->inl));
	d->held |= VIRTBLK_HELD_BVECS;
	d->bv = d->bvecs;
	return 0;
}

static unsigned int virtblk_data_room(const struct virtio_blk *vblk,
				      const struct virtblk_data *d)
{
	return d->held & VIRTBLK_HELD_BVECS ? vblk->caps.seg_max :
					      VIRTBLK_INLINE_SEGS;
}

static phys_addr_t virtblk_bv_end(const struct bio_vec *bv)
{
	return bvec_phys(bv) + bv->bv_len;
}

/*
 * Append to the bio_vecs of @d. Only whole pages are merged: a page that two
 * iovecs share is pinned twice and has to be unpinned twice.
 */
static int virtblk_data_append(struct virtio_blk *vblk, struct virtblk_data *d,
			       const struct virtblk_src *src, struct page *page,
			       unsigned int offset, unsigned int len)
{
	struct bio_vec *bv = d->held & VIRTBLK_HELD_BVECS ? d->bvecs : d->inl;
	int err;

	if (d->nr && !offset &&
	    virtblk_bv_end(&bv[d->nr - 1]) == page_to_phys(page)) {
		bv[d->nr - 1].bv_len += len;
		return 0;
	}
	if (unlikely(d->nr == virtblk_data_room(vblk, d))) {
		err = virtblk_data_grow(vblk, d, src);
		if (err)
			return err;
		bv = d->bvecs;
	}
	bvec_set_page(&bv[d->nr++], page, len, offset);
	return 0;
}

static int virtblk_pin_error(int pinned)
{
	return pinned == -ENOMEM || pinned == -EINTR ? pinned : -EFAULT;
}

/* Pages from the first of @pages that follow each other in memory. */
static unsigned int virtblk_run(struct page **pages, unsigned int nr)
{
	unsigned int i;

	for (i = 1; i < nr; i++)
		if (page_to_pfn(pages[i]) != page_to_pfn(pages[0]) + i)
			break;
	return i;
}

/* Append @nr pinned pages, the first from @offset on, @len bytes in all. */
static int virtblk_append_pages(struct virtio_blk *vblk, struct virtblk_data *d,
				const struct virtblk_src *src, struct page **pages,
				unsigned int nr, unsigned int offset, u32 len)
{
	unsigned int run, i;
	int err;
	u32 n;

	for (i = 0; i < nr; i += run) {
		run = virtblk_run(pages + i, nr - i);
		n = min_t(u32, len, run * PAGE_SIZE - offset);
		err = virtblk_data_append(vblk, d, src, pages[i], offset, n);
		if (unlikely(err)) {
			unpin_user_pages(pages + i, nr - i);
			return err;
		}
		len -= n;
		offset = 0;
	}
	return 0;
}

static noinline int virtblk_map_pages(struct virtio_blk *vblk,
				      struct virtblk_data *d,
				      const struct virtblk_src *src,
				      unsigned long addr, u32 len)
{
	unsigned int gup_flags = d->to_device ? 0 : FOLL_WRITE;
	struct page *pages[VIRTBLK_PIN_BATCH] __uninitialized;
	unsigned int offset = offset_in_page(addr), n;
	int pinned, err;

	while (len) {
		n = min_t(u32, DIV_ROUND_UP(offset + (u64)len, PAGE_SIZE),
			  VIRTBLK_PIN_BATCH);
		pinned = pin_user_pages_fast(addr & PAGE_MASK, n, gup_flags, pages);
		if (unlikely(pinned <= 0))
			return virtblk_pin_error(pinned);
		d->held |= VIRTBLK_HELD_PINS;
		n = min_t(u32, len, pinned * PAGE_SIZE - offset);
		err = virtblk_append_pages(vblk, d, src, pages, pinned, offset, n);
		if (unlikely(err))
			return err;
		addr += n;
		len -= n;
		d->len += n;
		offset = 0;
	}
	return 0;
}

/* Pin user memory and append it. */
static int virtblk_map_plain(struct virtio_blk *vblk, struct virtblk_data *d,
			     const struct virtblk_src *src, unsigned long addr,
			     u32 len)
{
	unsigned int offset = offset_in_page(addr);
	struct page *page;
	int pinned;

	if (d->nr || offset + (u64)len > PAGE_SIZE)
		return virtblk_map_pages(vblk, d, src, addr, len);

	/* The usual small command: one page. */
	pinned = pin_user_pages_fast(addr & PAGE_MASK, 1,
				     d->to_device ? 0 : FOLL_WRITE, &page);
	if (unlikely(pinned != 1))
		return virtblk_pin_error(pinned);
	d->held |= VIRTBLK_HELD_PINS;
	bvec_set_page(&d->inl[0], page, len, offset);
	d->nr = 1;
	d->len = len;
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

/* A segment as the device sees it. */
struct virtblk_seg {
	phys_addr_t phys;
	u32 len;
};

/* A walk over the segments of a command's data. */
struct virtblk_seg_iter {
	const struct bio_vec *bv;
	u32 skip;
	u32 left;
	u32 max;
};

static __always_inline struct virtblk_seg_iter
virtblk_seg_iter(const struct virtio_blk *vblk, const struct virtblk_data *d)
{
	return (struct virtblk_seg_iter) {
		.bv	= d->bv,
		.skip	= d->skip,
		.left	= d->len,
		.max	= vblk->caps.size_max,
	};
}

/*
 * The next segment of at most @it->max bytes: physically contiguous memory is
 * one segment however many bio_vecs it comes in.
 */
static __always_inline bool virtblk_next_seg(struct virtblk_seg_iter *it,
					     struct virtblk_seg *seg)
{
	u32 n;

	if (!it->left)
		return false;
	seg->phys = bvec_phys(it->bv) + it->skip;
	seg->len = 0;
	do {
		n = min3(it->bv->bv_len - it->skip, it->left, it->max - seg->len);
		seg->len += n;
		it->left -= n;
		it->skip += n;
		if (it->skip == it->bv->bv_len) {
			it->bv++;
			it->skip = 0;
		}
	} while (it->left && seg->len < it->max &&
		 bvec_phys(it->bv) + it->skip == seg->phys + seg->len);
	return true;
}

/*
 * Fill @table, if there is one. Return: the number of segments, or -EINVAL if
 * there are more than @max.
 */
static __always_inline int virtblk_walk_segs(const struct virtio_blk *vblk,
					     const struct virtblk_data *d,
					     struct vring_desc *table,
					     unsigned int max)
{
	u16 flags = VRING_DESC_F_NEXT | (d->to_device ? 0 : VRING_DESC_F_WRITE);
	struct virtblk_seg_iter it = virtblk_seg_iter(vblk, d);
	struct virtblk_seg seg;
	unsigned int i;

	for (i = 0; virtblk_next_seg(&it, &seg); i++) {
		if (unlikely(i == max))
			return -EINVAL;
		if (table)
			virtblk_desc_set(&table[VIRTBLK_DESC_DATA + i], seg.phys,
					 seg.len, flags, VIRTBLK_DESC_DATA + i + 1);
	}
	return i;
}

/* Fill @table, which has room for d->segs entries of data. */
void virtblk_data_to_descs(const struct virtio_blk *vblk,
			   const struct virtblk_data *d, struct vring_desc *table)
{
	virtblk_walk_segs(vblk, d, table, d->segs);
}

/* Fill a scatterlist of d->segs entries. */
void virtblk_data_to_sg(const struct virtio_blk *vblk,
			const struct virtblk_data *d, struct scatterlist *sg)
{
	struct virtblk_seg_iter it = virtblk_seg_iter(vblk, d);
	struct virtblk_seg seg;

	sg_init_table(sg, d->segs);
	for (; virtblk_next_seg(&it, &seg); sg++)
		sg_set_page(sg, pfn_to_page(PHYS_PFN(seg.phys)), seg.len,
			    offset_in_page(seg.phys));
}

/* Most likely more segments than a command's own table takes. */
static bool virtblk_many_segs(const struct virtio_blk *vblk,
			      const struct virtblk_data *d)
{
	return vblk->tables && d->len > VIRTBLK_INLINE_SEGS * PAGE_SIZE;
}

/**
 * virtblk_map_segs() - count the segments of what has been mapped
 * @vblk: the device
 * @d: the data, mapped but for this
 * @src: where it came from
 *
 * Where we fill the ring ourselves, many segments go into a table right now,
 * in one walk and without holding the queue's lock.
 *
 * May sleep. Return: 0; or -EINVAL, too many of them, -EAGAIN, -ENOMEM, and
 * then nothing is held.
 */
int virtblk_map_segs(struct virtio_blk *vblk, struct virtblk_data *d,
		     const struct virtblk_src *src)
{
	bool table = vblk->direct_ring && virtblk_many_segs(vblk, d);
	int segs;

	if (!table) {
		segs = virtblk_walk_segs(vblk, d, NULL, vblk->caps.seg_max);
		table = vblk->direct_ring && segs > VIRTBLK_INLINE_SEGS;
	}
	if (table) {
		d->descs = virtblk_table(vblk, src);
		if (unlikely(!d->descs)) {
			virtblk_data_release(vblk, d);
			return virtblk_nomem(src);
		}
		d->held |= VIRTBLK_HELD_DESCS;
		segs = virtblk_walk_segs(vblk, d, d->descs, vblk->caps.seg_max);
	}
	if (unlikely(segs < 0)) {
		virtblk_data_release(vblk, d);
		return segs;
	}
	d->segs = segs;
	return 0;
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

/* virtblk_map_data() for all that is not one whole registered buffer. */
int virtblk_map_any(struct virtio_blk *vblk, struct virtblk_data *d,
		    const struct virtblk_src *src)
{
	u64 len = src->len;
	int err;

	if (unlikely(src->vec)) {
		err = virtblk_map_vec(vblk, d, src);
	} else {
		err = virtblk_clip(src, 0, &len);
		if (likely(!err && len))
			err = unlikely(src->fixed) ?
				virtblk_map_fixed(d, src, len) :
				virtblk_map_plain(vblk, d, src, src->addr, len);
	}
	if (unlikely(err)) {
		virtblk_data_release(vblk, d);
		return err;
	}
	if (unlikely(d->len && !virtblk_one_seg(vblk, d)))
		return virtblk_map_segs(vblk, d, src);
	d->segs = d->len ? 1 : 0;
	return 0;
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
 * @vblk: the device
 * @d: initialised; owns the copy, d->ranges, of d->len bytes afterwards
 * @src: where the array is
 *
 * A copy, so that the caller cannot change what has been checked. May sleep.
 * Return: as virtblk_map_data().
 */
int virtblk_map_ranges(struct virtio_blk *vblk, struct virtblk_data *d,
		       const struct virtblk_src *src)
{
	u32 size = src->vec ? src->limit : src->len;
	int err = 0;

	if (!size || size > src->limit)
		return -EINVAL;
	d->ranges = kmalloc(size, virtblk_gfp(src));
	if (!d->ranges)
		return virtblk_nomem(src);
	d->held |= VIRTBLK_HELD_RANGES;
	if (src->vec)
		err = virtblk_copy_vec(d->ranges, src, &size);
	else
		err = virtblk_copy_piece(d->ranges, src, src->addr, size);
	if (!err && (!size || size % sizeof(*d->ranges)))
		err = -EINVAL;
	if (err) {
		virtblk_data_release(vblk, d);
		return err;
	}
	virtblk_map_kernel(d, d->ranges, size);
	return 0;
}
