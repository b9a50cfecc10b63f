#!/usr/bin/env bash
# Runs the kernels' tests as older processors would: under qemu-user, whose processors lack AVX-512 or AVX2 whatever this one has, and
# for ARM64 where Rust's target and zig are installed. AVX-512 cannot be emulated: a processor that has it runs all
# kernels in the ordinary tests, with and without bf16.
#
# Needs qemu-user; for ARM64 what scripts/release.py needs, too.
set -euo pipefail
cd "$(dirname "$0")/.."
# Emulation is a hundred times slower, and the ordinary tests have tried more.
export PROPTEST_CASES=${PROPTEST_CASES:-16}

logs=$(mktemp -d)
trap 'jobs -p | xargs -r kill; rm -rf "$logs"' EXIT

# Lists the test programs of the kernels and of the engine. `cargo` builds them, or what CARGO names for another machine. All libraries
# are named, as `cargo test --release` has then built them already: of one package alone the crates would have other features.
programs() {
    local build=("${CARGO:-cargo}" test --release --lib --test definitions --no-run --message-format=json-render-diagnostics ${TARGET:+--target "$TARGET"})
    "${build[@]}" | sed -n 's/.*"name":"\(definitions\|zeitnot_engine\)".*"executable":"\([^"]*\)".*/\1 \2/p' >"$logs/programs"
}

# Runs the tests of the kernels, and the engine's with them, by the emulator and its options.
tests() {
    local package program
    while read -r package program; do
        local names=()
        [ "$package" = definitions ] || names=(native:: policy_map)
        "$@" "$program" --test-threads=1 --skip bf16 "${names[@]}" </dev/null
    done <"$logs/programs"
}

if ! command -v qemu-x86_64 >/dev/null; then
    echo "SKIPPED: qemu-user is not installed"
    exit 0
fi
if [ "$(uname -m)" = x86_64 ]; then
    programs
    # Both at once: each takes one core.
    tests qemu-x86_64 -cpu Nehalem >"$logs/Nehalem" 2>&1 &
    nehalem=$!
    echo "== Haswell"
    tests qemu-x86_64 -cpu Haswell
    echo "== Nehalem"
    wait "$nehalem" || { cat "$logs/Nehalem"; exit 1; }
    cat "$logs/Nehalem"
fi
arm=aarch64-unknown-linux-gnu
if rustup target list --installed 2>/dev/null | grep -qx "$arm" && command -v cargo-zigbuild >/dev/null &&
    [ -e /usr/aarch64-linux-gnu ]; then
    echo "== ARM64"
    export CARGO=cargo-zigbuild TARGET=$arm
    programs
    tests qemu-aarch64 -L /usr/aarch64-linux-gnu
else
    echo "SKIPPED: ARM64, for its target, cargo-zigbuild or libc6-arm64-cross is not installed"
fi
