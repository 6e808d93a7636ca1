#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The parts of io_uring-vblk that need no device: histogram, options, SQEs and
# the data of --verify, built with the address and undefined-behaviour
# sanitizers. And the man page has each option.

. "$(dirname "$0")/lib.sh"

# No leak check: it wants ptrace, which containers may forbid.
export ASAN_OPTIONS=detect_leaks=0

if ! make -s -C "$top/tools/io_uring-vblk" BUILD="$T/build" all unit \
	CFLAGS='-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all' \
	>"$T/log" 2>&1
then
	fail 'it builds with sanitizers'
	diag "$(cat "$T/log")"
	done_testing
fi
pass 'it builds with sanitizers'

for unit in hist options sqe verify; do
	echo "@prog $unit"
	"$T/build/unit/$unit"
	echo "@exit $?"
done >"$T/out" 2>&1
echo @end >>"$T/out"
t_translate <"$T/out"

tool=$T/build/io_uring-vblk
"$tool" --help >"$T/help"
is $? 0 '--help ends with status 0'
# Options of the help, and those of the page's option list.
grep -Eo -- '^  (-.,|   ) --[a-z-]+' "$T/help" | grep -Eo -- '--[a-z-]+' |
	sort >"$T/in-help"
sed -n 's/\\-/-/g; s/^\.B[RI] .*\(--[a-z-]*\).*/\1/p' \
	"$top/man/io_uring-vblk.1" | sort -u >"$T/in-man"
is "$(comm -3 "$T/in-help" "$T/in-man")" '' \
	'the help and the man page have the same options'
[ "$(wc -l <"$T/in-help")" -gt 30 ]
is $? 0 'which are many'

done_testing
