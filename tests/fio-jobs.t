#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fio on /dev/vdXc0: verified jobs in every combination of form, data and mode;
# each command reaches the disk once; odd sizes, to the last sector.

. "$(dirname "$0")/lib.sh"

new_image "$T/odd.img" 5243392		# 10241 sectors
new_image "$T/huge.img" 3T

guest_start 'fio jobs' --param 'poll_queues=1' --qmp "$T/qmp" --timeout 240 --append hugepages=8 \
	--add "$top/tests/fio-lib.sh:/t/fio-lib.sh" \
	--disk raw,queues=3 --disk raw,queues=3 \
	--disk "raw,file=$T/odd.img" --disk raw,size=512 \
	--disk "raw,file=$T/huge.img" --disk 4k,size=12M <<'END'
. /t/fio-lib.sh

# sector DISK N: data or zeros
sector() {
	if dd "if=/dev/$1" bs=512 skip="$2" count=1 2>/dev/null |
	   cmp -s -n 512 - /dev/zero; then
		echo zeros
	else
		echo data
	fi
}

dev=vdc
fio_ok 'all of a disk of 10241 sectors' - --rw=write --bsrange=512-64k \
	--iodepth=16 --verify=crc32c
is "$(sector vdc 0) $(sector vdc 10240)" 'data data' 'first and last sector'
reached resize
ok 'the disk has grown' eventually 20 grep -qx 12289 /sys/block/vdc/size
fio_ok 'all of the grown disk' - --rw=randwrite --bs=512 --iodepth=16 \
	--offset=5m --verify=crc32c
is "$(fio_value write io_bytes)" $((12289 * 512 - 5 * 1048576)) 'to its new end'
is "$(sector vdc 12288)" data 'its new last sector'

dev=vda
# verified FORM DATA MODE: 256 blocks written and read back
verified() {
	# shellcheck disable=SC2086 # several options, or none
	fio_ok "SQE $1 ${2:-plain} ${3:-interrupts}" '256 256 0 0' \
		--virtblk_sqe="$1" --rw=randwrite --bs=4k --size=1m \
		--iodepth=32 --verify=crc32c $2 $3
}

for data in '' --fixedbufs=1 --nonvectored=0; do
	for mode in '' --registerfiles=1 --hipri=1 --sqthread_poll=1 \
		    '--sqthread_poll=1 --hipri=1' --force_async=3 \
		    '--force_async=1 --registerfiles=1'; do
		verified 64 "$data" "$mode"
	done
	# That the forms differ in nothing else is tested by fio-prep.t.
	for mode in '' --hipri=1 '--sqthread_poll=1 --force_async=2'; do
		verified 128 "$data" "$mode"
	done
done

# The options are not only accepted: ring flags and command flags as the kernel
# sees them. traced prints: SQE128 SQPOLL IOPOLL of the ring (0x400, 2, 1), how
# many commands came with a registered file, how many for a worker.
traced() {
	cd /sys/kernel/tracing || return
	echo 1 >events/io_uring/io_uring_create/enable
	echo 1 >events/io_uring/io_uring_submit_req/enable
	echo >trace
	fio_run --rw=read --bs=4k --size=256k --iodepth=8 "$@"
	echo 0 >events/io_uring/enable
	cd / || return
	ring=$(sed -n 's/.*io_uring_create:.* flags \(0x[0-9a-f]*\).*/\1/p' \
		/sys/kernel/tracing/trace)
	printf '%x' "$((ring & 0x403))"
	file=0 async=0
	for flags in $(sed -n 's/.*opcode URING_CMD, flags \(0x[0-9a-f]*\).*/\1/p' \
		/sys/kernel/tracing/trace); do
		[ $((flags & 1)) -eq 0 ] || file=$((file + 1))
		[ $((flags & 16)) -eq 0 ] || async=$((async + 1))
	done
	echo " $file $async"
}

is "$(traced)" '0 0 0' 'traced: 64-byte SQEs are the default'
is "$(traced --virtblk_sqe=128)" '400 0 0' 'traced: 128-byte SQEs'
is "$(traced --hipri=1)" '1 0 0' 'traced: polled'
is "$(traced --registerfiles=1)" '0 64 0' 'traced: registered file'
is "$(traced --sqthread_poll=1)" '2 64 0' 'traced: kernel thread, registered file'
is "$(traced --force_async=4)" '0 0 16' 'traced: every fourth for a worker'
is "$(traced --force_async=1 --registerfiles=1)" '0 64 64' 'traced: both'
is "$(traced --force_async=2 --sqthread_poll=1 --hipri=1 --virtblk_sqe=128)" \
	'403 64 32' 'traced: all of them'

