"""Analyses many chess positions at once with Zeitnot, whose program comes with this package.

    import zeitnot
    with zeitnot.Engine() as engine:
        for answer in engine.answers([{"id": 1, "moves": ["e4", "e5"], "plies": "all"}], nodes=400):
            print(answer.ply, answer.best, answer.q)

    for found in zeitnot.evaluate(["startpos"]):
        print(found.q, found.policy["e2e4"])

Keys of queries: help(zeitnot.Keys). Fields of answers: help(zeitnot.Answer).
"""

from importlib import metadata

from .client import Answer, AsyncEngine, Engine, EngineError, Keys, QueryError, RootMove, answers, program
from .evaluation import Evaluation, evaluate

__all__ = [
    "Answer", "AsyncEngine", "Engine", "EngineError", "Evaluation", "Keys", "QueryError", "RootMove", "answers", "evaluate", "program"
]

try:
    __version__ = metadata.version("zeitnot")
except metadata.PackageNotFoundError:
    # From a folder of sources.
    __version__ = "unknown"
