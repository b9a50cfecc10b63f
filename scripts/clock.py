#!/usr/bin/env python3
"""Proofs of time management against a real clock; needs python-chess (pip install chess).

  clock.py ENGINE games --time 1 --inc 0.01 --games 200 --at-once 3     plays itself: no game may be lost on time
  clock.py ENGINE load --busy 4 --moves 1000                            when bestmove comes, beside busy processes
  clock.py ENGINE nodestime --busy 4 --plies 120                        the same game idle and beside busy processes
  clock.py ENGINE latency                                               moves while each batch takes half a second

What follows -- goes to the engine. Measure on a machine that does nothing else; exit code 1 means that the proof failed.
"""
import argparse, contextlib, hashlib, random, re, statistics, subprocess, sys, threading, time
import chess, chess.engine

OPENINGS = ["e2e4 e7e5", "d2d4 d7d5", "c2c4 e7e5", "g1f3 d7d5", "e2e4 c7c5", "d2d4 g8f6", "e2e4 e7e6", "c2c4 c7c5"]


def start(args, *flags):
    return chess.engine.SimpleEngine.popen_uci([args.engine, "--threads=1", "--verbose-time", *flags, *args.flags])


@contextlib.contextmanager
def busy_processes(count):
    spinning = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()


def play(engines, opening, clock, inc, on_move, max_plies=500, flags=True):
    """Plays a game by the clock; returns the plies and the side whose flag fell, if flags fall at all."""
    board, game = chess.Board(), object()
    for move in opening.split():
        board.push_uci(move)
    clock = [clock, clock]
    while not board.is_game_over(claim_draw=True) and len(board.move_stack) < max_plies:
        side = int(not board.turn)
        white, black = (max(left, 0.001) for left in clock)
        limit = chess.engine.Limit(white_clock=white, black_clock=black, white_inc=inc, black_inc=inc)
        began = time.perf_counter()
        result = engines[side].play(board, limit, game=game, info=chess.engine.INFO_ALL)
        clock[side] -= time.perf_counter() - began
        on_move(result, clock[side])
        if clock[side] < 0 and flags:
            return len(board.move_stack), side
        clock[side] += inc
        board.push(result.move)
    return len(board.move_stack), None


def games(args):
    todo, lost, smallest, plies = list(range(args.games)), [], [], []

    def run():
        engines = [start(args) for _ in range(2)]
        while todo:
            number = todo.pop()
            note = lambda _, left: smallest.append(left)
            length, flag = play(engines, OPENINGS[number % len(OPENINGS)], args.time, args.inc, note)
            plies.append(length)
            if flag is not None:
                lost.append(number)
        for engine in engines:
            engine.quit()

    threads = [threading.Thread(target=run) for _ in range(args.at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{len(plies)} games at {args.time}+{args.inc} s, {args.at_once} at once: {len(lost)} lost on time, smallest clock "
          f"{1000 * min(smallest):.0f} ms, mean length {statistics.mean(plies):.0f} plies")
    return not lost and len(plies) == args.games


class Pipe:
    """The engine behind bare pipes, so that nothing but the system stands between its `bestmove` and our clock."""

    def __init__(self, args):
        command = [args.engine, "--threads=1", "--verbose-time", *args.flags]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.ask("isready", b"readyok")

    def send(self, *lines):
        self.process.stdin.write("".join(line + "\n" for line in lines).encode())
        self.process.stdin.flush()

    def ask(self, command, start):
        """Sends a command; returns the lines up to the one that begins with `start`, and the seconds until it came."""
        began, lines = time.perf_counter(), []
        self.send(command)
        while not lines or not lines[-1].startswith(start):
            lines.append(self.process.stdout.readline())
            assert lines[-1], "the engine has gone"
        return lines, time.perf_counter() - began

    def quit(self):
        self.send("quit")
        self.process.wait()


def load(args):
    random.seed(1)
    late, own = [], []
    with busy_processes(args.busy):
        engine = Pipe(args)
        while len(late) < args.moves:
            board = chess.Board()
            for _ in range(random.randrange(60)):
                if not board.is_game_over():
                    board.push(random.choice(list(board.legal_moves)))
            if board.is_game_over():
                continue
            engine.send("ucinewgame", f"position fen {board.fen()}")
            engine.ask("isready", b"readyok")
            lines, seconds = engine.ask("go wtime 1000 btime 1000 winc 10 binc 10", b"bestmove")
            report = next(line for line in reversed(lines) if line.startswith(b"info string time ")).decode()
            figure = lambda key: float(re.search(rf"{key}=([\d.]+)", report)[1])
            late.append(1000 * seconds - figure("budget_ms"))
            own.append(1000 * seconds - figure("used_ms"))
        engine.quit()
    late.sort()
    share = sum(ms <= 10 for ms in late) / len(late)
    print(f"{len(late)} moves beside {args.busy} busy processes: bestmove came {statistics.median(late):+.1f} ms from the budget in the "
          f"median, {late[-1]:+.1f} at worst; {100 * share:.2f} % within 10 ms after it. By the engine's own clock it was out "
          f"{statistics.median(own):.1f} ms earlier in the median, {max(own):.1f} at most")
    return share >= 0.99


def nodestime(args):
    def game(busy):
        moves = []
        with busy_processes(busy):
            # The batch that is best on this machine is measured at each start.
            engines = [start(args, "--nodestime=2", "--minibatch-size=8") for _ in range(2)]
            note = lambda result, _: moves.append((result.move.uci(), result.info.get("nodes")))
            # After the first move the engine ignores the GUI's clock, and so does this game.
            play(engines, OPENINGS[0], 20.0, 0.1, note, max_plies=args.plies, flags=False)
            for engine in engines:
                engine.quit()
        fingerprint = hashlib.sha256(repr(moves).encode()).hexdigest()[:16]
        print(f"beside {busy} busy processes: {len(moves)} moves, fingerprint {fingerprint}")
        return moves

    return game(0) == game(args.busy)


def latency(args):
    engine = start(args, "--backend=simulated(latency-us=500000)")
    worst, board = 0.0, chess.Board()
    for move in ["e2e4", "e7e5", "g1f3"]:
        began = time.perf_counter()
        engine.play(board, chess.engine.Limit(white_clock=1, black_clock=1), game=1)
        worst = max(worst, time.perf_counter() - began)
        board.push_uci(move)
    engine.quit()
    print(f"clock of 1 s, batches of 0.5 s: {1000 * worst:.0f} ms for the slowest of three moves")
    return worst < 0.2


def main():
    command = sys.argv[1:]
    flags = command[command.index("--") + 1:] if "--" in command else []
    command = command[:command.index("--")] if "--" in command else command
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("engine")
    proofs = parser.add_subparsers(required=True)
    for name, proof, options in [
        ("games", games, [("--time", 1.0), ("--inc", 0.01), ("--games", 200), ("--at-once", 3)]),
        ("load", load, [("--busy", 4), ("--moves", 1000)]),
        ("nodestime", nodestime, [("--busy", 4), ("--plies", 120)]),
        ("latency", latency, []),
    ]:
        own = proofs.add_parser(name)
        own.set_defaults(proof=proof)
        for option, default in options:
            own.add_argument(option, type=type(default), default=default)
    args = parser.parse_args(command)
    args.flags = flags
    return 0 if args.proof(args) else 1


if __name__ == "__main__":
    sys.exit(main())
