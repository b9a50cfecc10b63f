//! How good moves were, by the formulas that lichess publishes (<https://lichess.org/page/accuracy>), and
//! whether the visits support the verdict.

use ndarray::aview1;

use super::AnalysedPosition;
use crate::score::MoveScore;
use zeitnot_engine::chess::Move;

/// How good a move was that changed its player's winning chances so, percent.
pub(super) fn accuracy(before: f64, after: f64) -> f64 {
    let loss = (before - after).max(0.0);
    // lichess adds 1, since no analysis is perfect.
    (103.166_810_071_164_9 * (-0.043_544_153_867_539_51 * loss).exp() - 3.166_924_740_191_411 + 1.0)
        .clamp(0.0, 100.0)
}

/// The accuracy of each side over a game: the mean of a mean with more weight where the game swung,
/// and of the harmonic mean. `white_wins` has White's winning chances in each position. `counts` says which
/// moves are the players' own.
pub(super) fn game_accuracy(white_wins: &[f64], white_begins: bool, counts: &[bool]) -> [Option<f64>; 2] {
    let moves = white_wins.len().saturating_sub(1);
    let window = (moves / 10).clamp(2, 8).min(white_wins.len());
    let weight = |ply: usize| {
        // The first moves have the first window.
        let start = (ply + 2).saturating_sub(window).min(white_wins.len() - window);
        aview1(&white_wins[start..start + window])
            .std(0.0)
            .clamp(0.5, 12.0)
    };
    [true, false].map(|is_white| {
        let mut sum = 0.0;
        let mut weights = 0.0;
        let mut inverse = 0.0;
        let mut count = 0.0;
        for ply in (usize::from(is_white != white_begins)..moves).step_by(2) {
            if !counts[ply] {
                continue;
            }
            let white = [white_wins[ply], white_wins[ply + 1]];
            let [before, after] = white.map(|white| if is_white { white } else { 100.0 - white });
            let accuracy = accuracy(before, after);
            sum += weight(ply) * accuracy;
            weights += weight(ply);
            inverse += 1.0 / accuracy.max(1.0);
            count += 1.0;
        }
        (count > 0.0).then(|| (sum / weights + count / inverse) / 2.0)
    })
}

/// The worst of a move, as lichess calls it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Mark {
    Inaccuracy,
    Mistake,
    Blunder,
}

impl Mark {
    const ALL: [Mark; 3] = [Mark::Inaccuracy, Mark::Mistake, Mark::Blunder];

    /// The loss of winning chances from which on a move gets it, in percent. lichess counts chances from -1
    /// to 1 and has twice as much.
    pub(super) fn least_loss(self) -> f64 {
        [5.0, 10.0, 15.0][self as usize]
    }

    fn of_loss(loss: f64) -> Option<Mark> {
        Mark::ALL.into_iter().rev().find(|mark| loss >= mark.least_loss())
    }

    pub(super) fn nag(self) -> u8 {
        [6, 2, 4][self as usize]
    }

    fn glyph(self) -> &'static str {
        ["?!", "?", "??"][self as usize]
    }
}

/// The loss, percent, that searches of so many visits can tell from none: 19 of 20 losses are no further from
/// what a long search finds (docs/results/search.md).
pub(super) fn least_certain_loss(visits: u64) -> f64 {
    ERROR_OF_ONE_VISIT / (visits.max(1) as f64).cbrt()
}

/// The visits that can tell the least loss of a mark from none.
pub(super) fn visits_for(mark: Mark) -> u64 {
    (ERROR_OF_ONE_VISIT / mark.least_loss()).powi(3).ceil() as u64
}

