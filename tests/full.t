#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Rings that are full: both nodes far deeper than the ring, nothing lost,
# neither side starved.

. "$(dirname "$0")/lib.sh"

guest 'full rings' --timeout 240 --param poll_queues=1 \
	--disk small,queues=2 --disk noindirect,qsize=16 \
	--disk packed,qsize=8 --disk noindirect,dev.packed=on,qsize=32 \
	--disk small,iops=400 <<'END'
prog busy -t 4 -q 1024 vda
prog busy -t 3 -q 1024 -p vda
prog busy -t 3 -q 128 -b 49152 vdb
prog busy -t 3 -q 256 vdc
prog busy -t 3 -q 128 -b 16384 -w 1 vdd
prog nonblock vde
END

# All data goes through a bounce buffer that is too small for it.
guest 'scarce bounce buffers' --append swiotlb=1024,force --timeout 150 \
	--disk iommu,queues=2 --disk iommu <<'END'
prog busy -t 4 -q 64 -b 65536 -w 1 vda
busy -t 4 -q 64 -b 65536 -w 1 vda >/tmp/vda &
prog busy -t 4 -q 64 -b 65536 -w 1 vdb
wait
sed 's/^/# vda: /' /tmp/vda
nok 'vda at the same time: nothing failed' grep -E '^(not ok|Bail)' /tmp/vda
like "$(cat /tmp/vda)" '^1\.\.3$' 'and it came to its end'
cd /sys/kernel/debug/swiotlb || exit
[ "$(cat io_tlb_used_hiwater)" -gt $(($(cat io_tlb_nslabs) * 9 / 10)) ]
is $? 0 "the bounce buffer was full: $(cat io_tlb_used_hiwater) of $(cat io_tlb_nslabs)"
is "$(cat io_tlb_used)" 0 'and is empty again'
is "$(vcmd /dev/vdac0 read 0 4096) $(vcmd /dev/vdbc0 read 0 4096)" '0 0' \
	'afterwards both disks answer'
END

done_testing
