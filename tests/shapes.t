#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Every kind of disk the runner makes, both nodes at once, verified.

. "$(dirname "$0")/lib.sh"

# In the guest: what is done with each disk, in the order of the command line.
cat >"$T/shapes" <<'END'
try() {
	letter=$1
	name=$2
	features=$(cat "/sys/block/vd$letter/device/features")
	echo "# vd$letter: $name, features $features"
	prog busy -t 1 -q 32 -w 1 "vd$letter"
	is "$(vcmd "/dev/vd${letter}c0" flush)" 0 "$name: flush"
	is "$(vcmd "/dev/vd${letter}c0" zeroes 0 65536)" 0 "$name: write zeroes"
	is "$(vcmd "/dev/vd${letter}c0" discard 0 65536)" 0 "$name: discard"
}
# feature DISK BIT: the device and the driver agreed on it
feature() {
	cut -c $(($2 + 1)) "/sys/block/$1/device/features"
}
END

new_image "$T/ro.img" 64M
{
	cat "$T/shapes"
	cat <<'END'
try a raw
try b '4 KiB blocks'
try c 'small queue'
try d 'no indirect descriptors'
try e 'packed ring'
try f iommu_platform
try g transitional
try h 'two queues'
is "$(cat /sys/block/vdb/queue/logical_block_size)" 4096 'vdb has 4 KiB blocks'
is "$(feature vdd 28)" 0 'vdd has no indirect descriptors'
is "$(feature vda 28)" 1 'vda has them'
is "$(feature vde 34)" 1 'vde has a packed ring'
is "$(feature vdf 33)" 1 'vdf has iommu_platform'
is "$(feature vdg 32)" 0 'vdg is not a VIRTIO 1 device'
is "$(ls /sys/block/vdh/mq | wc -l)" 2 'vdh has two queues'
is "$(ls /sys/block/vda/mq | wc -l)" 1 'vda has one'
is "$(vcmd -n 64 /dev/vdic0 write 0 65536 7)" 0 'data for the next guest'
END
} >"$T/pci"
guest 'PCI' --timeout 240 --disk raw,queues=1 --disk 4k --disk small \
	--disk noindirect --disk packed --disk iommu --disk transitional \
	--disk raw,queues=2 --disk "raw,file=$T/ro.img" <"$T/pci"

{
	cat "$T/shapes"
	cat <<'END'
is "$(vcmd -n 64 /dev/vdac0 read 0 65536 7)" 0 'read-only: verified reads, char'
like "$(vcmd -m rw /dev/vdac0 write 0 4096 8)" '-EROFS$' 'read-only: no writes'
nok 'read-only: no block writes' dd if=/dev/zero of=/dev/vda bs=4096 count=1 \
	conv=notrunc
is "$(vcmd -n 64 /dev/vdac0 read 0 65536 7)" 0 'read-only: as before'
is "$(dd if=/dev/vda bs=1M count=4 2>/dev/null | sha256sum)" \
	"$(sha256sum </part)" 'read-only: the same through the block node'
is "$(vcmd -n 1000 /dev/vdbc0 read 0 65536)" 0 'null: reads'
is "$(vcmd -n 1000 /dev/vdbc0 write 0 65536)" 0 'null: writes'
try c vhost-user
END
} >"$T/more"
head -c 4M "$T/ro.img" >"$T/part"
guest 'read-only, null, vhost-user' --disk "ro,file=$T/ro.img" --disk null \
	--disk vhost-user,size=64M --add "$T/part:/part" <"$T/more"

{
	cat "$T/shapes"
	cat <<'END'
for letter in a b c; do
	try $letter "virtio-mmio vd$letter"
done
is "$(basename "$(readlink /sys/block/vda/device/../driver)")" virtio-mmio \
	'vda is on virtio-mmio'
END
} >"$T/mmio"
guest 'virtio-mmio' --machine microvm --disk raw --disk packed \
	--disk 4k,queues=2 <"$T/mmio"
{
	cat "$T/shapes"
	cat <<'END'
try a 'transitional virtio-mmio'
is "$(feature vda 32)" 0 'it is not a VIRTIO 1 device'
END
} >"$T/legacy"
guest 'transitional virtio-mmio' --machine microvm --disk transitional \
	<"$T/legacy"

done_testing
