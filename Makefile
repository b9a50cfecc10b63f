# For those who expect `make`; cargo does the work. OpenBench builds with `make EXE=name`.
EXE ?= zeitnot
ifeq ($(OS),Windows_NT)
SUFFIX := .exe
endif

.PHONY: build test clean

build:
	cargo rustc --release --bin zeitnot -- --emit link=$(EXE)$(SUFFIX)

test:
	cargo test --release

clean:
	cargo clean
