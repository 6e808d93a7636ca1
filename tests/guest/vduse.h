/* SPDX-License-Identifier: MIT */
/*
 * A virtio-blk device that the test itself plays, in the guest: VDUSE serves it
 * from a process, virtio_vdpa shows it to the driver. For what QEMU does not
 * offer: secure erase, several ranges, odd limits, any status byte.
 *
 * Needs the modules vduse and virtio_vdpa. One disk of VD_BYTES in memory, one
 * split ring of VD_RING descriptors, no indirect ones.
 */
#ifndef T_VDUSE_H
#define T_VDUSE_H

#include <linux/genetlink.h>
#include <linux/netlink.h>
#include <linux/vdpa.h>
#include <linux/vduse.h>
#include <linux/virtio_ring.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "t.h"

#define VD_NAME		"vdtest"
#define VD_BYTES	(16u << 20)
#define VD_RING		64u
#define VD_RANGES	16u
#define VD_NO_STATUS	(-1)

/* Shared with the process that plays the device. */
struct vd_shared {
	volatile int status;	/* what to answer, or VD_NO_STATUS */
	/* What it saw since vd_forget(). */
	volatile unsigned int commands;
	volatile uint32_t type, ioprio;
	volatile uint64_t sector;
	volatile unsigned int nr_ranges;
	struct virtio_blk_discard_write_zeroes ranges[VD_RANGES];
	volatile unsigned int longest_chain;
	volatile unsigned int longest_desc;	/* bytes */
};

struct vd_map {
	uint64_t start, last;
	char *base, *at;	/* of the mapping; of @start */
	size_t len;
};

struct vd_dev {
	struct vd_shared *shared;
	char *disk;
	int fd, kick;
	uint16_t seen;		/* next in the available ring */
	struct vduse_vq_info vq;
	struct vd_map maps[64];
	unsigned int nr_maps;
};

static void vd_unmap_all(struct vd_dev *d)
{
	unsigned int i;

	for (i = 0; i < d->nr_maps; i++)
		munmap(d->maps[i].base, d->maps[i].len);
	d->nr_maps = 0;
}

/* Where I/O address @iova lies here; it has to stay within one mapping. */
static void *vd_at(struct vd_dev *d, uint64_t iova, uint64_t len)
{
	struct vduse_iotlb_entry e = { .start = iova, .last = iova };
	struct vd_map *m;
	unsigned int i;
	int fd, prot;

	for (i = 0; i < d->nr_maps; i++) {
		m = &d->maps[i];
		if (iova >= m->start && iova + len - 1 <= m->last)
			return m->at + (iova - m->start);
	}
	if (d->nr_maps == ARRAY_SIZE(d->maps))
		vd_unmap_all(d);
	fd = ioctl(d->fd, VDUSE_IOTLB_GET_FD, &e);
	if (fd < 0 || iova + len - 1 > e.last)
		bail("device: no memory at %#llx", (unsigned long long)iova);
	prot = (e.perm & VDUSE_ACCESS_RO ? PROT_READ : 0) |
	       (e.perm & VDUSE_ACCESS_WO ? PROT_WRITE : 0);
	m = &d->maps[d->nr_maps++];
	m->start = e.start;
	m->last = e.last;
	m->len = e.offset + e.last - e.start + 1;
	m->base = mmap(NULL, m->len, prot, MAP_SHARED, fd, 0);
	if (m->base == MAP_FAILED)
		bail("device: mmap: %s", strerror(errno));
	close(fd);
	m->at = m->base + e.offset;
	return m->at + (iova - m->start);
}

/* One segment of data; @pos is where the command has got to. */
static void vd_data(struct vd_dev *d, uint32_t type, void *p, uint32_t len,
		    uint64_t *pos)
{
	struct vd_shared *s = d->shared;

	switch (type) {
	case VIRTIO_BLK_T_IN:
		memcpy(p, d->disk + *pos, len);
		break;
	case VIRTIO_BLK_T_OUT:
		memcpy(d->disk + *pos, p, len);
		break;
	case VIRTIO_BLK_T_GET_ID:
		memset(p, 0, len);
		memcpy(p, VD_NAME, len < sizeof(VD_NAME) ? len : sizeof(VD_NAME));
		break;
	case VIRTIO_BLK_T_DISCARD:
	case VIRTIO_BLK_T_WRITE_ZEROES:
	case VIRTIO_BLK_T_SECURE_ERASE:
		if (len > sizeof(s->ranges))
			len = sizeof(s->ranges);
		memcpy(s->ranges, p, len);
		s->nr_ranges = len / sizeof(s->ranges[0]);
		break;
	}
	*pos += len;
}

