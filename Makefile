# Two commands matter: `make study` and `make test`. The rest serves those who change the code.
.DEFAULT_GOAL := study
.PHONY: fleet site reference schemas prove dist soak verify-frames explain-frames planes readme fuzz miri guest bench-trace study test check clippy bench bench-peers lint bpf help build bench-flood bench-builds bench-budget bench-cache bench-router bench-tester bench-scale bench-bgp-reset bench-capture bench-bfd bench-fleet-tables bench-takeover bench-trace-long bench-spread

# What there is to make, from the comments of this file.
help:
	@awk '/^#/ { said = said " " substr($$0, 3); next } \
		/^[a-z-]+:/ && said { split($$0, name, ":"); sub(/([.;:,] | \().*|\.$$/, "", said); printf "make %-16s%s\n", name[1], said } \
		{ said = "" }' Makefile

# rustup puts cargo here; a shell that was open before may not know yet.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin
CORELANE = target/release/corelane

# Measures how many packets this machine forwards on 1..N cores; leaves report.html and study.json
# here. Options go in ARGS: make study ARGS="--engine memory --quick"
study: build
	@$(CORELANE) study $(ARGS)

# Measures with every engine (as root, on a quiet machine) and puts tables, plot and what the verbs
# print into the README.
readme: study
	scripts/readme-samples >target/samples.md
	scripts/readme-tables study.json target/samples.md

# The program, in target/release.
build:
	@scripts/setup
	cargo build --release --locked -p corelane

# All tests, as root those too that need network namespaces. What cannot run here says "skipped" and
# why; with CORELANE_REQUIRE_ALL=1 it fails, unless .ci/cannot excuses it.
test:
	@scripts/setup test
	@if $(GUEST_TARGET_IS_HERE); then $(MAKE) --no-print-directory guest; \
	else echo "rustup cannot add $(GUEST_TARGET) here: the planes' end-to-end tests will skip"; fi
	@scripts/test

# What a change must pass before it is shown to anybody, without root: formatting, clippy, the length
# of sentences, unit tests.
check: clippy
	@scripts/lint-words
	cargo test --workspace --locked --quiet --lib --bins

# The static program for guest kernels and other places of the user plane (`corelane planes`).
GUEST_TARGET = x86_64-unknown-linux-musl
GUEST_TARGET_IS_HERE = { rustup target list --installed 2>/dev/null | grep -q $(GUEST_TARGET) || rustup target add $(GUEST_TARGET); }
guest:
	@$(GUEST_TARGET_IS_HERE)
	cargo build --profile guest --locked -p agent --target $(GUEST_TARGET)

# The instruments against programs and devices whose answer is known: the lab, the tester, the
# profiler; a table of asked, truth, found, held for each. As root, on a quiet machine, some minutes.
prove:
	@held=true; prove() { cargo run --release --locked --quiet "$$@" || held=false; }; \
	prove -p scaling --example prove_lab; \
	prove -p tester --example prove_tester; \
	prove -p tracer --example prove_profiler -- $(or $(ROUNDS),2) 600; \
	$$held

# What is given to others, in target/packages: a Debian package, an archive and an OCI image of the static
# program, a list of what is in it, checksums. Some ten minutes.
dist:
	@scripts/setup
	scripts/dist

# The planes on one kernel and on several, as root on a quiet machine, up to 20 minutes; leaves
# planes.html and planes.json here and prints the tables as Markdown. Options go in ARGS: make
# planes ARGS=--quick
planes: build guest
	@scripts/setup planes
	@$(CORELANE) planes --json planes.json --html planes.html $(ARGS)
	@$(CORELANE) planes report planes.json --markdown

# The core against what it must hold: the second core's gain, what route changes cost, size,
# building time; then minutes of fuzzing.
bench: build
	@$(CORELANE) study --bounds --engine memory $(addprefix --routes ,$(PREFIXES))
	@cargo run --release --locked --quiet -p fib --example peers changes
	@scripts/fuzz

# A real table for benchmarks, where there is one beside the checkout; else they generate one of the
# Internet's size.
PREFIXES = $(or $(CORELANE_PREFIXES),$(wildcard $(CURDIR)/../shared/data/internet-prefixes.txt.gz))

# The documents as a site with search, in target/site. To look at it: python3 -m http.server
# --directory target/site
site:
	@scripts/setup site
	NO_MKDOCS_2_WARNING=1 target/site-tools/bin/mkdocs build --strict --config-file site/mkdocs.yml

