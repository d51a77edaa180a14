#!/bin/sh
# Compiles every program here, into objects that any loader of libbpf's form reads.
#   build.sh          into built/, which is committed
#   build.sh --check  into a temporary directory, and compares with built/
#   build.sh --one SOURCE OBJECT [FLAG...]  one, as `make bench-budget` needs it
# The objects keep their types (BTF) with line information by relative paths, and no DWARF: with the
# same clang and bpftool the object is the same wherever it is built. Packages: clang, llvm, libbpf-dev, bpftool.
set -eu
cd "$(dirname "$0")"
PATH=$PATH:/usr/sbin:/sbin

# one SOURCE OBJECT [FLAG...]
one() {
	source=$1 object=$2
	shift 2
	clang -O2 -g -target bpf -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-function -ffile-prefix-map="$PWD"=. \
		-I"/usr/include/$(uname -m)-linux-gnu" "$@" -c "$source" -o "$object.unlinked"
	llvm-strip -g "$object.unlinked"
	# Fills in where each variable of a section lies, which the kernel asks of types.
	bpftool gen object "$object" "$object.unlinked"
	rm "$object.unlinked"
}

compile() {
	for source in *.bpf.c; do
		one "$source" "$1/${source%.c}.o"
	done
}

if [ "${1:-}" = --one ]; then
	shift
	one "$@"
	exit
fi

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
	echo "bpf: rebuild with crates/fastpath/bpf/build.sh and commit; the committed objects are made by clang 14 (here: $(clang --version | head -n 1)) and bpftool 7.1 (here: $(bpftool version | head -n 1))"
	exit 1
fi
echo "bpf: the committed objects are what the sources give"
