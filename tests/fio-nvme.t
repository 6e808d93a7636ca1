#!/bin/sh
# SPDX-License-Identifier: MIT
#
# cmd_type=nvme is what it was: verified jobs on QEMU's NVMe device.

. "$(dirname "$0")/lib.sh"

new_image "$T/nvme.img" 32M

guest 'fio on NVMe' --driver none \
	--qemu "-drive file=$T/nvme.img,format=raw,if=none,id=nvme -device nvme,drive=nvme,serial=nvme" <<'END'
modprobe nvme
ok 'the device is there' eventually 10 test -c /dev/ng0n1

# nvme WHAT ARGS...: the job succeeds, 256 blocks written and read back
nvme() {
	nv_what=$1
	shift
	fio --ioengine=io_uring_cmd --filename=/dev/ng0n1 --name=x --rw=randwrite \
		--bs=4k --size=1m --iodepth=16 --verify=crc32c \
		--output=/tmp/fio "$@" </dev/null
	nv_got="$? $(grep -c '^fio: ' /tmp/fio) $(awk '
		/issued rwts: total=/ { sub(/.*total=/, ""); print $1 }' /tmp/fio)"
	is "$nv_got" '0 0 256,256,0,0' "$nv_what"
	[ "$nv_got" = '0 0 256,256,0,0' ] || diag "$(cat /tmp/fio)"
}

nvme 'the default type'
nvme 'cmd_type=nvme' --cmd_type=nvme
nvme 'vectored' --cmd_type=nvme --nonvectored=0
nvme 'registered buffers' --cmd_type=nvme --fixedbufs=1
nvme 'registered files' --cmd_type=nvme --registerfiles=1
nvme 'kernel thread' --cmd_type=nvme --sqthread_poll=1
nvme 'force_async' --cmd_type=nvme --force_async=4
nvme 'our option has no effect' --cmd_type=nvme --virtblk_sqe=64

fio --ioengine=io_uring_cmd --cmd_type=nvme --filename=/dev/nvme0n1 --name=x \
	--rw=read --bs=4k --size=1m --output=/tmp/fio </dev/null
is "$?" 1 'a block device is refused'
like "$(cat /tmp/fio)" 'only works with nvme ns generic char devices' \
	'in the words it always used'
END
done_testing
