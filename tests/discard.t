#!/bin/sh
# SPDX-License-Identifier: MIT
#
# DISCARD and WRITE_ZEROES, seen from the guest and in the image.

. "$(dirname "$0")/lib.sh"
need python3

image=$T/vda.img
tr '\0' U </dev/zero | head -c 64M >"$image"
cp "$image" "$T/want.img"

guest 'discard and write zeroes' --disk "raw,file=$image" <<'END'
prog discard vda
END

# What tests/guest/discard.c does, in MiB: "first count".
discarded='4 4
9 1
12 1
14 1
17 1
24 2
30 1'
zeroed='20 2
28 1
33 1
35 1
37 1'

printf '%s\n%s\n' "$discarded" "$zeroed" | while read -r first count; do
	dd if=/dev/zero of="$T/want.img" bs=1M seek="$first" count="$count" \
		conv=notrunc status=none
done
ok 'the image has zeroes there and nowhere else' cmp "$image" "$T/want.img"

# is_hole FIRST COUNT: the file has no data in these MiB.
# shellcheck disable=SC2317 # called by ok
is_hole() {
	python3 - "$image" "$1" "$2" <<-'END'
	import os, sys
	fd = os.open(sys.argv[1], os.O_RDONLY)
	first, count = (int(a) << 20 for a in sys.argv[2:])
	try:
	    data = os.lseek(fd, first, os.SEEK_DATA)
	except OSError:
	    data = 1 << 62
	sys.exit(data < first + count)
	END
}

printf '%s\n' "$discarded" >"$T/list"
while read -r first count; do
	ok "a hole of $count MiB at $first" is_hole "$first" "$count"
done <"$T/list"
nok 'no hole elsewhere' is_hole 40 1

# Zeroes without unmap keep their blocks: 64 MiB less the 11 above.
used=$(($(stat -c %b "$image") / 2048))
is "$used" 53 'MiB of the image that have blocks'

done_testing
