#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The guest's half of the benchmark (busybox): measure the rows that bench/run
# has put into a file. A row is one line of words:
#
#	ID NODE SCHEDULER CPU PROCESS SUBMIT KICK WARMUP IOS ARGS...
#
# NODE is a device node, or "nop"; SCHEDULER is "none", or "-" to leave what the
# kernel chose; CPU is where the task runs; PROCESS, SUBMIT and KICK are how many
# runs of each kind to do; ARGS are arguments of io_uring-vblk. Each run prints
#
#	@run ID KIND INTERRUPTS KICKS
#	(the JSON of io_uring-vblk)
#	@end
#
# with the interrupts and kicks of the device during the run, "-" if nobody
# counts them.

rows=$1
tracing=/sys/kernel/tracing
clock=/sys/devices/system/clocksource/clocksource0/current_clocksource

die() {
	echo "bench/guest.sh: $*" >&2
	exit 1
}

# Until the clock source is the TSC, reading the time costs hundreds of
# instructions.
wait_for_clock() {
	tries=100
	while [ "$(cat "$clock")" != tsc ] && [ "$tries" -gt 0 ]; do
		usleep 100000
		tries=$((tries - 1))
	done
	[ "$(cat "$clock")" = tsc ] || sleep 4
	echo "@clock $(cat "$clock")"
	# The kernel has something to do in its first moments, and so has the
	# host when it reads the line above.
	sleep 2
}

# disk NODE: the name of its block device in sysfs, nothing for NVMe and NOPs
disk() {
	case $1 in
	/dev/vd*) name=${1#/dev/}; echo "${name%c0}" ;;
	esac
}

# irq_name NODE: how the lines of the device in /proc/interrupts are named
irq_name() {
	case $1 in
	/dev/vd*)
		link=$(readlink -f "/sys/block/$(disk "$1")/device")
		echo "${link##*/}-"
		;;
	/dev/ng*) name=${1#/dev/ng}; echo "nvme${name%n*}q" ;;
	esac
}

interrupts() {
	[ -n "$irq" ] || { echo -; return; }
	awk -v name="$irq" '
		NR == 1 { cpus = NF }
		index($NF, name) == 1 {
			for (i = 2; i <= cpus + 1; i++)
				sum += $i
		}
		END { print sum + 0 }' /proc/interrupts
}

# Our driver counts its kicks for both nodes. Others are counted by a probe in
# the virtio transport, which costs time, so that such runs measure nothing else.
kicks() {
	if [ -r "$counters" ]; then
		awk 'NR == 1 {
			for (i = 1; i <= NF; i++)
				if ($i == "kicks")
					column = i
			next
		}
		{ sum += $column }
		END { print sum + 0 }' "$counters"
	elif [ "$1" = kick ]; then
		awk '$1 == "vblk_kick" { print $2 }' "$tracing/kprobe_profile"
	else
		echo -
	fi
}

probe() {
	case $1 in
	on)
		echo 'p:bench/vblk_kick vp_notify' >"$tracing/kprobe_events" &&
			echo 1 >"$tracing/events/bench/vblk_kick/enable"
		;;
	off)
		echo 0 >"$tracing/events/bench/vblk_kick/enable"
		: >"$tracing/kprobe_events"
		;;
	esac
}

minus() {
	case $1$2 in
	*-*) echo - ;;
	*) echo $(($1 - $2)) ;;
	esac
}

set_scheduler() {
	[ "$1" != - ] || return 0
	file=/sys/block/$(disk "$node")/queue/scheduler
	grep -q "\[$1\]" "$file" || echo "$1" >"$file" ||
		die "no scheduler $1 for $node"
}

# work ARGS...: the kernel takes a moment to let go of the files of a ring whose
# process has ended, and of the last run's claim of the disk with them.
work() {
	attempts=20
	until taskset "$((1 << cpu))" io_uring-vblk "$@" \
		>/tmp/json 2>/tmp/errors
	do
		attempts=$((attempts - 1))
		if [ "$attempts" -eq 0 ] ||
			! grep -q 'holds the disk' /tmp/errors
		then
			die "row $id: io_uring-vblk $*: $(cat /tmp/errors)"
		fi
		usleep 100000
	done
}

# run KIND ARGS...
run() {
	kind=$1
	shift
	[ "$kind" != kick ] || probe on || die "cannot count kicks"
	irqs=$(interrupts)
	kicked=$(kicks "$kind")
	work "$@"
	kicked=$(minus "$(kicks "$kind")" "$kicked")
	irqs=$(minus "$(interrupts)" "$irqs")
	[ "$kind" != kick ] || probe off
	echo "@run $id $kind $irqs $kicked"
	cat /tmp/json
	echo '@end'
}

# repeat TIMES KIND ARGS...
repeat() {
	times=$1
	shift
	while [ "$times" -gt 0 ]; do
		run "$@"
		times=$((times - 1))
	done
}

row() {
	id=$1 node=$2 scheduler=$3 cpu=$4
	process=$5 submit=$6 kick=$7 warmup=$8 ios=$9
	shift 9
	set -- --json --quiet "--warmup-ios=$warmup" "--ios=$ios" "$@"
	if [ "$node" = nop ]; then
		set -- "$@" --nop
	else
		set -- "$@" "$node"
		[ -c "$node" ] || [ -b "$node" ] || die "row $id: no $node"
	fi
	irq=$(irq_name "$node")
	counters=/sys/kernel/debug/virtio_blk/$(disk "$node")/queues
	set_scheduler "$scheduler"
	repeat "$process" process "$@"
	repeat "$submit" submit --submit-time "$@"
	repeat "$kick" kick "$@"
}

# The scheduler of each disk before anybody changed it.
show_schedulers() {
	for file in /sys/block/vd*/queue/scheduler; do
		[ -r "$file" ] && echo "@scheduler $(cat "$file")"
	done
}

wait_for_clock
if grep -q /dev/ng "$rows"; then
	modprobe nvme poll_queues=1 || die "cannot load nvme"
	tries=100
	until [ -c /dev/ng0n1 ] || [ "$tries" -eq 0 ]; do
		usleep 100000
		tries=$((tries - 1))
	done
fi
if grep -q -e --thp=1 "$rows" &&
	grep -q '\[never\]' /sys/kernel/mm/transparent_hugepage/enabled
then
	die "this guest has no huge pages"
fi
show_schedulers
while read -r line <&3; do
	# shellcheck disable=SC2086 # a row is words
	row $line
done 3<"$rows"
echo '@done'
