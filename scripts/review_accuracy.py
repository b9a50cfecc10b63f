#!/usr/bin/env python3
"""Compares the marks of `zeitnot analyse` with those that lichess' evaluations give, and fits what the marks depend on.

    zeitnot analyse evaluated.pgn --out analysis
    scripts/review_accuracy.py evaluated.pgn analysis/analysis.jsonl

The games need lichess' `[%eval]` behind every move. The first lines tell what the analysis marked. The others fit on each half
of the games, and mark those of the other half: the slope of `winning_chances` (crates/lab/src/score.rs), by least squares of the
chances, and the margin by which a loss must exceed the limit of its mark, so that 77 of 100 marks are right. *With the reply*,
a position whose reply was the search's move counts with the mean of its own chances and those behind the reply. The journal
needs no end: the games that it has are compared. Needs nothing of Python but its standard library.
"""

import json
import math
import re
import sys

WORD = re.compile(r"\{([^}]*)\}|([()])|\$(\d+)|([^\s(){}]+)")
MARKS = {6: 1, 2: 2, 4: 3}
LIMITS = (5, 10, 15)
# A score by lichess' formula: centipawns, at most 1000.
STEEPNESS = 0.00368208
START = "0.15"
# That of the program, and the share of marks that should be right.
SLOPE, GOAL = 0.7, 0.77


def games(text):
    """The games as lists of moves: comment, mark, and whether another move was shown as better."""
    for game in re.split(r"(?=^\[Event )", text, flags=re.M):
        moves, depth = [], 0
        for comment, bracket, glyph, word in WORD.findall(re.sub(r'^\[\w+ ".*"\]\s*$', "", game, flags=re.M)):
            if bracket:
                depth += 1 if bracket == "(" else -1
                moves[-1]["other"] = True
            elif depth or re.fullmatch(r"\d+\.+|1-0|0-1|1/2-1/2|\*", word):
                continue
            elif comment:
                moves[-1]["comment"] += " " + comment
            elif glyph:
                moves[-1]["mark"] = MARKS.get(int(glyph), 0)
            else:
                moves.append({"comment": "", "mark": 0, "other": False})
        if moves:
            yield moves


def score(move):
    """White's score: centipawns and moves to mate, of which one is None."""
    found = re.search(r"\[%eval (#?)(-?[\d.]+)", move["comment"])
    if not found:
        return None
    return (None, int(found[2])) if found[1] else (100 * float(found[2]), None)


def chances(found):
    """White's winning chances of a score, percent."""
    centipawns, mate = found
    if mate is not None:
        centipawns = math.copysign(1000, mate)
    return 100 / (1 + math.exp(-STEEPNESS * max(-1000, min(1000, centipawns))))


def expected(move):
    """What the search expects of White, 0 to 1, nowhere quite certain."""
    found = re.search(r"wdl=(\d+)/(\d+)/(\d+)", move["comment"])
    win, draw, _ = map(int, found.groups())
    return min(max((win + draw / 2) / 1000, 0.0005), 0.9995)


def logit(share):
    return math.log(share / (1 - share))


def player_chances(move, slope):
    return 100 / (1 + math.exp(-slope * logit(expected(move))))


def mark(ply, before, after, wins, margin=0):
    """The mark of a move by the scores and White's chances before and after it, as lichess gives them."""
    sign = 1 if ply % 2 == 0 else -1
    if before is None or after is None:
        return 0
    (_, mate_before), (_, mate_after) = before, after
    won = [mate is not None and sign * mate > 0 for mate in (mate_before, mate_after)]
    lost = [mate is not None and sign * mate < 0 for mate in (mate_before, mate_after)]
    own = [win if sign > 0 else 100 - win for win in wins]
    if won[0] and not won[1]:
        clear = own[1]
    elif mate_before is None and lost[1]:
        clear = 100 - own[0]
    elif mate_before is not None or mate_after is not None:
        return 0
    else:
        return sum(own[0] - own[1] >= limit + margin for limit in LIMITS)
    return 1 if clear >= 97.5 else 2 if clear >= 92.9 else 3


