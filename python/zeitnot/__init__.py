"""Analyses many chess positions at once with Zeitnot, whose program comes with this package.

    import zeitnot
    for answer in zeitnot.answers([{"id": 1, "moves": ["e4", "e5"], "plies": "all", "nodes": 400}]):
        print(answer["ply"], answer["best"], answer["q"])

Keys of queries and answers: docs/guide/serve.md. `python -m zeitnot e4 e5` prints a game.
"""

import json
import subprocess
import sysconfig
from pathlib import Path


def program():
    """Returns the program: the one beside this Python, else that of the path."""
    installed = Path(sysconfig.get_path("scripts"), "zeitnot" + (sysconfig.get_config_var("EXE") or ""))
    return str(installed) if installed.exists() else "zeitnot"


def answers(queries, engine=None):
    """Yields the answers to `queries` as soon as they come. `engine` is the program with flags, if need be, as a list."""
    name, *flags = engine or [program()]
    with subprocess.Popen([name, "serve", *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        for query in queries:
            server.stdin.write(json.dumps(query) + "\n")
        server.stdin.close()
        yield from map(json.loads, server.stdout)
