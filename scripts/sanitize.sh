#!/bin/sh
# Runs tests under a sanitizer or under Miri, which need a nightly compiler with its sources:
#   rustup toolchain install nightly && rustup component add --toolchain nightly rust-src miri
#   scripts/sanitize.sh thread|address|miri [cargo test's arguments]
# Without arguments it runs the search's unit tests, under Miri those of the tree and the kernels; docs/results/reliability.md tells what has been run.
# What it builds goes to target/sanitizers, more than 1 GB.
set -eu
cd "$(dirname "$0")/.."
kind=${1:-}
[ $# -eq 0 ] || shift
target=$(rustc +nightly --version --verbose | sed -n 's/^host: //p')
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target/sanitizers/$kind}" CARGO_INCREMENTAL=0
# Debug assertions and overflow checks stay on.
export CARGO_PROFILE_DEV_OPT_LEVEL=1 CARGO_PROFILE_DEV_DEBUG=line-tables-only
case $kind in
thread | address)
    export RUSTFLAGS="-Zsanitizer=$kind ${RUSTFLAGS:-}"
    [ $# -gt 0 ] || set -- -p zeitnot-engine --lib -- search::
    exec cargo +nightly test -Zbuild-std --target "$target" "$@"
    ;;
miri)
    if [ $# = 0 ]; then
        cargo +nightly miri test -p zeitnot-kernels
        set -- -p zeitnot-engine --lib -- search::tree::
    fi
    exec cargo +nightly miri test "$@"
    ;;
*)
    echo "$0: say thread, address or miri" >&2
    exit 2
    ;;
esac
