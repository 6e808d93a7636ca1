#!/bin/sh
# SPDX-License-Identifier: MIT
#
# What users see of /dev/vdX is the same with the in-tree driver and with ours:
# the same script collects it under both, for several shapes of disk.

. "$(dirname "$0")/lib.sh"

cat >"$T/collect" <<'END'
show() {
	for file; do
		[ -f "$file" ] && [ -r "$file" ] || continue
		# These count.
		case $file in */stat | */inflight) continue ;; esac
		echo "$file: $(cat "$file" 2>&1)"
	done
}
names() {
	(cd "$1" && find . ! -name 'vd*c0' | sort)
}
# set_cache DISK WORDS: try to change the cache's type
set_cache() {
	echo "$2" >"/sys/block/$1/cache_type" 2>/dev/null
	echo "$1: '$2' written, status $?: $(cat /sys/block/"$1"/cache_type)"
	show "/sys/block/$1/queue/write_cache" "/sys/block/$1/queue/fua"
}

for dir in /sys/block/vd*; do
	disk=${dir##*/}
	for part in "$dir" "$dir"/vd*[0-9]; do
		[ -e "$part/dev" ] || continue
		case $part in *c0) continue ;; esac
		show "$part"/[a-z]*
	done
	show "$dir"/queue/* "$dir"/mq/*/*
	names "$dir/"
	basename "$(readlink -f "$dir/device/driver")"
	for what in ss bsz size64 ro ra; do
		echo "$disk, $what: $(blockdev --get$what "/dev/$disk" 2>&1)"
	done
	fdisk -l "/dev/$disk" 2>/dev/null
	set_cache "$disk" 'write through'
	set_cache "$disk" 'write back'
	set_cache "$disk" 'sideways'
	set_cache "$disk" ''
	echo "ro: $(dd if=/dev/zero of="/dev/$disk" bs=4096 count=1 seek=100 \
		oflag=direct conv=notrunc 2>&1 | head -n 1)"
done
ls -ln /dev/vd* | grep -v 'c0$' | awk '{ print $1, $3, $4, $5, $6, $NF }'
cat /proc/partitions
sed -n '/Block/,$p' /proc/devices
for param in num_request_queues poll_queues queue_depth; do
	file=/sys/module/virtio_blk/parameters/$param
	echo "$param: $(cat $file), $(stat -c %a $file)"
done
modinfo -F alias virtio_blk
END

# A disk with partitions, for their names and minors.
new_image "$T/parts.img" 64M
printf '\0\0\0\0\203\0\0\0\0\10\0\0\0\100\0\0\0\0\0\0\203\0\0\0\0\200\0\0\0\100\0\0' |
	dd of="$T/parts.img" bs=1 seek=446 conv=notrunc status=none
printf '\125\252' | dd of="$T/parts.img" bs=1 seek=510 conv=notrunc status=none
cp "$T/parts.img" "$T/parts2.img"

# collect NAME DRIVER VM-OPTIONS...: the report goes to $T/NAME.DRIVER.
collect() {
	c_out=$T/$1.$2
	c_driver=$2
	shift 2
	"$top/scripts/vm" --driver "$c_driver" --add "$T/collect:/collect" \
		"$@" -- sh /collect >"$c_out" 2>"$T/err"
	c_status=$?
	is "$c_status" 0 "the $c_driver driver: the runner's status"
	[ "$c_status" -eq 0 ] || sed 's/^/# /' "$T/err" | tail -n 20
}

# On 4 KiB blocks QEMU's limit of 4194303 sectors is no multiple of a block. The
# in-tree driver passes it on, ours rounds down to what can really be used.
known_difference() {
	awk '
		/logical_block_size: 4096/ { big[$1] = 1 }
		{ line[NR] = $0 }
		END {
			for (i = 1; i <= NR; i++) {
				split(line[i], part, "/queue/")
				if (part[1] "/queue/logical_block_size:" in big)
					sub(/ 2147483136$/, " 2147479552", line[i])
				print line[i]
			}
		}' "$1"
}

compare() {
	c_name=$1
	shift
	collect "$c_name" in-tree "$@"
	collect "$c_name" ours "$@"
	like "$(wc -l <"$T/$c_name.in-tree")" '^[0-9]{3,}$' \
		"$c_name: there is something to compare"
	known_difference "$T/$c_name.in-tree" >"$T/want"
	ok "$c_name: no other difference" diff "$T/want" "$T/$c_name.ours"
}

compare 'defaults' --disk "raw,file=$T/parts.img,serial=one" --disk 4k \
	--disk ro,serial=twenty-characters-xx --disk small --disk noindirect \
	--disk packed --disk transitional --disk null \
	--disk raw,dev.discard=off,dev.write-zeroes=off
compare 'parameters' --cpus 3 \
	--param 'poll_queues=1 num_request_queues=2 queue_depth=64' \
	--disk raw,queues=4 --disk raw,queues=1 \
	--disk raw,queues=2,dev.config-wce=off --disk raw,dev.write-cache=off \
	--disk raw,dev.physical_block_size=4096,dev.min_io_size=4096,dev.opt_io_size=65536 \
	--disk raw,dev.max-discard-sectors=2048,dev.discard_granularity=8192 \
	--disk raw,dev.cyls=100,dev.heads=7,dev.secs=21 \
	--disk raw,size=1234567168,dev.max-write-zeroes-sectors=128
compare 'virtio-mmio' --machine microvm --disk raw,serial=mmio \
	--disk transitional

done_testing
