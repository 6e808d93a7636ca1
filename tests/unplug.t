#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Disks are unplugged with commands in flight, and plugged in again.

. "$(dirname "$0")/lib.sh"
need python3

guest_start 'unplug' --qmp "$T/qmp" --param poll_queues=1 --timeout 200 \
	--append "slub_debug=FZP,kmalloc-*,bdev_cache,request_queue" --disk raw,iops=20 --disk raw,iops=20 \
	--disk raw,iops=20 --disk raw <<'END'
is "$(cat /sys/kernel/slab/kmalloc-1k/poison)" 1 'freed memory is poisoned'
prog inflight vda 4
prog inflight vdb 4 late
prog inflight vdc 4 alone
nok 'vda is gone from /dev' test -e /dev/vda
nok 'and its char node' test -e /dev/vdac0
prog busy -t 2 -q 32 vdd
reached 'ready for a new one'
for _ in 1 2 3 4 5 6; do
	eventually 20 test -c /dev/vdac0 || break
	is "$(cat /sys/block/vda/dev) $(vcmd -n 8 /dev/vdac0 write 0 4096)" \
		'254:0 0' 'plugged in again: the same name and minor, it works'
	reached "unplug $_"
	eventually 20 test ! -e /sys/block/vda || break
	reached "plug $_"
done
ok 'rmmod' rmmod virtio_blk
nok 'no nodes are left' sh -c 'ls /dev/vd*'
END
for n in 0 1 2; do
	eventually 60 sh -c \
		"[ \$(grep -c '@reached in flight' '$T/out') -gt $n ]"
	ok "unplug disk$n while commands are in flight" qmp "$T/qmp" device_del \
		"{\"id\": \"disk$n\"}" DEVICE_DELETED
done
if await 'ready for a new one'; then
	qmp "$T/qmp" blockdev-add '{"driver": "null-co", "node-name": "again",
		"size": 67108864, "read-zeroes": true}' >/dev/null
	for n in 1 2 3 4 5 6; do
		qmp "$T/qmp" device_add '{"driver": "virtio-blk-pci",
			"id": "again", "drive": "again"}' >/dev/null
		await "unplug $n" || break
		qmp "$T/qmp" device_del '{"id": "again"}' DEVICE_DELETED \
			>/dev/null
		await "plug $n" || break
	done
fi
guest_wait

done_testing
