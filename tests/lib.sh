# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For tests/*.t on the host and for the scripts that they run in a guest. TAP
# without numbers; done_testing prints the plan.
#
# On the host, a test sources this file, boots guests and ends with
# done_testing:
#
#	guest 'what this boot is about' --disk raw <<'END'
#	prog rw vda
#	is "$(cat /sys/block/vda/ro)" 0 'vda can be written'
#	END
#
# See docs/testing.md.

# ---- on both sides ---------------------------------------------------------

pass() {
	echo "ok - $*"
	count_test
}

fail() {
	echo "not ok - $*"
	count_test
}

diag() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

skip() {
	echo "ok - $1 # SKIP $2"
	count_test
}

# ok DESCRIPTION COMMAND...: the command succeeds.
ok() {
	ok_what=$1
	shift
	ok_out=$("$@" 2>&1)
	ok_status=$?
	if [ "$ok_status" -eq 0 ]; then
		pass "$ok_what"
	else
		fail "$ok_what"
		diag "$*: status $ok_status"
		diag "$ok_out"
	fi
}

# nok DESCRIPTION COMMAND...: the command fails (and does not crash).
nok() {
	nok_what=$1
	shift
	nok_out=$("$@" 2>&1)
	nok_status=$?
	if [ "$nok_status" -ne 0 ] && [ "$nok_status" -lt 126 ]; then
		pass "$nok_what"
	else
		fail "$nok_what"
		diag "$*: status $nok_status"
		diag "$nok_out"
	fi
}

# is GOT WANT DESCRIPTION
is() {
	if [ "$1" = "$2" ]; then
		pass "$3"
	else
		fail "$3"
		diag "got:      $1"
		diag "expected: $2"
	fi
}

# like GOT PATTERN DESCRIPTION: PATTERN is one of grep -E.
like() {
	if printf '%s\n' "$1" | grep -Eq -- "$2"; then
		pass "$3"
	else
		fail "$3"
		diag "got:      $1"
		diag "expected: $2"
	fi
}

# eventually SECONDS COMMAND...: retry until the command succeeds.
eventually() {
	ev_left=$(($1 * 10))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$ev_left" -gt 0 ] || return 1
		ev_left=$((ev_left - 1))
		sleep 0.1
	done
}

# ---- in the guest ----------------------------------------------------------

# prog NAME ARGS...: run a guest program that prints TAP. The host takes its
# tests over and checks that it came to its end.
prog() {
	echo "@prog $*"
	"$@"
	echo "@exit $?"
}

# attr vda/NAME: a file of the disk in sysfs
attr() {
	cat "/sys/block/$1" 2>/dev/null
}

if [ -n "${T_GUEST-}" ]; then
	count_test() { :; }
	# Seen by host scripts which wait for the guest to get somewhere.
	reached() {
		echo "@reached $*"
	}
	return 0
fi

# ---- on the host -----------------------------------------------------------

top=$(cd "$(dirname "$0")/.." && pwd)
T=$(mktemp -d "${TMPDIR:-/tmp}/virtio-blk-uring-test.XXXXXX")
: >"$T/count"
t_pids=

t_cleanup() {
	for t_pid in $t_pids; do
		kill "$t_pid" 2>/dev/null
	done
	rm -rf "$T"
}
trap t_cleanup EXIT
trap 'exit 130' INT TERM HUP

count_test() {
	echo x >>"$T/count"
}

done_testing() {
	echo "1..$(wc -l <"$T/count")"
	exit 0
}

