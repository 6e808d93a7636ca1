#!/bin/sh
# SPDX-License-Identifier: MIT
#
# The C example of README.md compiles without warnings and reads the disk.

. "$(dirname "$0")/lib.sh"

if ! [ -e "$top/README.md" ]; then
	fail 'there is a README.md'
	done_testing
fi

# The fenced C blocks that are whole programs, one file each.
awk -v dir="$T" '
	/^```c$/ { inside = 1; text = ""; next }
	/^```/ {
		if (inside && text ~ /int main\(/) {
			file = dir "/example" ++n ".c"
			printf "%s", text >file
			close(file)
		}
		inside = 0
	}
	inside { text = text $0 "\n" }' "$top/README.md"

ok 'README.md has an example in C' test -e "$T/example1.c"
lines=$(grep -c '[^ 	]' "$T/example1.c" 2>/dev/null)
diag "$lines lines that are not empty"
[ "${lines:-99}" -le 45 ]
is $? 0 'it is short'
ok 'it compiles' gcc -Wall -Wextra -Werror -O2 -I"$top/include" \
	-I"$top/include/uapi" -o "$T/example" "$T/example1.c" -luring

new_image "$T/vda.img" 64M
printf 'README4u' | dd of="$T/vda.img" conv=notrunc status=none
guest 'the example' --disk "raw,file=$T/vda.img" --add "$T/example" <<'END'
out=$(example /dev/vdac0 2>&1)
is $? 0 'it ends with status 0'
like "$out" 'README4u|52 ?45 ?41 ?44 ?4d ?45 ?34 ?75|52 ?45 ?41 ?44 ?4D ?45' \
	'it prints the first bytes'
example /dev/vda >/dev/null 2>&1
[ $? -gt 0 ]
is $? 0 'on the block node it does not end with status 0'
END

done_testing