# What was written last, seen through the block device.
ok 'the block device has the data' fio --name=x --filename=/dev/vda \
	--ioengine=psync --direct=1 --rw=randwrite --bs=4k --size=1m \
	--verify=crc32c --verify_only=1 --output=/tmp/fio

fio_ok 'randread' '8192 0 0 0' --rw=randread --bs=4k --size=32m --iodepth=32
fio_depth 32 randread
fio_ok 'randread with direct=1' '64 0 0 0' --rw=randread --bs=4k --size=256k --direct=1
fio_ok 'mixed' - --rw=randrw --bs=4k --size=4m --iodepth=16 --fixedbufs=1
fio_ok 'mixed sizes' - --rw=randwrite --bsrange=512-128k --size=8m --iodepth=16 \
	--verify=crc32c
fio_ok 'large blocks' '32 32 0 0' --rw=write --bs=256k --size=8m --iodepth=8 \
	--verify=crc32c
fio_ok 'large blocks, registered' '32 32 0 0' --rw=write --bs=256k --size=8m \
	--iodepth=8 --verify=crc32c --fixedbufs=1
fio_ok 'blocks of more pages than segments, in huge pages' '4 4 0 0' --rw=write \
	--bs=4m --size=16m --iodepth=2 --verify=crc32c --iomem=mmaphuge
fio_run --rw=read --bs=2m --size=2m
like "$(cat /tmp/fio)" 'note: a buffer of 2097152 bytes may lie in 512 pieces' \
	'a note where that depends on luck'
fio_ok 'verifying reads on an image, no flush' '256 0 0 0' --rw=read --bs=4k \
	--size=1m --verify=pattern --verify_pattern=0 --offset=48m --do_verify=1
fio_ok 'polled with a priority' '64 0 0 0' --rw=read --bs=4k --size=256k --hipri=1 \
	--prioclass=1 --prio=3

# The files of a job that runs in threads, with a kernel thread that submits.
for thread in 0 1; do
for jobs in 1 4; do
for files in /dev/vdac0 /dev/vdac0:/dev/vdbc0; do
	size=1m
	[ "$files" = /dev/vdac0 ] || size=2m
	fio_file=$files
	fio_ok "sqthread_poll thread=$thread numjobs=$jobs $files" \
		"$((jobs * 16)) $((jobs * 16)) 0 0" \
		--rw=write --bs=64k --size=$size \
		--offset_increment=2m --iodepth=8 --verify=crc32c \
		--sqthread_poll=1 --thread=$thread --numjobs=$jobs \
		--group_reporting
done
done
done
fio_file=
fio_ok 'no serialized creation of files' '16 16 0 0' --create_serialize=0 \
	--rw=write --bs=64k --size=1m --verify=crc32c --registerfiles=1

# Standard input must not be taken for registered file 0.
head -c 1m /dev/urandom >/tmp/stdin
sum=$(md5sum </tmp/stdin)
fio_stdin=/tmp/stdin
fio_ok 'standard input is a file' '256 256 0 0' --registerfiles=1 \
	--sqthread_poll=1 --rw=write --bs=4k --size=1m --iodepth=8 --verify=crc32c
is "$(md5sum </tmp/stdin)" "$sum" 'standard input is untouched'
fio_stdin=

# Latencies count from submission, not from boot.
fio_ok 'sqthread_poll' '256 0 0 0' --rw=read --bs=4k --size=1m --sqthread_poll=1
like "$(awk '$1 == "\"clat_ns\"" { in_clat = 1 }
	in_clat && $1 == "\"mean\"" { print ($3 + 0 < 1e9 ? "sane" : $3); exit }' /tmp/fio)" \
	sane 'completion latency with sqthread_poll'

dev=vdd
fio_ok 'a disk of one sector' '1 1 0 0' --rw=write --bs=512 --verify=crc32c
is "$(sector vdd 0)" data 'its sector'

dev=vde
fio_ok 'around 2 TiB' '16 16 0 0' --rw=write --bs=64k --iodepth=4 --verify=crc32c \
	--size=1m --offset=$((2 * 1024 * 1024 * 1024 * 1024 - 524288))
fio_ok 'the end of 3 TiB' '16 16 0 0' --rw=write --bs=64k --iodepth=4 \
	--verify=crc32c --offset=$((3 * 1024 * 1024 * 1024 * 1024 - 1048576))
is "$(sector vde 0) $(sector vde 4294967295) $(sector vde 4294967296) $(sector vde 6442450943)" \
	'zeros data data data' 'at the right sectors'

dev=vdf
fio_ok 'all of a disk with blocks of 4096' - --rw=write --bsrange=4k-64k \
	--iodepth=16 --verify=crc32c
is "$(sector vdf 24575)" data 'its last sector'
END
await resize 120 && qmp "$T/qmp" block_resize \
	'{"node-name": "disk2", "size": 6291968}' >/dev/null
guest_wait
done_testing