# Every verb's options, every key, metric, reason and form of document, in docs/reference.md, as the
# program tells them.
reference:
	CORELANE_WRITE_REFERENCE=1 cargo test --locked -p corelane --test main -- reference::

# The schemas of documents, in docs/schemas, from the types that the program writes.
schemas:
	CORELANE_WRITE_SCHEMAS=1 cargo test --locked -p corelane --bin corelane -- schemas::

# Minutes of what `make test` fuzzes for seconds. make fuzz SECONDS=600
fuzz:
	@scripts/fuzz $(SECONDS)

# Random configurations and frames in twin beds: the kernel alone beside the router. Needs root. make
# verify-frames SECONDS=7200
verify-frames: build
	$(CORELANE) verify --frames --seconds $(or $(SECONDS),60) $(ARGS)

# Frames that are explained, sent, and compared with what became of them, for each engine in the
# kernel; a quarter as many with workers. Needs root. make explain-frames FRAMES=100000
explain-frames:
	CORELANE_EXPLAIN_FRAMES=$(or $(FRAMES),100000) cargo test --locked -p corelane --test main -- frames_end_as_explained

# Storms and churn around a running router, with traffic: nothing of others is lost, nothing leaks,
# routes are followed as fast as ever. Needs root. make soak SECONDS=28800
soak: export CORELANE_SOAK_SECONDS = $(or $(SECONDS),1800)
soak:
	@scripts/setup test
	cargo test --release --locked -p corelane --test main -- --test-threads 1 --nocapture router::storms router::soak

# One take-over after another under traffic, every tenth new process killed: no frame is lost, and the
# counters go on. Needs root; minutes. make bench-takeover COUNT=1000 ENGINE=xdp
bench-takeover: export CORELANE_TAKE_OVERS = $(or $(COUNT),1000)
bench-takeover: export CORELANE_TAKE_OVER_ENGINE = $(or $(ENGINE),xdp)
bench-takeover:
	@scripts/setup test
	cargo test --release --locked -p corelane --test main -- --test-threads 1 --nocapture router::take_overs

# What each event of a fleet costs: four nodes behind a resilient spreader, each event a hundred times,
# and the kernel alone beside in every fourth. Needs root; a hundred take some 50 minutes,
# REPETITIONS=5 some minutes. Leaves fleet.html and fleet.json. Options go in ARGS: make fleet
# ARGS="--daemon frr"
fleet: build
	@scripts/setup test
	$(CORELANE) lab fleet --nodes 4 --resilient --beside-kernel=4 --repetitions $(or $(REPETITIONS),100) --json fleet.json --html fleet.html $(ARGS)

# BFD sessions of a fleet while more frames come than it can take, for ten minutes: how many go down.
# Needs root; SECONDS=600.
bench-bfd: build
	@scripts/setup test
	$(CORELANE) lab fleet --nodes 4 --event load --repetitions 1 --seconds $(or $(SECONDS),600) $(ARGS)

# Two routers with full tables, compared: how long until they are found alike, and until the one route
# that differs is named. Needs root; ROUTES=900000, a minute.
bench-fleet-tables: export CORELANE_FLEET_ROUTES = $(or $(ROUTES),900000)
bench-fleet-tables:
	@scripts/setup test
	cargo test --release --locked -p corelane --test main -- --test-threads 1 --nocapture router::internet::large_tables

# The memory that threads share, under Miri: readers of tables while they change, and the pools of
# frames. Needs nightly's miri.
miri:
	@scripts/setup miri
	MIRIFLAGS=-Zmiri-disable-stacked-borrows cargo +nightly miri test --locked -p fib --test main --target-dir target/miri -- concurrent
	cargo +nightly miri test --locked -p port --lib --target-dir target/miri -- pool burst memory scattered

# Comparisons with other programs, in one run with ours, interleaved; prints ratios.
bench-peers:
	@scripts/setup bench
	@cargo build --release --locked --workspace
	@for peer in scripts/bench-peers-*; do [ ! -x "$$peer" ] || "$$peer" || exit 1; done

