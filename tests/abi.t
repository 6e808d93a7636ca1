#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The ABI: its numbers, that the headers compile alone in every language and
# width, and the exact form of the published proposal, 64 and 32 bit.

. "$(dirname "$0")/lib.sh"

inc="-I$top/include/uapi -I$top/include"
strict='-Wall -Wextra -Werror -fsyntax-only'

# compiles NAME COMPILER FLAGS...: a file with nothing but the header.
compiles() {
	c_header=$1
	shift
	printf '#include <%s>\n' "$c_header" >"$T/alone.c"
	# shellcheck disable=SC2086 # flags
	ok "$c_header alone: $*" "$@" $strict $inc "$T/alone.c"
}

# C++ has no flexible array members, so it is not asked to be pedantic.
for std in c99 c11 gnu17; do
	for width in 64 32; do
		compiles linux/virtio_blk.h gcc -m$width -std=$std -pedantic
	done
done
for std in c++11 c++17 c++20; do
	for width in 64 32; do
		compiles linux/virtio_blk.h g++ -m$width -std=$std -x c++
	done
done
# liburing's own header exists for this width alone.
for std in gnu99 gnu11 gnu17; do
	compiles vblk_cmd.h gcc -std=$std
done
for std in gnu++11 gnu++17 gnu++20; do
	compiles vblk_cmd.h g++ -std=$std -x c++
done

# Not every machine runs 32-bit programs, but the guest does.
for width in 64 32; do
	# shellcheck disable=SC2086 # flags
	ok "numbers, $width bit: compiles" gcc -m$width -static $inc \
		-o "$T/abi$width" "$top/tests/guest/abi.c"
done

ok 'the 32-bit program compiles' gcc -m32 -static -std=gnu11 -O2 \
	-o "$T/published32" "$top/tests/guest/published.c"
guest 'numbers, and the published form' --disk raw --disk 4k \
	--add "$T/abi64" --add "$T/abi32" --add "$T/published32" <<'END'
prog abi64
prog abi32
is "$(abi32)" "$(abi64)" 'both widths have the same numbers'
prog published /dev/vdac0
prog published32 /dev/vdac0
END

done_testing
