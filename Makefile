# For those who expect `make`; cargo does the work. OpenBench builds with `make EXE=name EVALFILE=path`.
# The network EVALFILE is built into the program; relative paths count from this folder. The laboratory is left out.
EXE ?= zeitnot
export EVALFILE ?= models/zeitnot-small.pb.gz
ifeq ($(OS),Windows_NT)
SUFFIX := .exe
endif

.PHONY: build test clean

build:
	cargo rustc --release --no-default-features --features embed --bin zeitnot -- --emit link=$(EXE)$(SUFFIX)

test:
	cargo test --release

clean:
	cargo clean
