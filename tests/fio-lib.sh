# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# For the guest scripts of tests/fio-*.t, after lib.sh: run fio on the character
# device of the disk $dev and see what the disk got.

dev=vda

# fio_run ARGS...: one job (on $fio_file, if set). Its JSON goes to /tmp/fio, its
# messages to /tmp/fio.err. Returns fio's status. Sets got to the commands that
# the disk counted: reads writes discards flushes.
fio_run() {
	fr_before=$(cat "/sys/block/$dev/stat")
	fio --ioengine=io_uring_cmd --cmd_type=virtblk \
		--filename="${fio_file:-/dev/${dev}c0}" --name=x \
		--output-format=json --output=/tmp/fio "$@" <"${fio_stdin:-/dev/null}" 2>/tmp/fio.err
	fr_status=$?
	got=$(printf '%s\n' "$fr_before" "$(cat "/sys/block/$dev/stat")" | awk '
		NR == 1 { r = $1; w = $5; d = $12; f = $16 }
		NR == 2 { print $1 - r, $5 - w, $12 - d, $16 - f }')
	return "$fr_status"
}

# fio_value SECTION KEY: from the JSON, of the first job
fio_value() {
	awk -v section="\"$1\"" -v key="\"$2\"" '
		$1 == section && $3 == "{" { inside = 1 }
		inside && $1 == key { gsub(/[",]/, "", $3); print $3; exit }
	' /tmp/fio
}

# fio_ok WHAT COUNTS ARGS...: the job succeeds without a message and the disk
# counted COUNTS; with - as COUNTS what fio counted, and at least one.
fio_ok() {
	fo_what=$1
	fo_want=$2
	shift 2
	fio_run "$@"
	if [ "$fo_want" = - ]; then
		fo_want="$(fio_value read total_ios) $(fio_value write total_ios) $(fio_value trim total_ios) ${got##* }"
		[ "${fo_want% *}" != '0 0 0' ] || fo_want='some commands'
	fi
	if [ "$fr_status" -eq 0 ] && [ "$got" = "$fo_want" ] &&
	   [ ! -s /tmp/fio.err ]; then
		pass "$fo_what"
		return 0
	fi
	fail "$fo_what"
	diag "status $fr_status, the disk counted $got, expected $fo_want"
	diag "$(head -n 8 /tmp/fio.err)"
	return 1
}

# fio_no WHAT PATTERN ARGS...: the job is refused: exit status 1, exactly one
# line of explanation, which fits PATTERN, and the disk got no command.
fio_no() {
	fn_what=$1
	fn_want=$2
	shift 2
	fio_run "$@"
	fn_lines=$(grep '^fio: virtblk: ' /tmp/fio.err)
	if [ "$fr_status" -eq 1 ] && [ "$got" = "0 0 0 0" ] &&
	   [ "$(printf '%s\n' "$fn_lines" | wc -l)" -eq 1 ] &&
	   printf '%s\n' "$fn_lines" | grep -Eq -- "$fn_want"; then
		pass "$fn_what"
		return 0
	fi
	fail "$fn_what"
	diag "status $fr_status, the disk counted $got, expected: $fn_want"
	diag "$(head -n 8 /tmp/fio.err)"
	return 1
}

# fio_depth N: most of the last job's submissions saw N commands in flight.
fio_depth() {
	fd_percent=$(fio_value iodepth_level "$1")
	like "${fd_percent:-none}" '^([5-9][0-9]|100)\.' \
		"${2:-the last job} reached depth $1"
}
