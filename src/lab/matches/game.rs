//! One game from its opening to its result, step by step.

use super::adjudication::{Adjudication, Adjudicator};
use super::foreign::ForeignPlayer;
use super::limit::{SideBudget, SideLimit};
use super::schedule::GameAssignment;
use super::{MatchError, Side, Team};
use crate::chess::{Color, History, Move, Terminal};
use crate::engine::{EnginePlayer, PlayerMove};
use crate::network::EvalSlot;
use crate::search::NextStep;
use crate::time::{Millis, Nodes, centipawns};

/// 2⁶⁴ divided by the golden ratio; a product with it spreads numbers over all bits.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The rules that all games of a match have in common.
#[derive(Clone, Debug)]
pub struct MatchRules {
    /// The limits of A and B.
    pub limits: [SideLimit; 2],
    /// The rules that end games early.
    pub adjudication: Adjudication,
    /// The seed, which with the game's number decides what players draw at random.
    pub seed: u64,
}

/// Who has won.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GameOutcome {
    /// This side.
    Win(Color),
    /// Nobody.
    Draw,
}

/// The reason why a game ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Termination {
    /// By the rules of chess.
    Rules(Terminal),
    /// A flag fell.
    TimeForfeit,
    /// A search returned no legal move; that is a bug.
    IllegalMove,
    /// By a rule of [`Adjudication`].
    Adjudication,
}

impl Termination {
    /// Returns one word for rows and reports.
    pub fn word(self) -> &'static str {
        match self {
            Termination::Rules(Terminal::Checkmate) => "checkmate",
            Termination::Rules(Terminal::Stalemate) => "stalemate",
            Termination::Rules(Terminal::FiftyMoves) => "fifty-moves",
            Termination::Rules(Terminal::ThreefoldRepetition) => "repetition",
            Termination::Rules(Terminal::InsufficientMaterial) => "insufficient-material",
            Termination::TimeForfeit => "time-forfeit",
            Termination::IllegalMove => "illegal-move",
            Termination::Adjudication => "adjudication",
        }
    }
}

/// The score that a search gave its move, from the mover's point of view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MoveScore {
    /// Centipawns.
    Centipawns(i32),
    /// Moves to a forced mate: positive if the mover gives it, negative if it gets it.
    Mate(i32),
}

impl MoveScore {
    /// Returns the score in centipawns; mates are worth more than anything else.
    pub fn centipawns(self) -> i32 {
        const MATE: i32 = 30_000;
        match self {
            MoveScore::Centipawns(score) => score,
            MoveScore::Mate(moves) => (MATE - moves.abs().min(1000)) * moves.signum(),
        }
    }
}

/// A move with the figures of its search.
#[derive(Clone, Debug)]
pub struct MoveRecord {
    /// The move.
    pub mv: Move,
    /// The mover's clock after it, ms; `None` where only nodes count.
    pub clock_ms: Option<f64>,
    /// Time that the move cost the clock, ms: real time, or nodes under `nodestime`.
    pub used_ms: f64,
    /// Visits of the root at the end, those of earlier searches included.
    pub nodes: u64,
    /// Visits that were new.
    pub new_nodes: u64,
    /// The search's score; `None` if it saw nothing below the root.
    pub score: Option<MoveScore>,
    /// Plies to the end of the game, as the search saw it, if the network knows.
    pub moves_left: Option<f32>,
    /// The manager's budget, ms, if a clock was watched.
    pub budget_ms: Option<f64>,
    /// Full moves that the mover still had to make, as the time manager estimated.
    pub managers_moves_left: Option<f64>,
    /// The rule that ended the search; of engines of others `bestmove`.
    pub end: String,
}

/// A finished game.
#[derive(Clone, Debug)]
pub struct GameRecord {
    /// Its number, pair and colours.
    pub assignment: GameAssignment,
    /// All its positions, the opening's included.
    pub history: History,
    /// The engines' moves; those of the opening are not among them.
    pub moves: Vec<MoveRecord>,
    /// The move that came after the flag had fallen, which is none of the game.
    pub late: Option<MoveRecord>,
    /// Who has won.
    pub outcome: GameOutcome,
    /// The reason why it ended.
    pub termination: Termination,
}

impl GameRecord {
    /// Returns the half points that A has: 0, 1 or 2.
    pub fn half_points_of_a(&self) -> u8 {
        match self.outcome {
            GameOutcome::Draw => 1,
            GameOutcome::Win(color) if color.is_white() == (self.assignment.white == Side::A) => 2,
            GameOutcome::Win(_) => 0,
        }
    }

