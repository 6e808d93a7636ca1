#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Passthrough commands can be seen: /proc/diskstats and the tracepoints.

. "$(dirname "$0")/lib.sh"

guest 'statistics' --disk raw <<'END'
# stat FIELD: of /sys/block/vda/stat, from 1 on (kernel's block/stat.rst)
stat_field() {
	awk "{ print \$$1 }" /sys/block/vda/stat
}
# counts COMMAND...: what it adds to "reads sectors writes sectors discards
# sectors flushes"
counts() {
	for field in 1 3 5 7 12 14 16; do
		eval "before_$field=$(stat_field $field)"
	done
	"$@" >/dev/null
	for field in 1 3 5 7 12 14 16; do
		eval "echo \$(($(stat_field $field) - before_$field))"
	done | tr '\n' ' '
}
is "$(counts vcmd -n 100 /dev/vdac0 read 0 4096)" \
	'100 800 0 0 0 0 0 ' '100 reads are counted'
is "$(counts vcmd -n 50 /dev/vdac0 write 0 8192)" \
	'0 0 50 800 0 0 0 ' '50 writes are counted'
is "$(counts vcmd -n 10 /dev/vdac0 discard 0 65536)" \
	'0 0 0 0 10 1280 0 ' '10 discards are counted'
is "$(counts vcmd -n 5 /dev/vdac0 flush)" \
	'0 0 0 0 0 0 5 ' '5 flushes are counted'
is "$(counts vcmd /dev/vdac0 read 0 1)" \
	'0 0 0 0 0 0 0 ' 'a refused command is not'
is "$(stat_field 9)" 0 'nothing is in flight when all is done'
is "$(awk '$3 == "vda" { print $4 }' /proc/diskstats)" "$(stat_field 1)" \
	'/proc/diskstats says the same'

cd /sys/kernel/tracing || exit
ok 'tracepoints can be switched on' sh -c 'echo 1 >events/virtio_blk/enable'
# traced EVENT: how often it is in the trace
traced() {
	grep -c ": $1:" trace
}
: >trace
vcmd -n 20 /dev/vdac0 read 0 4096 >/dev/null
is "$(traced virtblk_chr_submit)" 20 'virtblk_chr_submit fires for each command'
is "$(traced virtblk_chr_complete)" 20 'virtblk_chr_complete too'
grep -m 2 virtblk_chr trace | sed 's/^/# /'
: >trace
vcmd /dev/vdac0 id >/dev/null
vcmd -f 128 /dev/vdac0 flush >/dev/null
is "$(traced virtblk_chr_submit) $(traced virtblk_chr_complete)" '2 2' \
	'for commands without sectors too'
: >trace
dd if=/dev/vda of=/dev/null bs=4096 count=10 iflag=direct 2>/dev/null
is "$(traced virtblk_chr_submit)" 0 'not for the block node'
echo 0 >events/virtio_blk/enable
END

# In flight means in flight: 8 commands on a disk that does 5 a second.
guest 'commands in flight' --disk raw,iops=5 <<'END'
vcmd -n 4 /dev/vdac0 read 0 4096 >/dev/null &
seen=0
for _ in 1 2 3 4 5 6 7 8 9 10; do
	usleep 50000
	[ "$(awk '{ print $9 }' /sys/block/vda/stat)" -gt 0 ] && seen=1
done
is "$seen" 1 'a command that takes its time shows as in flight'
wait
is "$(awk '{ print $9 }' /sys/block/vda/stat)" 0 'and not for ever'
END

done_testing
