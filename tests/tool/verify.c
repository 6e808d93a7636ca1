// SPDX-License-Identifier: MIT
/* The data of --verify: what was written passes, anything else does not. */
#include <string.h>
#include <tap.h>
#include <verify.h>

#define BS	4096u
#define OFFSET	(77ULL * BS)
#define RUN	9u
#define GEN	((uint64_t)RUN << 32 | 4)

static unsigned char buf[BS], other[BS];
static char why[200];

static int check(uint64_t generation, uint64_t mask)
{
	why[0] = '\0';
	return verify_check(buf, BS, OFFSET, generation, mask, why, sizeof(why));
}

static void refused(const char *what, const char *says)
{
	int ret = check(GEN, UINT64_MAX);

	ok(ret == -1 && strstr(why, says), "%s: '%s'", what, why);
	verify_fill(buf, BS, OFFSET, GEN);
}

static void test_data(void)
{
	unsigned int i, missed = 0;

	verify_fill(buf, BS, OFFSET, GEN);
	is_int(check(GEN, UINT64_MAX), 0, "what was written passes");
	for (i = 0; i < BS; i++) {
		buf[i] ^= 1 << i % 8;
		missed += check(GEN, UINT64_MAX) == 0;
		buf[i] ^= 1 << i % 8;
	}
	is_int(missed, 0, "a flipped bit in any of %u bytes is found", BS);

	verify_fill(buf, BS, OFFSET + BS, GEN);
	refused("the data of another block", "found the sector of byte");
	verify_fill(buf, BS, OFFSET, GEN - 1);
	refused("an older write", "generation 9.3, expected 9.4");
	verify_fill(other, BS, OFFSET, GEN - 1);
	memcpy(buf + BS / 2, other + BS / 2, BS / 2);
	refused("half an older write", "generation");
	memcpy(buf + 512, buf + 1024, 512);
	refused("a sector in the place of its neighbour", "found the sector of byte");
	memset(buf, 0, BS);
	refused("zeroes", "not written with --verify");
	memset(buf + BS - 512, 0xff, 512);
	refused("a lost last sector", "not written with --verify");
}

static void test_masks(void)
{
	verify_fill(buf, BS, OFFSET, GEN);
	is_int(check((uint64_t)RUN << 32, VERIFY_RUN_MASK), 0, "a reader that knows the run");
	is_int(check((uint64_t)(RUN + 1) << 32, VERIFY_RUN_MASK), -1, "another run does not pass");
	is_int(check(0, 0), 0, "a reader that knows nothing");
	buf[BS - 1] ^= 1;
	is_int(check(0, 0), -1, "still finds wrong data");
}

static void test_writer(void)
{
	uint64_t block = 2, generation, mask, taken[4];
	struct fail f = { 0 };
	struct verify v;
	int i;

	is_int(verify_init(&v, 4, RUN, true, &f), 0, "a writer of four blocks");
	ok(!verify_expected(&v, 2, &generation, &mask), "expects nothing before it writes");
	ok(verify_next_generation(&v, 2) == ((uint64_t)RUN << 32 | 1), "the first write is 1");
	for (i = 0; i < 4; i++) {
		taken[i] = 2;
		verify_take(&v, &taken[i]);
	}
	ok(taken[0] == 2 && taken[1] == 3 && taken[2] == 0 && taken[3] == 1,
	   "busy blocks are passed over");
	ok(!verify_take(&v, &block), "nothing is left");
	verify_put(&v, 0);
	block = 2;
	ok(verify_take(&v, &block) && block == 0, "what is given back can be taken");
	for (i = 0; i < 4; i++)
		verify_put(&v, i);
	v.count[1] = 1;
	v.count[3] = 5;
	ok(verify_expected(&v, 3, &generation, &mask) && mask == UINT64_MAX &&
	   generation == ((uint64_t)RUN << 32 | 5), "it expects its last write");
	ok(verify_take_written(&v, &block) && block == 1, "the read-back begins with the first");
	ok(verify_take_written(&v, &block) && block == 3, "leaves out what was not written");
	ok(!verify_take_written(&v, &block), "and ends");
	verify_free(&v);
}

static void test_limits(void)
{
	struct fail f = { 0 };
	struct verify v;

	is_int(verify_init(&v, 1ULL << 40, RUN, true, &f), -1, "too many blocks to count");
	ok(f.code == EXIT_CONFIG && strstr(f.msg, "--size"), "says what to do: %s", f.msg);
	f.code = 0;
	is_int(verify_init(&v, 1ULL << 40, RUN, false, &f), 0, "a reader has no such limit");
}

int main(void)
{
	test_data();
	test_masks();
	test_writer();
	test_limits();
	return tap_done();
}
