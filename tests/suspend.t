#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Suspend and resume under load, by the kernel's own test mode.

. "$(dirname "$0")/lib.sh"

guest 'suspend' --param poll_queues=1 --timeout 240 \
	--disk raw,queues=2 --disk raw <<'END'
echo 1 >/sys/module/suspend/parameters/pm_test_delay
echo devices >/sys/power/pm_test
echo N >/sys/module/printk/parameters/console_suspend
(
	for _ in 1 2 3; do
		usleep 700000
		echo freeze >/sys/power/state && echo x >>/tmp/suspended
	done
) &
prog busy -t 9 -q 32 -s 8 vda
wait
is "$(wc -l </tmp/suspended)" 3 'suspended three times under load'
(
	for _ in 1 2; do
		usleep 700000
		echo freeze >/sys/power/state && echo x >>/tmp/suspended
	done
) &
prog busy -t 6 -q 32 -s 8 -p vda
wait
is "$(wc -l </tmp/suspended)" 5 'twice more under polled load'
is "$(vcmd /dev/vdbc0 read 0 4096)" 0 'an idle disk works after suspends'
ok 'rmmod' rmmod virtio_blk
END

# A new size that is announced when the freezer has passed and the disks are
# about to be suspended; the slow one keeps them from being so.
guest_start 'resize while suspending' --qmp "$T/qmp" --timeout 100 \
	--disk raw,size=64M --disk raw,iops=1 <<'END'
echo devices >/sys/power/pm_test
echo 0 >/sys/power/pm_async
echo 1 >/sys/module/suspend/parameters/pm_test_delay
echo N >/sys/module/printk/parameters/console_suspend
io_uring-vblk -u1 -b4096 -d8 -s8 -c1 --ios=8 /dev/vdbc0 >/dev/null 2>&1 &
sleep 1.5
reached suspending
echo freeze >/sys/power/state
is $? 0 'suspended and resumed'
tries=50
while [ "$(cat /sys/block/vda/size)" != 196608 ] && [ $tries -gt 0 ]; do
	usleep 100000
	tries=$((tries - 1))
done
is "$(cat /sys/block/vda/size)" 196608 'the new size'
END
await suspending
sleep 2
qmp "$T/qmp" block_resize '{"node-name": "disk0", "size": 100663296}'
guest_wait

done_testing
