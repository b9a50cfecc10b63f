#!/usr/bin/env bash
# Runs the kernels' tests as older processors would: under qemu-user, whose processors lack AVX-512 or AVX2 whatever this one has, and
# for ARM64 where Rust's target and zig are installed. AVX-512 cannot be emulated: a processor that has it runs all
# kernels in the ordinary tests, with and without bf16.
#
# Needs qemu-user; for ARM64 what scripts/release.py needs, too.
set -euo pipefail
cd "$(dirname "$0")/.."
tests=(kernels:: native:: policy_map)
# Emulation is a hundred times slower, and the ordinary tests have tried more.
export PROPTEST_CASES=${PROPTEST_CASES:-16}

# Prints the program of the unit tests, which `cargo` builds, or `cargo-zigbuild` for another machine. All libraries are named, as
# `cargo test` has then built it already: of one package alone the crates would have other features.
program() {
    "$1" test --lib --no-run --message-format=json-render-diagnostics "${@:2}" |
        sed -n 's/.*"name":"zeitnot_engine".*"executable":"\([^"]*\)".*/\1/p' | tail -n 1
}

if ! command -v qemu-x86_64 >/dev/null; then
    echo "SKIPPED: qemu-user is not installed"
    exit 0
fi
if [ "$(uname -m)" = x86_64 ]; then
    own=$(program cargo)
    for processor in Nehalem Haswell; do
        echo "== $processor"
        qemu-x86_64 -cpu "$processor" "$own" --test-threads=1 --skip bf16 "${tests[@]}"
    done
fi
arm=aarch64-unknown-linux-gnu
if rustup target list --installed 2>/dev/null | grep -qx "$arm" && command -v cargo-zigbuild >/dev/null &&
    [ -e /usr/aarch64-linux-gnu ]; then
    echo "== ARM64"
    qemu-aarch64 -L /usr/aarch64-linux-gnu "$(program cargo-zigbuild --target "$arm")" --test-threads=1 --skip bf16 "${tests[@]}"
else
    echo "SKIPPED: ARM64, for its target, cargo-zigbuild or libc6-arm64-cross is not installed"
fi