# Turns what a guest printed into tests of ours. A program that died, printed
# fewer tests than it planned or whose status does not fit is a failed test.
t_translate() {
	awk -v count="$T/count" '
	function out(line) { print line; print "x" >>count }
	function finish(why) {
		out((why == "" ? "ok" : "not ok") " - " name \
		    ": came to its end" (why == "" ? "" : ": " why))
		name = ""
	}
	/^@prog / {
		if (name != "") finish("no exit status")
		name = substr($0, 7); seen = 0; bad = 0; plan = -1; bailed = ""
		next
	}
	/^@exit / {
		status = $2 + 0
		if (skipped != "") {
			out("ok - " name " # SKIP " skipped)
			skipped = ""; name = ""
			if (status != 77) out("not ok - skip with status " status)
		} else if (bailed != "") finish(bailed)
		else if (plan < 0) finish("no plan, status " status)
		else if (plan != seen) finish("planned " plan ", ran " seen)
		else if (plan == 0) finish("no tests")
		else if (status != (bad > 0)) finish("status " status)
		else finish("")
		next
	}
	/^@end$/ { ended = 1; next }
	/^@/ { next }
	/^1\.\.0 # SKIP/ { skipped = substr($0, 13); next }
	/^1\.\.[0-9]+$/ { plan = substr($0, 4) + 0; next }
	/^Bail out!/ { bailed = $0; next }
	/^(not )?ok( |$)/ {
		seen++
		if ($1 == "not") bad++
		line = $0
		if (name != "") {
			sub(/^(not )?ok [0-9]+ - /, "&" name ": ", line)
			sub(/ok [0-9]+ /, "ok ", line)
		}
		out(line)
		next
	}
	/^#/ { print; next }
	{ print "# guest: " $0 }
	END {
		if (name != "") finish("the guest died in it")
		if (!ended) out("not ok - the guest script came to its end")
	}'
}

# guest_start NAME VM-OPTIONS... <SCRIPT: boot in the background.
guest_start() {
	g_name=$1
	shift
	# Guest scripts have functions of this file and go on after failures.
	{
		echo 'T_GUEST=1; . /t/lib.sh'
		cat
		echo 'echo @end; exit 0'
	} >"$T/guest.sh"
	: >"$T/out"
	"${VM:-$top/scripts/vm}" --add "$top/tests/lib.sh:/t/lib.sh" \
		--add "$T/guest.sh:/t/run" "$@" -- sh /t/run \
		>"$T/out" 2>"$T/err" &
	g_pid=$!
	t_pids="$t_pids $g_pid"
}

# guest_wait: take over the tests of the guest and check how the runner ended.
# 0 also says that the kernel log is clean; 99 would be a dirty one.
guest_wait() {
	wait "$g_pid"
	g_status=$?
	t_translate <"$T/out"
	is "$g_status" 0 "$g_name: status of the runner, the kernel log is clean"
	[ "$g_status" -eq 0 ] || tail -n 40 "$T/err" | sed 's/^/# /'
}

guest() {
	guest_start "$@"
	guest_wait
}

# await TEXT [SECONDS]: the running guest has printed "@reached TEXT".
await() {
	eventually "${2-60}" t_reached "$1" && return 0
	fail "the guest has not reached: $1"
	return 1
}

t_reached() {
	grep -qxF "@reached $1" "$T/out" || ! kill -0 "$g_pid" 2>/dev/null
}

# qmp SOCKET COMMAND [ARGUMENTS-JSON [EVENT]]: one command on QEMU's monitor,
# print what it returns; with EVENT, wait for that one as well (20 seconds).
qmp() {
	python3 - "$@" <<-'END'
	import json, socket, sys
	path, command = sys.argv[1:3]
	arguments = json.loads(sys.argv[3]) if len(sys.argv) > 3 else {}
	event = sys.argv[4] if len(sys.argv) > 4 else None
	s = socket.socket(socket.AF_UNIX)
	s.settimeout(20)
	f = s.makefile("rw")
	def send(name, args):
	    f.write(json.dumps({"execute": name, "arguments": args}) + "\n")
	    f.flush()
	def receive():
	    line = f.readline()
	    if not line:
	        sys.exit("QEMU has closed the monitor")
	    return json.loads(line)
	answer = None
	try:
	    s.connect(path)
	    receive()
	    send("qmp_capabilities", {})
	    receive()
	    send(command, arguments)
	    while answer is None or event:
	        m = receive()
	        if "error" in m:
	            sys.exit(m["error"]["desc"])
	        if "return" in m:
	            answer = m["return"]
	        elif m.get("event") == event:
	            event = None
	except OSError as e:
	    sys.exit(f"{command}: {e}")
	print(json.dumps(answer))
	END
}

# An empty raw image of SIZE at PATH.
new_image() {
	truncate -s "$2" "$1"
}

# need COMMAND...: without it the whole test is skipped, with the reason.
need() {
	for need_cmd; do
		command -v "$need_cmd" >/dev/null && continue
		echo "1..0 # SKIP no $need_cmd on this machine"
		exit 0
	done
}
