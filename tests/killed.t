#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Tasks that die with commands in flight.

. "$(dirname "$0")/lib.sh"

guest 'killed tasks' --append "slub_debug=FZP,kmalloc-*,bdev_cache,request_queue" --param poll_queues=1 \
	--timeout 200 --disk small,queues=2,iops=100 <<'END'
prog killed vda
ok 'rmmod' rmmod virtio_blk
END

done_testing
