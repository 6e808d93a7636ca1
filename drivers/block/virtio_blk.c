// SPDX-License-Identifier: GPL-2.0
/*
 * virtio-blk with io_uring passthrough: the module, probe and remove, features
 * and limits, configuration changes, power management, sysfs.
 *
 * Written from the VIRTIO 1.3 specification, section 5.2.
 */
#include <linux/blkdev.h>
#include <linux/debugfs.h>
#include <linux/hdreg.h>
#include <linux/idr.h>
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string_helpers.h>

#include "virtio_blk.h"

/* Ranges in one discard-like command, if the device names no limit or a higher one. */
#define VIRTBLK_MAX_RANGES	256

/* Most data in one passthrough command. */
#define VIRTBLK_MAX_BYTES	(32U << 20)

/* Segments if the device does not tell how many it takes. */
#define VIRTBLK_DEFAULT_SEGS	1

#define VIRTBLK_WATCHDOG_PERIOD	(2 * HZ)

static unsigned int num_request_queues;
module_param(num_request_queues, uint, 0644);
MODULE_PARM_DESC(num_request_queues,
		 "Interrupt-driven and polled queues to use at most; 0 (default): one for each CPU");

static unsigned int poll_queues;
module_param(poll_queues, uint, 0644);
MODULE_PARM_DESC(poll_queues, "How many of the queues are for polled I/O (default: 0)");

static unsigned int virtblk_queue_depth;
module_param_named(queue_depth, virtblk_queue_depth, uint, 0444);
MODULE_PARM_DESC(queue_depth,
		 "Block requests in flight in one queue; 0 (default): as many as the ring holds");

static int virtblk_major;
static DEFINE_IDA(virtblk_index_ida);
static struct dentry *virtblk_debugfs_root;

/* The virtio_device is of use: not removed, not reset for good. */
static bool virtblk_alive(struct virtio_blk *vblk)
{
	return vblk->vdev && !vblk->failed;
}

/*
 * Device failure
 */

/*
 * Reset, unless the device has been pulled out of its slot: such a one never
 * says that the reset is done. May sleep.
 */
static void virtblk_reset_device(struct virtio_device *vdev)
{
	struct device *parent = vdev->dev.parent;

	if (parent && dev_is_pci(parent) &&
	    !pci_device_is_present(to_pci_dev(parent)))
		return;
	virtio_reset_device(vdev);
}

/*
 * The device has broken. Take back what it holds, with errors, and use it no
 * more. May sleep.
 */
static void virtblk_fail_device(struct virtio_blk *vblk)
{
	mutex_lock(&vblk->fail_lock);
	if (virtblk_alive(vblk)) {
		dev_err(&vblk->vdev->dev, "device broken, I/O fails from now on\n");
		virtblk_reset_device(vblk->vdev);
		virtio_synchronize_cbs(vblk->vdev);
		vblk->failed = true;
		virtblk_vqs_fail(vblk);
	}
	mutex_unlock(&vblk->fail_lock);
}

/*
 * A queue can break without anybody being told: the ring code sees nonsense
 * from the device in an interrupt, or the transport notices a removal. Only
 * those who wait for an answer would notice, by waiting for ever.
 */
static void virtblk_watchdog(struct work_struct *work)
{
	struct virtio_blk *vblk = container_of(to_delayed_work(work),
					       struct virtio_blk, watchdog);

	if (virtblk_vqs_broken(vblk)) {
		virtblk_fail_device(vblk);
		return;
	}
	virtblk_vqs_retry(vblk);
	queue_delayed_work(system_power_efficient_wq, &vblk->watchdog,
			   VIRTBLK_WATCHDOG_PERIOD);
}

static void virtblk_watchdog_start(struct virtio_blk *vblk)
{
	queue_delayed_work(system_power_efficient_wq, &vblk->watchdog,
			   VIRTBLK_WATCHDOG_PERIOD);
}

/*
 * Capacity and cache
 */

static void virtblk_update_capacity(struct virtio_blk *vblk, bool resize)
{
	struct virtio_device *vdev = vblk->vdev;
	u32 block_size = vblk->caps.block_size;
	char si[10], iec[10];
	u64 capacity, blocks;

	virtio_cread(vdev, struct virtio_blk_config, capacity, &capacity);
	/* No more than a sector_t can address in bytes. */
	capacity = min_t(u64, capacity, LLONG_MAX >> SECTOR_SHIFT);
	if (resize && capacity == get_capacity(vblk->disk))
		return;

	blocks = div_u64(capacity, block_size >> SECTOR_SHIFT);
	string_get_size(blocks, block_size, STRING_UNITS_10, si, sizeof(si));
	string_get_size(blocks, block_size, STRING_UNITS_2, iec, sizeof(iec));
	dev_notice(&vdev->dev, "[%s] %s%llu %u-byte logical blocks (%s/%s)\n",
		   vblk->disk->disk_name, resize ? "new size: " : "", blocks,
		   block_size, si, iec);
	set_capacity_and_notify(vblk->disk, capacity);
}

