# Two commands matter: `make study` and `make test`. The rest serves those who change the code.
.PHONY: study test lint build

build:
	cargo build --release

test:
	cargo test --workspace --quiet

lint:
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
