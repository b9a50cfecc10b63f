#!/usr/bin/env bash
# Runs all tests, also those that need more than Rust and a C compiler, and counts at the end what ran and what could not. Before them
# the lints see what is compiled for macOS and Windows alone.
#
#     scripts/check_all.sh [--only-ignored]
#
# Wanted, and skipped with a word where missing: Python with pip, online once (ONNX Runtime, OpenVINO, Syzygy tables),
# Mesa's Vulkan drivers from version 25 on, strace, Chromium, and what scripts/release.py needs. With --only-ignored the lints and the
# tests that need none of this are left out.
set -uo pipefail
cd "$(dirname "$0")/.."
which=--include-ignored
[ "${1:-}" != --only-ignored ] || which=--ignored
lints=0
for target in aarch64-apple-darwin x86_64-pc-windows-gnu; do
    [ "$which" = --include-ignored ] || continue
    if command -v cargo-zigbuild >/dev/null && rustup target list --installed 2>/dev/null | grep -qx "$target"; then
        cargo-zigbuild clippy --all-targets --target "$target" -- -D warnings || lints=1
    else
        echo "SKIPPED: the lints for $target, for cargo-zigbuild or the target is not installed"
    fi
done
# Nothing else fetches it, and the tests inside the library need it.
cargo run --release --quiet -- setup || echo "ONNX Runtime could not be set up: what needs it is skipped" >&2
log=$(mktemp) skipped=$(mktemp)
trap 'rm -f "$log" "$skipped"' EXIT
ZEITNOT_SKIPPED=$skipped cargo test --release --no-fail-fast -- "$which" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
sort -u "$skipped"
awk -v skipped="$(sed 's/: .*//' "$skipped" | sort -u | wc -l)" '
    /^test result: / { passed += $4; failed += $6 }
    END { printf "%d passed, %d failed, %d skipped\n", passed - skipped, failed, skipped }' "$log"
exit $((status | lints))