static void virtblk_config_work(struct work_struct *work)
{
	struct virtio_blk *vblk = container_of(work, struct virtio_blk,
					       config_work);

	/* A device that was pulled out answers all ones: not a size. */
	if (!virtblk_vqs_broken(vblk))
		virtblk_update_capacity(vblk, true);
}

/* May be called in interrupt context, where the config must not be read. */
static void virtblk_config_changed(struct virtio_device *vdev)
{
	struct virtio_blk *vblk = vdev->priv;

	queue_work(system_freezable_wq, &vblk->config_work);
}

/* Does the device cache writes, so that flushes are needed? (5.2.5) */
static bool virtblk_write_cache(struct virtio_device *vdev)
{
	u8 wce;

	if (virtio_cread_feature(vdev, VIRTIO_BLK_F_CONFIG_WCE,
				 struct virtio_blk_config, wce, &wce))
		/* Without the choice, one who can flush has something to flush. */
		return virtio_has_feature(vdev, VIRTIO_BLK_F_FLUSH);
	return wce;
}

static int virtblk_set_cache_feature(struct virtio_blk *vblk)
{
	struct request_queue *q = vblk->disk->queue;
	struct queue_limits lim = queue_limits_start_update(q);
	int err;

	if (virtblk_write_cache(vblk->vdev))
		lim.features |= BLK_FEAT_WRITE_CACHE;
	else
		lim.features &= ~BLK_FEAT_WRITE_CACHE;
	blk_mq_freeze_queue(q);
	err = queue_limits_commit_update(q, &lim);
	blk_mq_unfreeze_queue(q);
	return err;
}

/*
 * sysfs attributes of the disk
 */

static struct virtio_blk *virtblk_of_dev(struct device *dev)
{
	return dev_to_disk(dev)->private_data;
}

static ssize_t serial_show(struct device *dev, struct device_attribute *attr,
			   char *buf)
{
	struct gendisk *disk = dev_to_disk(dev);
	int err;

	/* The device fills it without a NUL if it is that long. */
	char *id __free(kfree) = kzalloc(VIRTIO_BLK_ID_BYTES + 1, GFP_KERNEL);

	if (!id)
		return -ENOMEM;
	err = virtblk_mq_get_id(disk, id);
	if (err == -EIO || err == -EOPNOTSUPP)
		return 0;
	if (err)
		return err;
	/* Without a newline, as it has always been. */
	return strscpy(buf, id, PAGE_SIZE);
}
static DEVICE_ATTR_RO(serial);

static const char *const virtblk_cache_types[] = { "write through", "write back" };

static ssize_t cache_type_show(struct device *dev, struct device_attribute *attr,
			       char *buf)
{
	struct virtio_blk *vblk = virtblk_of_dev(dev);
	bool wce = bdev_write_cache(vblk->disk->part0);

	return sysfs_emit(buf, "%s\n", virtblk_cache_types[wce]);
}

static ssize_t cache_type_store(struct device *dev, struct device_attribute *attr,
				const char *buf, size_t count)
{
	struct virtio_blk *vblk = virtblk_of_dev(dev);
	int wce, err;

	wce = sysfs_match_string(virtblk_cache_types, buf);
	if (wce < 0)
		return wce;
	if (!virtblk_alive(vblk))
		return -ENODEV;
	virtio_cwrite8(vblk->vdev, offsetof(struct virtio_blk_config, wce), wce);
	err = virtblk_set_cache_feature(vblk);
	return err ?: count;
}
static DEVICE_ATTR_RW(cache_type);

static struct attribute *virtblk_attrs[] = {
	&dev_attr_serial.attr,
	&dev_attr_cache_type.attr,
	NULL,
};

static umode_t virtblk_attr_mode(struct kobject *kobj, struct attribute *attr,
				 int n)
{
	struct virtio_blk *vblk = virtblk_of_dev(kobj_to_dev(kobj));

	if (attr == &dev_attr_cache_type.attr &&
	    !virtio_has_feature(vblk->vdev, VIRTIO_BLK_F_CONFIG_WCE))
		return 0444;
	return attr->mode;
}

