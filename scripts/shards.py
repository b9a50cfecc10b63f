"""Spreads a zeitnot command over the workers of a Dask cluster and puts the parts together.

    python scripts/shards.py SHARDS FOLDER zeitnot match --games 1000 ...
"""

import os
import subprocess
import sys
from pathlib import Path

from dask.distributed import Client


def run_shard(command, shard, shards, folder):
    """Runs one part. One that was stopped and comes to the same folder again goes on where it was: of `match` always, of `movesleft` with --resume."""
    out = Path(folder, f"shard-{shard}")
    subprocess.run([*command, f"--shard={shard}/{shards}", f"--out={out}"], check=True)
    return [(f"shard-{shard}/{path.name}", path.read_bytes()) for path in sorted(out.glob("*.csv"))]


if __name__ == "__main__":
    shards, folder, *command = sys.argv[1:]
    address = os.environ.get("DASK_SCHEDULER")  # host:port; without it, workers on this machine
    with Client(address) if address else Client(n_workers=2, threads_per_worker=1) as client:
        parts = client.map(lambda i: run_shard(command, i, shards, folder), range(1, int(shards) + 1))
        rows = dict(row for part in client.gather(parts) for row in part)
    for name, text in rows.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
    files = [str(Path(folder, name)) for name in rows]
    sys.exit(subprocess.run([command[0], "report", *files, "--out", folder]).returncode)
