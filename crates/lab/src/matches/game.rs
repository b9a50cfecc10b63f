//! One game from its opening to its result: what a side may spend, who moves, and the rules that end it.

use std::fmt;
use std::sync::Arc;

use itertools::Itertools;
use sha2::{Digest, Sha256};

use super::external::{ExternalPlayer, MoveFault};
use super::openings::GameAssignment;
use super::{Contender, Side, Team};
use crate::error::LabError;
use crate::move_rows::MoveRow;
use crate::pgn::Ending;
use crate::score::MoveScore;
use zeitnot_engine::chance::GOLDEN;
use zeitnot_engine::chess::{Color, History, Move, Terminal};
use zeitnot_engine::engine::{EnginePlayer, Played};
use zeitnot_engine::files::hex;
use zeitnot_engine::note::Note;
use zeitnot_engine::options::{OptionChoice, option_group};
use zeitnot_engine::search::NextStep;
use zeitnot_engine::tablebase::{ProbeResult, Tablebase};
use zeitnot_engine::time::{Bounds, GameClock, Limit, Millis, Nodes, TimeControl};

#[derive(Debug)]
pub struct PlannedGame {
    pub assignment: GameAssignment,
    /// A and B.
    pub contenders: [Arc<Contender>; 2],
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SideLimit {
    Nodes(u64),
    Clock(TimeControl),
    /// For every move, without a clock.
    MoveTime(Millis),
    /// Average depth, plies.
    Depth(u32),
}

impl fmt::Display for SideLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SideLimit::Nodes(nodes) => write!(f, "{nodes} nodes"),
            SideLimit::Clock(control) => control.fmt(f),
            SideLimit::MoveTime(time) => write!(f, "{} ms", time.0),
            SideLimit::Depth(plies) => write!(f, "depth {plies}"),
        }
    }
}

impl SideLimit {
    /// What `go` tells the side at its first move.
    pub fn first(self) -> Limit {
        self.with(&self.clock())
    }

    fn clock(self) -> Option<GameClock> {
        if let SideLimit::Clock(control) = self {
            Some(GameClock::new(control))
        } else {
            None
        }
    }

    fn with(self, clock: &Option<GameClock>) -> Limit {
        match self {
            SideLimit::Nodes(nodes) => Limit::nodes(nodes),
            SideLimit::Clock(_) => clock.as_ref().map(GameClock::limit).unwrap_or_default(),
            SideLimit::MoveTime(time) => Limit::movetime(time),
            SideLimit::Depth(plies) => Limit::Until(Bounds {
                depth: Some(plies),
                ..Bounds::default()
            }),
        }
    }
}

#[derive(Debug)]
pub struct MatchRules {
    pub adjudication: Adjudication,
    /// Decides with the game's number what players draw at random.
    pub seed: u64,
    /// After so many games lost by disconnection the match goes on. One more ends it.
    pub recover: u64,
}

/// Moves that are told of a game in which an engine failed.
const LAST_MOVES: usize = 8;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Termination {
    Rules(Terminal),
    TimeForfeit,
    /// A search returned no legal move. Of this engine that is a bug.
    IllegalMove,
    /// An external engine has ended, or does not answer.
    Disconnection,
    Adjudication,
}

