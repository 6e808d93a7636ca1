#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Unbind, bind, rmmod and modprobe, with commands in flight and open nodes.

. "$(dirname "$0")/lib.sh"

guest 'unbind and rmmod' --append "slub_debug=FZP,kmalloc-*,bdev_cache,request_queue" --param poll_queues=1 --timeout 200 \
	--disk raw,iops=20 --disk raw <<'END'
device=$(basename "$(readlink -f /sys/block/vda/device)")
driver=/sys/bus/virtio/drivers/virtio_blk
(
	# Once everything is in flight.
	sleep 2
	echo "$device" >"$driver/unbind"
) &
prog inflight vda 4
wait
nok 'unbound: no block node' test -e /dev/vda
ok 'bind' sh -c "echo $device >$driver/bind"
# Rings close in the background, and the name is taken until then.
disk=$(ls "/sys/bus/virtio/devices/$device/block")
ok "the char node is back, of $disk" eventually 10 test -c "/dev/${disk}c0"
is "$(vcmd -n 4 "/dev/${disk}c0" write 0 4096 3)" 0 'it takes writes'
is "$(vcmd -n 4 "/dev/${disk}c0" read 0 4096 3)" 0 'and gives them back'

sleep 1000 </dev/vdbc0 &
holder=$!
usleep 300000
nok 'rmmod while the char node is open' rmmod virtio_blk
is "$(vcmd /dev/vdbc0 read 0 4096)" 0 'it still works'
kill $holder
wait $holder 2>/dev/null
sleep 1000 </dev/vdb &
holder=$!
usleep 300000
nok 'rmmod while the block node is open' rmmod virtio_blk
kill $holder
wait $holder 2>/dev/null

for n in 1 2 3 4 5; do
	rmmod virtio_blk && modprobe virtio_blk poll_queues=$((n % 2)) || break
done
is "$n" 5 'five times rmmod and modprobe'
is "$(vcmd -n 4 /dev/vdac0 read 0 4096 3)" 0 'the data is still there'
prog busy -t 2 -q 32 vdb
ok 'rmmod' rmmod virtio_blk
nok 'no class is left' test -e /sys/class/virtblk-chr
END

done_testing
