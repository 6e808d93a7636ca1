#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Writers of the char node and mounts keep each other out.

. "$(dirname "$0")/lib.sh"
PATH=$PATH:/sbin:/usr/sbin
need mkfs.ext4

new_image "$T/vda.img" 64M
mkfs.ext4 -q "$T/vda.img"

# One Linux partition (0x83) from sector 2048 on, 129024 sectors long.
new_image "$T/vdb.img" 64M
mkfs.ext4 -q -E offset=1048576 "$T/vdb.img" 63M
printf '\0\0\0\0\203\0\0\0\0\10\0\0\0\370\1\0' |
	dd of="$T/vdb.img" bs=1 seek=446 conv=notrunc status=none
printf '\125\252' | dd of="$T/vdb.img" bs=1 seek=510 conv=notrunc status=none

disks="--disk raw,file=$T/vda.img --disk raw,file=$T/vdb.img"
# shellcheck disable=SC2086 # options
guest 'the claim' $disks <<'END'
modprobe ext4
prog claim vda
prog claim vdb
END
# shellcheck disable=SC2086
guest 'without the claim' $disks --param chr_claim=0 <<'END'
modprobe ext4
is "$(cat /sys/module/virtio_blk/parameters/chr_claim)" N 'chr_claim is off'
prog claim vda off
END

done_testing
