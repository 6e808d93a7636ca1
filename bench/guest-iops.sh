#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The guest's half of the IOPS comparison (busybox): one job per CPU on the block
# node and on the character node in turn. Prints
#
#	@iops OP NODE ROUND IOPS
#
# usage: guest-iops.sh ROUNDS SECONDS

rounds=$1
seconds=$2
cpus=$(grep -c ^processor /proc/cpuinfo)
clock=/sys/devices/system/clocksource/clocksource0/current_clocksource

die() {
	echo "bench/guest-iops.sh: $*" >&2
	exit 1
}

# jobs PID: the ids of its I/O threads, which are all but the first
jobs() {
	for task in /proc/"$1"/task/*; do
		[ "${task##*/}" = "$1" ] || echo "${task##*/}"
	done
}

# pin PID: a CPU to each of its jobs, as soon as all of them are there
pin() {
	tries=100
	while [ "$(jobs "$1" | wc -l)" -ne "$cpus" ]; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] && kill -0 "$1" 2>/dev/null || return 1
		usleep 10000
	done
	cpu=0
	for job in $(jobs "$1"); do
		taskset -p "$((1 << cpu))" "$job" >/dev/null || return 1
		cpu=$((cpu + 1))
	done
}

# start ARGS...: io_uring-vblk, its process in pid. The kernel takes a moment to
# let go of the files of a ring whose process has ended, and of the last run's
# claim of the disk with them.
start() {
	attempts=20
	while true; do
		io_uring-vblk "$@" >/tmp/json 2>/tmp/errors &
		pid=$!
		pin "$pid" && return
		kill "$pid" 2>/dev/null
		wait "$pid"
		attempts=$((attempts - 1))
		if [ "$attempts" -eq 0 ] ||
			! grep -q 'holds the disk' /tmp/errors
		then
			die "io_uring-vblk $* failed: $(cat /tmp/errors)"
		fi
		usleep 100000
	done
}

# measure OP NODE ROUND
measure() {
	set -- "$1" "$2" "$3" --json --quiet --warmup=1 "--runtime=$seconds" \
		-b4096 -d128 -s32 -c1 -B1 "-n$cpus"
	op=$1 node=$2 round=$3
	shift 3
	[ ! -c "$node" ] || set -- "$@" -u1
	[ "$op" = randread ] || set -- "$@" --write
	# The first second does not count.
	start "$@" "$node"
	wait "$pid" ||
		die "io_uring-vblk $* $node failed: $(cat /tmp/errors)"
	echo "@iops $op $node $round $(awk '$1 == "\"iops\":" {
		sub(/,/, ""); print $2; exit }' /tmp/json)"
}

usleep 3000000
echo "@clock $(cat "$clock")"
echo none >/sys/block/vda/queue/scheduler || die "no scheduler none"
for op in randread randwrite; do
	round=1
	while [ "$round" -le "$rounds" ]; do
		measure "$op" /dev/vda "$round"
		measure "$op" /dev/vdac0 "$round"
		round=$((round + 1))
	done
done
echo '@done'
