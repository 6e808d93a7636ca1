#!/bin/sh
# SPDX-License-Identifier: MIT
#
# io_uring-vblk on real disks: the line of the proposal's cover letter, each
# mode with verified data, counters that agree with the kernel's, and each
# refusal with its message and status 2.

. "$(dirname "$0")/lib.sh"

cat >"$T/tool.sh" <<'END'
. /t/lib.sh
t=io_uring-vblk

# run ARGS...: sets $status; what it printed is in /tmp/out and /tmp/err
run() {
	timeout 60 $t --quiet "$@" >/tmp/out 2>/tmp/err
	status=$?
}

# field NAME: a number of the JSON in /tmp/out
field() {
	sed -n "s/.*\"$1\": \([0-9.]*\),*$/\1/p" /tmp/out | head -n 1
}

# good WHAT ARGS...: it works and prints nothing to stderr
good() {
	g_what=$1
	shift
	run "$@"
	is "$status $(cat /tmp/err)" '0 ' "$g_what"
}

# refused WHAT PATTERN ARGS...: status 2 and one line that says why
refused() {
	r_what=$1
	r_like=$2
	shift 2
	run "$@"
	r_got="$status $(wc -l </tmp/err) $(cat /tmp/err)"
	like "$r_got" "^2 1 io_uring-vblk: .*($r_like)" "$r_what"
}
END

# vda has a poll queue, vdb is read-only, vdc has 4 KiB blocks, vdd fails reads
# at 1 MiB, vde needs 4 seconds for each command.
guest 'io_uring-vblk' --param poll_queues=1 --timeout 300 --cpus 2 \
	--add "$T/tool.sh:/t/tool.sh" \
	--disk raw,queues=2 --disk ro --disk 4k,queues=1 \
	--disk raw,err.inject-error.0.event=read_aio,err.inject-error.0.sector=2048 \
	--disk null,blk.latency-ns=4000000000 <<'END'
. /t/tool.sh

# The cover letter's line runs until it is interrupted.
timeout -s INT 4 taskset -c 0 io_uring-vblk -b4096 -d8 -c4 -s4 -p0 -F1 -B0 -O0 \
	-n1 -u1 /dev/vdac0 >/tmp/out 2>/tmp/err
is "$? $(cat /tmp/err)" '0 ' 'the line of the cover letter'
[ "$(grep -Ec '^ +[0-9.]+ s +IOPS [1-9][0-9]+ +BW [0-9.]+ MiB/s' /tmp/out)" -ge 2 ]
is $? 0 'prints a line each second'
like "$(cat /tmp/out)" '^[1-9][0-9]+ I/Os in [0-9.]+ s: IOPS [1-9]' \
	'and a summary at the end'
like "$(cat /tmp/out)" '^I/Os per call (3\.[0-9]+|4\.00), .* errors 0$' \
	'submits four at a time'

# Counters.
reads() {
	awk -v d="$1" '$3 == d { print $4, $6 }' /proc/diskstats
}
before=$(reads vda)
good '--ios' --json --ios 1000 -d16 -s4 -c1 -u1 /dev/vdac0
is "$(field ios) $(field reads) $(field cqes) $(field errors)" '1000 1000 1000 0' \
	'does just so many I/Os'
sed 's/^/@json /' /tmp/out
after=$(reads vda)
is "$(echo "$before $after" | awk '{ print $3 - $1, $4 - $2 }')" '1000 8000' \
	'which the kernel has counted as well'
[ "$(field enters)" -ge 250 ] && [ "$(field enters)" -le 1010 ]
is $? 0 "$(field enters) calls for 1000 I/Os in batches of up to 4"
[ "$(field cpu_ns)" -gt 0 ] && [ "$(field job_cpu_ns)" -gt 0 ]
is $? 0 'CPU time of process and thread'
before=$(reads vda)
good '--warmup-ios' --json --ios 300 --warmup-ios 200 -n2 -u1 /dev/vdac0
is "$(field ios)" 600 'are not measured'
after=$(reads vda)
is "$(echo "$before $after" | awk '{ print $3 - $1 }')" 1000 'but done'
good '--runtime with --warmup' --json -r 1 --warmup 0.5 -u1 /dev/vdac0
like "$(field seconds)" '^(1|0\.99)' 'measures the run time only'

