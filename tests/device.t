#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A device that the guest plays itself: what QEMU's devices do not offer, and
# what exactly arrives at a device.

. "$(dirname "$0")/lib.sh"

guest 'a device of our own' <<'END'
for module in vduse virtio_vdpa; do
	modprobe $module || exit
done
prog device vda
nok 'the disk is gone' test -e /dev/vda
ok 'rmmod' rmmod virtio_blk
END

done_testing
