// SPDX-License-Identifier: MIT
/* The options of io_uring-vblk: what is understood, what is refused and how. */
#include <options.h>
#include <string.h>
#include <tap.h>

#define MAX_WORDS 32

/* Splits @line at spaces, as the shell would without quotes. */
static int parse(struct options *o, const char *line, struct fail *f)
{
	static char buf[512], *argv[MAX_WORDS + 1];
	int argc = 1;
	char *word;

	snprintf(buf, sizeof(buf), "%s", line);
	argv[0] = "io_uring-vblk";
	for (word = strtok(buf, " "); word && argc < MAX_WORDS; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	*f = (struct fail) { 0 };
	return options_parse(o, argc, argv, f);
}

static void test_cover_letter(void)
{
	struct options o;
	struct fail f;

	is_int(parse(&o, "-b4096 -d8 -c4 -s4 -p0 -F1 -B0 -O0 -n1 -u1 /dev/vdac0", &f), 0,
	       "the line of the cover letter");
	is_int(o.bs, 4096, "block size");
	is_int(o.depth, 8, "depth");
	is_int(o.complete, 4, "completion batch");
	is_int(o.submit, 4, "submission batch");
	is_int(o.polled, 0, "not polled");
	is_int(o.fixed_files, 1, "registered files");
	is_int(o.fixed_bufs, 0, "plain buffers");
	is_int(o.direct, 0, "no O_DIRECT");
	is_int(o.threads, 1, "one thread");
	is_int(o.passthrough, 1, "passthrough");
	is_int(o.nr_paths, 1, "one device");
	ok(!strcmp(o.paths[0], "/dev/vdac0"), "its name");
}

static void test_defaults(void)
{
	struct options o;
	struct fail f;

	is_int(parse(&o, "x", &f), 0, "nothing but a device");
	is_int(o.bs, 4096, "block size");
	is_int(o.depth, 128, "depth");
	is_int(o.submit, 32, "submission batch");
	is_int(o.complete, 32, "completion batch");
	ok(o.fixed_bufs && o.fixed_files && o.direct && o.random && o.reg_ring,
	   "registered buffers, files and ring, O_DIRECT, random");
	ok(!o.passthrough && !o.write && !o.verify && !o.nop && !o.polled && !o.runtime && !o.ios,
	   "and nothing else");
}

static void test_forms(void)
{
	struct options o;
	struct fail f;

	is_int(parse(&o, "--depth=8 --block-size 64k --write --read-percent=30 x y z", &f), 0,
	       "long options");
	is_int(o.depth, 8, "value after =");
	is_int(o.bs, 65536, "value in a word of its own, with suffix");
	ok(o.write && o.read_percent == 30, "mixed");
	is_int(o.nr_paths, 3, "three devices");
	is_int(parse(&o, "x -d 4 --polled", &f), 0, "options after the device");
	ok(o.depth == 4 && o.polled, "are read too");
	is_int(parse(&o, "--fixed-buffers=0 --random=0 x", &f), 0, "long switches");
	ok(!o.fixed_bufs && !o.random, "can be turned off");
	is_int(parse(&o, "-r 1.5 --warmup=0.25s x", &f), 0, "seconds");
	ok(o.runtime == 1500000000ULL && o.warmup == 250000000ULL, "with fractions");
	is_int(parse(&o, "-d4 x", &f), 0, "a small depth");
	ok(o.submit == 4 && o.complete == 4, "limits the batches");
	is_int(parse(&o, "--hybrid-poll x", &f), 0, "hybrid polling");
	ok(o.polled && o.hybrid, "is polling");
	is_int(parse(&o, "--json x", &f), 0, "--json");
	ok(o.json && !o.json_file, "goes to stdout");
	is_int(parse(&o, "--json=f x", &f), 0, "--json=FILE");
	ok(o.json && o.json_file && !strcmp(o.json_file, "f"), "goes to the file");
	is_int(parse(&o, "-N1", &f), 0, "NOPs need no device");
	is_int(parse(&o, "-a0 -S0 -D0 -P0 x", &f), 0, "t/io_uring's letters that ask nothing");
	is_int(parse(&o, "--offset=1m --size=2GiB x", &f), 0, "sizes");
	ok(o.offset == 1 << 20 && o.size == 2ULL << 30, "with suffixes");
}

static void test_refused(void)
{
	static const struct {
		const char *line, *says;
	} bad[] = {
		{ "", "no device" },
		{ "-b1000 x", "multiple of 512" },
		{ "-b0 x", "outside of" },
		{ "-b4q x", "suffixes" },
		{ "-b x", "wants a number" },
		{ "-d0 x", "outside of" },
		{ "-d-1 x", "wants a number" },
		{ "-d99999999999999999999 x", "wants a number" },
		{ "-d4k x", "cannot read" },
		{ "-p2 x", "0 or 1" },
		{ "-pyes x", "0 or 1" },
		{ "--polled=maybe x", "0 or 1" },
		{ "-n0 x", "outside of" },
		{ "-r-1 x", "seconds" },
		{ "-rnan x", "seconds" },
		{ "-rsoon x", "seconds" },
		{ "-d", "needs a value" },
		{ "--depth", "needs a value" },
		{ "-z1 x", "unknown option -z" },
		{ "--no-such x", "unknown option --no-such" },
		{ "-a1 x", "aio" },
		{ "-S1 x", "synchronous" },
		{ "-T1 x", "CLOCK_MONOTONIC" },
		{ "--sqe=96 x", "64 or 128" },
		{ "--sqe=256 x", "outside of" },
		{ "--cqe=24 x", "16 or 32" },
		{ "--sqpoll --defer-taskrun x", "exclude each other" },
		{ "--sqpoll-cpu=1 x", "needs --sqpoll" },
		{ "-p1 -O0 x", "O_DIRECT" },
		{ "--read-percent=50 x", "needs --write" },
		{ "--read-percent=101 --write x", "outside of" },
		{ "-N1 --write", "leave out --write" },
		{ "--generation=1 x", "needs --verify" },
		{ "--warmup=1 --warmup-ios=1 x", "not both" },
		{ "--size=99999999999t x", "too large" },
	};
	struct options o;
	struct fail f;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(bad); i++) {
		int ret = parse(&o, bad[i].line, &f);

		ok(ret == -1 && f.code == EXIT_CONFIG && strstr(f.msg, bad[i].says) &&
		   !strchr(f.msg, '\n'), "'%s' is refused with '...%s...'", bad[i].line,
		   bad[i].says);
		if (!f.code || !strstr(f.msg, bad[i].says))
			diag("it says: %s", f.msg);
	}
}

static void test_help(void)
{
	struct options o;
	struct fail f;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	is_int(parse(&o, "-h", &f), 0, "-h");
	ok(o.help, "asks for help");
	is_int(parse(&o, "--version", &f), 0, "--version");
	ok(o.version, "asks for the version");
	options_help(out);
	fclose(out);
	ok(strstr(text, "-d, --depth=N") && strstr(text, "[128]"), "the help has the defaults");
	ok(!strstr(text, "-a,"), "and nothing that is not offered");
	free(text);
}

int main(void)
{
	test_cover_letter();
	test_defaults();
	test_forms();
	test_refused();
	test_help();
	return tap_done();
}
