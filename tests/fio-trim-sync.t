#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fio on /dev/vdXc0: trims are asynchronous DISCARD commands and reach the
# image, syncs are FLUSH commands.

. "$(dirname "$0")/lib.sh"

new_image "$T/a.img" 32M

guest 'trim and sync' --param 'poll_queues=1' \
	--add "$top/tests/fio-lib.sh:/t/fio-lib.sh" \
	--disk "raw,file=$T/a.img,queues=3" <<'GUEST'
. /t/fio-lib.sh

# zeros OFFSET BYTES (in KiB): what the block device reads there
zeros() {
	dd if=/dev/vda bs=1k skip="$1" count="$2" 2>/dev/null |
		cmp -s -n $(($2 * 1024)) - /dev/zero && echo zeros
}

fio_ok 'something to trim' '0 256 0 0' --rw=write --bs=64k --size=16m --iodepth=8
is "$(zeros 0 64)" '' 'the disk has data'
fio_ok 'trim' '0 0 128 0' --rw=trim --bs=64k --size=8m --iodepth=32
fio_depth 32 trim
is "$(zeros 0 8192)" zeros 'trimmed to the last byte'
is "$(zeros 8192 1)" '' 'and no further'

for args in --virtblk_sqe=128 --fixedbufs=1 --hipri=1 --sqthread_poll=1 \
	    --registerfiles=1 --force_async=2 --nonvectored=0; do
	fio_ok "trim $args" '0 0 64 0' --rw=randtrim --bs=4k --offset=8m \
		--size=256k --iodepth=16 $args
done

# A trim never overtakes the write that follows it.
for rw in trimwrite randtrimwrite; do
	fio_ok "$rw" '128 128 128 0' --rw=$rw --bs=16k --size=2m --iodepth=16 \
		--verify=crc32c
	fio_ok "$rw polled" '128 128 128 0' --rw=$rw --bs=16k --size=2m \
		--iodepth=16 --verify=crc32c --hipri=1
done
# With the device's luck the above passes anyway, so look at the commands: no
# write while a trim of the same place is in flight. Prints writes and mistakes.
trace=/sys/kernel/tracing
echo 1 >$trace/events/virtio_blk/enable
echo >$trace/trace
fio_run --rw=randtrimwrite --bs=16k --size=2m --iodepth=16
echo 0 >$trace/events/virtio_blk/enable
is "$(awk '
	{
		cmd = type = sector = ""
		for (i = 1; i <= NF; i++) {
			if (sub(/^cmd=/, "", $i)) cmd = $i
			else if (sub(/^type=/, "", $i)) type = $i
			else if (sub(/^sector=/, "", $i)) sector = $i
		}
	}
	/virtblk_chr_complete:/ { delete trim[cmd] }
	/virtblk_chr_submit:/ && type == 11 { trim[cmd] = sector }
	/virtblk_chr_submit:/ && type == 1 {
		writes++
		for (c in trim)
			if (trim[c] == sector) bad++
	}
	END { print writes + 0, bad + 0 }' $trace/trace)" '128 0' \
	'no write overlaps a trim in flight'

fio_ok 'fsync=8' '0 64 0 7' --rw=write --bs=4k --size=256k --fsync=8
# With more in flight fio asks again until the first sync is done.
fio_run --rw=write --bs=4k --size=256k --fsync=8 --iodepth=16
like "$fr_status $got" '^0 0 64 0 ([7-9]|[1-9][0-9])$' 'fsync=8 at depth 16'
fio_ok 'fdatasync=16' '0 64 0 3' --rw=write --bs=4k --size=256k --fdatasync=16
fio_ok 'fsync polled' '0 64 0 7' --rw=write --bs=4k --size=256k --fsync=8 --hipri=1
fio_ok 'fsync with a kernel thread' '0 64 0 7' --rw=write --bs=4k --size=256k \
	--fsync=8 --sqthread_poll=1
fio_ok 'fsync in SQEs of 128' '0 64 0 7' --rw=write --bs=4k --size=256k --fsync=8 \
	--virtblk_sqe=128 --fixedbufs=1
fio_ok 'end_fsync' '0 64 0 1' --rw=write --bs=4k --size=256k --end_fsync=1

# For the host to look at.
fio_ok 'a pattern' '0 512 0 0' --rw=write --bs=64k --iodepth=8 --buffer_pattern=0x5a
fio_ok 'trim its middle' '0 0 64 0' --rw=trim --bs=64k --iodepth=8 --offset=4m \
	--size=4m
GUEST

# extent FROM TO (in MiB): which bytes the image has there, and whether any
extent() {
	dd "if=$T/a.img" bs=1M skip="$1" count="$(($2 - $1))" status=none |
		tr '\132\000' 'Z0' | fold -w 1048576 | sort -u | cut -c 1-4
}
is "$(extent 0 4)" ZZZZ 'the image before the trimmed part'
is "$(extent 4 8)" 0000 'the trimmed part'
is "$(extent 8 32)" ZZZZ 'the image behind it'
is "$(qemu-img map -f raw --output=json "$T/a.img" | jq -c \
	'[.[] | select(.data | not) | [.start, .length]]')" '[[4194304,4194304]]' \
	'the trimmed part takes no space'
done_testing