static const struct attribute_group virtblk_attr_group = {
	.attrs		= virtblk_attrs,
	.is_visible	= virtblk_attr_mode,
};

static const struct attribute_group *virtblk_attr_groups[] = {
	&virtblk_attr_group,
	NULL,
};

/*
 * debugfs: what the queues have done
 */

static int virtblk_queues_show(struct seq_file *m, void *unused)
{
	struct virtio_blk *vblk = m->private;
	unsigned int i;

	seq_puts(m, "queue poll size free chr_inflight chr_cmds mq_cmds kicks irqs polls parked no_slot mq_stops nudges\n");
	for (i = 0; i < vblk->nr_vqs; i++) {
		struct virtblk_vq *vq = &vblk->vqs[i];
		struct virtblk_vq_stats st;
		unsigned int nr_free, inflight;

		spin_lock_irq(&vq->lock);
		st = vq->stats;
		nr_free = vq->nr_free;
		inflight = vq->chr_inflight;
		spin_unlock_irq(&vq->lock);
		seq_printf(m, "%u %d %u %u %u %llu %llu %llu %llu %llu %llu %llu %llu %llu\n",
			   i, vq->polled, vq->num, nr_free, inflight,
			   st.chr_cmds, st.mq_cmds, st.kicks, st.irqs, st.polls,
			   st.parked, st.no_slot, st.mq_stops, st.nudges);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(virtblk_queues);

static void virtblk_debugfs_add(struct virtio_blk *vblk)
{
	vblk->debugfs = debugfs_create_dir(vblk->disk->disk_name,
					   virtblk_debugfs_root);
	debugfs_create_file("queues", 0444, vblk->debugfs, vblk,
			    &virtblk_queues_fops);
}

/*
 * The block device
 */

static int virtblk_getgeo(struct block_device *bdev, struct hd_geometry *geo)
{
	struct virtio_blk *vblk = bdev->bd_disk->private_data;
	int err = 0;

	/* fail_lock keeps the device from going away under us. */
	mutex_lock(&vblk->fail_lock);
	if (!virtblk_alive(vblk)) {
		err = -ENXIO;
	} else if (virtio_has_feature(vblk->vdev, VIRTIO_BLK_F_GEOMETRY)) {
		virtio_cread(vblk->vdev, struct virtio_blk_config,
			     geometry.cylinders, &geo->cylinders);
		virtio_cread(vblk->vdev, struct virtio_blk_config,
			     geometry.heads, &geo->heads);
		virtio_cread(vblk->vdev, struct virtio_blk_config,
			     geometry.sectors, &geo->sectors);
	} else {
		/* The usual fiction: 1 MiB cylinders. */
		geo->heads = 64;
		geo->sectors = 32;
		geo->cylinders = get_capacity(bdev->bd_disk) >> 11;
	}
	mutex_unlock(&vblk->fail_lock);
	return err;
}

static void virtblk_free_disk(struct gendisk *disk)
{
	struct virtio_blk *vblk = disk->private_data;

	put_device(&vblk->chr_dev);
}

static const struct block_device_operations virtblk_fops = {
	.owner		= THIS_MODULE,
	.getgeo		= virtblk_getgeo,
	.free_disk	= virtblk_free_disk,
};

/* vda to vdz, vdaa to vdzz, and so on: base 26 without a zero. */
static void virtblk_disk_name(char *buf, size_t size, unsigned int index)
{
	char rev[8];
	int n = 0, len;

	do {
		rev[n++] = 'a' + index % 26;
		index = index / 26;
	} while (index-- && n < (int)sizeof(rev));

	len = scnprintf(buf, size, "vd");
	while (n && len < (int)size - 1)
		buf[len++] = rev[--n];
	buf[len] = '\0';
}

/*
 * Reading the configuration. All of it is the device's word: what would harm
 * us is refused, what is merely strange is brought within bounds.
 */

static int virtblk_read_block_size(struct virtio_blk *vblk)
{
	struct virtio_device *vdev = vblk->vdev;
	struct virtblk_caps *caps = &vblk->caps;
	u32 size;

	caps->block_size = SECTOR_SIZE;
	if (virtio_cread_feature(vdev, VIRTIO_BLK_F_BLK_SIZE,
				 struct virtio_blk_config, blk_size, &size))
		return 0;
	if (size < SECTOR_SIZE || size > PAGE_SIZE || !is_power_of_2(size)) {
		dev_err(&vdev->dev, "block size %u is not supported\n", size);
		return -EINVAL;
	}
	caps->block_size = size;
	return 0;
}

static void virtblk_read_topology(struct virtio_blk *vblk)
{
	struct virtio_device *vdev = vblk->vdev;
	struct virtblk_caps *caps = &vblk->caps;
	u32 opt = 0;
	u16 min = 0;
	u8 exp = 0, align = 0;

	caps->physical_block_size = caps->block_size;
	if (!virtio_has_feature(vdev, VIRTIO_BLK_F_TOPOLOGY))
		return;
	virtio_cread(vdev, struct virtio_blk_config, physical_block_exp, &exp);
	virtio_cread(vdev, struct virtio_blk_config, alignment_offset, &align);
	virtio_cread(vdev, struct virtio_blk_config, min_io_size, &min);
	virtio_cread(vdev, struct virtio_blk_config, opt_io_size, &opt);

	/* Larger exponents would not fit the block size's type. */
	if (exp && exp < 31 - ilog2(caps->block_size))
		caps->physical_block_size = caps->block_size << exp;
	caps->alignment_offset = caps->block_size * align;
	if (min)
		caps->io_min = caps->block_size * min;
	if (opt && opt <= U32_MAX / caps->block_size)
		caps->io_opt = caps->block_size * opt;
}

/*
 * Segments of one command. A chain may not be longer than the ring (2.7.5).
 * Devices are known that offer SIZE_MAX and leave it 0, meaning no limit.
 */
static int virtblk_read_segments(struct virtio_blk *vblk)
{
	struct virtio_device *vdev = vblk->vdev;
	struct virtblk_caps *caps = &vblk->caps;
	unsigned int ring = vblk->vqs[0].num, i;
	u32 v;

	for (i = 1; i < vblk->nr_vqs; i++)
		ring = min(ring, vblk->vqs[i].num);
	if (ring < 3) {
		dev_err(&vdev->dev, "%u descriptors hold no command with data\n",
			ring);
		return -EINVAL;
	}
	caps->seg_max = VIRTBLK_DEFAULT_SEGS;
	if (!virtio_cread_feature(vdev, VIRTIO_BLK_F_SEG_MAX,
				  struct virtio_blk_config, seg_max, &v) && v)
		caps->seg_max = v;
	caps->seg_max = min3(caps->seg_max, ring - 2, (u32)U16_MAX - 2);

	caps->size_max = min_t(size_t, U32_MAX, virtio_max_dma_size(vdev));
	if (!virtio_cread_feature(vdev, VIRTIO_BLK_F_SIZE_MAX,
				  struct virtio_blk_config, size_max, &v) && v)
		caps->size_max = min(caps->size_max, v);
	if (caps->size_max < PAGE_SIZE) {
		dev_err(&vdev->dev, "segments of %u bytes are not supported\n",
			caps->size_max);
		return -EINVAL;
	}
	caps->max_bytes = min_t(u64, (u64)caps->seg_max * caps->size_max,
				VIRTBLK_MAX_BYTES);
	caps->max_bytes = round_down(caps->max_bytes, caps->block_size);
	return 0;
}

/* Bring the limits of a discard-like command within bounds. */
static void virtblk_set_range_limits(struct virtio_blk *vblk,
				     struct virtblk_range_limits *lim,
				     u32 max_sectors, u32 max_ranges,
				     u32 alignment, unsigned int type)
{
	u32 block = vblk->caps.block_size >> SECTOR_SHIFT;

	/* Devices leave the fields at 0 although they offer the feature. */
	if (!max_sectors)
		max_sectors = U32_MAX;
	lim->max_sectors = round_down(max_sectors, block);
	if (!lim->max_sectors)
		return;
	lim->max_ranges = clamp(max_ranges, 1U, VIRTBLK_MAX_RANGES);
	lim->granularity = vblk->caps.block_size;
	if (alignment && alignment < U32_MAX >> SECTOR_SHIFT)
		lim->granularity = max(lim->granularity, alignment << SECTOR_SHIFT);
	vblk->caps.types |= BIT_ULL(type);
}

static void virtblk_read_ranges(struct virtio_blk *vblk)
{
	struct virtio_device *vdev = vblk->vdev;
	struct virtblk_caps *caps = &vblk->caps;
	u32 sectors, ranges, align;
	u8 unmap;

	if (virtio_has_feature(vdev, VIRTIO_BLK_F_DISCARD)) {
		virtio_cread(vdev, struct virtio_blk_config,
			     max_discard_sectors, &sectors);
		virtio_cread(vdev, struct virtio_blk_config,
			     max_discard_seg, &ranges);
		virtio_cread(vdev, struct virtio_blk_config,
			     discard_sector_alignment, &align);
		virtblk_set_range_limits(vblk, &caps->discard, sectors, ranges,
					 align, VIRTIO_BLK_T_DISCARD);
	}
	if (virtio_has_feature(vdev, VIRTIO_BLK_F_WRITE_ZEROES)) {
		virtio_cread(vdev, struct virtio_blk_config,
			     max_write_zeroes_sectors, &sectors);
		virtio_cread(vdev, struct virtio_blk_config,
			     max_write_zeroes_seg, &ranges);
		virtio_cread(vdev, struct virtio_blk_config,
			     write_zeroes_may_unmap, &unmap);
		caps->wz_may_unmap = unmap;
		virtblk_set_range_limits(vblk, &caps->write_zeroes, sectors,
					 ranges, 0, VIRTIO_BLK_T_WRITE_ZEROES);
	}
	if (virtio_has_feature(vdev, VIRTIO_BLK_F_SECURE_ERASE)) {
		virtio_cread(vdev, struct virtio_blk_config,
			     max_secure_erase_sectors, &sectors);
		virtio_cread(vdev, struct virtio_blk_config,
			     max_secure_erase_seg, &ranges);
		virtio_cread(vdev, struct virtio_blk_config,
			     secure_erase_sector_alignment, &align);
		virtblk_set_range_limits(vblk, &caps->secure_erase, sectors,
					 ranges, align,
					 VIRTIO_BLK_T_SECURE_ERASE);
	}
}

static int virtblk_read_caps(struct virtio_blk *vblk)
{
	int err;

	vblk->caps.types = BIT_ULL(VIRTIO_BLK_T_IN) | BIT_ULL(VIRTIO_BLK_T_OUT) |
			   BIT_ULL(VIRTIO_BLK_T_FLUSH) |
			   BIT_ULL(VIRTIO_BLK_T_GET_ID);
	vblk->caps.flush = virtio_has_feature(vblk->vdev, VIRTIO_BLK_F_FLUSH);

	err = virtblk_read_block_size(vblk);
	if (!err)
		err = virtblk_read_segments(vblk);
	if (err)
		return err;
	virtblk_read_topology(vblk);
	virtblk_read_ranges(vblk);
	return 0;
}

/* The block layer's view of the limits. */
static struct queue_limits virtblk_queue_limits(struct virtio_blk *vblk)
{
	const struct virtblk_caps *caps = &vblk->caps;
	struct queue_limits lim = {
		.features		= BLK_FEAT_ROTATIONAL,
		.logical_block_size	= caps->block_size,
		.physical_block_size	= caps->physical_block_size,
		.alignment_offset	= caps->alignment_offset,
		.io_min			= caps->io_min,
		.io_opt			= caps->io_opt,
		.max_hw_sectors		= UINT_MAX,
		.max_segments		= caps->seg_max,
		.max_segment_size	= caps->size_max,
		.max_hw_discard_sectors	= caps->discard.max_sectors,
		.max_discard_segments	= caps->discard.max_ranges,
		.discard_granularity	= caps->discard.granularity,
		.max_write_zeroes_sectors = caps->write_zeroes.max_sectors,
		.max_secure_erase_sectors = caps->secure_erase.max_sectors,
	};

	if (caps->secure_erase.max_sectors) {
		/* One set of limits has to serve both. */
		lim.max_discard_segments = caps->discard.max_ranges ?
			min(caps->discard.max_ranges, caps->secure_erase.max_ranges) :
			caps->secure_erase.max_ranges;
		lim.discard_granularity = max(caps->discard.granularity,
					      caps->secure_erase.granularity);
	}
	if (virtblk_write_cache(vblk->vdev))
		lim.features |= BLK_FEAT_WRITE_CACHE;
	return lim;
}

/*
 * Probe and remove
 */

static void virtblk_release(struct device *dev)
{
	struct virtio_blk *vblk = container_of(dev, struct virtio_blk, chr_dev);

	virtblk_vqs_free(vblk);
	kmem_cache_destroy(vblk->tables);
	kfree(vblk->cpu_vq);
	kfree(vblk->cpu_poll_vq);
	ida_free(&virtblk_index_ida, vblk->index);
	kfree(vblk);
}

static struct virtio_blk *virtblk_alloc(struct virtio_device *vdev)
{
	struct virtio_blk *vblk;
	int index;

	/* As many disks as there are minors for. */
	index = ida_alloc_max(&virtblk_index_ida,
			      (1U << (MINORBITS - VIRTBLK_PART_BITS)) - 1,
			      GFP_KERNEL);
	if (index < 0)
		return ERR_PTR(index);
	vblk = kzalloc(sizeof(*vblk), GFP_KERNEL);
	if (!vblk) {
		ida_free(&virtblk_index_ida, index);
		return ERR_PTR(-ENOMEM);
	}
	vblk->vdev = vdev;
	vblk->index = index;
	mutex_init(&vblk->fail_lock);
	INIT_WORK(&vblk->config_work, virtblk_config_work);
	INIT_DELAYED_WORK(&vblk->watchdog, virtblk_watchdog);
	device_initialize(&vblk->chr_dev);
	vblk->chr_dev.release = virtblk_release;
	virtblk_chr_setup(vblk);
	vdev->priv = vblk;
	return vblk;
}

/* How many queues, of which kind. */
static int virtblk_init_vqs(struct virtio_blk *vblk)
{
	struct virtio_device *vdev = vblk->vdev;
	unsigned int nr, nr_poll;
	u16 nr_queues = 1;
	int err;

	if (virtio_cread_feature(vdev, VIRTIO_BLK_F_MQ, struct virtio_blk_config,
				 num_queues, &nr_queues))
		nr_queues = 1;
	if (!nr_queues) {
		dev_err(&vdev->dev, "the device says that it has no queue\n");
		return -EINVAL;
	}
	nr = min_t(unsigned int, nr_queues,
		   min_not_zero(num_request_queues, nr_cpu_ids));
	nr = min(nr, nr_cpu_ids);
	/* One has to be left for those who do not poll. */
	nr_poll = min(poll_queues, nr - 1);

	err = virtblk_vqs_alloc(vblk, nr, nr_poll);
	if (!err)
		err = virtblk_vqs_find(vblk);
	if (err)
		return err;
	dev_info(&vdev->dev, "%u/0/%u default/read/poll queues\n", nr - nr_poll,
		 nr_poll);
	return 0;
}

static int virtblk_init_tag_set(struct virtio_blk *vblk)
{
	struct blk_mq_tag_set *set = &vblk->tag_set;
	unsigned int depth = virtblk_queue_depth;

	if (!depth) {
		depth = vblk->vqs[0].num;
		/* Without indirect tables a request takes several descriptors. */
		if (!vblk->vqs[0].indirect)
			depth = max(depth / 2, 1U);
	}
	set->ops = &virtblk_mq_ops;
	set->queue_depth = depth;
	set->numa_node = NUMA_NO_NODE;
	set->flags = BLK_MQ_F_SHOULD_MERGE;
	set->cmd_size = sizeof(struct virtblk_req);
	set->driver_data = vblk;
	set->nr_hw_queues = vblk->nr_vqs;
	set->nr_maps = vblk->nr_poll ? HCTX_MAX_TYPES : 1;
	return blk_mq_alloc_tag_set(set);
}

/* Which CPU submits to which queue: as blk-mq maps them, in our own memory. */
static int virtblk_init_cpu_maps(struct virtio_blk *vblk)
{
	const struct blk_mq_queue_map *map = vblk->tag_set.map;

	vblk->cpu_vq = kmemdup_array(map[HCTX_TYPE_DEFAULT].mq_map, nr_cpu_ids,
				     sizeof(*vblk->cpu_vq), GFP_KERNEL);
	if (!vblk->cpu_vq)
		return -ENOMEM;
	if (!vblk->nr_poll)
		return 0;
	vblk->cpu_poll_vq = kmemdup_array(map[HCTX_TYPE_POLL].mq_map, nr_cpu_ids,
					  sizeof(*vblk->cpu_poll_vq), GFP_KERNEL);
	return vblk->cpu_poll_vq ? 0 : -ENOMEM;
}

static int virtblk_init_disk(struct virtio_blk *vblk)
{
	struct queue_limits lim = virtblk_queue_limits(vblk);
	struct gendisk *disk;

	disk = blk_mq_alloc_disk(&vblk->tag_set, &lim, vblk);
	if (IS_ERR(disk))
		return PTR_ERR(disk);
	virtblk_disk_name(disk->disk_name, DISK_NAME_LEN, vblk->index);
	disk->major = virtblk_major;
	disk->first_minor = vblk->index << VIRTBLK_PART_BITS;
	disk->minors = 1 << VIRTBLK_PART_BITS;
	disk->private_data = vblk;
	disk->fops = &virtblk_fops;
	vblk->disk = disk;
	if (virtio_has_feature(vblk->vdev, VIRTIO_BLK_F_RO))
		set_disk_ro(disk, true);
	return dev_set_name(&vblk->chr_dev, "%sc0", disk->disk_name);
}

/* What a failed probe and a remove have in common. */
static void virtblk_shut(struct virtio_blk *vblk)
{
	cancel_delayed_work_sync(&vblk->watchdog);
	cancel_work_sync(&vblk->config_work);

	mutex_lock(&vblk->fail_lock);
	if (!vblk->failed) {
		virtblk_reset_device(vblk->vdev);
		virtio_synchronize_cbs(vblk->vdev);
	}
	virtblk_vqs_fail(vblk);
	virtblk_vqs_delete(vblk);
	vblk->vdev = NULL;
	mutex_unlock(&vblk->fail_lock);
}

/* Disks of the other zone models take any write, like ordinary ones (5.2.5). */
static bool virtblk_host_managed(struct virtio_device *vdev)
{
	u8 model;

	if (virtio_cread_feature(vdev, VIRTIO_BLK_F_ZONED,
				 struct virtio_blk_config, zoned.model, &model))
		return false;
	return model == VIRTIO_BLK_Z_HM;
}

static int virtblk_probe(struct virtio_device *vdev)
{
	struct virtio_blk *vblk;
	int err;

	if (!vdev->config->get) {
		dev_err(&vdev->dev, "no access to the configuration\n");
		return -EINVAL;
	}
	if (virtblk_host_managed(vdev)) {
		dev_err(&vdev->dev, "host-managed zoned disks are not supported\n");
		return -EOPNOTSUPP;
	}
	vblk = virtblk_alloc(vdev);
	if (IS_ERR(vblk))
		return PTR_ERR(vblk);

	err = virtblk_init_vqs(vblk);
	if (err)
		goto out_put;
	err = virtblk_read_caps(vblk);
	if (err)
		goto out_shut;
	err = virtblk_vqs_alloc_slots(vblk);
	if (err)
		goto out_shut;
	err = virtblk_tables_alloc(vblk);
	if (err)
		goto out_shut;
	err = virtblk_init_tag_set(vblk);
	if (err)
		goto out_shut;
	err = virtblk_init_cpu_maps(vblk);
	if (err)
		goto out_tags;
	err = virtblk_init_disk(vblk);
	if (err)
		goto out_disk;

	virtblk_update_capacity(vblk, false);
	virtio_device_ready(vdev);
	virtblk_watchdog_start(vblk);

	err = device_add_disk(&vdev->dev, vblk->disk, virtblk_attr_groups);
	if (err)
		goto out_disk;
	/* For virtblk_free_disk(), which is not called for a disk not added. */
	get_device(&vblk->chr_dev);
	err = virtblk_chr_add(vblk);
	if (err)
		goto out_del;
	virtblk_debugfs_add(vblk);
	return 0;

out_del:
	del_gendisk(vblk->disk);
out_disk:
	virtblk_shut(vblk);
	if (vblk->disk)
		put_disk(vblk->disk);
out_tags:
	blk_mq_free_tag_set(&vblk->tag_set);
out_shut:
	if (vblk->vdev)
		virtblk_shut(vblk);
out_put:
	put_device(&vblk->chr_dev);
	return err;
}

static void virtblk_remove(struct virtio_device *vdev)
{
	struct virtio_blk *vblk = vdev->priv;

	cancel_work_sync(&vblk->config_work);
	debugfs_remove_recursive(vblk->debugfs);
	virtblk_chr_close(vblk);

	/* Without this the removal of a broken device would wait for it. */
	if (virtblk_vqs_broken(vblk))
		virtblk_fail_device(vblk);
	del_gendisk(vblk->disk);
	virtblk_chr_drain(vblk);

	virtblk_shut(vblk);
	blk_mq_free_tag_set(&vblk->tag_set);
	put_disk(vblk->disk);
	put_device(&vblk->chr_dev);
}

/*
 * Power management
 */

#ifdef CONFIG_PM_SLEEP
/*
 * Suspend: nothing may be on the rings when the device is reset. The block
 * queue is quiesced, not left frozen, so that what enters it meanwhile waits
 * for the resume instead of holding up the suspend.
 */
static int virtblk_freeze(struct virtio_device *vdev)
{
	struct virtio_blk *vblk = vdev->priv;
	struct request_queue *q = vblk->disk->queue;

	/* Its workqueue is frozen already, so it is not waited for but redone. */
	cancel_work_sync(&vblk->config_work);
	blk_mq_freeze_queue(q);
	blk_mq_quiesce_queue_nowait(q);
	blk_mq_unfreeze_queue(q);
	virtblk_chr_freeze(vblk);
	virtblk_chr_drain(vblk);
	cancel_delayed_work_sync(&vblk->watchdog);

	mutex_lock(&vblk->fail_lock);
	virtblk_reset_device(vdev);
	virtio_synchronize_cbs(vdev);
	virtblk_vqs_delete(vblk);
	mutex_unlock(&vblk->fail_lock);
	return 0;
}

static int virtblk_restore(struct virtio_device *vdev)
{
	struct virtio_blk *vblk = vdev->priv;
	int err = -ENODEV;

	mutex_lock(&vblk->fail_lock);
	if (!vblk->failed)
		err = virtblk_vqs_find(vblk);
	if (!err) {
		virtio_device_ready(vdev);
	} else {
		vblk->failed = true;
		virtblk_vqs_fail(vblk);
	}
	mutex_unlock(&vblk->fail_lock);

	if (!err) {
		virtblk_chr_thaw(vblk);
		virtblk_watchdog_start(vblk);
		/* Nobody told us of a new size meanwhile. */
		virtblk_config_changed(vdev);
	}
	blk_mq_unquiesce_queue(vblk->disk->queue);
	return err;
}
#endif

static const struct virtio_device_id virtblk_ids[] = {
	{ VIRTIO_ID_BLOCK, VIRTIO_DEV_ANY_ID },
	{ },
};

static const unsigned int virtblk_features_legacy[] = {
	VIRTIO_BLK_F_SIZE_MAX, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_GEOMETRY,
	VIRTIO_BLK_F_RO, VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_FLUSH,
	VIRTIO_BLK_F_TOPOLOGY, VIRTIO_BLK_F_CONFIG_WCE, VIRTIO_BLK_F_MQ,
	VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_WRITE_ZEROES,
	VIRTIO_BLK_F_SECURE_ERASE,
};

static const unsigned int virtblk_features[] = {
	VIRTIO_BLK_F_SIZE_MAX, VIRTIO_BLK_F_SEG_MAX, VIRTIO_BLK_F_GEOMETRY,
	VIRTIO_BLK_F_RO, VIRTIO_BLK_F_BLK_SIZE, VIRTIO_BLK_F_FLUSH,
	VIRTIO_BLK_F_TOPOLOGY, VIRTIO_BLK_F_CONFIG_WCE, VIRTIO_BLK_F_MQ,
	VIRTIO_BLK_F_DISCARD, VIRTIO_BLK_F_WRITE_ZEROES,
	VIRTIO_BLK_F_SECURE_ERASE, VIRTIO_BLK_F_ZONED,
};

static struct virtio_driver virtblk_driver = {
	.driver.name			= KBUILD_MODNAME,
	.driver.owner			= THIS_MODULE,
	.id_table			= virtblk_ids,
	.feature_table			= virtblk_features,
	.feature_table_size		= ARRAY_SIZE(virtblk_features),
	.feature_table_legacy		= virtblk_features_legacy,
	.feature_table_size_legacy	= ARRAY_SIZE(virtblk_features_legacy),
	.probe				= virtblk_probe,
	.remove				= virtblk_remove,
	.config_changed			= virtblk_config_changed,
#ifdef CONFIG_PM_SLEEP
	.freeze				= virtblk_freeze,
	.restore			= virtblk_restore,
#endif
};

static int __init virtblk_init(void)
{
	int err;

	virtblk_major = register_blkdev(0, "virtblk");
	if (virtblk_major < 0)
		return virtblk_major;
	err = virtblk_chr_init();
	if (err)
		goto out_major;
	virtblk_debugfs_root = debugfs_create_dir("virtio_blk", NULL);
	err = register_virtio_driver(&virtblk_driver);
	if (err)
		goto out_chr;
	return 0;

out_chr:
	debugfs_remove_recursive(virtblk_debugfs_root);
	virtblk_chr_exit();
out_major:
	unregister_blkdev(virtblk_major, "virtblk");
	return err;
}

static void __exit virtblk_exit(void)
{
	unregister_virtio_driver(&virtblk_driver);
	debugfs_remove_recursive(virtblk_debugfs_root);
	virtblk_chr_exit();
	unregister_blkdev(virtblk_major, "virtblk");
}

module_init(virtblk_init);
module_exit(virtblk_exit);

MODULE_DEVICE_TABLE(virtio, virtblk_ids);
MODULE_DESCRIPTION("Virtio block driver with io_uring passthrough");
MODULE_LICENSE("GPL");
