#!/bin/sh
# Compiles every program here.
#   build.sh          into built/, which is committed
#   build.sh --check  into a temporary directory, and compares with built/
# No debug information: with the same clang the object is the same wherever it is built. Packages: clang, llvm, libbpf-dev.
set -eu
cd "$(dirname "$0")"

compile() {
	for source in *.bpf.c; do
		object=$1/${source%.c}.o
		clang -O2 -target bpf -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-function -ffile-prefix-map="$PWD"=. \
			-I"/usr/include/$(uname -m)-linux-gnu" -c "$source" -o "$object"
		llvm-strip --strip-unneeded "$object"
	done
}

if [ "${1:-}" != --check ]; then
	mkdir -p built
	compile built
	exit
fi

fresh=$(mktemp -d)
trap 'rm -r "$fresh"' EXIT
compile "$fresh"
different=0
for object in "$fresh"/*.o built/*.o; do
	name=$(basename "$object")
	cmp -s "$fresh/$name" "built/$name" || { echo "bpf: built/$name is not what its source gives here"; different=1; }
done
if [ $different = 1 ]; then
	echo "bpf: rebuild with crates/fastpath/bpf/build.sh and commit; the committed objects are made by clang 14 (here: $(clang --version | head -n 1))"
	exit 1
fi
echo "bpf: the committed objects are what the sources give"
