// SPDX-License-Identifier: GPL-2.0
/*
 * Does the job fit the disk? What does not is refused before the first
 * command, in one line that names the cause. And the file side of the engine:
 * size, open, ring form.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/fs.h>
#include <linux/virtio_blk.h>

#include "../fio.h"
#include "virtblk.h"

/* Tell the user, make the job fail. Returns 1, as fio's hooks do. */
__attribute__((format(printf, 4, 5)))
static int refuse(struct thread_data *td, const struct fio_file *f, int err,
		  const char *fmt, ...)
{
	char why[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(why, sizeof(why), fmt, ap);
	va_end(ap);
	log_err("fio: virtblk: %s: %s\n", f ? f->file_name : td->o.name, why);

	/* get_file_sizes() takes ENOENT for a file that is yet to be created */
	td_verror(td, err == ENOENT ? ENODEV : err, "virtblk");
	return 1;
}

int fio_virtblk_refuse(struct thread_data *td, const char *option)
{
	return refuse(td, NULL, EOPNOTSUPP, "%s does not work with cmd_type=virtblk",
		      option);
}

static int refuse_open(struct thread_data *td, const struct fio_file *f, int err)
{
	switch (err) {
	case ENOENT:
		return refuse(td, f, err, "there is no such file");
	case EPERM:
	case EACCES:
		return refuse(td, f, err, "no permission to open it; unless a udev rule says otherwise only root may");
	case EBUSY:
		return refuse(td, f, err, "the disk or a partition of it is mounted or otherwise held, so it cannot be opened for writing");
	case EROFS:
		return refuse(td, f, err, "the disk is read-only");
	case ENODEV:
	case ENXIO:
		return refuse(td, f, err, "the disk has gone");
	}
	return refuse(td, f, err, "cannot open it: %s", strerror(err));
}

static int query_fd(struct thread_data *td, const struct fio_file *f, int fd,
		    struct virtblk_limits *limits)
{
	int ret = fio_virtblk_query(fd, limits);

	switch (ret) {
	case 0:
		return 0;
	case -ENODEV:
		return refuse_open(td, f, ENODEV);
	}
	return refuse(td, f, -ret, "not a /dev/vdXc0, or the virtio_blk driver there is not the one with io_uring commands");
}

/*
 * Ask by name, without a claim on the disk. Other kinds of file are not even
 * opened.
 */
static int query_file(struct thread_data *td, const struct fio_file *f,
		      struct virtblk_limits *limits, uint64_t *bytes)
{
	struct stat st;
	int fd, ret;

	if (stat(f->file_name, &st) < 0)
		return refuse_open(td, f, errno);
	if (S_ISBLK(st.st_mode))
		return refuse(td, f, EINVAL, "a block device; cmd_type=virtblk works with the character device of the disk, /dev/vdXc0");
	if (!S_ISCHR(st.st_mode))
		return refuse(td, f, EINVAL, "not a device; cmd_type=virtblk works with /dev/vdXc0");

	fd = open(f->file_name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return refuse_open(td, f, errno);
	ret = query_fd(td, f, fd, limits);
	if (!ret && bytes && ioctl(fd, BLKGETSIZE64, bytes) < 0)
		ret = refuse(td, f, errno, "cannot read its size: %s",
			     strerror(errno));
	close(fd);
	return ret;
}

/* Options that no command can honour. To ignore them would be worse. */
static int check_options(struct thread_data *td)
{
	const struct thread_options *o = &td->o;
	/* fio 3.33 has an assertion against what it does itself there */
	const bool aborts = !td_trim(td) && (o->trim_percentage || o->trim_backlog);
	const struct {
		bool set;
		const char *name;
	} options[] = {
		{ o->zone_mode == ZONE_MODE_ZBD, "zonemode=zbd" },
		{ o->sync_io, "sync= (fsync=1 flushes after each write)" },
		{ o->oatomic, "atomic=1" },
		{ o->sync_file_range, "sync_file_range=" },
		{ o->ioscheduler, "ioscheduler= (no scheduler is involved)" },
		{ aborts, "trim_percentage= (fio 3.33 aborts; use rw=trimwrite)" },
	};
	unsigned int i;

	for (i = 0; i < FIO_ARRAY_SIZE(options); i++)
		if (options[i].set)
			return fio_virtblk_refuse(td, options[i].name);
	return 0;
}

static bool uses_ddir(const struct thread_data *td, enum fio_ddir ddir)
{
	switch (ddir) {
	case DDIR_READ:
		return td_read(td);
	case DDIR_WRITE:
		return td_write(td);
	default:
		return td_trim(td);
	}
}

static int check_types(struct thread_data *td, const struct fio_file *f,
		       const struct virtblk_limits *l)
{
	const struct thread_options *o = &td->o;
	const struct {
		bool wanted;
		unsigned int type;
		const char *what;
	} types[] = {
		{ td_read(td), VIRTIO_BLK_T_IN, "read" },
		{ td_write(td), VIRTIO_BLK_T_OUT, "write" },
		{ td_trim(td), VIRTIO_BLK_T_DISCARD,
		  "trim (the device offers no DISCARD)" },
		{ td_write(td) && (o->fsync_blocks || o->fdatasync_blocks ||
				   o->end_fsync || o->fsync_on_close),
		  VIRTIO_BLK_T_FLUSH, "sync (the device offers no FLUSH)" },
	};
	unsigned int i;

	if (l->features & VIRTBLK_FEAT_READ_ONLY && (td_write(td) || td_trim(td)))
		return refuse_open(td, f, EROFS);
	for (i = 0; i < FIO_ARRAY_SIZE(types); i++)
		if (types[i].wanted && !(l->types & (1ULL << types[i].type)))
			return refuse(td, f, EOPNOTSUPP, "the disk cannot %s",
				      types[i].what);
	return 0;
}

/* Everything an offset is made of has to be in whole logical blocks. */
static int check_offsets(struct thread_data *td, const struct fio_file *f,
			 const struct virtblk_limits *l)
{
	const struct thread_options *o = &td->o;
	const bool strided = o->zone_mode == ZONE_MODE_STRIDED;
	const struct {
		unsigned long long value;
		const char *name;
	} options[] = {
		{ o->start_offset, "offset" },
		{ o->start_offset_align, "offset_align" },
		{ o->offset_increment, "offset_increment" },
		{ strided ? o->zone_size : 0, "zonesize" },
		{ strided ? o->zone_range : 0, "zonerange" },
		{ strided ? o->zone_skip : 0, "zoneskip" },
		{ td_read(td) ? o->ba[DDIR_READ] : 0, "blockalign" },
		{ td_write(td) ? o->ba[DDIR_WRITE] : 0, "blockalign" },
		{ td_trim(td) ? o->ba[DDIR_TRIM] : 0, "blockalign" },
	};
	unsigned int i;

	for (i = 0; i < FIO_ARRAY_SIZE(options); i++)
		if (options[i].value % l->logical_block_size)
			return refuse(td, f, EINVAL, "%s=%llu is not a multiple of the logical block size, %u",
				      options[i].name, options[i].value,
				      l->logical_block_size);
	return 0;
}

static int check_block_size(struct thread_data *td, const struct fio_file *f,
			    const struct virtblk_limits *l, enum fio_ddir ddir)
{
	const struct thread_options *o = &td->o;
	const uint64_t max = ddir == DDIR_TRIM ?
		(uint64_t)l->max_discard_sectors << 9 : l->max_bytes;
	const char *name = io_ddir_name(ddir);
	unsigned long long bs = o->min_bs[ddir];

	/* sizes in between are multiples of the smallest */
	if (bs % l->logical_block_size == 0)
		bs = o->max_bs[ddir];
	if (bs % l->logical_block_size)
		return refuse(td, f, EINVAL, "%s block size %llu is not a multiple of the logical block size, %u",
			      name, bs, l->logical_block_size);
	if (o->bs_unaligned && o->min_bs[ddir] != bs)
		return fio_virtblk_refuse(td, "bs_unaligned");
	if (bs > max)
		return refuse(td, f, EINVAL, "%s block size %llu is more than the disk takes in one command, %llu",
			      name, bs, (unsigned long long)max);
	return 0;
}

static int check_job(struct thread_data *td, const struct fio_file *f,
		     const struct virtblk_limits *l)
{
	enum fio_ddir ddir;

	if (check_types(td, f, l))
		return 1;
	for (ddir = DDIR_READ; ddir < DDIR_RWDIR_CNT; ddir++)
		if (uses_ddir(td, ddir) && check_block_size(td, f, l, ddir))
			return 1;
	return check_offsets(td, f, l);
}

/*
 * Say so if a buffer of the job may lie in more pieces than a command takes: it
 * may, depending on the luck of the allocator.
 */
static void note_segments(struct thread_data *td, const struct fio_file *f,
			  const struct virtblk_limits *l)
{
	const enum fio_memtype mem = td->o.mem_type;
	unsigned long long bs = 0, pieces;

	if (mem == MEM_SHMHUGE || mem == MEM_MMAPHUGE)
		return;
	if (td_read(td))
		bs = td->o.max_bs[DDIR_READ];
	if (td_write(td) && td->o.max_bs[DDIR_WRITE] > bs)
		bs = td->o.max_bs[DDIR_WRITE];
	pieces = bs / page_size + !!(td->o.mem_align % page_size);
	if (pieces > l->max_segments)
		log_info("fio: virtblk: %s: note: a buffer of %llu bytes may lie in %llu pieces, a command takes %u; if it fails with EINVAL try iomem=mmaphuge\n",
			 f->file_name, bs, pieces, l->max_segments);
}

int fio_virtblk_get_file_size(struct thread_data *td, struct fio_file *f)
{
	struct virtblk_limits limits;
	uint64_t bytes;

	if (check_options(td) || query_file(td, f, &limits, &bytes) ||
	    check_job(td, f, &limits))
		return 1;

	/* a broken last block cannot be reached */
	bytes -= bytes % limits.logical_block_size;
	if (!bytes)
		return refuse(td, f, ENXIO, "the disk has no capacity");
	note_segments(td, f, &limits);
	f->real_file_size = bytes;
	fio_file_set_size_known(f);
	return 0;
}

/*
 * The descriptor the commands go to. A job that only reads must not open for
 * writing, which claims the disk: generic_open_file() would, for a character
 * device. And there is no page cache that O_DIRECT could go around.
 */
int fio_virtblk_open_file(struct thread_data *td, struct fio_file *f)
{
	const enum fio_filetype filetype = f->filetype;
	const unsigned int odirect = td->o.odirect;
	struct virtblk_limits limits;
	int ret;

	f->filetype = FIO_TYPE_BLOCK;
	td->o.odirect = 0;
	ret = generic_open_file(td, f);
	f->filetype = filetype;
	td->o.odirect = odirect;
	if (ret)
		return refuse_open(td, f, td->error);
	/* a block device is spared this close; here it would keep the claim */
	if (f->shadow_fd != -1) {
		close(f->shadow_fd);
		f->shadow_fd = -1;
	}

	/* checked here for files that never had their size looked up (iolog) */
	if (check_options(td) || query_fd(td, f, f->fd, &limits) ||
	    check_job(td, f, &limits)) {
		ret = generic_close_file(td, f);
		return ret ? ret : 1;
	}
	return 0;
}

/* The form to use, and what the ring needs of the disk. */
static int check_ring(struct thread_data *td, const struct fio_file *f,
		      const struct virtblk_limits *l, struct fio_virtblk_ring *r)
{
	const bool sqe64 = l->features & VIRTBLK_FEAT_SQE64;
	const bool fixed_vec = l->features & VIRTBLK_FEAT_FIXED_VEC;

	if (r->polled && !l->nr_poll_queues)
		return refuse(td, f, EOPNOTSUPP, "hipri needs poll queues and the disk has none; load virtio_blk with poll_queues=N");
	if (r->fixed && r->vectored && !fixed_vec)
		return refuse(td, f, EOPNOTSUPP, "this kernel takes no iovecs in registered buffers; use fixedbufs with nonvectored=1");
	if (r->sqe_bytes == 64 && !sqe64)
		return refuse(td, f, EOPNOTSUPP, "this kernel takes no 64-byte commands; use virtblk_sqe=128");
	if (!r->sqe_bytes && !sqe64)
		r->sqe_bytes = 128;
	return 0;
}

/*
 * Before the ring is set up: choose the form of the commands, and make trims
 * asynchronous.
 */
int fio_virtblk_setup_ring(struct thread_data *td, struct fio_virtblk_ring *r)
{
	const unsigned int asked = r->sqe_bytes;
	struct virtblk_limits limits;
	struct fio_file *f;
	unsigned int i;

	for_each_file(td, f, i) {
		if (query_file(td, f, &limits, NULL) ||
		    check_ring(td, f, &limits, r))
			return 1;
	}
	r->sqe_bytes = asked ? asked : r->sqe_bytes ? r->sqe_bytes : 64;

	td->flags &= ~((unsigned long long)FIO_ASYNCIO_SYNC_TRIM << TD_ENG_FLAG_SHIFT);
	/*
	 * A trim in flight and a write to the same place would race, and the
	 * trim might be the one that lasts.
	 */
	if (td_trimwrite(td))
		td->o.serialize_overlap = 1;
	return 0;
}

/*
 * The errno for a completion. The first failure is explained, once: fio's own
 * message has only the errno.
 */
int fio_virtblk_result(const struct io_u *io_u, int res, bool *told)
{
	const int err = fio_virtblk_errno(res);

	if (err && !*told) {
		*told = true;
		log_err("fio: virtblk: %s: %s failed with %d (%s): %s\n",
			io_u->file->file_name, io_ddir_name(io_u->ddir), res,
			strerror(err), fio_virtblk_why(res));
	}
	return err;
}

static int io_uring_disabled(void)
{
	FILE *f = fopen("/proc/sys/kernel/io_uring_disabled", "r");
	int value = 0;

	if (!f)
		return 0;
	if (fscanf(f, "%d", &value) != 1)
		value = 0;
	fclose(f);
	return value;
}

static const char *why_forbidden(void)
{
	switch (io_uring_disabled()) {
	case 1:
		return "kernel.io_uring_disabled=1 leaves it to CAP_SYS_ADMIN and the group in kernel.io_uring_group";
	case 2:
		return "kernel.io_uring_disabled=2 switches it off for everyone";
	}
	return "a security policy or seccomp filter forbids it";
}

/* Why there is no ring. */
void fio_virtblk_explain_setup(int err)
{
	const char *why = strerror(err);

	switch (err) {
	case EPERM:
	case EACCES:
		why = why_forbidden();
		break;
	case ENOMEM:
		why = "ring and registered buffers need more locked memory than ulimit -l allows";
		break;
	case ENOSYS:
		why = "this kernel has none";
		break;
	case EINVAL:
		why = "this kernel is too old for commands, or the options do not go together";
		break;
	}
	log_err("fio: virtblk: cannot set up io_uring: %s\n", why);
}
