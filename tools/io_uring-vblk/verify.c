// SPDX-License-Identifier: MIT
#include "verify.h"

#include <stdio.h>
#include <stdlib.h>

#define MAGIC	   0x6b6c62762d6f6976ULL
#define SECTOR	   512
#define WORDS	   (SECTOR / sizeof(uint64_t))
#define MAX_BLOCKS (1ULL << 28) /* a table of 1 GiB */

struct sector {
	uint64_t magic;
	uint64_t offset;
	uint64_t generation;
	uint64_t fill[WORDS - 3];
};

int verify_init(struct verify *v, uint64_t blocks, uint32_t run, bool write, struct fail *f)
{
	*v = (struct verify) { .blocks = blocks, .run = (uint64_t)run << 32 };
	if (!write)
		return 0;
	if (blocks > MAX_BLOCKS)
		return refuse(f, "--verify counts for each block, %llu are too many; use --size",
			      (ull)blocks);
	v->count = calloc(blocks, sizeof(*v->count));
	v->busy = calloc(blocks / 64 + 1, sizeof(*v->busy));
	if (!v->count || !v->busy)
		return refuse(f, "no memory for --verify; make the range smaller with --size");
	return 0;
}

void verify_free(struct verify *v)
{
	free(v->count);
	free(v->busy);
	v->count = NULL;
	v->busy = NULL;
}

static bool take_one(struct verify *v, uint64_t block)
{
	uint64_t bit = 1ULL << (block % 64);

	if (v->busy[block / 64] & bit)
		return false;
	v->busy[block / 64] |= bit;
	return true;
}

bool verify_take(struct verify *v, uint64_t *block)
{
	uint64_t tried;

	if (!v->busy)
		return true;
	for (tried = 0; tried < v->blocks; tried++) {
		if (take_one(v, *block))
			return true;
		if (++*block == v->blocks)
			*block = 0;
	}
	return false;
}

void verify_put(struct verify *v, uint64_t block)
{
	if (v->busy)
		v->busy[block / 64] &= ~(1ULL << (block % 64));
}

bool verify_take_written(struct verify *v, uint64_t *block)
{
	while (v->cursor < v->blocks) {
		*block = v->cursor++;
		if (v->count[*block])
			return take_one(v, *block);
	}
	return false;
}

uint64_t verify_next_generation(const struct verify *v, uint64_t block)
{
	return v->run + v->count[block] + 1;
}

bool verify_expected(const struct verify *v, uint64_t block, uint64_t *generation,
		     uint64_t *mask)
{
	if (v->count) {
		*generation = v->run + v->count[block];
		*mask = UINT64_MAX;
		return v->count[block] != 0;
	}
	*generation = v->run;
	*mask = v->run ? VERIFY_RUN_MASK : 0;
	return true;
}

/* Differs in each word, so that a torn or shifted sector does not pass. */
static uint64_t fill_word(uint64_t offset, uint64_t generation, size_t i)
{
	return (offset ^ generation * 0x9e3779b97f4a7c15ULL) +
	       (i + 1) * 0xd6e8feb86659fd93ULL;
}

void verify_fill(void *buf, size_t len, uint64_t offset, uint64_t generation)
{
	struct sector *s = buf;
	size_t i;

	for (; len >= SECTOR; len -= SECTOR, offset += SECTOR, s++) {
		s->magic = MAGIC;
		s->offset = offset;
		s->generation = generation;
		for (i = 0; i < WORDS - 3; i++)
			s->fill[i] = fill_word(offset, generation, i);
	}
}

static int check_head(const struct sector *s, uint64_t offset, uint64_t generation,
		      uint64_t mask, char *why, size_t n)
{
	if (s->magic != MAGIC)
		snprintf(why, n, "byte %llu: not written with --verify", (ull)offset);
	else if (s->offset != offset)
		snprintf(why, n, "byte %llu: found the sector of byte %llu", (ull)offset,
			 (ull)s->offset);
	else if ((s->generation ^ generation) & mask)
		snprintf(why, n, "byte %llu: found generation %llu.%llu, expected %llu.%llu",
			 (ull)offset, (ull)(s->generation >> 32),
			 (ull)(s->generation & UINT32_MAX), (ull)(generation >> 32),
			 (ull)(generation & UINT32_MAX));
	else
		return 0;
	return -1;
}

/* All sectors of one block were written together: *@first is the generation. */
static int check_sector(const struct sector *s, uint64_t offset, uint64_t first, char *why,
			size_t n)
{
	size_t i;

	if (s->generation != first) {
		snprintf(why, n,
			 "byte %llu: torn block, its sectors are of different generations",
			 (ull)offset);
		return -1;
	}
	for (i = 0; i < WORDS - 3; i++) {
		if (s->fill[i] == fill_word(offset, s->generation, i))
			continue;
		snprintf(why, n, "byte %llu: wrong data after a good header",
			 (ull)(offset + (i + 3) * sizeof(uint64_t)));
		return -1;
	}
	return 0;
}

int verify_check(const void *buf, size_t len, uint64_t offset, uint64_t generation,
		 uint64_t mask, char *why, size_t n)
{
	const struct sector *s = buf;
	/* A reader of another block size may see several writes in one read. */
	bool exact = mask == UINT64_MAX;
	uint64_t first = s->generation;

	for (; len >= SECTOR; len -= SECTOR, offset += SECTOR, s++) {
		if (check_head(s, offset, generation, mask, why, n) ||
		    check_sector(s, offset, exact ? first : s->generation, why, n))
			return -1;
	}
	return 0;
}