/* Follow the chain from @head; header first, status last (5.2.6). */
static uint32_t vd_chain(struct vd_dev *d, struct vring_desc *desc,
			 uint16_t head)
{
	struct vd_shared *s = d->shared;
	struct virtio_blk_outhdr *h;
	uint32_t written = 0;
	unsigned int nr = 1;
	uint16_t i = head;
	uint64_t pos;

	h = vd_at(d, desc[i].addr, sizeof(*h));
	s->type = h->type;
	s->ioprio = h->ioprio;
	s->sector = h->sector;
	pos = h->sector * T_SECTOR;
	while (desc[i].flags & VRING_DESC_F_NEXT) {
		uint32_t len;

		i = desc[i].next;
		nr++;
		len = desc[i].len;
		if (desc[i].flags & VRING_DESC_F_WRITE)
			written += len;
		if (!(desc[i].flags & VRING_DESC_F_NEXT))
			break;
		if (len > s->longest_desc)
			s->longest_desc = len;
		if (s->status == VD_NO_STATUS)
			vd_data(d, s->type, vd_at(d, desc[i].addr, len), len,
				&pos);
	}
	if (nr > s->longest_chain)
		s->longest_chain = nr;
	*(uint8_t *)vd_at(d, desc[i].addr, 1) =
		s->status == VD_NO_STATUS ? VIRTIO_BLK_S_OK : s->status;
	s->commands++;
	return written;
}

static void vd_serve_ring(struct vd_dev *d)
{
	struct vring_avail *avail = vd_at(d, d->vq.driver_addr, 4);
	struct vring_used *used = vd_at(d, d->vq.device_addr, 4);
	struct vring_desc *desc = vd_at(d, d->vq.desc_addr, 16);
	uint32_t index = 0;

	while (d->seen != __atomic_load_n(&avail->idx, __ATOMIC_ACQUIRE)) {
		uint16_t head = avail->ring[d->seen % d->vq.num];
		struct vring_used_elem *e = &used->ring[used->idx % d->vq.num];

		e->id = head;
		e->len = vd_chain(d, desc, head);
		__atomic_store_n(&used->idx, used->idx + 1, __ATOMIC_RELEASE);
		d->seen++;
	}
	ioctl(d->fd, VDUSE_VQ_INJECT_IRQ, &index);
}

static void vd_start(struct vd_dev *d)
{
	struct vduse_vq_eventfd kick = { .fd = d->kick };

	d->seen = 0;
	if (ioctl(d->fd, VDUSE_VQ_GET_INFO, &d->vq) ||
	    ioctl(d->fd, VDUSE_VQ_SETUP_KICKFD, &kick))
		bail("device: cannot set up its queue: %s", strerror(errno));
}

static void vd_message(struct vd_dev *d)
{
	struct vduse_dev_request req;
	struct vduse_dev_response resp = { .result = VDUSE_REQ_RESULT_OK };

	if (read(d->fd, &req, sizeof(req)) != sizeof(req))
		return;
	resp.request_id = req.request_id;
	if (req.type == VDUSE_GET_VQ_STATE)
		resp.vq_state.split.avail_index = d->seen;
	else if (req.type == VDUSE_UPDATE_IOTLB)
		vd_unmap_all(d);
	if (write(d->fd, &resp, sizeof(resp)) != sizeof(resp))
		bail("device: answer: %s", strerror(errno));
	if (req.type == VDUSE_SET_STATUS &&
	    (req.s.status & VIRTIO_CONFIG_S_DRIVER_OK))
		vd_start(d);
}

__attribute__((noreturn))
static void vd_play(struct vd_dev *d)
{
	uint64_t kicks;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		struct pollfd p[2] = {
			{ .fd = d->fd, .events = POLLIN },
			{ .fd = d->kick, .events = POLLIN },
		};

		if (poll(p, 2, -1) < 0)
			continue;
		if (p[0].revents & POLLIN)
			vd_message(d);
		if ((p[1].revents & POLLIN) &&
		    read(d->kick, &kicks, sizeof(kicks)) == sizeof(kicks))
			vd_serve_ring(d);
	}
}

