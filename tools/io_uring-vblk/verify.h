/* SPDX-License-Identifier: MIT */
/*
 * --verify: each 512-byte sector says where it belongs and when it was written.
 *
 * A generation is the run's number in the upper half and, in the lower half,
 * how often this run wrote the block.
 */
#ifndef VBLK_VERIFY_H
#define VBLK_VERIFY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fail.h"

#define VERIFY_RUN_MASK	0xffffffff00000000ULL

/* What one job knows of its part of one disk. */
struct verify {
	uint64_t blocks;
	uint32_t *count;	/* writes of each block; NULL: this run only reads */
	uint64_t *busy;		/* bit per block: an I/O is in flight */
	uint64_t run;		/* upper half of a generation, lower one 0 */
	uint64_t cursor;	/* of the final read-back */
};

int verify_init(struct verify *v, uint64_t blocks, uint32_t run, bool write, struct fail *f);
void verify_free(struct verify *v);

/*
 * Moves *@block on to the next one without an I/O in flight and takes it.
 * False if there is none.
 */
bool verify_take(struct verify *v, uint64_t *block);
void verify_put(struct verify *v, uint64_t block);

/* Takes the next block that this run has written; false at the end. */
bool verify_take_written(struct verify *v, uint64_t *block);

/* Generation that the next write of @block carries. */
uint64_t verify_next_generation(const struct verify *v, uint64_t block);

/*
 * What a read of @block must find: the bits in *@mask of the result. Nothing
 * (false) if this run writes and has not yet written @block.
 */
bool verify_expected(const struct verify *v, uint64_t block, uint64_t *generation, uint64_t *mask);

void verify_fill(void *buf, size_t len, uint64_t offset, uint64_t generation);

/* 0, or -1 with the first difference told in @why. */
int verify_check(const void *buf, size_t len, uint64_t offset, uint64_t generation,
		 uint64_t mask, char *why, size_t n);

#endif /* VBLK_VERIFY_H */
