#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What the char node says of itself: limits, ioctls, serial.

. "$(dirname "$0")/lib.sh"

limits=dev.max-discard-sectors=4096,dev.max-write-zeroes-sectors=8192
limits=$limits,dev.discard_granularity=8192

guest 'limits and serial' --param poll_queues=1 \
	--disk raw,serial=short,queues=3 \
	--disk 4k,serial=exactly-20-bytes-abc \
	--disk "raw,qsize=16,$limits" --disk ro \
	--disk raw,dev.discard=off,dev.write-zeroes=off \
	--disk raw,dev.physical_block_size=4096 <<'END'
prog limits vda short
prog limits vdb exactly-20-bytes-abc
prog limits vdc ''
for disk in vdd vde vdf; do
	prog limits $disk
done
is "$(vcmd /dev/vdac0 id)" short 'vcmd reads the serial'
is "$(vcmd -f 128 /dev/vdbc0 id)" exactly-20-bytes-abc 'in the other form'
END

done_testing