good '--latency' --json -t1 --ios 500 -d4 -u1 /dev/vdac0
sed 's/^/@json /' /tmp/out
is "$(grep -c '"count": 500,' /tmp/out)" 2 'submission and completion of each I/O'
good '--submit-time at depth 1' --json --submit-time --ios 200 -d1 -u1 /dev/vdac0
sed 's/^/@json /' /tmp/out
is "$(field submit_calls)" 200 'one call for each I/O'
like "$(field submit_ns_per_io)" '^[1-9][0-9]+\.' 'and a time'
good 'latency as text' --latency --ios 200 -d4 -u1 /dev/vdac0
is "$(grep -c '^ *99.9 %  *[1-9]' /tmp/out)" 2 'two tables'
good 'NOPs' --json -N1 --ios 10000 -d32 -s8 -c1
is "$(field ios) $(field ios_per_enter)" '10000 8.0000' 'in full batches'
good 'NOPs on a polled ring' -N1 -p1 --ios 1000 -d32 -s8 -c1
good '--json=FILE' --json=/tmp/file --ios 10 -d1 -u1 /dev/vdac0
is "$(grep -c '"ios": 10,' /tmp/file)" 1 'has the JSON'
like "$(cat /tmp/out)" '^10 I/Os in' 'and stdout the text'

