# For those who expect `make`; cargo does the work. OpenBench builds with `make EXE=name EVALFILE=path`.
# The network EVALFILE is built into the program. Relative paths start at this folder.
EXE ?= zeitnot
export EVALFILE ?= models/zeitnot-small.pb.gz
ifeq ($(OS),Windows_NT)
SUFFIX := .exe
endif

.PHONY: build test check-all licences deny clean

build:
	cargo rustc --release -p zeitnot --bin zeitnot -- --emit link=$(EXE)$(SUFFIX)

test:
	cargo test --release

# The tests that need more than Rust and a C compiler, too.
check-all:
	scripts/check_all.sh

# The licences of all that is linked in, for release archives.
licences:
	python3 scripts/licences.py THIRD-PARTY.txt

# Licences, sources and known vulnerabilities of all crates; needs cargo-deny (cargo install --locked cargo-deny) and GitHub.
deny:
	cargo deny check

clean:
	cargo clean
