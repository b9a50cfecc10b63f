//! Rules that end a game before the rules of chess do. All are off unless asked for.

use std::sync::Arc;

use super::game::GameOutcome;
use crate::chess::{Color, History};
use crate::tablebase::{ProbeResult, Tablebase};

/// Declares a draw: from full move `move_number` on, both sides have said for `moves` moves each that nobody is better by more
/// than `centipawns`. A capture or a pawn move starts the count anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DrawRule {
    /// The first full move that counts.
    pub move_number: u32,
    /// Moves of each side in a row.
    pub moves: u32,
    /// Evaluations up to this, either way.
    pub centipawns: i32,
}

/// Declares a win: both sides have said for `moves` moves each that one of them is better by at least `centipawns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WinRule {
    /// Moves of each side in a row.
    pub moves: u32,
    /// Evaluations from this on.
    pub centipawns: i32,
}

/// The rules that are in force.
#[derive(Clone, Debug, Default)]
pub struct Adjudication {
    /// Draws by agreement of the evaluations.
    pub draw: Option<DrawRule>,
    /// Wins by agreement of the evaluations.
    pub win: Option<WinRule>,
    /// Results of endgame tables.
    pub tables: Option<Arc<Tablebase>>,
    /// The number of plies, those of the opening not counted, after which a game is drawn.
    pub max_plies: Option<u32>,
}

/// Follows the evaluations of one game.
#[derive(Clone, Debug, Default)]
pub(super) struct Adjudicator {
    quiet_plies: u32,
    /// Plies in a row in which White, or Black, was said to be winning.
    winning_plies: [u32; 2],
    plies: u32,
}

impl Adjudicator {
    /// Takes in the move that led to the last position of `game`, with the mover's evaluation, and returns the outcome, if
    /// there is one. An evaluation of `None` counts as no agreement.
    pub(super) fn judge(
        &mut self,
        rules: &Adjudication,
        game: &History,
        centipawns: Option<i32>,
    ) -> Option<GameOutcome> {
        let position = game.current();
        let mover = !position.turn();
        self.plies += 1;
        self.count_wins(rules, mover, centipawns);
        if self.is_quiet(rules, game, centipawns) {
            self.quiet_plies += 1;
        } else {
            self.quiet_plies = 0;
        }
        self.by_evaluations(rules).or_else(|| by_tables(rules, game)).or_else(|| {
            let is_too_long = rules.max_plies.is_some_and(|max| self.plies >= max);
            is_too_long.then_some(GameOutcome::Draw)
        })
    }

    fn is_quiet(&self, rules: &Adjudication, game: &History, centipawns: Option<i32>) -> bool {
        let Some(rule) = rules.draw else { return false };
        let position = game.current();
        let move_number = (position.game_ply().saturating_sub(1)) / 2 + 1;
        position.rule50() > 0
            && move_number >= rule.move_number
            && centipawns.is_some_and(|score| score.abs() <= rule.centipawns)
    }

    fn count_wins(&mut self, rules: &Adjudication, mover: Color, centipawns: Option<i32>) {
        let Some(rule) = rules.win else { return };
        let white = centipawns.map_or(0, |score| if mover.is_white() { score } else { -score });
        for (plies, score) in self.winning_plies.iter_mut().zip([white, -white]) {
            *plies = if score >= rule.centipawns { *plies + 1 } else { 0 };
        }
    }

    fn by_evaluations(&self, rules: &Adjudication) -> Option<GameOutcome> {
        if let Some(rule) = rules.win {
            let [white, black] = self.winning_plies.map(|plies| plies >= 2 * rule.moves);
            if white || black {
                return Some(GameOutcome::Win(if white { Color::White } else { Color::Black }));
            }
        }
        rules.draw.filter(|rule| self.quiet_plies >= 2 * rule.moves).map(|_| GameOutcome::Draw)
    }
}

fn by_tables(rules: &Adjudication, game: &History) -> Option<GameOutcome> {
    let turn = game.current().turn();
    Some(match rules.tables.as_ref()?.probe(game.current())? {
        ProbeResult::Win => GameOutcome::Win(turn),
        ProbeResult::Draw => GameOutcome::Draw,
        ProbeResult::Loss => GameOutcome::Win(!turn),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Variant;

    /// Knights and rooks go out and home; `scores` are the movers' evaluations. Returns the outcome and its ply.
    fn judged(rules: &Adjudication, scores: &[Option<i32>]) -> Option<(usize, GameOutcome)> {
        let mut game = History::from_uci_position("startpos", Variant::Standard).unwrap();
        let mut adjudicator = Adjudicator::default();
        let moves = ["g1f3", "g8f6", "f3g1", "f6g8"];
        scores.iter().enumerate().find_map(|(ply, &score)| {
            let mv = game.parse_move(moves[ply % 4]).unwrap();
            game.push(mv);
            adjudicator.judge(rules, &game, score).map(|outcome| (ply + 1, outcome))
        })
    }

    #[test]
    fn nothing_is_judged_unless_asked_for() {
        assert_eq!(judged(&Adjudication::default(), &[Some(0); 90]), None);
        assert_eq!(judged(&Adjudication::default(), &[Some(5000); 90]), None);
    }

    #[test]
    fn draws_need_the_move_number_and_both_sides() {
        let draw = Some(DrawRule { move_number: 3, moves: 2, centipawns: 10 });
        let rules = Adjudication { draw, ..Adjudication::default() };
        // Move 3 begins with ply 5; four plies in a row are needed.
        assert_eq!(judged(&rules, &[Some(-10); 20]), Some((8, GameOutcome::Draw)));
        let mut scores = [Some(5); 20];
        scores[6] = Some(11);
        assert_eq!(judged(&rules, &scores), Some((11, GameOutcome::Draw)));
        scores[6] = None;
        assert_eq!(judged(&rules, &scores), Some((11, GameOutcome::Draw)));
    }

    #[test]
    fn wins_need_both_sides_to_agree() {
        let rules =
            Adjudication { win: Some(WinRule { moves: 2, centipawns: 600 }), ..Adjudication::default() };
        let black_wins = [Some(-600), Some(700), Some(-900), Some(600)];
        assert_eq!(judged(&rules, &black_wins), Some((4, GameOutcome::Win(Color::Black))));
        assert_eq!(judged(&rules, &[Some(700); 20]), None, "each thinks it is winning");
    }

    #[test]
    fn endless_games_end() {
        let rules = Adjudication { max_plies: Some(7), ..Adjudication::default() };
        assert_eq!(judged(&rules, &[None; 20]), Some((7, GameOutcome::Draw)));
    }
}