/// The loss that one visit could tell from none, in percent.
pub(super) const ERROR_OF_ONE_VISIT: f64 = 34.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MateStory {
    /// The opponent can force mate now, in so many moves.
    Allowed(u32),
    /// The player could have forced mate in so many moves.
    Missed(u32),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Judgement {
    /// Winning chances of its player before it and after it, in percent. They are equal for the move that the
    /// search would have played.
    pub(crate) before: f64,
    pub(crate) after: f64,
    pub(crate) mark: Option<Mark>,
    /// True if the visits are too few to tell the loss from none. Then there is no mark.
    pub(crate) is_unclear: bool,
    pub(crate) mate: Option<MateStory>,
    pub(crate) is_best: bool,
}

impl Judgement {
    pub(super) fn of(played: Move, before: &AnalysedPosition, after: &AnalysedPosition) -> Judgement {
        let (best, reply) = (before.best().score, after.best().score);
        let chances = before.best().win;
        let none = Judgement {
            before: chances,
            after: chances,
            mark: None,
            is_unclear: false,
            mate: None,
            is_best: before.best().moves.first() == Some(&played),
        };
        // What a later search sees in the best move is no fault of the player.
        if none.is_best {
            return none;
        }
        let after_it = 100.0 - after.best().win;
        let loss = chances - after_it;
        let own = match reply {
            MoveScore::Centipawns(score) => MoveScore::Centipawns(-score),
            MoveScore::Mate(0) => MoveScore::Mate(1),
            MoveScore::Mate(moves) => MoveScore::Mate(-moves),
        };
        let mate = mate_story(best, own);
        let mark = match (best, own) {
            (MoveScore::Centipawns(_), MoveScore::Centipawns(_)) => Mark::of_loss(loss),
            _ => mate.map(|story| mark_of_mate(story, chances, after_it)),
        };
        let mut visits = before.nodes;
        if after.nodes > 0 {
            visits = visits.min(after.nodes);
        }
        // Mates are proven.
        let is_unclear = mate.is_none() && mark.is_some() && loss < least_certain_loss(visits);
        Judgement {
            after: after_it,
            mark: if is_unclear { None } else { mark },
            is_unclear,
            mate,
            ..none
        }
    }

    pub(crate) fn loss(self) -> f64 {
        (self.before - self.after).max(0.0)
    }

    pub(crate) fn glyph(self) -> &'static str {
        self.mark.map_or("", Mark::glyph)
    }
}

fn mate_story(before: MoveScore, after: MoveScore) -> Option<MateStory> {
    match (before, after) {
        (MoveScore::Mate(missed @ 1..), MoveScore::Centipawns(_) | MoveScore::Mate(..1)) => {
            Some(MateStory::Missed(missed.unsigned_abs()))
        }
        (MoveScore::Centipawns(_), MoveScore::Mate(allowed @ ..1)) => {
            Some(MateStory::Allowed(allowed.unsigned_abs()))
        }
        _ => None,
    }
}

