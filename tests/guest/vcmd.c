// SPDX-License-Identifier: MIT
/*
 * One command from a shell script.
 *
 * usage: vcmd [-m r|w|rw] [-f 64|128] [-n COUNT] NODE TYPE [OFFSET LENGTH [GENERATION]]
 *
 * NODE is a char node. TYPE: read, write, flush, id, discard, zeroes, unmap
 * (zeroes with the unmap flag), erase. Writes carry the pattern of t_fill,
 * reads are checked against it if a generation is given. -n repeats the command
 * one length further each time. Prints the answer ("0", "-EINVAL", "status
 * 2"), for id the serial; exit status 0 if the answer was 0 and data matched.
 */
#define _GNU_SOURCE
#include "t.h"

static const struct {
	const char *name;
	uint32_t type;
	uint16_t flags;
	int mode;
} types[] = {
	{ "read", VIRTIO_BLK_T_IN, 0, O_RDONLY },
	{ "write", VIRTIO_BLK_T_OUT, 0, O_RDWR },
	{ "flush", VIRTIO_BLK_T_FLUSH, 0, O_RDWR },
	{ "id", VIRTIO_BLK_T_GET_ID, 0, O_RDONLY },
	{ "discard", VIRTIO_BLK_T_DISCARD, 0, O_RDWR },
	{ "zeroes", VIRTIO_BLK_T_WRITE_ZEROES, 0, O_RDWR },
	{ "unmap", VIRTIO_BLK_T_WRITE_ZEROES, VIRTBLK_CMD_F_UNMAP, O_RDWR },
	{ "erase", VIRTIO_BLK_T_SECURE_ERASE, 0, O_RDWR },
};

static int mode = -1;
static enum vblk_form form = VBLK_SQE64;
static unsigned int count = 1;

static void usage(void)
{
	fprintf(stderr, "usage: vcmd [-m r|w|rw] [-f 64|128] [-n COUNT] NODE TYPE\n"
		"\t[OFFSET LENGTH [GENERATION]]\n");
	exit(2);
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "m:f:n:")) != -1) {
		if (c == 'm')
			mode = !strcmp(optarg, "r") ? O_RDONLY :
			       !strcmp(optarg, "w") ? O_WRONLY : O_RDWR;
		else if (c == 'f')
			form = atoi(optarg) == 128 ? VBLK_SQE128 : VBLK_SQE64;
		else if (c == 'n')
			count = strtoul(optarg, NULL, 0);
		else
			usage();
	}
}

static int run(struct io_uring *ring, int fd, struct vblk_cmd *cmd,
	       const char *gen)
{
	uint64_t offset = cmd->sector * T_SECTOR;
	uint64_t g = gen ? strtoull(gen, NULL, 0) : 0;
	int data = cmd->type == VIRTIO_BLK_T_IN ||
		   cmd->type == VIRTIO_BLK_T_OUT;
	char id[VIRTIO_BLK_ID_BYTES + 1] = "";
	char *buf = data ? t_alloc(cmd->len) : NULL;
	int res;

	cmd->data = buf;
	if (cmd->type == VIRTIO_BLK_T_OUT)
		t_fill(buf, cmd->len, offset, g);
	if (cmd->type == VIRTIO_BLK_T_GET_ID) {
		cmd->data = id;
		cmd->len = VIRTIO_BLK_ID_BYTES;
	}
	res = t_cmd(ring, form, fd, cmd);
	if (!res && cmd->type == VIRTIO_BLK_T_GET_ID)
		printf("%s\n", id);
	if (!res && cmd->type == VIRTIO_BLK_T_IN && gen &&
	    t_check(buf, cmd->len, offset, g)) {
		printf("wrong data\n");
		exit(1);
	}
	return res;
}

int main(int argc, char **argv)
{
	struct vblk_cmd cmd = { 0 };
	struct io_uring ring;
	unsigned int i;
	int fd, res = 0;

	options(argc, argv);
	argv += optind;
	argc -= optind;
	if (argc < 2)
		usage();
	for (i = 0; i < ARRAY_SIZE(types); i++)
		if (!strcmp(argv[1], types[i].name))
			break;
	if (i == ARRAY_SIZE(types))
		usage();
	fd = open(argv[0], mode >= 0 ? mode : types[i].mode);
	if (fd < 0) {
		printf("open: %s\n", t_res_name(-errno));
		return 1;
	}
	cmd.type = types[i].type;
	cmd.flags = types[i].flags;
	if (argc > 2)
		cmd.sector = strtoull(argv[2], NULL, 0) / T_SECTOR;
	if (argc > 3)
		cmd.len = strtoull(argv[3], NULL, 0);
	t_ring(&ring, 4, form == VBLK_SQE128 ? IORING_SETUP_SQE128 : 0);
	for (i = 0; !res && i < count; i++) {
		res = run(&ring, fd, &cmd, argc > 4 ? argv[4] : NULL);
		cmd.sector += cmd.len / T_SECTOR;
	}
	if (res || cmd.type != VIRTIO_BLK_T_GET_ID)
		printf("%s\n", t_res_name(res));
	return res != 0;
}
