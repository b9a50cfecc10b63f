#!/bin/sh
# From data to network in one command; interrupted, it goes on where it was.
#
#   models/training/make_network.sh WORK_FOLDER PGN [train.py's options]
#
# PGN: tournament games with evaluations (.pgn or .pgn.zst).
# $RECORDS: files of records (.zng or .zng.zst) by `zeitnot-datagen play` and `blunders`, separated by blanks; one that stands twice is
# trained on twice as often.
# Needs cargo, and a Python with models/training/requirements.txt ($PYTHON, default python3).
set -eu
work=$1 pgn=$2
shift 2
here=$(dirname "$0")
python=${PYTHON:-python3}
zeitnot() { cargo run --release --quiet --manifest-path "$here/../../Cargo.toml" -- "$@"; }

mkdir -p "$work"
if [ ! -e "$work/table/complete" ]; then
    zeitnot-datagen import --pgn "$pgn" --out "$work/games.zng.zst"
    # shellcheck disable=SC2086  # a list
    zeitnot-datagen table "$work/games.zng.zst" ${RECORDS:-} --out "$work/table"
    touch "$work/table/complete"
fi
"$python" "$here/train.py" "$work/table" "$work/run" "$@"
"$python" "$here/evaluate.py" "$work/table" "$work/run/checkpoint.pt" --json "$work/metrics.json"
"$python" "$here/network_file.py" "$work/run/checkpoint.pt" "$work/network.pb.gz"