/// A mate that was missed or allowed counts less where the game was decided all the same. `before` and
/// `after` are the player's chances, percent.
fn mark_of_mate(story: MateStory, before: f64, after: f64) -> Mark {
    let clear = match story {
        MateStory::Missed(_) => after,
        MateStory::Allowed(_) => 100.0 - before,
    };
    // lichess' limits: 10 and 7 pawns.
    match clear {
        97.5.. => Mark::Inaccuracy,
        92.9.. => Mark::Mistake,
        _ => Mark::Blunder,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::AnalysedLine;
    use zeitnot_engine::chess::Position;

    fn chances(centipawns: i32) -> f64 {
        MoveScore::Centipawns(centipawns).win_percent()
    }

    #[test]
    fn the_accuracy_of_a_move_falls_with_what_it_gives_away() {
        assert_eq!((accuracy(50.0, 50.0), accuracy(50.0, 60.0)), (100.0, 100.0));
        // 103.1668 exp(−0.4354) − 2.1669.
        assert!(
            (accuracy(60.0, 50.0) - 64.58).abs() < 0.01,
            "{}",
            accuracy(60.0, 50.0)
        );
        assert_eq!(accuracy(100.0, 0.0), 0.0);
    }

    /// The figures that lichess' own tests expect, within their bounds.
    #[test]
    fn the_accuracy_of_a_game_is_that_of_lichess() {
        let accuracy = |centipawns: &[i32]| {
            let wins: Vec<_> = [&[15], centipawns].concat().into_iter().map(chances).collect();
            let [white, black] = game_accuracy(&wins, true, &vec![true; centipawns.len()]);
            (white.unwrap(), black.unwrap())
        };
        let is_near = |found: f64, expected: f64, by: f64| (found - expected).abs() <= by;
        for (centipawns, white, black) in [
            (vec![15, 15], (100.0, 1.0), (100.0, 1.0)),
            (vec![-900, -900], (10.0, 5.0), (100.0, 1.0)),
            (vec![15, 900], (100.0, 1.0), (10.0, 5.0)),
            ([vec![15; 20], vec![-900]].concat(), (50.0, 5.0), (100.0, 1.0)),
            ([-50, 15].repeat(50), (76.0, 8.0), (76.0, 8.0)),
            ([-135, 15].repeat(50), (54.0, 8.0), (54.0, 8.0)),
            ([-435, 15].repeat(50), (20.0, 8.0), (20.0, 8.0)),
        ] {
            let found = accuracy(&centipawns);
            let fits = is_near(found.0, white.0, white.1) && is_near(found.1, black.0, black.1);
            assert!(fits, "{centipawns:?}: {found:?}");
        }
        assert_eq!(game_accuracy(&[50.0], true, &[]), [None, None]);
        assert_eq!(
            game_accuracy(&[50.0, 20.0], true, &[false]),
            [None, None],
            "of the book"
        );
        let [white, black] = game_accuracy(&[50.0, 90.0, 90.0], false, &[true; 2]);
        assert!(
            white == Some(100.0) && black.unwrap() < 30.0,
            "Black begins: {black:?}"
        );
    }

    fn position(score: MoveScore, best: Move, nodes: u64) -> AnalysedPosition {
        let line = AnalysedLine {
            wl: 0.0,
            d: 0.0,
            win: score.win_percent(),
            score,
            moves_left: None,
            moves: vec![best],
        };
        AnalysedPosition {
            lines: vec![line],
            nodes,
            ..AnalysedPosition::default()
        }
    }

    /// Judges 1. d4 where 1. e4 is best. `after` is from the point of view of its player.
    fn judged(before: MoveScore, after: MoveScore, nodes: u64) -> Judgement {
        let start = Position::start();
        let [e4, d4] = ["e4", "d4"].map(|san| start.read_move(san).unwrap());
        let reply = match after {
            MoveScore::Centipawns(score) => MoveScore::Centipawns(-score),
            MoveScore::Mate(moves) => MoveScore::Mate(-moves),
        };
        Judgement::of(d4, &position(before, e4, nodes), &position(reply, e4, nodes))
    }

    #[test]
    fn a_move_is_judged_by_the_winning_chances_that_it_gives_away() {
        use MoveScore::Centipawns;
        let judged = |after| judged(Centipawns(0), Centipawns(after), 1_000_000);
        // 100 / (1 + exp(0.00368208 · 55)) = 44.96.
        assert_eq!(judged(-54).glyph(), "");
        assert_eq!(judged(-55).glyph(), "?!");
        assert_eq!(judged(-111).glyph(), "?");
        assert_eq!(judged(-169).mark.map(Mark::nag), Some(4));
        assert_eq!(judged(300).loss(), 0.0, "better than expected");
        let e4 = Position::start().read_move("e4").unwrap();
        let best = Judgement::of(
            e4,
            &position(Centipawns(0), e4, 9),
            &position(Centipawns(900), e4, 9),
        );
        assert!(
            best.is_best && best.loss() == 0.0 && best.mark.is_none(),
            "{best:?}"
        );
    }

    #[test]
    fn mates_count_as_on_lichess() {
        use MoveScore::{Centipawns, Mate};
        let judged = |before, after| {
            let judged = judged(before, after, 1);
            (judged.glyph(), judged.mate)
        };
        assert_eq!(
            judged(Centipawns(0), Mate(-3)),
            ("??", Some(MateStory::Allowed(3)))
        );
        assert_eq!(
            judged(Centipawns(-800), Mate(-3)),
            ("?", Some(MateStory::Allowed(3)))
        );
        assert_eq!(
            judged(Centipawns(-1500), Mate(-1)),
            ("?!", Some(MateStory::Allowed(1)))
        );
        assert_eq!(
            judged(Mate(2), Centipawns(1200)),
            ("?!", Some(MateStory::Missed(2)))
        );
        assert_eq!(
            judged(Mate(2), Centipawns(500)),
            ("??", Some(MateStory::Missed(2)))
        );
        assert_eq!(judged(Mate(2), Mate(-2)), ("??", Some(MateStory::Missed(2))));
        assert_eq!(judged(Mate(2), Mate(7)), ("", None), "only delayed");
        assert_eq!(judged(Mate(-2), Mate(-1)), ("", None));
    }

    /// A regression: with 60 visits, one side of a grandmaster's game got 40 times `?!`.
    #[test]
    fn what_the_visits_cannot_tell_from_nothing_gets_no_mark() {
        use MoveScore::Centipawns;
        let marked = |after, nodes| {
            let judged = judged(Centipawns(0), Centipawns(after), nodes);
            (judged.glyph(), judged.is_unclear)
        };
        assert!(least_certain_loss(800) < Mark::Inaccuracy.least_loss());
        assert_eq!(visits_for(Mark::Mistake), 40);
        assert_eq!(marked(-85, 60), ("", true), "a loss of 8 %");
        assert_eq!(marked(-300, 60), ("??", false), "a loss of 25 %");
        assert_eq!(marked(-100, 800), ("?!", false));
        assert_eq!(marked(-20, 60), ("", false), "nobody would ask");
        // The position with fewer visits decides, before the move or after it.
        let [e4, d4] = ["e4", "d4"].map(|san| Position::start().read_move(san).unwrap());
        for (before, after) in [(800, 60), (60, 800)] {
            let [before, after] =
                [(0, before), (85, after)].map(|(score, nodes)| position(Centipawns(score), e4, nodes));
            assert!(
                Judgement::of(d4, &before, &after).is_unclear,
                "{} and {}",
                before.nodes,
                after.nodes
            );
        }
    }
}
