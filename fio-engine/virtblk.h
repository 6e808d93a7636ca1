/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cmd_type=virtblk of the io_uring_cmd engine: virtio-blk commands for
 * /dev/vdXc0.
 *
 * virtblk.c turns an io_u into a command and asks the disk for its limits; it
 * knows of fio only the io_u. virtblk_job.c compares a job with the disk and
 * tells the user what does not fit.
 */
#ifndef FIO_VIRTBLK_H
#define FIO_VIRTBLK_H

#include <stdbool.h>
#include <stdint.h>

struct fio_file;
struct io_u;
struct io_uring_sqe;
struct iovec;
struct thread_data;
struct virtblk_limits;

/**
 * struct fio_virtblk_ring - what the engine's options ask of the disk
 * @sqe_bytes: 64 or 128; 0 lets fio_virtblk_setup_ring() choose
 * @polled: an IOPOLL ring
 * @vectored: data is given as an iovec
 * @fixed: data lies in registered buffers
 */
struct fio_virtblk_ring {
	unsigned int sqe_bytes;
	bool polled;
	bool vectored;
	bool fixed;
};

/* virtblk.c */
int fio_virtblk_prep(struct io_uring_sqe *sqe, const struct fio_virtblk_ring *r,
		     const struct io_u *io_u, struct iovec *iov);
int fio_virtblk_errno(int res);
const char *fio_virtblk_why(int res);
int fio_virtblk_query(int fd, struct virtblk_limits *limits);

/* virtblk_job.c; an error has been told to the user and is in td->error */
int fio_virtblk_get_file_size(struct thread_data *td, struct fio_file *f);
int fio_virtblk_open_file(struct thread_data *td, struct fio_file *f);
int fio_virtblk_setup_ring(struct thread_data *td, struct fio_virtblk_ring *r);
int fio_virtblk_refuse(struct thread_data *td, const char *option);
int fio_virtblk_result(const struct io_u *io_u, int res, bool *told);
void fio_virtblk_explain_setup(int err);

#endif
