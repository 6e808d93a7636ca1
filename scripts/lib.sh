# SPDX-License-Identifier: MIT
# shellcheck shell=sh
#
# Sourced by the scripts of this folder. Sets top (the checkout) and cache (what
# is kept between runs, outside of the checkout).

prog=${0##*/}
# shellcheck disable=SC2034 # for those who source this file
top=$(cd "$(dirname "$0")/.." && pwd)
# shellcheck disable=SC2034 # for those who source this file
cache=${VBLK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/virtio-blk-uring}
# The kernel series used where none is named.
default_series=6.12

say() {
	printf '%s: %s\n' "$prog" "$*" >&2
}

die() {
	say "$*"
	exit 1
}

# kernel_release [SERIES|RELEASE]: the release of the newest matching kernel in
# the cache, or nothing. fetch-kernel writes "version" last, so a folder that
# has it is complete.
kernel_release() {
	want=${1:-$default_series}
	for dir in "$cache/kernel/$want" "$cache/kernel/$want".* \
		   "$cache/kernel/$want"-*; do
		[ -e "$dir/version" ] && printf '%s\n' "${dir##*/}"
	done | sort -V | tail -n 1
}

# kernel_headers RELEASE: the folder to build modules in.
kernel_headers() {
	printf '%s\n' "$cache/kernel/$1/usr/src/linux-headers-$1"
}

# Where the CPU has no virtualization of its own, /dev/kvm is an emulation that
# does not boot every kernel.
kvm_works() {
	[ -w /dev/kvm ] && grep -Eqw 'vmx|svm' /proc/cpuinfo
}
