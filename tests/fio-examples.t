#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Each job file of fio-engine/examples runs, without errors.

. "$(dirname "$0")/lib.sh"

set --
for file in "$top"/fio-engine/examples/*.fio; do
	set -- "$@" --add "$file:/examples/${file##*/}"
done

guest 'fio examples' --timeout 240 --param 'poll_queues=1' --disk raw,queues=3 "$@" <<'END'
for file in /examples/*.fio; do
	fio --output=/tmp/fio "$file" </dev/null
	is "$? $(grep -c '^fio: ' /tmp/fio) $(grep -c 'err= 0' /tmp/fio)" \
		"0 0 $(grep -c '^ioengine=' "$file")" "${file##*/}"
	grep '^fio: ' /tmp/fio | sed 's/^/# /'
done
END
done_testing
