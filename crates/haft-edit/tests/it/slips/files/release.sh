#!/bin/sh
# Builds a release and signs it.
set -eu

version=${1:?usage: release.sh VERSION}
out="dist/$version"

die() {
	echo "release: $*" >&2
	exit 1
}

check_tree() {
	if [ -n "$(git status --porcelain)" ]; then
		die "the tree is not clean"
	fi
	git rev-parse "v$version" >/dev/null 2>&1 && die "v$version is there already"
	return 0
}

build() {
	mkdir -p "$out"
	for target in linux macos; do
		make TARGET="$target" OUT="$out/$target" || die "cannot build for $target"
		tar -C "$out" -czf "$out/tool-$target.tar.gz" "$target"
	done
}

sign() {
	cd "$out"
	for archive in *.tar.gz; do
		case $archive in
		*-linux.tar.gz) gpg --armor --detach-sign "$archive" ;;
		*) echo "not signed: $archive" ;;
		esac
	done
	printf '%s\n' "$version" > VERSION
}

check_tree
build
sign
