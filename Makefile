# Two commands matter: `make study` and `make test`. The rest serves those who change the code.
.PHONY: study test lint build bpf

build:
	cargo build --release

test:
	cargo test --workspace --quiet

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings

# Rebuilds the eBPF programs and compares them with the committed objects; crates/fastpath/bpf/build.sh alone replaces these.
bpf:
	crates/fastpath/bpf/build.sh --check