/* One generic netlink message; the answer's attributes come back in @buf. */
static void vd_genl(int sock, uint16_t family, uint8_t cmd,
		    const uint16_t types[], const char *const values[],
		    char *buf, size_t size)
{
	struct nlmsghdr *n = (struct nlmsghdr *)buf;
	struct genlmsghdr *g = NLMSG_DATA(n);
	unsigned int i;

	memset(buf, 0, size);
	n->nlmsg_len = NLMSG_LENGTH(GENL_HDRLEN);
	n->nlmsg_type = family;
	n->nlmsg_flags = NLM_F_REQUEST | (family == GENL_ID_CTRL ? 0 : NLM_F_ACK);
	g->cmd = cmd;
	g->version = 1;
	for (i = 0; values[i]; i++) {
		struct nlattr *a = (struct nlattr *)(buf +
						     NLMSG_ALIGN(n->nlmsg_len));

		a->nla_type = types[i];
		a->nla_len = NLA_HDRLEN + strlen(values[i]) + 1;
		memcpy((char *)a + NLA_HDRLEN, values[i], strlen(values[i]) + 1);
		n->nlmsg_len = NLMSG_ALIGN(n->nlmsg_len) + NLA_ALIGN(a->nla_len);
	}
	if (send(sock, buf, n->nlmsg_len, 0) < 0 || recv(sock, buf, size, 0) < 0)
		bail("netlink: %s", strerror(errno));
	if (n->nlmsg_type == NLMSG_ERROR &&
	    ((struct nlmsgerr *)NLMSG_DATA(n))->error)
		bail("vdpa: %s",
		     strerror(-((struct nlmsgerr *)NLMSG_DATA(n))->error));
}

/* Make the device visible ("vdpa dev add"), or take it away. */
static void vd_plug(int plug)
{
	static const uint16_t name_type[] = { CTRL_ATTR_FAMILY_NAME };
	static const char *const name[] = { VDPA_GENL_NAME, NULL };
	static const uint16_t types[] = {
		VDPA_ATTR_DEV_NAME, VDPA_ATTR_MGMTDEV_DEV_NAME,
	};
	const char *const values[] = { VD_NAME, plug ? "vduse" : NULL, NULL };
	int sock = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
	char buf[4096];
	struct nlattr *a = (struct nlattr *)(buf + NLMSG_HDRLEN + GENL_HDRLEN);

	vd_genl(sock, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, name_type, name, buf,
		sizeof(buf));
	while (a->nla_type != CTRL_ATTR_FAMILY_ID)
		a = (struct nlattr *)((char *)a + NLA_ALIGN(a->nla_len));
	vd_genl(sock, *(uint16_t *)((char *)a + NLA_HDRLEN),
		plug ? VDPA_CMD_DEV_NEW : VDPA_CMD_DEV_DEL, types, values, buf,
		sizeof(buf));
	close(sock);
}

static int vd_create(uint64_t features, const struct virtio_blk_config *cfg)
{
	struct vduse_dev_config *c = calloc(1, sizeof(*c) + sizeof(*cfg));
	struct vduse_vq_config vq = { .max_size = VD_RING };
	int control = open("/dev/vduse/control", O_RDWR);
	uint64_t version = 0;
	int fd;

	memcpy(c->name, VD_NAME, sizeof(VD_NAME));
	c->device_id = VIRTIO_ID_BLOCK;
	c->features = features | 1ull << VIRTIO_F_VERSION_1 |
		      1ull << VIRTIO_F_ACCESS_PLATFORM;
	c->vq_num = 1;
	c->vq_align = 4096;
	c->config_size = sizeof(*cfg);
	memcpy(c->config, cfg, sizeof(*cfg));
	if (control < 0 || ioctl(control, VDUSE_SET_API_VERSION, &version) ||
	    ioctl(control, VDUSE_CREATE_DEV, c))
		bail("VDUSE: %s", strerror(errno));
	fd = open("/dev/vduse/" VD_NAME, O_RDWR);
	if (fd < 0 || ioctl(fd, VDUSE_VQ_SETUP, &vq))
		bail("VDUSE device: %s", strerror(errno));
	close(control);
	free(c);
	return fd;
}

static inline void vd_forget(struct vd_shared *s)
{
	s->commands = 0;
	s->nr_ranges = 0;
	s->longest_chain = 0;
	s->longest_desc = 0;
	memset(s->ranges, 0, sizeof(s->ranges));
}

/* Start the device's process and show the device to the driver. */
static inline struct vd_shared *vd_begin(uint64_t features,
					 const struct virtio_blk_config *cfg)
{
	struct vd_dev d = { 0 };

	d.shared = mmap(NULL, sizeof(*d.shared), PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	d.shared->status = VD_NO_STATUS;
	d.disk = t_alloc(VD_BYTES);
	d.fd = vd_create(features, cfg);
	d.kick = eventfd(0, EFD_NONBLOCK);
	if (!fork())
		vd_play(&d);
	close(d.fd);
	close(d.kick);
	vd_plug(1);
	return d.shared;
}

#endif /* T_VDUSE_H */