# Formatting and clippy alone.
clippy:
	@scripts/setup
	cargo fmt --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	cargo clippy -p agent --all-targets --locked --quiet -- -D warnings
	@if $(GUEST_TARGET_IS_HERE); then cargo clippy -p corelane --target $(GUEST_TARGET) --locked --quiet -- -D warnings; \
	else echo "skipped: the static program (rustup cannot add $(GUEST_TARGET))"; fi

# Everything that looks at the source without running it.
lint: clippy
	@! git grep -n 'println!("skipped' -- 'crates/*/src' 'crates/*/tests' ':!crates/needs' || { echo "lint: say it with needs::skipped!"; exit 1; }
	@scripts/lint-links
	@scripts/lint-words
	@RUSTDOCFLAGS='-D warnings -A rustdoc::private_intra_doc_links' \
		cargo doc --workspace --no-deps --document-private-items --locked --quiet
	@scripts/lint-javascript
	@if command -v actionlint >/dev/null; then actionlint; \
	else echo "skipped: actionlint (to install: go install github.com/rhysd/actionlint/cmd/actionlint@v1.7.12)"; fi
	@if command -v cargo-deny >/dev/null; then cargo deny --log-level error check bans licenses sources; \
	else echo "skipped: cargo deny check (to install: cargo install --locked cargo-deny)"; fi

# Rebuilds the eBPF programs and compares them with the committed objects;
# crates/fastpath/bpf/build.sh alone replaces these.
bpf:
	@scripts/setup bpf
	crates/fastpath/bpf/build.sh --check

# The router's speed on veth pairs, engines and peers by turns in one run, and how fast it follows
# the kernel. Needs root and some five minutes; prints ratios beside what they must be.
bench-router: build
	scripts/bench-router $(addprefix --routes ,$(PREFIXES)) $(ARGS)

# This build of `corelane run` and others side by side, with strict sources, beside Linux alone;
# WITH=PROGRAM, the one to hold it against; ARGS=--help tells more. Needs root, about two minutes.
bench-builds: build
	cargo run --release --locked --quiet --package dut --example builds -- $(WITH) $(CORELANE) $(ARGS)

# What each step of a frame's way costs in ns, by programs compiled without it, for both families and
# for the whole table and one destination. Needs root, clang and a quiet machine, some 30 minutes;
# leaves budget.json here.
bench-budget:
	@scripts/setup bpf
	cargo run --release --locked --quiet --package dut --example budget -- $(addprefix --routes ,$(PREFIXES)) $(ARGS)

# How long lines stay in the cache that the first core shares with others, neighbours of a virtual
# machine among them. A few seconds, on a quiet machine.
bench-cache:
	cargo run --release --locked --quiet --package dut --example cache_stay

# What capturing costs the frames that are forwarded, by turns on one device, with what it may cost at
# most. Needs root and a quiet machine, some three minutes; ARGS="--rounds 100".
bench-capture:
	cargo run --release --locked --quiet --package dut --example capture_cost -- $(ARGS)

# What a flood of what the kernel must answer does to a BGP session and to forwarding. Needs root
# and bird; SECONDS=60.
bench-flood:
	@scripts/setup test
	scripts/bench-flood $(SECONDS)

# A BGP session with the Internet's table is reset under traffic: how long until all routes are
# back, and what is lost, for Linux alone and for corelane. Needs root and bird; minutes.
bench-bgp-reset: build
	@scripts/setup test
	cargo run --release --locked --quiet --package dut --example bgp_reset -- $(addprefix --routes ,$(PREFIXES)) $(ARGS) $(CORELANE)

# What tracing costs, with what must be reached: slowdown, time for each event beside perf record,
# bytes, analysis, page. Needs root, 40 s.
bench-trace: build
	@scripts/setup bench
	scripts/bench-trace

# What a recording of ten minutes of a contended program asks of memory and time; WINDOW (seconds)
# makes it another length. Needs root, 11 minutes.
bench-trace-long: build
	@scripts/setup bench
	scripts/bench-trace-long

# The tester's speed, with trafgen as its peer in the same run. Needs root and about a minute.
bench-tester:
	@scripts/setup bench
	scripts/bench-tester

# To which node the kernel sends each of many flows, beside dice, for 3 to 8 nodes. Needs root, about
# a minute.
bench-spread:
	@scripts/bench-spread

# What the scaling harness adds to a run, beside hyperfine, and its own test; ARGS=all runs the
# built-in workloads too.
bench-scale: build
	@scripts/setup bench
	scripts/bench-scale $(ARGS)
