"""Analyses many chess positions at once with Zeitnot, whose program comes with this package.

    import zeitnot
    with zeitnot.Engine() as engine:
        for answer in engine.answers([{"id": 1, "moves": ["e4", "e5"], "plies": "all"}], nodes=400):
            print(answer.ply, answer.best, answer.q)

Keys of queries and fields of answers: docs/guide/serve.md.
"""

from .client import Answer, AsyncEngine, Engine, EngineError, QueryError, RootMove, answers, program

__all__ = ["Answer", "AsyncEngine", "Engine", "EngineError", "QueryError", "RootMove", "answers", "program"]
