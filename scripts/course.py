#!/usr/bin/env python3
"""How score and best move change while a search's tree grows; needs python-chess (pip install chess).

  course.py ENGINE GAMES.pgn [--positions 300] [--nodes 16384] [-- FLAGS OF THE ENGINE]

Takes a position from each game, searches it, and looks at it each time its nodes have doubled. src/lab/replay/course.rs models that.
"""
import argparse, random, re, subprocess, sys
import chess.pgn

MOVE = re.compile(r"info string (\S+) .*?N: *(\d+) .*?\(Q: *(-?[\d.]+)\)")


class Engine:
    def __init__(self, command):
        flags = ["--threads=1", "--minibatch-size=8", "--smart-pruning-factor=0", "--verbose-move-stats"]
        self.process = subprocess.Popen([*command, *flags], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, command, start):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        lines = []
        while not lines or not lines[-1].startswith(start):
            lines.append(self.process.stdout.readline())
            assert lines[-1], "the engine has gone"
        return lines

    def look(self, nodes):
        """Searches on to `nodes`; returns the root's Q, the most visited move and the one with the best Q."""
        moves = {match[1]: (int(match[2]), float(match[3])) for match in map(MOVE.match, self.ask(f"go nodes {nodes}", "bestmove")) if match}
        _, q = moves.pop("node")
        visited = [move for move in moves if moves[move][0]]
        return q, max(visited, key=lambda move: moves[move][0]), max(visited, key=lambda move: moves[move][1])


def positions(games, count):
    random.seed(7)
    while count and (game := chess.pgn.read_game(games)):
        moves = list(game.mainline_moves())
        if len(moves) < 60:
            continue
        board = game.board()
        for move in moves[:random.randrange(16, len(moves) - 4)]:
            board.push(move)
        if board.legal_moves.count() > 1:
            count -= 1
            yield board.fen()


def main():
    command = sys.argv[1:]
    flags = command[command.index("--") + 1:] if "--" in command else []
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    parser.add_argument("games", type=argparse.FileType())
    parser.add_argument("--positions", type=int, default=300)
    parser.add_argument("--nodes", type=int, default=16384)
    args = parser.parse_args(command[:command.index("--")] if "--" in command else command)
    engine = Engine([args.engine, *flags])
    sizes = [2**k for k in range(3, args.nodes.bit_length())]
    looks = {size: [] for size in sizes}
    for fen in positions(args.games, args.positions):
        engine.ask(f"ucinewgame\nposition fen {fen}\nisready", "readyok")
        for size in sizes:
            looks[size].append(engine.look(size))
    print("nodes  Q by > 0.02  > 0.05  > 0.1  another move  not the best by Q   (% of", len(looks[sizes[0]]), "positions)")
    for before, size in zip(sizes, sizes[1:]):
        pairs = list(zip(looks[before], looks[size]))
        share = lambda test: 100 * sum(test(a, b) for a, b in pairs) / len(pairs)
        beyond = [share(lambda a, b: abs(a[0] - b[0]) > least) for least in (0.02, 0.05, 0.1)]
        changed, other = share(lambda a, b: a[1] != b[1]), share(lambda a, b: b[1] != b[2])
        print(f"{size:5}  {beyond[0]:11.1f}  {beyond[1]:6.1f}  {beyond[2]:5.1f}  {changed:12.1f}  {other:17.1f}")


if __name__ == "__main__":
    main()
