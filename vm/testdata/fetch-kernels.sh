#!/bin/sh
# Fetches the kernels that the tests boot, as Debian packages, and unpacks them
# into DIR, FIBCHURN_KERNELS or ~/.cache/fibchurn/kernels. Needs no root, only
# apt's lists ("apt-get update"); what is there already is left alone.
set -eu
dir=${1:-${FIBCHURN_KERNELS:-${XDG_CACHE_HOME:-$HOME/.cache}/fibchurn/kernels}}
mkdir -p "$dir"
cd "$dir"

# fetch NAME PATTERN: the newest package whose name matches.
fetch() {
	[ -d "$1" ] && return
	package=$(apt-cache search --names-only "$2" | cut -d' ' -f1 | sort -V | tail -n 1)
	if [ -z "$package" ]; then
		echo "fetch-kernels: apt knows no package for $1 ($2); try apt-get update" >&2
		exit 1
	fi
	rm -rf "$1.new"
	mkdir "$1.new"
	(cd "$1.new" && apt-get download -q "$package")
	dpkg -x "$1.new"/*.deb "$1.new"
	rm "$1.new"/*.deb
	chmod -R a+rX "$1.new"
	mv "$1.new" "$1"
	echo "$1: $package"
}

fetch linux-6.1 '^linux-image-6\.1\.[0-9]+-[0-9]+-cloud-amd64$'
fetch linux-6.12 '^linux-image-6\.12\.[0-9]+.*-cloud-amd64$'
fetch uml '^user-mode-linux$'