    /// Returns who made move `index` of [`GameRecord::moves`], or the late one behind them.
    pub fn mover(&self, index: usize) -> Side {
        let first = self.history.position(self.first_position()).turn();
        let is_white = first.is_white() == index.is_multiple_of(2);
        if is_white { self.assignment.white } else { self.assignment.white.other() }
    }

    /// Returns the index in `history` of the position in which the engines began.
    pub fn first_position(&self) -> usize {
        self.history.len() - 1 - self.moves.len()
    }
}

/// Who plays a side.
#[derive(Debug)]
enum Player {
    Own(Box<EnginePlayer>),
    Foreign(Box<ForeignPlayer>),
}

/// A game under way.
#[derive(Debug)]
pub(super) struct OngoingGame {
    assignment: GameAssignment,
    history: History,
    /// The players of White and Black.
    players: [Player; 2],
    clocks: [SideBudget; 2],
    adjudicator: Adjudicator,
    moves: Vec<MoveRecord>,
    /// See [`GameRecord::late`].
    late: Option<MoveRecord>,
    activity: Activity,
}

/// What the side to move does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Activity {
    /// It has yet to begin.
    Waiting,
    /// It ponders: it makes up for the time that the opponent's clock ran, in the tree that it had then.
    Pondering,
    /// It searches its move by its own clock.
    Thinking,
}

/// The end of a game.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GameEnd {
    /// Who has won.
    pub(super) outcome: GameOutcome,
    /// The reason why the game ended.
    pub(super) termination: Termination,
}

/// The next thing that a game needs.
#[derive(Debug)]
pub(super) enum GameNeed {
    /// This many positions of the mover wait for evaluation by its network.
    Evaluation(usize),
    /// Nothing: the game is over.
    Nothing(GameEnd),
}

impl OngoingGame {
    /// Starts a game between two engines (A, B) that goes on from the last position of `opening`.
    pub(super) fn new(
        assignment: GameAssignment,
        opening: History,
        teams: &[Team; 2],
        rules: &MatchRules,
    ) -> Result<OngoingGame, MatchError> {
        let sides = [assignment.white, assignment.white.other()].map(Side::index);
        let seed = fastrand::Rng::with_seed(rules.seed ^ assignment.game.wrapping_mul(GOLDEN)).u64(..);
        let player = |side: usize| -> Result<Player, MatchError> {
            Ok(match &teams[side] {
                Team::Own(setup) => {
                    let player = EnginePlayer::new(setup.clone(), seed.wrapping_add(side as u64))?;
                    Player::Own(Box::new(player))
                }
                Team::Foreign(engine) => {
                    Player::Foreign(Box::new(ForeignPlayer::new(engine.clone(), &opening)?))
                }
            })
        };
        let players = [player(sides[0])?, player(sides[1])?];
        Ok(OngoingGame {
            assignment,
            history: opening,
            players,
            clocks: sides.map(|side| SideBudget::new(rules.limits[side])),
            adjudicator: Adjudicator::default(),
            moves: Vec::new(),
            late: None,
            activity: Activity::Waiting,
        })
    }

    /// Goes on until positions wait for evaluation or the game is over.
    pub(super) fn advance(&mut self, rules: &MatchRules) -> Result<GameNeed, MatchError> {
        loop {
            let side = self.side_to_move();
            if self.activity == Activity::Waiting {
                if let Some(end) = self.end_by_rules() {
                    return Ok(GameNeed::Nothing(end));
                }
                self.activity = Activity::Thinking;
                if self.begin_pondering()? {
                    self.activity = Activity::Pondering;
                } else {
                    self.begin_move()?;
                }
            }
            if let Player::Own(player) = &mut self.players[side]
                && player.advance() == NextStep::Evaluate
            {
                return Ok(GameNeed::Evaluation(player.waiting()));
            }
            if self.activity == Activity::Pondering {
                self.activity = Activity::Thinking;
                self.begin_move()?;
            } else if let Some(end) = self.make_move(rules)? {
                return Ok(GameNeed::Nothing(end));
            }
        }
    }

    /// Lets the side to move search by its own clock.
    fn begin_move(&mut self) -> Result<(), MatchError> {
        let side = self.side_to_move();
        let [own, opponent] = [side, 1 - side].map(|side| self.clocks[side].limits());
        match &mut self.players[side] {
            Player::Own(player) => player.begin_move(&self.history, own)?,
            Player::Foreign(player) => player.begin_move(&self.history, own, &opponent)?,
        }
        Ok(())
    }

    /// Lets the side to move ponder for the time that the last move has cost the opponent's clock. Returns whether it does.
    fn begin_pondering(&mut self) -> Result<bool, MatchError> {
        let side = self.side_to_move();
        let limits = self.clocks[side].limits();
        let (Player::Own(player), Some(last)) = (&mut self.players[side], self.moves.last()) else {
            return Ok(false);
        };
        if limits.mover_clock().is_none() {
            return Ok(false);
        }
        let mut before = self.history.clone();
        before.pop();
        Ok(player.begin_pondering(&before, limits, Millis(last.used_ms))?)
    }

