#!/bin/sh
# SPDX-License-Identifier: MIT
#
# An interrupt that the host loses costs one period of the watchdog, and none of
# those after it.

. "$(dirname "$0")/lib.sh"

cat >"$T/lost.sh" <<'END'
. /t/lib.sh
config=/sys/block/vda/device/../config

# byte OFFSET: of the PCI configuration space
byte() {
	od -An -tu1 -j "$1" -N 1 $config | tr -d ' '
}

# The upper byte of MSI-X message control, whose bit 7 is MSI-X Enable.
find_msix() {
	cap=$(byte 52)
	while [ "$(byte "$cap")" != 17 ]; do
		cap=$(byte $((cap + 1)))
	done
	control=$((cap + 3))
}

# deliver WORD: interrupts arrive (\200) or get lost (\000)
deliver() {
	printf "$1" | dd of=$config bs=1 seek=$control conv=notrunc 2>/dev/null
}

# counter NAME: of the first queue
counter() {
	awk -v name="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) column = i }
		NR == 2 { print $column }' /sys/kernel/debug/virtio_blk/vda/queues
}

# lost WHAT COMMAND...: one lost interrupt, then 50 commands
lost() {
	l_what=$1
	shift
	irqs=$(counter irqs)
	nudges=$(counter nudges)
	deliver '\000'
	ok "$l_what: ends although its interrupt is lost" "$@" 1
	is $(($(counter irqs) - irqs)) 0 "$l_what: which it is"
	[ $(($(counter nudges) - nudges)) -ge 1 ]
	is $? 0 "$l_what: the watchdog has found it"
	deliver '\200'
	irqs=$(counter irqs)
	ok "$l_what: 50 more" "$@" 50
	[ $(($(counter irqs) - irqs)) -ge 40 ]
	is $? 0 "$l_what: $(($(counter irqs) - irqs)) of them interrupt"
}

char() {
	vcmd -n "$1" /dev/vdac0 read 0 4096 >/dev/null
}
block() {
	dd if=/dev/vda of=/dev/null bs=4096 count="$1" iflag=direct 2>/dev/null
}
END

for direct_ring in 1 0; do
	guest "a lost interrupt, direct_ring=$direct_ring" --cpus 1 \
		--param "direct_ring=$direct_ring" --timeout 400 \
		--add "$T/lost.sh:/t/lost.sh" --disk raw,queues=1 <<'END'
. /t/lost.sh
find_msix
lost 'char node' char
lost 'block node' block
END
done

done_testing