def accuracy(wins, side):
    """lichess' accuracy of White (0) or Black (1) over a game, percent."""
    moves = len(wins) - 1
    window = min(max(2, min(8, moves // 10)), len(wins))

    def deviation(values):
        mean = sum(values) / len(values)
        return math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))

    weighted = weights = inverse = count = 0
    for ply in range(side, moves, 2):
        start = min(max(0, ply + 2 - window), len(wins) - window)
        weight = max(0.5, min(12, deviation(wins[start : start + window])))
        loss = max(0, (wins[ply] - wins[ply + 1]) * (1 if side == 0 else -1))
        one = min(100, max(0, 103.1668100711649 * math.exp(-0.04354415386753951 * loss) - 2.166924740191411))
        weighted, weights, inverse, count = weighted + weight * one, weights + weight, inverse + 1 / max(1, one), count + 1
    return (weighted / weights + count / inverse) / 2 if count else None


def share(part, whole):
    return f"{part} of {whole} ({100 * part / max(1, whole):.0f} %)"


class Count:
    """Marks of an analysis beside those of lichess."""

    def __init__(self):
        self.own = self.right = self.bad = self.found = self.blunders = self.blunders_found = 0

    def add(self, own, truth):
        self.own += own >= 2
        self.right += own >= 2 and truth >= 2
        self.bad += truth >= 2
        self.found += own >= 2 and truth >= 2
        self.blunders += truth == 3
        self.blunders_found += own >= 2 and truth == 3

    def __str__(self):
        found, right = share(self.found, self.bad), share(self.right, self.own)
        return f"? and ?? found {found}, own right {right}, ?? found {share(self.blunders_found, self.blunders)}"


def fit(pairs):
    """The slope of least squares, of chances and expected scores."""

    def error(slope):
        return sum((1 / (1 + math.exp(-slope * logit(score))) - win / 100) ** 2 for win, score in pairs)

    return min((step / 100 for step in range(30, 151)), key=error)


def journal(file):
    """The games of an analysis, and the figures of both sides in each."""
    rows = [json.loads(line) for line in open(file, encoding="utf-8") if line.endswith("\n")]
    return [next(games(row["pgn"])) for row in rows], [row["summary"] for row in rows]


def main():
    truth_file, analysis_file = sys.argv[1:]
    analysed, figures = journal(analysis_file)
    truth = list(games(open(truth_file, encoding="utf-8").read()))[: len(analysed)]
    assert [len(game) for game in truth] == [len(game) for game in analysed], "other games"
    start = {"comment": f"[%eval {START}] wdl=300/440/260"}
    marks, off, pairs, played = Count(), [], [], []
    for index, (game, own) in enumerate(zip(truth, analysed)):
        scores = [score(move) for move in [start, *game]]
        wins = [chances(found) for found in scores if found]
        pairs.append([(chances(found), expected(move)) for found, move in zip(scores[1:], own) if found])
        whole = [(ply, found) for ply, found in enumerate(scores[1:]) if found]
        played.append([(ply, mark(ply, scores[ply], found, [chances(scores[ply]), chances(found)])) for ply, found in whole])
        for ply, right in played[-1]:
            marks.add(own[ply]["mark"], right)
        for side, name in enumerate(["white", "black"]):
            lichess, ours = accuracy(wins, side), figures[index][name]["accuracy"]
            if lichess is not None and ours is not None:
                off.append(abs(lichess - ours))
    print(f"the analysis: {marks}, accuracy of a player off by {sum(off) / max(1, len(off)):.1f}")

    def marked(indices, slope, margin=0, with_reply=False):
        count = Count()
        for index in indices:
            own = [start, *analysed[index]]
            chances_of = [player_chances(move, slope) for move in own]
            for ply, right in played[index]:
                pair = own[ply : ply + 2]
                wins = chances_of[ply : ply + 2]
                if with_reply and ply + 2 < len(own) and not own[ply + 2]["other"]:
                    wins[1] = (wins[1] + chances_of[ply + 2]) / 2
                # The move that the search would have played gets no mark.
                found = mark(ply, score(pair[0]), score(pair[1]), wins, margin) if pair[1]["other"] else 0
                count.add(found, right)
        return count

    def least_margin(indices, with_reply):
        """The least one with which enough marks are right."""
        for step in range(40):
            count = marked(indices, SLOPE, step / 4, with_reply)
            if count.right >= GOAL * count.own:
                return step / 4
        return 10

    both = [range(len(truth) // 2), range(len(truth) // 2, len(truth))]
    print(f"slope of all games: {fit(sum(pairs, [])):.2f}")
    for learned, tried in (both, both[::-1]):
        slope = fit([pair for index in learned for pair in pairs[index]])
        print(f"slope of games {learned.start + 1} to {learned.stop}: {slope:.2f}. On the others: {marked(tried, slope)}")
    for with_reply in (False, True):
        for learned, tried in (both, both[::-1]):
            margin = least_margin(learned, with_reply)
            name = "margin with the reply" if with_reply else "margin"
            found = marked(tried, SLOPE, margin, with_reply)
            print(f"{name} of games {learned.start + 1} to {learned.stop}: {margin:.2f} %. On the others: {found}")


if __name__ == "__main__":
    main()
