#!/bin/sh
# SPDX-License-Identifier: MIT
#
# A file system on /dev/vda: mkfs, mount, write, unmount, fsck, mount again.

. "$(dirname "$0")/lib.sh"
PATH=$PATH:/sbin:/usr/sbin
need mkfs.ext4 e2fsck

new_image "$T/vda.img" 128M
guest 'ext4' --disk "raw,file=$T/vda.img,queues=2" --timeout 200 \
	--add "$(command -v mkfs.ext4)" --add "$(command -v e2fsck)" <<'END'
ok 'modprobe ext4' modprobe ext4
ok 'mkfs.ext4' mkfs.ext4 -q /dev/vda
ok 'mount' mount -t ext4 -o discard /dev/vda /mnt

# A few large files, many small ones, and removals while it goes on.
dd if=/dev/urandom of=/mnt/large bs=1M count=16 2>/dev/null
mkdir /mnt/small
n=0
while [ $n -lt 400 ]; do
	echo "$n" >"/mnt/small/$n"
	n=$((n + 1))
done
cp /mnt/large /mnt/copy &
cp -r /mnt/small /mnt/more
wait
rm -r /mnt/small
ok 'fstrim' fstrim /mnt
sums=$(cd /mnt && find . -type f | sort | xargs sha256sum)
ok 'umount' umount /mnt
ok 'e2fsck finds nothing to mend' e2fsck -fn /dev/vda

# Another life of the driver: nothing may have been only in memory.
ok 'rmmod' rmmod virtio_blk
ok 'modprobe' modprobe virtio_blk
ok 'mount again' mount -t ext4 /dev/vda /mnt
is "$(cd /mnt && find . -type f | sort | xargs sha256sum)" "$sums" \
	'every file is as it was'
is "$(ls /mnt/more | wc -l)" 400 'with all their names'
ok 'umount again' umount /mnt
END
ok 'e2fsck on the host' e2fsck -fn "$T/vda.img"

done_testing
