/* SPDX-License-Identifier: MIT */
/*
 * Test Anything Protocol for the guest programs.
 *
 *	int main(void)
 *	{
 *		ok(1 + 1 == 2, "sums work");
 *		is_int(read(fd, buf, 4), 4, "four bytes can be read");
 *		return tap_done();
 *	}
 *
 * The plan is printed last, so a program that dies on the way has none and
 * counts as failed. Exit status: 0 passed, 1 failed, 77 skipped as a whole.
 */
#ifndef TAP_H
#define TAP_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define TAP_PASS	0
#define TAP_FAIL	1
#define TAP_SKIP	77

/* Weak, so that all objects of a program share one. */
__attribute__((weak)) struct {
	unsigned int count;
	unsigned int failed;
} tap;

/* A line for people; also what explains a failure. */
__attribute__((format(printf, 1, 2)))
static inline void diag(const char *fmt, ...)
{
	va_list ap;

	fputs("# ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

/* Flushed line by line: what was printed must survive a crash of the guest. */
static inline int tap_vok(int good, const char *fmt, va_list ap)
{
	printf("%s %u - ", good ? "ok" : "not ok", ++tap.count);
	vprintf(fmt, ap);
	putchar('\n');
	fflush(stdout);
	if (!good)
		tap.failed++;
	return good;
}

__attribute__((format(printf, 2, 3)))
static inline int ok(int good, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_vok(good, fmt, ap);
	va_end(ap);
	return good;
}

__attribute__((format(printf, 3, 4)))
static inline int is_int(long long got, long long want, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	tap_vok(got == want, fmt, ap);
	va_end(ap);
	if (got != want)
		diag("got %lld (%#llx), expected %lld (%#llx)",
		     got, (unsigned long long)got,
		     want, (unsigned long long)want);
	return got == want;
}

/* One test that cannot be made here; the reason is part of the output. */
static inline void skip(const char *what, const char *why)
{
	printf("ok %u - %s # SKIP %s\n", ++tap.count, what, why);
	fflush(stdout);
}

/* The whole program cannot run here. */
__attribute__((noreturn))
static inline void skip_all(const char *why)
{
	printf("1..0 # SKIP %s\n", why);
	exit(TAP_SKIP);
}

/* Nothing after this would mean anything. */
__attribute__((format(printf, 1, 2), noreturn))
static inline void bail(const char *fmt, ...)
{
	va_list ap;

	fputs("Bail out! ", stdout);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
	_exit(TAP_FAIL);
}

static inline int tap_done(void)
{
	printf("1..%u\n", tap.count);
	fflush(stdout);
	return tap.failed ? TAP_FAIL : TAP_PASS;
}

#endif /* TAP_H */
