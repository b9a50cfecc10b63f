#!/usr/bin/env bash
# Runs the kernels' tests as older processors would: under qemu-user, whose processors lack AVX-512 or AVX2 whatever this one has, and
# for ARM64 where Rust's target and a cross compiler are installed. AVX-512 cannot be emulated: a processor that has it runs all
# kernels in the ordinary tests, with and without bf16.
#
# Needs qemu-user; for ARM64 `rustup target add aarch64-unknown-linux-gnu` and gcc-aarch64-linux-gnu, too.
set -euo pipefail
cd "$(dirname "$0")/.."
tests=(kernels:: native:: policy_map)
# Emulation is a hundred times slower, and the ordinary tests have tried more.
export PROPTEST_CASES=${PROPTEST_CASES:-16}

# Prints the program of the unit tests.
program() {
    cargo test --release -p zeitnot-engine --lib --no-run --message-format=json-render-diagnostics "$@" |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}

if ! command -v qemu-x86_64 >/dev/null; then
    echo "SKIPPED: qemu-user is not installed"
    exit 0
fi
if [ "$(uname -m)" = x86_64 ]; then
    own=$(program)
    for processor in Nehalem Haswell; do
        echo "== $processor"
        qemu-x86_64 -cpu "$processor" "$own" --test-threads=1 --skip bf16 "${tests[@]}"
    done
fi
arm=aarch64-unknown-linux-gnu
if rustup target list --installed 2>/dev/null | grep -q "^$arm" && command -v aarch64-linux-gnu-gcc >/dev/null; then
    export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
    echo "== ARM64"
    qemu-aarch64 -L /usr/aarch64-linux-gnu "$(program --target "$arm")" --test-threads=1 --skip bf16 "${tests[@]}"
else
    echo "SKIPPED: ARM64, for its target or cross compiler is not installed"
fi