    /// Returns 0 if White is to move, 1 for Black.
    fn side_to_move(&self) -> usize {
        usize::from(self.history.current().turn().is_black())
    }

    /// Returns the side whose network evaluates the waiting positions.
    pub(super) fn mover(&self) -> Side {
        let white = self.assignment.white;
        if self.side_to_move() == 0 { white } else { white.other() }
    }

    /// Exchanges the waiting positions for `slots`, as [`EnginePlayer::swap_slots`].
    pub(super) fn swap_slots(&mut self, slots: &mut [EvalSlot]) {
        let side = self.side_to_move();
        if let Player::Own(player) = &mut self.players[side] {
            player.swap_slots(slots);
        }
    }

    /// Tells the mover that the waiting positions have been evaluated.
    pub(super) fn evaluated(&mut self) {
        let side = self.side_to_move();
        if let Player::Own(player) = &mut self.players[side] {
            player.evaluated();
        }
    }

    fn end_by_rules(&self) -> Option<GameEnd> {
        let terminal = self.history.terminal(&self.history.legal_moves())?;
        let outcome = match terminal {
            Terminal::Checkmate => GameOutcome::Win(!self.history.current().turn()),
            _ => GameOutcome::Draw,
        };
        Some(GameEnd { outcome, termination: Termination::Rules(terminal) })
    }

    /// Makes the move of a search that is over, unless time or rules end the game first.
    fn make_move(&mut self, rules: &MatchRules) -> Result<Option<GameEnd>, MatchError> {
        self.activity = Activity::Waiting;
        let side = self.side_to_move();
        let winner = !self.history.current().turn();
        let lost = |termination| GameEnd { outcome: GameOutcome::Win(winner), termination };
        let legal = self.history.legal_moves();
        let pieces = self.history.current().piece_count();
        let (played, used, node_time) = match &mut self.players[side] {
            Player::Own(player) => {
                let rate = player.setup().nodes_per_ms(pieces);
                let node_time = rate.map_or(Millis::ZERO, |rate| rate.time_of(Nodes(1)));
                let played = player.end_move();
                let used = played.as_ref().map_or(Millis::ZERO, |played| played.used);
                let best = |played: &PlayerMove| played.best.filter(|best| legal.contains(best));
                let record = played.and_then(|played| Some(note(best(&played)?, &played)));
                (record, used, node_time)
            }
            Player::Foreign(player) => {
                let (played, used_ms) = player.end_move(&self.history)?;
                (played, Millis(used_ms), Millis::ZERO)
            }
        };
        let Some(played) = played else {
            return Ok(Some(lost(Termination::IllegalMove)));
        };
        let is_in_time = self.clocks[side].press(used, node_time);
        let played = MoveRecord { clock_ms: self.clocks[side].left_ms(), ..played };
        if !is_in_time {
            self.late = Some(played);
            return Ok(Some(lost(Termination::TimeForfeit)));
        }
        let (best, score) = (played.mv, played.score.map(MoveScore::centipawns));
        self.moves.push(played);
        self.history.push(best);
        if let Some(end) = self.end_by_rules() {
            return Ok(Some(end));
        }
        let outcome = self.adjudicator.judge(&rules.adjudication, &self.history, score);
        Ok(outcome.map(|outcome| GameEnd { outcome, termination: Termination::Adjudication }))
    }

    /// Returns the record of the game, which ended as `end` says.
    pub(super) fn into_record(self, end: GameEnd) -> GameRecord {
        let GameEnd { outcome, termination } = end;
        let OngoingGame { assignment, history, moves, late, .. } = self;
        GameRecord { assignment, history, moves, late, outcome, termination }
    }
}

/// Returns what is recorded of a search.
fn note(mv: Move, played: &PlayerMove) -> MoveRecord {
    let line = played.result.info.as_ref().and_then(|info| info.lines.first());
    let score = line.map(|line| match line.mate {
        Some(moves) => MoveScore::Mate(moves),
        None => MoveScore::Centipawns(centipawns(line.wl.into()).round() as i32),
    });
    MoveRecord {
        mv,
        clock_ms: None,
        used_ms: played.used.0,
        nodes: played.result.summary.nodes,
        new_nodes: played.result.summary.new_nodes,
        score,
        moves_left: line.and_then(|line| line.moves_left),
        budget_ms: played.report.as_ref().map(|report| report.budget.0),
        managers_moves_left: played.report.as_ref().and_then(|report| report.moves_left),
        end: played.result.reason.to_string(),
    }
}