# Each mode: 256 blocks written and read back by the tool itself, then read by
# the other node, with a generation of its own each time.
generation=100
mode() {
	m_node=$1
	m_other=$2
	shift 2
	generation=$((generation + 1))
	m_same="--json --verify --generation=$generation -R0 --size=1m --ios=256"
	case $m_other in
	*c0) m_u=-u1 ;;
	/dev/*) m_u=-u0 ;;
	*) m_u='-u0 -O0' ;;
	esac
	run $m_same --write -d16 -s4 -c2 "$@" "$m_node"
	m_got="$status $(field ios) $(field writes) $(field checked) $(cat /tmp/err)"
	run $m_same -d8 $m_u "$m_other"
	m_got="$m_got, $status $(field checked) $(field mismatches) $(cat /tmp/err)"
	is "$m_got" '0 256 256 256 , 0 256 0 ' "written by $m_node $*, read by $m_other"
}
for sqe in 64 128; do
	for bufs in 0 1; do
		for ring in '' --defer-taskrun=0 --sqpoll -p1; do
			mode /dev/vdac0 /dev/vda -u1 --sqe=$sqe -B$bufs $ring
		done
	done
	mode /dev/vdac0 /dev/vda -u1 --sqe=$sqe --cqe=32
done
mode /dev/vdac0 /dev/vda -u1 -F0
mode /dev/vdac0 /dev/vda -u1 -X0
mode /dev/vdac0 /dev/vda -u1 --thp=1
mode /dev/vdac0 /dev/vda -u1 --sqpoll --sqpoll-cpu=1 --sqpoll-idle=10
for bufs in 0 1; do
	mode /dev/vda /dev/vdac0 -u0 -B$bufs
	mode /dev/vda /dev/vdac0 -u0 -B$bufs -p1
	mode /dev/vda /dev/vdac0 -u0 -B$bufs -O0
done
mode /dev/vda /dev/vdac0 -u0 --sqpoll -F0
mode /dev/vdcc0 /dev/vdc -u1
mode /dev/vdc /dev/vdcc0 -u0 --sqe=128
for file in /tmp/file /tmp/small; do
	dd if=/dev/zero of=$file bs=1M count=4 2>/dev/null
done
mode /tmp/file /tmp/file -u0 -O0

verified() {
	v_what=$1
	v_ios=$2
	shift 2
	run --json --verify --write "$@"
	is "$status $(field ios) $(field mismatches) $(cat /tmp/err)" "0 $v_ios 0 " "$v_what"
	[ "$(field checked)" -gt 0 ]
	is $? 0 "$v_what: $(field checked) blocks compared"
}
verified 'random writes over each other' 2000 --ios=2000 --size=256k -d32 -u1 /dev/vdac0
verified 'fewer blocks than the depth' 500 --ios=500 --size=16k -d32 -u1 /dev/vdac0
verified 'reads and writes mixed' 2000 --ios=2000 --size=512k --read-percent=60 -u1 /dev/vdac0
reads=$(field reads)
[ "$reads" -gt 1050 ] && [ "$reads" -lt 1350 ]
is $? 0 "$reads of 2000 were reads"
verified 'four threads' 2000 --ios=500 -n4 --size=1m -u1 /dev/vdac0
verified 'large blocks' 64 --ios=64 -b256k -d4 -u1 /dev/vdac0
verified 'blocks of 1536 bytes' 200 --ios=200 -b1536 -d4 -u1 /dev/vdac0
verified 'two devices, one thread' 1000 --ios=1000 -d7 -u1 /dev/vdac0 /dev/vdcc0
verified 'two devices, three threads' 900 --ios=300 -n3 -u1 /dev/vdac0 /dev/vdcc0
verified 'block device and file' 600 --ios=600 -u0 -O0 /dev/vda /tmp/small
# A ring that ends keeps registered files for a while, unless told not to.
held=0
for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do
	run --write --ios=200 -u1 /dev/vdac0
	[ "$status" -eq 0 ] || held=$((held + 1))
	run --write --ios=100 -u0 -O0 /dev/vda
	[ "$status" -eq 0 ] || held=$((held + 1))
done
is "$held" 0 'the disk is free again when the tool ends'
verified 'the range alone' 300 --ios=300 --offset=8m --size=1m -u1 /dev/vdac0
good 'sequential I/O wraps' --json -R0 --size=64k --ios=100 -d4 -u1 /dev/vdac0
is "$(field ios)" 100 'at the end of its range'

# What --verify must find.
put() {
	run --verify --generation=7 --write -R0 --size=64k --ios=16 -u1 /dev/vdac0
}
finds() {
	run --verify --generation=7 -R0 --size=64k --ios=16 -d1 -u1 /dev/vdac0
	like "$status $(cat /tmp/err)" "^1 io_uring-vblk: /dev/vdac0: wrong data at .*$2" "$1"
}
put
dd if=/dev/zero of=/dev/vda bs=512 seek=19 count=1 conv=fsync 2>/dev/null
finds 'a zeroed sector' 'byte 9728: not written with --verify'
put
dd if=/dev/vda of=/tmp/block bs=4096 skip=2 count=1 2>/dev/null
dd if=/tmp/block of=/dev/vda bs=4096 seek=5 conv=fsync 2>/dev/null
finds 'a misplaced block' 'byte 20480: found the sector of byte 8192'
put
run --verify --generation=6 --write -R0 --offset=12k --size=4k --ios=1 -u1 /dev/vdac0
finds 'another generation' 'byte 12288: found generation 6.1, expected 7'
put
printf x | dd of=/dev/vda bs=1 seek=1000 conv=fsync 2>/dev/null
finds 'a wrong byte' 'byte 1000: wrong data after a good header'

# I/O errors: one line, status 1, an end.
run --json -R0 --ios=1000 -d1 -u1 /dev/vddc0
like "$status $(wc -l </tmp/err) $(cat /tmp/err)" \
	'^1 1 io_uring-vblk: /dev/vddc0: the device answered status 1 .*at byte 1048576' \
	'the first error ends the run'
is "$(field ios) $(field errors)" '256 1' 'after the good I/Os'
run --json -R0 --ios=1000 -d1 -u0 /dev/vdd
like "$status $(wc -l </tmp/err) $(cat /tmp/err)" \
	'^1 1 io_uring-vblk: /dev/vdd: read failed: Input/output error.*at byte 1048576' \
	'on the block device too'
run --json -R0 --ios=1000 --size=2m --max-errors=100 -d1 -u1 /dev/vddc0
is "$status $(wc -l </tmp/err) $(field cqes) $(field errors)" '1 1 1000 2' \
	'--max-errors goes on, and says it once'

# A device that does not answer.
run -d4 --stall=2 -u1 /dev/vdec0
like "$status $(wc -l </tmp/err) $(cat /tmp/err)" \
	'^1 1 io_uring-vblk: no completion for [0-9.]+ s, 4 I/Os in flight; giving up' \
	'a device that does not answer'

# Refusals.
d=/dev/vdac0
: >/tmp/empty
refused 'no device' 'no device given' -u1
refused 'an unknown option' 'unknown option --frobnicate; see --help' --frobnicate $d
refused 'a bad value' 'wants 0 or 1' -p3 $d
refused 'a node that does not exist' 'does not exist; is our virtio_blk.ko loaded' -u1 /dev/vdzc0
refused 'a block device with -u1' 'is a block device; -u1 wants' -u1 /dev/vda
refused 'the char node without -u1' 'is a character device; .* -u1' -u0 $d
refused 'a file with -u1' 'is a file; -u1 wants' -u1 /etc/passwd
refused 'a folder' 'neither a device nor a file' -u0 /tmp
refused '/dev/null' 'takes neither virtio-blk nor NVMe commands' -u1 /dev/null
refused 'the same twice' 'is given twice' -u1 $d $d
refused 'blocks smaller than logical ones' 'logical blocks of 4096 bytes; -b512' -b512 -u1 /dev/vdcc0
refused 'the same, block device' 'logical blocks of 4096 bytes; -b512' -b512 -u0 /dev/vdc
refused 'blocks larger than a command' 'takes at most [0-9]+ bytes in one command; use -b' -b1g -d1 -u1 $d
refused 'an unaligned offset' '--offset is no multiple' --offset=512 -u1 /dev/vdcc0
refused 'an offset past the end' 'ends at byte 67108864, before the range' --offset=64m -u1 $d
refused 'a range past the end' '--size=1048576 fits' --offset=63m --size=2m -u1 $d
refused 'an empty file' 'ends at byte 0' -u0 -O0 /tmp/empty
refused 'more threads than blocks' 'too few blocks for 4 threads' -n4 -R0 --size=8k -u1 $d
refused 'more devices than depth' 'need -d2 or -n2' -d1 -u1 $d /dev/vdcc0
refused 'no poll queues' 'no poll queues; load its driver with poll_queues=1, or use -p0' -p1 -u1 /dev/vdcc0
refused 'the same, block device' 'no poll queues; load its driver with poll_queues=1, or use -p0' -p1 -u0 /dev/vdc
refused 'hybrid polling before Linux 6.13' 'no hybrid polling .*; use -p1' --hybrid-poll -u1 $d
refused 'a CPU that is not there' '--sqpoll-cpu' --sqpoll --sqpoll-cpu=77 -u1 $d
refused 'writes without --write' '--read-percent needs --write' --read-percent=50 -u1 $d
refused 'a read-only disk' '/dev/vdbc0 is read-only; leave out --write' --write -u1 /dev/vdbc0
refused 'the same, block device' '/dev/vdb is read-only; leave out --write' --write -u0 /dev/vdb
blockdev --setro /dev/vda
refused 'a disk made read-only' '/dev/vdac0 is read-only; leave out --write' --write -u1 $d
blockdev --setrw /dev/vda
good 'reading the read-only disk' --ios 10 -u1 /dev/vdbc0

# Disks in use.
mke2fs /dev/vda >/dev/null 2>&1
modprobe ext4
mount -t ext2 /dev/vda /mnt
refused 'writing a mounted disk' '/dev/vda is mounted on /mnt; unmount it first' --write -u1 $d
refused 'the same, block device' '/dev/vda is mounted on /mnt; unmount it first' --write -u0 /dev/vda
good 'reading a mounted disk' --ios 10 -u1 $d
umount /mnt
mkswap /dev/vda >/dev/null
swapon /dev/vda
refused 'writing a swap disk' '/dev/vda is in use as swap; swapoff it first' --write -u1 $d
swapoff /dev/vda
io_uring-vblk --quiet --write -u0 /dev/vda >/dev/null &
writer=$!
sleep 1
refused 'a second writer' 'a mount, volume or other writer holds the disk' --write -u1 $d
kill -INT $writer
wait $writer
is $? 0 'the first one ends well when interrupted'
good 'after which it can be written' --write --ios 10 -u1 $d

# Permissions.
cat >/tmp/as-user <<-'EOF'
	#!/bin/sh
	exec su -s /bin/sh user -c "io_uring-vblk $*"
EOF
chmod 755 /tmp/as-user
t=/tmp/as-user
refused 'an ordinary user' 'no permission to read; be root or in the group' -u1 $d
chmod 666 $d
refused 'more locked memory than allowed' 'may not lock the buffers; raise ulimit -l' -b64k -d1024 -u1 $d
good 'an ordinary user who may' --ios 10 -d4 -u1 $d
sysctl -q -w kernel.io_uring_disabled=1
refused 'io_uring for root only' 'io_uring_disabled=1.; be root or in kernel.io_uring_group' -u1 $d
t=io_uring-vblk
good 'root may' --ios 10 -u1 $d
sysctl -q -w kernel.io_uring_disabled=2
refused 'io_uring turned off' 'io_uring is off; turn it on: sysctl kernel.io_uring_disabled=0' -u1 $d
END

# What the guest printed as JSON is JSON.
sed -n 's/^@json //p' "$T/out" >"$T/json"
got=$(python3 - "$T/json" <<'END'
import json, sys
text = open(sys.argv[1]).read()
decoder = json.JSONDecoder()
runs = []
while text.strip():
    value, end = decoder.raw_decode(text.lstrip())
    text = text.lstrip()[end:]
    runs.append(value)
counters, latency, submit = runs
assert counters["targets"][0]["kind"] == "virtio-blk", counters
assert counters["options"]["depth"] == 16 and counters["error"] == ""
assert counters["iops"] > 0 and counters["jobs"][0]["cqes"] == 1000
for name in "submit_latency_ns", "complete_latency_ns":
    h = latency[name]
    p = list(h["percentiles"].values())
    assert len(p) > 5 and p == sorted(p), h
    assert 0 < h["min"] <= p[0] and p[-1] <= h["max"], h
    assert h["min"] <= h["mean"] <= h["max"], h
assert submit["submit_ns"] > submit["submit_calls"] * submit["clock_ns"], submit
print("good", len(runs))
END
)
is "$got" 'good 3' 'the JSON can be read and its numbers fit together'

guest 'io_uring-vblk on NVMe' --driver none --add "$T/tool.sh:/t/tool.sh" \
	--qemu "-drive driver=null-co,read-zeroes=on,size=64M,if=none,id=n -device nvme,drive=n,serial=n" <<'END'
. /t/tool.sh
modprobe nvme
ok 'the device is there' eventually 10 test -c /dev/ng0n1
good 'NVMe commands' --json --ios 500 -u1 /dev/ng0n1
is "$(field ios) $(field errors) $(field sqe) $(field cqe)" '500 0 128 32' \
	'in the large SQEs and CQEs that they need'
refused '64-byte SQEs' 'NVMe commands need --sqe=128' --sqe=64 -u1 /dev/ng0n1
good 'its block device' --ios 500 -u0 /dev/nvme0n1
END

done_testing
