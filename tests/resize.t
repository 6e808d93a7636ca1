#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The disk's size changes while the guest uses it.

. "$(dirname "$0")/lib.sh"
need python3

resize() {
	await "waiting for $1" || return
	qmp "$T/qmp" block_resize "{\"node-name\": \"disk0\", \"size\": $1}" \
		>/dev/null || fail "QEMU resizes the disk to $1"
}

guest_start 'resize' --qmp "$T/qmp" --disk raw,size=64M <<'END'
for size in 100663296 33554432 100000256; do
	prog resize vda $size
done
END
resize 100663296
resize 33554432
# Not a multiple of anything but the sector.
resize 100000256
guest_wait

done_testing
