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

done_testing
