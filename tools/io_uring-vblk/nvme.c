// SPDX-License-Identifier: MIT
/* NVMe's character node: only what a comparison needs. */
#include <errno.h>
#include <linux/nvme_ioctl.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>

#include "target.h"

#define NVME_ADMIN_IDENTIFY	0x06
#define ID_BYTES		4096
#define ID_NSZE			0	/* namespace size in blocks, le64 */
#define ID_FLBAS		26	/* low bits: format in use */
#define ID_LBAF			128	/* formats of 4 bytes; byte 2: log2 of the block */

int nvme_identify(struct target *t, struct fail *f)
{
	_Alignas(ID_BYTES) unsigned char id[ID_BYTES];
	struct nvme_passthru_cmd cmd = {
		.opcode = NVME_ADMIN_IDENTIFY,
		.addr = (uintptr_t)id,
		.data_len = sizeof(id),
	};
	uint64_t blocks = 0;
	int nsid, i;

	nsid = ioctl(t->fd, NVME_IOCTL_ID);
	if (nsid <= 0)
		return -1;
	cmd.nsid = nsid;
	if (ioctl(t->fd, NVME_IOCTL_ADMIN_CMD, &cmd))
		return refuse(f, "%s: cannot identify the namespace: %s", t->path,
			      strerror(errno));
	for (i = 7; i >= 0; i--)
		blocks = blocks << 8 | id[ID_NSZE + i];
	t->kind = TARGET_NVME;
	t->nsid = nsid;
	t->block = 1U << id[ID_LBAF + 4 * (id[ID_FLBAS] & 15) + 2];
	t->bytes = blocks * t->block;
	return 0;
}
