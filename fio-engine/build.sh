#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Build Debian 12's fio with cmd_type=virtblk.
#
# usage: fio-engine/build.sh OUTDIR
#
# Leaves OUTDIR/fio. The source comes from the machine's own Debian mirror, by
# apt-get with lists of its own, so that the machine's configuration is neither
# changed nor needs deb-src; no root. Source and results are kept in the cache
# (VBLK_CACHE), results under the hash of all that went in.
set -eu

version=3.33
tarball=fio_$version.orig.tar.gz
sha256=d2410e13e0f379d061d077cc5ae325835bb7c6186aa7bafc1df954cbc9b014fc
# Small and the same everywhere: no engine that needs a library of its own but
# libaio, and never code for the CPU of the build machine.
features='--disable-native --disable-numa --disable-rdma --disable-rados
	--disable-rbd --disable-http --disable-gfapi --disable-pmem
	--disable-libzbc --disable-xnvme --disable-tcmalloc --disable-libnfs
	--disable-dfs --disable-lex'

here=$(cd "$(dirname "$0")" && pwd)
top=${here%/*}
cache=${VBLK_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/virtio-blk-uring}/fio
sources="$here/virtblk.c $here/virtblk_job.c $here/virtblk.h"
headers="$top/include/vblk_cmd.h $top/include/uapi/linux/virtio_blk.h"
patch=$here/fio-$version-virtblk.patch
tmp=

say() {
	printf 'fio: %s\n' "$*" >&2
}

die() {
	say "$*"
	exit 1
}

cleanup() {
	[ -z "$tmp" ] || rm -rf "$tmp"
}

# The hash of all that decides what the binary looks like.
input_key() {
	{
		# shellcheck disable=SC2086 # lists of files
		cat "$0" "$patch" $sources $headers
		cc --version
		for header in libaio.h liburing.h zlib.h; do
			[ -e "/usr/include/$header" ] && echo "$header"
		done
	} | sha256sum | cut -d ' ' -f 1
}

check_tools() {
	for tool in apt-get cc flock make patch sha256sum strip tar; do
		command -v "$tool" >/dev/null || die "$tool is missing"
	done
	[ -e /usr/include/liburing.h ] ||
		die "liburing.h is missing (Debian: liburing-dev)"
}

# The machine's binary sources of Debian 12, as source entries, to the files
# NAME.list and NAME.sources.
source_entries() {
	suites='(^|[ \t])(bookworm|stable|oldstable)(-updates|-security)?([ \t]|$)'

	find /etc/apt/sources.list /etc/apt/sources.list.d -name '*.list' \
		-exec sed -n 's/^deb\([ \t]\)/deb-src\1/p' {} + 2>/dev/null |
	grep -E "$suites" >"$1.list" || :
	find /etc/apt/sources.list.d -name '*.sources' \
		-exec awk 'FNR == 1 { print "" } 1' {} + 2>/dev/null |
	awk -v RS= -v ORS='\n\n' -v suites="$suites" '
		{
			n = split($0, line, "\n")
			found = 0
			for (i = 1; i <= n; i++) {
				if (line[i] ~ /^Suites:/ && line[i] ~ suites)
					found = 1
				sub(/^Types:.*/, "Types: deb-src", line[i])
			}
			if (!found)
				next
			for (i = 1; i < n; i++)
				printf "%s\n", line[i]
			print line[n]
		}' >"$1.sources"
}

# apt-get with everything but the keys to itself.
private_apt() {
	apt_tool=$1
	shift
	"$apt_tool" -q -q \
		-o Dir::Etc::sourcelist=/dev/null \
		-o Dir::Etc::sourceparts="$tmp/sources.d" \
		-o Dir::State="$tmp/state" \
		-o Dir::State::status=/var/lib/dpkg/status \
		-o Dir::Cache="$tmp/cache" \
		-o APT::Sandbox::User= \
		-o APT::Get::List-Cleanup=0 \
		-o Acquire::Languages=none \
		-o Acquire::Retries=3 \
		"$@"
}

good_tarball() {
	[ -e "$1" ] && echo "$sha256  $1" | sha256sum --check --quiet - 2>/dev/null
}

fetch() {
	good_tarball "$cache/$tarball" && return 0

	say "fetching the source of Debian 12's fio $version"
	mkdir -p "$tmp/sources.d" "$tmp/state/lists/partial" \
		"$tmp/cache/archives/partial" "$tmp/source"
	source_entries "$tmp/sources.d/debian"
	# A repository that has nothing for us may fail.
	private_apt apt-get update >"$tmp/update.log" 2>&1 || :
	full=$(private_apt apt-cache showsrc fio 2>/dev/null |
	       sed -n "s/^Version: \($version-.*\)/\1/p" | sort -V | tail -n 1)
	if [ -z "$full" ]; then
		cat "$tmp/update.log" >&2
		die "no source of fio $version in the apt sources for bookworm"
	fi
	(cd "$tmp/source" &&
	 private_apt apt-get source --download-only --only-source "fio=$full") >&2 ||
		die "apt-get source failed"
	good_tarball "$tmp/source/$tarball" ||
		die "$tarball is not the file this patch was made for"
	mv "$tmp/source/$tarball" "$cache/$tarball"
}

unpack() {
	mkdir "$tmp/src"
	tar -xzf "$cache/$tarball" --strip-components 1 -C "$tmp/src"
	patch -s -p 1 -d "$tmp/src" <"$patch" || die "the patch does not apply"
	# shellcheck disable=SC2086 # list of files
	cp $sources "$tmp/src/engines/"
	mkdir -p "$tmp/src/engines/virtblk/linux"
	cp "$top/include/vblk_cmd.h" "$tmp/src/engines/virtblk/"
	cp "$top/include/uapi/linux/virtio_blk.h" "$tmp/src/engines/virtblk/linux/"
}

compile() {
	say "building (a minute or two)"
	(
		cd "$tmp/src"
		# shellcheck disable=SC2086 # list of options
		./configure --cc=cc $features &&
		make -j "$(nproc)" fio
	) >"$tmp/log" 2>&1 || {
		tail -n 40 "$tmp/log" >&2
		die "the build failed"
	}
	# The rest of fio has warnings of its own; ours has to have none.
	if grep -E '^engines/(io_uring|virtblk[^:]*)[.:].*(warning|error):' "$tmp/log" >&2; then
		die "warnings in our part"
	fi
	strip -S "$tmp/src/fio"
}

# Build into the cache unless it is there.
build() {
	check_tools
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
	[ -e "$cache/$key/fio" ] && return 0

	tmp=$(mktemp -d "$cache/tmp.XXXXXX")
	fetch
	unpack
	compile
	mkdir -p "$cache/$key"
	mv "$tmp/src/fio" "$cache/$key/fio"
}

[ $# -eq 1 ] || {
	echo "usage: $0 OUTDIR" >&2
	exit 2
}
trap cleanup EXIT
trap 'exit 130' HUP INT TERM

key=$(input_key)
[ -e "$1/fio" ] && [ "$(cat "$1/fio.key" 2>/dev/null)" = "$key" ] && exit 0

build
mkdir -p "$1"
rm -f "$1/fio.key"
cp "$cache/$key/fio" "$1/fio.new"
mv "$1/fio.new" "$1/fio"
echo "$key" >"$1/fio.key"
