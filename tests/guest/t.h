/* SPDX-License-Identifier: MIT */
/*
 * What the guest programs share: opening a disk's two nodes, rings of every
 * kind, one command at a time, data that tells where it belongs.
 */
#ifndef T_H
#define T_H

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include <vblk_cmd.h>

#include "tap.h"

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

#define T_SECTOR	512u

/*
 * How a transfer is made: one bit per choice. The matrices of the tests run
 * over all values below T_HOW_END, which is derived from the last bit.
 */
enum t_how_bit {
	T_BIT_128,		/* 128-byte form (else 64-byte) */
	T_BIT_VEC,		/* iovec array (else flat) */
	T_BIT_FIXED,		/* registered buffer (else plain) */
	T_BIT_POLL,		/* IOPOLL ring (else interrupts) */
	T_BIT_SQPOLL,		/* kernel submission thread */
	T_BIT_DEFER,		/* DEFER_TASKRUN and SINGLE_ISSUER */
	T_BIT_ASYNC,		/* IOSQE_ASYNC */
	T_BIT_LINK,		/* each batch one chain of IOSQE_IO_LINK */
	T_BIT_REGFILE,		/* registered file */
	T_BIT_BLOCK,		/* /dev/vdX (else /dev/vdXc0) */
	T_BIT_END,
};

#define T_128		(1u << T_BIT_128)
#define T_VEC		(1u << T_BIT_VEC)
#define T_FIXED		(1u << T_BIT_FIXED)
#define T_POLL		(1u << T_BIT_POLL)
#define T_SQPOLL	(1u << T_BIT_SQPOLL)
#define T_DEFER		(1u << T_BIT_DEFER)
#define T_ASYNC		(1u << T_BIT_ASYNC)
#define T_LINK		(1u << T_BIT_LINK)
#define T_REGFILE	(1u << T_BIT_REGFILE)
#define T_BLOCK		(1u << T_BIT_BLOCK)
#define T_HOW_END	(1u << T_BIT_END)

/* "128 vec fixed", in a static buffer */
const char *t_how_name(unsigned int how);
/* The combination means something: no contradicting or idle bits. */
int t_how_valid(unsigned int how);

/* A disk with both nodes open; an fd is -1 where its mode was -1. */
struct t_dev {
	char chr[32];
	char blk[32];
	int cfd;
	int bfd;
	uint64_t bytes;
	struct virtblk_limits lim;
};

/* @disk is "vda"; modes are open(2) flags, the block node adds O_DIRECT. */
void t_open(struct t_dev *dev, const char *disk, int chr_mode, int blk_mode);
void t_close(struct t_dev *dev);
void t_limits(int fd, struct virtblk_limits *lim);

/* Programs take the disk's name as first argument, "vda" if none is given. */
const char *t_disk(int argc, char **argv);

/* Ends the program with a Bail out line if it still runs after @seconds. */
void t_watchdog(unsigned int seconds);

/* Page-aligned, bails out if there is no memory. */
void *t_alloc(size_t len);

/* A ring with the IORING_SETUP_ flags that @how asks for. */
unsigned int t_setup_flags(unsigned int how);
void t_ring(struct io_uring *ring, unsigned int entries, unsigned int flags);

/* The answer to one command. */
struct t_res {
	int res;		/* cqe->res, or what submission returned */
	uint64_t big[2];	/* CQE32 rings */
};

/* Changes the filled SQE before it is submitted. */
typedef void (*t_tweak)(struct io_uring_sqe *sqe, void *arg);

/* Submit one command and wait for its answer. */
struct t_res t_cmd_tweaked(struct io_uring *ring, enum vblk_form form, int fd,
			   const struct vblk_cmd *cmd, t_tweak tweak,
			   void *arg);
int t_cmd(struct io_uring *ring, enum vblk_form form, int fd,
	  const struct vblk_cmd *cmd);
/* Submit what is in the ring and wait for one answer. */
struct t_res t_submit1(struct io_uring *ring);

/* "-EINVAL", "status 2", "0", in one of a few static buffers */
const char *t_res_name(int res);
/* A test that says both by name. */
int is_res(int got, int want, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/*
 * Data: each 512-byte block carries its own byte offset and a generation, and
 * its other words follow from these two, so a block that is in the wrong
 * place, too old or torn does not pass.
 */
void t_fill(void *buf, size_t len, uint64_t offset, uint64_t gen);
/* 0 if all is as filled; else it prints the first difference. */
int t_check(const void *buf, size_t len, uint64_t offset, uint64_t gen);

/* Synchronous and by a way of their own, to check what a transfer did. */
void t_pwrite_pattern(int fd, uint64_t offset, size_t len, uint64_t gen);
int t_pread_check(int fd, uint64_t offset, size_t len, uint64_t gen);

/* @count blocks of @bs bytes from @offset on, @depth at a time. */
struct t_xfer {
	unsigned int how;
	int write;
	uint64_t offset;
	unsigned int bs;
	unsigned int count;
	unsigned int depth;
	uint64_t gen;
};

/*
 * 0 if each command gave what it should and, for reads, the data matches;
 * else the first bad result, or 1 for bad data, with a line that explains.
 */
int t_xfer(const struct t_dev *dev, const struct t_xfer *x);

#endif /* T_H */
