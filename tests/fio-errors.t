#!/bin/sh
# SPDX-License-Identifier: MIT
#
# fio with cmd_type=virtblk: what cannot work is refused by one clear line and
# exit status 1 before any command is sent; what fails gives the right errno.

. "$(dirname "$0")/lib.sh"

new_image "$T/nvme.img" 16M

# vda: the disk; vdb: 4-KiB blocks; vdc: read-only; vdd: no discard; vde: fails
# to read sector 2048; vdf: fails to flush; vdg: fails to discard
guest 'fio errors' --timeout 240 \
	--add "$top/tests/fio-lib.sh:/t/fio-lib.sh" \
	--disk raw --disk 4k --disk ro --disk raw,dev.discard=off \
	--disk raw,err.inject-error.0.event=read_aio,err.inject-error.0.iotype=read,err.inject-error.0.errno=5,err.inject-error.0.sector=2048 \
	--disk raw,err.inject-error.0.event=flush_to_disk,err.inject-error.0.iotype=flush,err.inject-error.0.errno=5 \
	--disk raw,err.discard=unmap,err.inject-error.0.event=none,err.inject-error.0.iotype=discard,err.inject-error.0.errno=5 \
	--qemu "-drive file=$T/nvme.img,format=raw,if=none,id=nvme -device nvme,drive=nvme,serial=nvme" <<'END'
. /t/fio-lib.sh
modprobe nvme
ok 'an NVMe device for comparison' eventually 10 test -c /dev/ng0n1
modprobe ext4

read4k='--rw=randread --bs=4k --size=1m'

# Wrong targets.
head -c 1m /dev/zero >/tmp/file
nvme_before=$(cat /sys/block/nvme0n1/stat)
wrong_target() {
	fio_file=$1
	fio_no "$1" "$1: $2" --rw=read --bs=4k --size=1m
	fio_no "$1, registered" "$1: $2" --rw=read --bs=4k --size=1m --registerfiles=1
	fio_no "$1, opened by the job" "$1: $2" --rw=read --bs=4k --size=1m \
		--create_serialize=0
	fio_no "$1, registered by the job" "$1: $2" --rw=write --bs=4k --size=1m \
		--create_serialize=0 --registerfiles=1
	fio_file=
}
wrong_target /dev/vda 'a block device'
wrong_target /tmp/file 'not a device'
wrong_target /dev/null 'not a /dev/vdXc0'
wrong_target /dev/ng0n1 'not a /dev/vdXc0'
wrong_target /dev/vdzc0 'there is no such file'
is "$(cat /sys/block/nvme0n1/stat)" "$nvme_before" 'NVMe got no command'
nok 'nothing was created' test -e /dev/vdzc0

# An NVMe job does not take our disk for one of its own.
nok 'cmd_type=nvme on /dev/vdac0' fio --ioengine=io_uring_cmd --cmd_type=nvme \
	--filename=/dev/vdac0 --name=x $read4k

# Block sizes and offsets.
dev=vdb
fio_no 'bs=512 on 4096' 'read block size 512 is not a multiple of the logical block size, 4096' \
	--rw=read --bs=512 --size=1m
fio_no 'bsrange=4k-6k on 4096' 'write block size 6144 is not a multiple' \
	--rw=write --bsrange=4k-6k --size=1m
fio_no 'trim of 512 on 4096' 'trim block size 512 is not a multiple' \
	--rw=trim --bs=512 --size=1m
fio_no 'offset=512 on 4096' 'offset=512 is not a multiple' \
	--rw=read --bs=4k --size=1m --offset=512
fio_no 'offset_increment=512 on 4096' 'offset_increment=512 is not a multiple' \
	--rw=read --bs=4k --size=1m --offset_increment=512
fio_no 'blockalign=512 on 4096' 'blockalign=512 is not a multiple' \
	--rw=randread --bs=4k --size=1m --blockalign=512
dev=vda
fio_no 'bs=1000' 'read block size 1000 is not a multiple of the logical block size, 512' \
	--rw=read --bs=1000 --size=1m
fio_no 'bs_unaligned' 'bs_unaligned does not work' \
	--rw=read --bsrange=512-4k --size=1m --bs_unaligned=1
fio_no 'a block above the limit' 'more than the disk takes in one command' \
	--rw=read --bs=48m --size=48m

# What the disk or the kernel does not offer.
fio_no 'hipri without poll queues' 'hipri needs poll queues.*poll_queues=N' \
	$read4k --hipri=1
if fio_run $read4k --fixedbufs=1 --nonvectored=0; then
	pass 'vectors in registered buffers'
else
	fio_no 'vectors in registered buffers' 'takes no iovecs in registered buffers' \
		$read4k --fixedbufs=1 --nonvectored=0
fi
dev=vdd
fio_no 'trim without discard' '/dev/vddc0: the disk cannot trim' \
	--rw=trim --bs=64k --size=1m
fio_no 'trimwrite without discard' 'the disk cannot trim' \
	--rw=trimwrite --bs=64k --size=1m
dev=vdc
for rw in write randrw trim; do
	fio_no "$rw on a read-only disk" '/dev/vdcc0: the disk is read-only' \
		--rw=$rw --bs=4k --size=1m
