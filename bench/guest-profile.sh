#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The guest's half of bench/profile (busybox): print the kernel's symbols, say
# @ready, and keep the device busy until the host has seen enough.
#
# usage: guest-profile.sh NODE ARGS...

node=$1
shift

die() {
	echo "bench/guest-profile.sh: $*" >&2
	exit 1
}

usleep 3000000
case $node in
/dev/ng*)
	modprobe nvme poll_queues=1 || die "cannot load nvme"
	usleep 1000000
	;;
/dev/vd?)
	echo none >"/sys/block/${node#/dev/}/queue/scheduler" ||
		die "no scheduler none"
	;;
esac
if [ "$node" = nop ]; then
	set -- "$@" --nop
else
	set -- "$@" "$node"
fi
echo 0 >/proc/sys/kernel/kptr_restrict
cat /proc/kallsyms
taskset 1 io_uring-vblk --quiet --runtime=600 "$@" &
usleep 300000
kill -0 $! || die "io_uring-vblk $* failed"
echo "@ready"
wait $!
