#!/bin/sh
# Builds the two kernels of docs/tour.md: Debian's 6.12 as User-Mode Linux, without
# and with a patch. Needs no root.
#
#   build-kernels.sh DIR [PATCH]
#
# DIR/base/linux and DIR/patched/linux are the kernels, DIR/src is their source.
# PATCH is fib_trie.patch beside this script unless it is given. What is in DIR
# already is used again: with another PATCH, only the files that it changes are
# compiled. JOBS says how many compilers run at once (all CPUs).
set -eu
fail() { echo "build-kernels: $2" >&2; exit "$1"; }
[ $# -ge 1 ] && [ $# -le 2 ] || fail 2 "usage: build-kernels.sh DIR [PATCH]"
here=$(cd "$(dirname "$0")" && pwd)
patch=${2:-$here/fib_trie.patch}
[ -r "$patch" ] || fail 2 "$patch: cannot be read"
patch=$(realpath "$patch")
for tool in gcc make flex bison bc xz patch apt-get dpkg; do
	command -v "$tool" >/dev/null ||
		fail 4 "no $tool; this helps: apt-get install gcc libc6-dev make flex bison bc xz-utils patch"
done
mkdir -p "$1"
dir=$(cd "$1" && pwd -P) # the same by whatever link
jobs=${JOBS:-$(nproc)}

if [ ! -d "$dir/src" ]; then
	echo "build-kernels: fetching linux-source-6.12"
	rm -rf "$dir/fetched" "$dir/src.new"
	mkdir "$dir/fetched" "$dir/src.new"
	(cd "$dir/fetched" && apt-get download -q linux-source-6.12) ||
		fail 4 "apt has no linux-source-6.12; this may help: apt-get update"
	dpkg -x "$dir"/fetched/*.deb "$dir/fetched"
	tar -xf "$dir"/fetched/usr/src/linux-source-6.12.tar.xz --strip-components=1 -C "$dir/src.new"
	rm -rf "$dir/fetched"
	mv "$dir/src.new" "$dir/src"
fi

# A patch that an interrupted call has left in the source is taken out.
unpatch() {
	[ ! -f "$dir/applied.patch" ] || patch -s -R -p1 -d "$dir/src" <"$dir/applied.patch"
	rm -f "$dir/applied.patch"
}
unpatch
trap unpatch EXIT
trap 'exit 130' INT TERM

# The same sources give the same kernel.
export ARCH=um KBUILD_BUILD_TIMESTAMP=1970-01-01 KBUILD_BUILD_VERSION=1 KBUILD_BUILD_USER=tour KBUILD_BUILD_HOST=tour
if [ ! -f "$dir/build/.config" ]; then
	mkdir -p "$dir/build"
	make -s -C "$dir/src" O="$dir/build" tinyconfig
	(cd "$dir/build" && "$dir/src/scripts/kconfig/merge_config.sh" -m -O . .config "$here/kernel.config" >/dev/null)
	make -s -C "$dir/src" O="$dir/build" olddefconfig
	grep '^CONFIG_' "$here/kernel.config" | while read -r option; do
		grep -qx "$option" "$dir/build/.config" || fail 1 "this kernel does not take $option"
	done || { rm "$dir/build/.config"; exit 1; }
fi

# build NAME
build() {
	echo "build-kernels: building $1"
	make -s -C "$dir/src" O="$dir/build" -j "$jobs" linux
	mkdir -p "$dir/$1"
	cp "$dir/build/linux" "$dir/$1/linux"
}
build base
patch -s --dry-run -p1 -d "$dir/src" <"$patch" || fail 1 "$patch does not apply to $dir/src"
cp "$patch" "$dir/applied.patch"
patch -s -p1 -d "$dir/src" <"$patch"
build patched
ls -l "$dir/base/linux" "$dir/patched/linux"