done
fio_ok 'read on a read-only disk' '256 0 0 0' --rw=read --bs=4k --size=1m
fio_ok 'verifying read on a read-only disk' '256 0 0 0' --rw=read --bs=4k \
	--size=1m --verify=pattern --verify_pattern=0

# What no command can do.
dev=vda
fio_no 'zonemode=zbd' 'zonemode=zbd does not work' \
	--rw=write --bs=4k --size=1m --zonemode=zbd --zonesize=1m
fio_no 'sync=1' 'sync= .*does not work' --rw=write --bs=4k --size=1m --sync=1
fio_no 'sync_file_range' 'sync_file_range= does not work' \
	--rw=write --bs=4k --size=1m --sync_file_range=write:4
fio_no 'ioscheduler' 'ioscheduler= .*does not work' $read4k --ioscheduler=none
fio_no 'trim_percentage' 'trim_percentage= .*does not work' --rw=write --bs=4k \
	--size=1m --verify=crc32c --trim_percentage=10 --trim_backlog=4
fio_no 'uncached' 'uncached does not work' $read4k --uncached=1
fio_no 'nowait' 'nowait does not work' $read4k --nowait=1
fio_no 'cmdprio' 'cmdprio does not work' $read4k --cmdprio_percentage=50

# Permissions, as an ordinary user.
cat >/tmp/user.sh <<-'USER'
	T_GUEST=1; . /t/lib.sh; . /t/fio-lib.sh
	what=$1 want=$2
	shift 2
	if [ "$want" = ok ]; then
		fio_ok "$what" '256 0 0 0' "$@"
	else
		fio_no "$what" "$want" "$@"
	fi
USER
as_user() {
	rm -f /tmp/fio /tmp/fio.err
	chmod 1777 /tmp
	su user -c '"$@"' -- sh sh /tmp/user.sh "$@"
	rm -f /tmp/fio /tmp/fio.err
}
as_user 'a user, mode 0600 root' 'no permission to open' $read4k
chown user /dev/vdac0
chmod 0400 /dev/vdac0
as_user 'the owner reads, mode 0400' ok --rw=read --bs=4k --size=1m
as_user 'and cannot write' 'no permission to open' --rw=write --bs=4k --size=1m
as_user 'nor trim' 'no permission to open' --rw=trim --bs=4k --size=1m
as_user 'registered buffers above ulimit -l' 'locked memory than ulimit -l allows' \
	--rw=read --bs=256k --size=32m --iodepth=64 --fixedbufs=1
echo 1 >/proc/sys/kernel/io_uring_disabled
as_user 'io_uring_disabled=1, a user' 'kernel.io_uring_disabled=1' $read4k
fio_ok 'io_uring_disabled=1, root' '256 0 0 0' --rw=read --bs=4k --size=1m
echo 2 >/proc/sys/kernel/io_uring_disabled
fio_no 'io_uring_disabled=2' 'kernel.io_uring_disabled=2' $read4k
echo 0 >/proc/sys/kernel/io_uring_disabled

# A disk in use.
ok 'mke2fs' mke2fs /dev/vda
ok 'mount' mount -t ext4 -o ro /dev/vda /mnt
sync
fio_no 'write on a mounted disk' '/dev/vdac0: the disk or a partition of it is mounted' \
	--rw=write --bs=4k --size=1m
fio_no 'the same with registered files' 'is mounted' \
	--rw=write --bs=4k --size=1m --registerfiles=1
fio_ok 'read on a mounted disk' '256 0 0 0' --rw=read --bs=4k --size=1m
umount /mnt

# The device fails.
dev=vde
fio_run --rw=read --bs=4k --size=2m --iodepth=4
is "$fr_status" 1 'a job that fails'
like "$(cat /tmp/fio.err)" '^fio: virtblk: /dev/vdec0: read failed with 1 .*device answered IOERR' \
	'names the status byte'
like "$(cat /tmp/fio.err)" '^fio: io_u error on file /dev/vdec0: Input/output error: read offset=' \
	'and is EIO for fio'
is "$(grep -c '^fio: virtblk:' /tmp/fio.err)" 1 'once'
fio_run --rw=read --bs=4k --size=2m --iodepth=4 --continue_on_error=io
is "$fr_status $(fio_value error error)" '0 ' 'continue_on_error=io goes on'

# fio itself drops the errors of syncs.
dev=vdf
for args in --fsync=8 --end_fsync=1 --fdatasync=8 '--fsync=8 --iodepth=16'; do
	# shellcheck disable=SC2086 # several options
	fio_run --rw=write --bs=4k --size=256k $args
	is "$fr_status" 1 "a flush that fails, $args"
	like "$(cat /tmp/fio.err)" 'sync failed with 1 .*device answered IOERR' \
		'and is told'
done
dev=vdg
fio_run --rw=trim --bs=4k --size=256k --iodepth=8
is "$fr_status" 1 'a trim that fails'
like "$(cat /tmp/fio.err)" 'trim failed with 1 .*device answered IOERR' 'and is told'
END
done_testing
