#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The bytes that fio's virtblk.c makes of an io_u; no guest needed.

. "$(dirname "$0")/lib.sh"

mkdir "$T/engines"
# All that virtblk.c uses of fio.
cat >"$T/fio.h" <<'END'
#include <stdbool.h>
#include <stdint.h>
#define FIO_ARRAY_SIZE(x) (sizeof(x) / sizeof((x)[0]))
enum fio_ddir {
	DDIR_READ, DDIR_WRITE, DDIR_TRIM, DDIR_SYNC, DDIR_DATASYNC,
	DDIR_SYNC_FILE_RANGE, DDIR_WAIT,
};
struct io_u {
	enum fio_ddir ddir;
	unsigned int index;
	unsigned short ioprio;
	unsigned long long offset, xfer_buflen;
	void *xfer_buf;
};
END
if ! cc -g -Wall -Wextra -Werror -fsanitize=undefined,address -o "$T/test" \
	-I "$top/include/uapi" -I "$top/include" -I "$T/engines" \
	"$top/fio-engine/test-virtblk.c" 2>"$T/log"; then
	sed 's/^/# /' "$T/log"
	echo 'Bail out! fio-engine/test-virtblk.c does not compile'
	exit 1
fi
"$T/test"
