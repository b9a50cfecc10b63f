#!/bin/sh
# Trains on a GPU for a given time, on a machine that need not reach anything outside: begins, or goes on, with what a folder brings.
# What follows the training, measuring and writing files, takes half a minute more.
#
#   models/training/gpu.sh PACKS OUT SECONDS [train.py's options]
#
# PACKS: a folder with records (*.zng, *.zng.zst), and, to go on with a run, the parts checkpoint.pt.* of an earlier OUT.
# OUT: gets network.pb.gz, metrics.txt, log.jsonl and the checkpoint in parts of at most 15 MB.
# $DATAGEN: the program that reads records (default target/release/zeitnot-datagen). $PYTHON: one with PyTorch (default python3).
# $LAST: set in the last call, whose learning rate falls until its end. $WORK: where the table and the run are kept between calls (default /tmp/zeitnot-training). $DEVICE: cuda unless set.
set -eu
packs=$1 out=$2 seconds=$3
shift 3
until=$(($(date +%s) + seconds))
here=$(dirname "$0")
datagen=${DATAGEN:-target/release/zeitnot-datagen} python=${PYTHON:-python3} work=${WORK:-/tmp/zeitnot-training}

mkdir -p "$work/run" "$out"
if [ ! -e "$work/table/complete" ]; then
    "$datagen" table "$packs"/*.zng* --out "$work/table"
    touch "$work/table/complete"
fi
if [ ! -e "$work/run/checkpoint.pt" ] && [ -e "$packs/checkpoint.pt.aa" ]; then
    cat "$packs"/checkpoint.pt.* >"$work/run/checkpoint.pt"
fi
left=$((until - $(date +%s)))
[ "$left" -gt 0 ] || { echo "no time is left to train: making the table took all $seconds s" >&2; exit 1; }
# Told to stop, it saves; its learning rate follows --positions over all calls.
timeout "$left" "$python" "$here/train.py" "$work/table" "$work/run" --device "${DEVICE:-cuda}" --measure-every 20e6 \
    ${LAST:+--until $((until - 30))} "$@" || [ $? = 124 ]
"$python" "$here/network_file.py" "$work/run/checkpoint.pt" "$out/network.pb.gz"
"$python" "$here/evaluate.py" "$work/table" "$work/run/checkpoint.pt" >"$out/metrics.txt"
cp "$work/run/log.jsonl" "$out"
split -b 15000000 "$work/run/checkpoint.pt" "$out/checkpoint.pt."