impl Termination {
    /// The word in rows, and that of PGN's tag `Termination`.
    pub(crate) fn words(self) -> [&'static str; 2] {
        match self {
            Termination::Rules(terminal) => [Ending::from(terminal).name(), "normal"],
            Termination::TimeForfeit => ["time-forfeit", "time forfeit"],
            Termination::IllegalMove => ["illegal-move", "rules infraction"],
            Termination::Disconnection => ["disconnection", "abandoned"],
            Termination::Adjudication => ["adjudication", "adjudication"],
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct GameEnd {
    /// `None` in a drawn game.
    pub(super) winner: Option<Color>,
    pub(super) termination: Termination,
}

#[derive(Clone, Debug)]
pub(crate) struct PlayedMove {
    pub(crate) mv: Move,
    /// With increment, ms, or `None` where only nodes count.
    pub(crate) clock_ms: Option<f64>,
    /// It has a time without a clock, too.
    pub(crate) row: MoveRow,
}

#[derive(Clone, Debug)]
pub struct GameRecord {
    pub assignment: GameAssignment,
    /// A and B.
    pub(super) contenders: [Arc<Contender>; 2],
    pub(crate) history: History,
    /// The engines' moves. Those of the opening are not among them.
    pub(crate) moves: Vec<PlayedMove>,
    /// Made after the flag had fallen, it is no part of the game.
    pub(crate) late: Option<PlayedMove>,
    /// What the searches of A and B had to tell.
    pub notes: [Vec<Note>; 2],
    pub(crate) end: GameEnd,
    /// What an engine did wrong, with its side, the position and the last moves.
    pub fault: Option<String>,
}

impl GameRecord {
    /// The half points that A has: 0, 1 or 2.
    pub(crate) fn half_points_of_a(&self) -> u8 {
        match self.end.winner {
            None => 1,
            Some(color) if color.is_white() == (self.assignment.white == Side::A) => 2,
            Some(_) => 0,
        }
    }

    /// A hash over all positions.
    pub(crate) fn hash(&self) -> String {
        let mut hash = Sha256::new();
        for index in 0..self.history.len() {
            hash.update(self.history.position(index).to_fen());
        }
        hex(&hash.finalize()[..6])
    }

    /// Who made move `index`, or the late one behind them.
    pub(crate) fn mover(&self, index: usize) -> Side {
        let first = self.history.position(self.first_position()).turn();
        let is_black = first.is_black() == index.is_multiple_of(2);
        self.assignment.sides()[usize::from(is_black)]
    }

    /// The index in `history` of the position in which the engines began.
    pub(crate) fn first_position(&self) -> usize {
        self.history.len() - 1 - self.moves.len()
    }
}

enum Player {
    Own(Box<EnginePlayer>),
    External(Box<ExternalPlayer>),
}

pub(super) struct OngoingGame {
    assignment: GameAssignment,
    contenders: [Arc<Contender>; 2],
    history: History,
    players: [Player; 2],
    /// Of White and Black. The player says what a move costs it: real time, or nodes under `nodestime`.
    clocks: [Option<GameClock>; 2],
    adjudicator: Adjudicator,
    moves: Vec<PlayedMove>,
    late: Option<PlayedMove>,
    notes: [Vec<Note>; 2],
    fault: Option<String>,
    activity: Activity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    Waiting,
    /// It ponders: it makes up for the time that the opponent's clock ran, in the tree that it had then.
    Pondering,
    Thinking,
}

impl OngoingGame {
    pub(super) fn new(
        PlannedGame {
            assignment,
            contenders,
        }: PlannedGame,
        opening: History,
        rules: &MatchRules,
    ) -> Result<OngoingGame, LabError> {
        let sides = assignment.sides().map(Side::index);
        let seed = fastrand::Rng::with_seed(rules.seed ^ assignment.game.wrapping_mul(GOLDEN)).u64(..);
        let player = |side: usize| match &contenders[side].team {
            Team::Own(setup) => EnginePlayer::new(setup, seed.wrapping_add(side as u64))
                .map(|player| Player::Own(player.into())),
            Team::External(engine) => {
                let player = ExternalPlayer::new(engine.clone(), &opening);
                Ok(Player::External(player.into()))
            }
        };
        let players = [player(sides[0])?, player(sides[1])?];
        Ok(OngoingGame {
            assignment,
            history: opening,
            players,
            clocks: sides.map(|side| contenders[side].limit.clock()),
            contenders,
            adjudicator: Adjudicator::default(),
            moves: Vec::new(),
            late: None,
            notes: Default::default(),
            fault: None,
            activity: Activity::Waiting,
        })
    }

    /// Goes on until the mover's search waits, for evaluations or for time to pass, or the game ends.
    pub(super) fn advance(&mut self, rules: &MatchRules) -> Result<Option<GameEnd>, LabError> {
        loop {
            if self.activity == Activity::Waiting {
                if let Some(end) = self.end_by_rules() {
                    return Ok(Some(end));
                }
                self.activity = Activity::Thinking;
                if self.begin_pondering()? {
                    self.activity = Activity::Pondering;
                } else {
                    self.begin_move()?;
                }
            }
            if let Some(player) = self.own_player()
                && player.advance() != NextStep::Over
            {
                return Ok(None);
            }
            if self.activity == Activity::Pondering {
                self.activity = Activity::Thinking;
                self.begin_move()?;
            } else if let Some(end) = self.make_move(rules)? {
                return Ok(Some(end));
            }
        }
    }

    fn begin_move(&mut self) -> Result<(), LabError> {
        let side = self.side_to_move();
        let [own, opponent] = [side, 1 - side].map(|side| self.limit(side));
        match &mut self.players[side] {
            Player::Own(player) => player.begin_move(&self.history, own)?,
            Player::External(player) => player.begin_move(&self.history, own.bounds(), &opponent.bounds()),
        }
        Ok(())
    }

    /// Lets the side to move ponder for the time that the last move has cost. Returns whether it does.
    fn begin_pondering(&mut self) -> Result<bool, LabError> {
        let limit = self.limit(self.side_to_move());
        let (Some(_), Some(last)) = (limit.mover_clock(), self.moves.last()) else {
            return Ok(false);
        };
        let used = Millis(last.row.used_ms.unwrap_or_default());
        let mut before = self.history.clone();
        before.pop();
        match self.own_player() {
            Some(player) => Ok(player.begin_pondering(&before, limit, used)?),
            None => Ok(false),
        }
    }

    /// 0 if White is to move, 1 for Black.
    fn side_to_move(&self) -> usize {
        usize::from(self.history.current().turn().is_black())
    }

    fn limit(&self, side: usize) -> Limit {
        let contender = self.assignment.sides()[side].index();
        self.contenders[contender].limit.with(&self.clocks[side])
    }

    fn mover(&self) -> Side {
        self.assignment.sides()[self.side_to_move()]
    }

    pub(super) fn own_player(&mut self) -> Option<&mut EnginePlayer> {
        let side = self.side_to_move();
        match &mut self.players[side] {
            Player::Own(player) => Some(player),
            Player::External(_) => None,
        }
    }

    fn end_by_rules(&self) -> Option<GameEnd> {
        let terminal = self.history.terminal(&self.history.legal_moves())?;
        let mates = !self.history.current().turn();
        Some(GameEnd {
            winner: (terminal == Terminal::Checkmate).then_some(mates),
            termination: Termination::Rules(terminal),
        })
    }

    /// Makes the move, unless time or rules end the game first.
    fn make_move(&mut self, rules: &MatchRules) -> Result<Option<GameEnd>, LabError> {
        self.activity = Activity::Waiting;
        let side = self.side_to_move();
        let mover = self.mover();
        let position = self.history.current().clone();
        let pieces = position.piece_count();
        let lost = |termination| {
            Ok(Some(GameEnd {
                winner: Some(!position.turn()),
                termination,
            }))
        };
        let legal = self.history.legal_moves();
        let Contender { limit, margin, .. } = *self.contenders[mover.index()];
        let mut node_time = Millis::ZERO;
        let (played, used) = match &mut self.players[side] {
            Player::Own(player) => {
                if let Some(rate) = player.setup().nodes_per_ms(pieces) {
                    node_time = rate.time_of(Nodes(1));
                }
                let ended = player.end_move();
                let used = ended.as_ref().map_or(Millis::ZERO, |ended| ended.used);
                let played = ended.and_then(|mut ended| {
                    self.notes[mover.index()].append(&mut ended.outcome.notes);
                    let best = ended.outcome.best.filter(|best| legal.contains(best));
                    Some((best?, row_of(&ended)))
                });
                let fault = || MoveFault::Illegal("of its search".into());
                (played.ok_or_else(fault), used)
            }
            Player::External(player) => player.end_move(&self.history),
        };
        let (mv, row) = match played {
            Ok(played) => played,
            Err(fault) => {
                self.fault = Some(self.story(&fault));
                return lost(match fault {
                    _ if self.is_late(side, used) => Termination::TimeForfeit,
                    MoveFault::Gone(_) => Termination::Disconnection,
                    MoveFault::Illegal(_) => Termination::IllegalMove,
                });
            }
        };
        let clock = &mut self.clocks[side];
        let row = MoveRow {
            player: mover.name().into(),
            number: self.moves.len() as u32 / 2 + 1,
            ply: position.game_ply(),
            pieces: pieces as u32,
            had_choice: legal.len() > 1,
            clock_ms: clock.map(|clock| clock.left().0),
            used_ms: Some(used.0),
            ..row
        };
        let is_in_time = match (clock.as_mut(), limit) {
            (Some(clock), _) => clock.press(used, node_time.max(margin)),
            (None, SideLimit::MoveTime(time)) => used <= time + margin,
            (None, _) => true,
        };
        let played = PlayedMove {
            mv,
            clock_ms: clock.map(|clock| clock.left().0),
            row,
        };
        if !is_in_time {
            self.late = Some(played);
            return lost(Termination::TimeForfeit);
        }
        let score = played.row.centipawns;
        self.moves.push(played);
        self.history.push(mv);
        let by_rules = self.end_by_rules();
        Ok(by_rules.or_else(|| self.adjudicator.judge(&rules.adjudication, &self.history, score)))
    }

    /// Whether the side has used more than it had, whatever it has answered since.
    fn is_late(&self, side: usize, used: Millis) -> bool {
        let bounds = self.limit(side).bounds();
        bounds.time.or(bounds.movetime).is_some_and(|time| used > time)
    }

    fn story(&self, fault: &MoveFault) -> String {
        let first = self.moves.len().saturating_sub(LAST_MOVES);
        let start = self.history.len() - 1 - self.moves.len();
        let moves = self.moves.iter().enumerate().skip(first);
        let mut moves = moves.map(|(index, played)| {
            self.history
                .position(start + index)
                .format_move(played.mv, self.history.variant())
        });
        let round = self.assignment.round();
        let name = &self.contenders[self.mover().index()].name;
        let fen = self.history.current().to_fen();
        let mut story = format!("round {round}, {name}: {fault}. Position: {fen}");
        if !self.moves.is_empty() {
            story = story + ", after " + &moves.join(" ");
        }
        story
    }

    pub(super) fn into_record(self, end: GameEnd) -> GameRecord {
        let OngoingGame {
            assignment,
            contenders,
            history,
            moves,
            late,
            notes,
            fault,
            ..
        } = self;
        GameRecord {
            assignment,
            contenders,
            history,
            moves,
            late,
            notes,
            end,
            fault,
        }
    }
}

fn row_of(played: &Played) -> MoveRow {
    let Played { outcome, report, .. } = played;
    let line = outcome.info.as_ref().and_then(|info| info.lines.first());
    let value = line.and_then(|line| line.value.as_ref());
    MoveRow {
        nodes: outcome.figures.stats.nodes.0,
        new_nodes: outcome.figures.stats.new_nodes.0,
        centipawns: value.map(|value| MoveScore::of_value(value).centipawns()),
        moves_left_plies: value.and_then(|value| value.moves_left),
        budget_ms: report.as_ref().map(|report| report.budget.0),
        moves_left: report.as_ref().and_then(|report| report.moves_left),
        end: outcome.reason.to_string(),
        ..MoveRow::default()
    }
}

option_group! {
    /// Declares a draw: from full move `move_number` on, both sides have said for `moves` moves each that
    /// nobody is better by more than `centipawns`. A capture or a pawn move starts the count anew.
    #[derive(Copy)]
    pub struct DrawRule {
        /// First full move at which a game can be declared drawn.
        move_number: u32 = 40, in 1..=10_000, "move";
        /// Number of consecutive moves of each side.
        moves: u32 = 8, in 1..=10_000, "count";
        /// Largest score that still counts as a draw, in centipawns.
        centipawns: i32 = 10, in 0..=100_000, "score";
    }
}

option_group! {
    /// Declares a win: both sides have said for `moves` moves each that one of them is better by at least
    /// `centipawns`.
    #[derive(Copy)]
    pub struct WinRule {
        /// Number of consecutive moves of each side.
        moves: u32 = 3, in 1..=10_000, "count";
        /// Smallest score that counts as a win, in centipawns.
        centipawns: i32 = 600, in 1..=100_000, "score";
    }
}

#[derive(Debug, Default)]
pub struct Adjudication {
    pub draw: Option<DrawRule>,
    pub win: Option<WinRule>,
    pub tables: Option<Arc<Tablebase>>,
    /// The number of plies, those of the opening not counted, after which a game is drawn.
    pub max_plies: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct Adjudicator {
    quiet_plies: u32,
    /// Plies in a row in which Black, or White, was said to be winning.
    winning_plies: [u32; 2],
    plies: u32,
}

impl Adjudicator {
    /// Takes in the mover's evaluation of the last move of `game`, and returns the end, if it has come.
    /// `None` counts as no agreement.
    fn judge(&mut self, rules: &Adjudication, game: &History, centipawns: Option<i32>) -> Option<GameEnd> {
        let position = game.current();
        let mover = !position.turn();
        let end = |winner| {
            Some(GameEnd {
                winner,
                termination: Termination::Adjudication,
            })
        };
        self.plies += 1;
        if let Some(rule) = rules.win {
            for color in Color::ALL {
                let score = centipawns.map_or(0, |score| if color == mover { score } else { -score });
                let plies = &mut self.winning_plies[color as usize];
                *plies = if score >= rule.centipawns { *plies + 1 } else { 0 };
                if *plies >= 2 * rule.moves {
                    return end(Some(color));
                }
            }
        }
        if let Some(rule) = rules.draw {
            let is_quiet = position.rule50() > 0
                && position.game_ply().saturating_sub(1) / 2 + 1 >= rule.move_number
                && centipawns.is_some_and(|score| score.abs() <= rule.centipawns);
            self.quiet_plies = if is_quiet { self.quiet_plies + 1 } else { 0 };
            if self.quiet_plies >= 2 * rule.moves {
                return end(None);
            }
        }
        if let Some(result) = rules.tables.as_ref().and_then(|tables| tables.probe(position)) {
            return end(match result {
                ProbeResult::Win => Some(!mover),
                ProbeResult::Draw => None,
                ProbeResult::Loss => Some(mover),
            });
        }
        let is_too_long = rules.max_plies.is_some_and(|max| self.plies >= max);
        if is_too_long { end(None) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use zeitnot_engine::chess::Variant;

    /// Knights and rooks go out and home. `scores` are the movers' evaluations. Returns the ply of the end
    /// and the winner.
    fn judged(rules: &Adjudication, scores: &[Option<i32>]) -> Option<(usize, Option<Color>)> {
        let mut game = History::from_uci_position("startpos", Variant::Standard).unwrap();
        let mut adjudicator = Adjudicator::default();
        let moves = ["g1f3", "g8f6", "f3g1", "f6g8"];
        scores.iter().enumerate().find_map(|(ply, &score)| {
            let mv = game.parse_move(moves[ply % 4]).unwrap();
            game.push(mv);
            adjudicator
                .judge(rules, &game, score)
                .map(|end| (ply + 1, end.winner))
        })
    }

    #[test]
    fn nothing_is_judged_unless_asked_for() {
        assert_eq!(judged(&Adjudication::default(), &[Some(0); 90]), None);
        assert_eq!(judged(&Adjudication::default(), &[Some(5000); 90]), None);
    }

    #[test]
    fn draws_need_the_move_number_and_both_sides() {
        let draw = Some(DrawRule {
            move_number: 3,
            moves: 2,
            centipawns: 10,
        });
        let rules = Adjudication {
            draw,
            ..Adjudication::default()
        };
        // Move 3 begins with ply 5. Four plies in a row are needed.
        assert_eq!(judged(&rules, &[Some(-10); 20]), Some((8, None)));
        for disagreed in [Some(11), None] {
            let mut scores = [Some(5); 20];
            scores[6] = disagreed;
            assert_eq!(judged(&rules, &scores), Some((11, None)));
        }
    }

    #[test]
    fn wins_need_both_sides_to_agree() {
        let rules = Adjudication {
            win: Some(WinRule {
                moves: 2,
                centipawns: 600,
            }),
            ..Adjudication::default()
        };
        let black_wins = [Some(-600), Some(700), Some(-900), Some(600)];
        assert_eq!(judged(&rules, &black_wins), Some((4, Some(Color::Black))));
        assert_eq!(
            judged(&rules, &[Some(700); 20]),
            None,
            "each thinks it is winning"
        );
    }

    #[test]
    fn endless_games_end() {
        let rules = Adjudication {
            max_plies: Some(7),
            ..Adjudication::default()
        };
        assert_eq!(judged(&rules, &[None; 20]), Some((7, None)));
    }
}
