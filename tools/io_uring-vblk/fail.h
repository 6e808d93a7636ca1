/* SPDX-License-Identifier: MIT */
/*
 * The first thing that went wrong, as one line for the user, and the exit code
 * that goes with it.
 */
#ifndef VBLK_FAIL_H
#define VBLK_FAIL_H

#include <stdarg.h>
#include <stdio.h>

enum {
	EXIT_OK = 0,
	EXIT_IO = 1,		/* I/O failed, or --verify found wrong data */
	EXIT_CONFIG = 2,	/* what was asked for cannot be done here */
};

struct fail {
	int code;
	char msg[512];
};

#define VBLK_PRINTF(a, b) __attribute__((format(printf, a, b)))

/* Keeps the first failure. Always returns -1, so that callers return it. */
VBLK_PRINTF(3, 4)
static inline int fail_set(struct fail *f, int code, const char *fmt, ...)
{
	va_list ap;

	if (f->code)
		return -1;
	f->code = code;
	va_start(ap, fmt);
	vsnprintf(f->msg, sizeof(f->msg), fmt, ap);
	va_end(ap);
	return -1;
}

/* What was asked for cannot be done; says what to do instead. */
#define refuse(f, ...) fail_set(f, EXIT_CONFIG, __VA_ARGS__)

#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))

/* For printf. */
typedef unsigned long long ull;

#endif /* VBLK_FAIL_H */
