#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Root and an ordinary user, each open mode, each type, disks that can be
# written, that cannot, and that blockdev --setro has closed.

. "$(dirname "$0")/lib.sh"

new_image "$T/vda.img" 64M
new_image "$T/vdb.img" 64M
before=$(sha256sum <"$T/vdb.img")

guest 'who may do what' --disk "raw,file=$T/vda.img" \
	--disk "ro,file=$T/vdb.img" <<'END'
prog perm vda
prog perm vdb ro
is "$(stat -c %a /dev/vdbc0)" 600 'every node has mode 0600'
ok 'the char nodes have a class of their own' test -e /sys/class/virtblk-chr/vdac0
END

is "$(sha256sum <"$T/vdb.img")" "$before" 'the read-only image is as it was'
is "$(tr -d '\0' <"$T/vda.img" | wc -c)" 0 'the other is all zeroes again'

done_testing
