// SPDX-License-Identifier: MIT
/*
 * DISCARD and WRITE_ZEROES that are refused, each by its errno, on a disk that
 * offers both (or, with "none", neither).
 *
 * usage: ranges [disk] [none]
 */
#define _GNU_SOURCE
#include "errors.h"

typedef struct virtio_blk_discard_write_zeroes range_t;

static struct errors e;
static uint32_t lbs, spb;	/* logical block in bytes and in sectors */

static const struct vblk_cmd *len_form(uint32_t type, uint64_t sector,
				       uint32_t len, uint16_t flags)
{
	static struct vblk_cmd cmd;

	cmd = (struct vblk_cmd){
		.type = type, .sector = sector, .len = len, .flags = flags,
	};
	return &cmd;
}

static const struct vblk_cmd *array_form(uint32_t type, const range_t *r,
					 uint32_t len)
{
	static struct vblk_cmd cmd;

	cmd = (struct vblk_cmd){ .type = type, .data = r, .len = len };
	return &cmd;
}

/* One range that is wrong, alone and as the second after a good one. */
static void bad_range(uint32_t type, uint64_t sector, uint32_t nr,
		      uint32_t flags, const char *what)
{
	range_t r[2] = {
		{ .sector = 0, .num_sectors = spb },
		{ .sector = sector, .num_sectors = nr, .flags = flags },
	};
	unsigned int most = type == VIRTIO_BLK_T_DISCARD ?
			    e.dev.lim.max_discard_ranges :
			    e.dev.lim.max_write_zeroes_ranges;

	expect(&e, array_form(type, &r[1], sizeof(range_t)), -EINVAL, what);
	if (most >= 2)
		expect(&e, array_form(type, r, sizeof(r)), -EINVAL,
		       "the same as second range");
}

static void lengths(uint32_t type)
{
	uint64_t end = e.dev.lim.capacity;

	expect(&e, len_form(type, 0, 0, 0), -EINVAL, "no length");
	expect(&e, len_form(type, 0, 1, 0), -EINVAL, "1 byte");
	expect(&e, len_form(type, 0, lbs + 1, 0), -EINVAL,
	       "a byte more than a block");
	if (lbs > T_SECTOR) {
		expect(&e, len_form(type, 0, T_SECTOR, 0), -EINVAL,
		       "less than a block");
		expect(&e, len_form(type, 1, lbs, 0), -EINVAL,
		       "from inside of a block");
	}
	expect(&e, len_form(type, end, lbs, 0), -EINVAL, "at the end");
	expect(&e, len_form(type, end - spb, 2 * lbs, 0), -EINVAL,
	       "across the end");
	expect(&e, len_form(type, 0 - (uint64_t)spb, lbs, 0), -EINVAL,
	       "wrapping round");
	expect(&e, len_form(type, 0, lbs, 1u << 1), -EINVAL, "unknown flag");
	if (type != VIRTIO_BLK_T_WRITE_ZEROES)
		expect(&e, len_form(type, 0, lbs, VIRTBLK_CMD_F_UNMAP),
		       -EINVAL, "unmap flag");
}

static void arrays(uint32_t type)
{
	uint32_t most = type == VIRTIO_BLK_T_DISCARD ?
			e.dev.lim.max_discard_ranges :
			e.dev.lim.max_write_zeroes_ranges;
	range_t *r = t_alloc((most + 1) * sizeof(*r));
	uint64_t end = e.dev.lim.capacity;
	struct vblk_cmd cmd;
	uint32_t i;

	for (i = 0; i <= most; i++)
		r[i] = (range_t){ .sector = i * spb, .num_sectors = spb };
	expect(&e, array_form(type, r, 8), -EINVAL, "half a range");
	expect(&e, array_form(type, r, 17), -EINVAL, "a range and a byte");
	expect(&e, array_form(type, r, 0), -EINVAL, "no range");
	expect(&e, array_form(type, r, (most + 1) * sizeof(*r)), -EINVAL,
	       "one range too many");
	expect(&e, array_form(type, r, UINT32_MAX / 16 * 16), -EINVAL,
	       "268 million ranges");

	cmd = *array_form(type, r, sizeof(*r));
	cmd.sector = spb;
	expect(&e, &cmd, -EINVAL, "array and a sector");
	cmd.sector = 0;
	cmd.flags = VIRTBLK_CMD_F_UNMAP;
	expect(&e, &cmd, -EINVAL, "array and a flag");

	bad_range(type, 0, 0, 0, "range of no sectors");
	bad_range(type, end, spb, 0, "range at the end");
	bad_range(type, end - spb, 2 * spb, 0, "range across the end");
	bad_range(type, UINT64_MAX - spb + 1, spb, 0, "range wrapping round");
	bad_range(type, 0, spb, 2, "range with an unknown flag");
	bad_range(type, 0, spb, 1u << 31, "range with the highest flag");
	if (type != VIRTIO_BLK_T_WRITE_ZEROES)
		bad_range(type, 0, spb, VIRTIO_BLK_WRITE_ZEROES_FLAG_UNMAP,
			  "range with the unmap flag");
	if (spb > 1) {
		bad_range(type, 1, spb, 0, "range from inside of a block");
		bad_range(type, 0, 1, 0, "range of less than a block");
	}
}

/* Needs a disk larger than the limit: QEMU's is about 4 GiB. */
static void over_limit(uint32_t type)
{
	uint32_t most = type == VIRTIO_BLK_T_DISCARD ?
			e.dev.lim.max_discard_sectors :
			e.dev.lim.max_write_zeroes_sectors;

	if (most >= e.dev.lim.capacity || most > UINT32_MAX - spb) {
		diag("limit of %u sectors is beyond this disk", most);
		return;
	}
	bad_range(type, 0, most / spb * spb + spb, 0,
		  "range longer than the limit");
}

static void offered(uint32_t type, const char *name)
{
	diag("%s", name);
	if (!ok(!!(e.dev.lim.types & (1ull << type)), "%s is offered", name))
		return;
	lengths(type);
	arrays(type);
	over_limit(type);
	good_run(&e, name);
}

static void not_offered(uint32_t type, const char *name)
{
	range_t r = { .sector = 0, .num_sectors = spb };

	ok(!(e.dev.lim.types & (1ull << type)), "%s is not offered", name);
	expect(&e, len_form(type, 0, lbs, 0), -EOPNOTSUPP, name);
	expect(&e, array_form(type, &r, sizeof(r)), -EOPNOTSUPP, name);
	good_run(&e, name);
}

int main(int argc, char **argv)
{
	int none = argc > 2 && !strcmp(argv[2], "none");

	t_watchdog(150);
	errors_init(&e, t_disk(argc, argv), O_RDWR);
	lbs = e.dev.lim.logical_block_size;
	spb = lbs / T_SECTOR;

	if (none) {
		not_offered(VIRTIO_BLK_T_DISCARD, "discard");
		not_offered(VIRTIO_BLK_T_WRITE_ZEROES, "write zeroes");
	} else {
		offered(VIRTIO_BLK_T_DISCARD, "discard");
		offered(VIRTIO_BLK_T_WRITE_ZEROES, "write zeroes");
	}
	not_offered(VIRTIO_BLK_T_SECURE_ERASE, "secure erase");
	return tap_done();
}
