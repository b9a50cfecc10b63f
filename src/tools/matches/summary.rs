//! What a match has shown so far: as JSON, as a table, as a line.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::arena::statistics::{Elo, Sprt, SprtVerdict, Tally};
use crate::arena::{Contestant, GameRecord, Termination};

/// Counts over all games, from A's view.
#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    pub(super) tally: Tally,
    terminations: BTreeMap<&'static str, u64>,
    /// Losses on time of A and B.
    time_losses: [u64; 2],
    /// Moves and new nodes of A and B.
    moves: [u64; 2],
    nodes: [u64; 2],
}

impl Counts {
    pub(super) fn add(&mut self, game: &GameRecord) {
        self.tally.add(game.assignment.pair, game.half_points_of_a());
        *self.terminations.entry(game.termination.word()).or_default() += 1;
        if game.termination == Termination::TimeForfeit {
            let a_has_lost = game.half_points_of_a() == 0;
            let loser = if a_has_lost { Contestant::A } else { Contestant::B };
            self.time_losses[loser.index()] += 1;
        }
        for (index, played) in game.moves.iter().enumerate() {
            let mover = game.mover(index).index();
            self.moves[mover] += 1;
            self.nodes[mover] += played.new_nodes;
        }
    }

    pub(super) fn all_nodes(&self) -> u64 {
        self.nodes.iter().sum()
    }
}

/// The result of a match.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Summary {
    a: String,
    b: String,
    games: u64,
    wins: u64,
    draws: u64,
    losses: u64,
    /// Pairs by points: 0, ½, 1, 1½, 2.
    pairs: [u64; 5],
    unpaired_games: u64,
    /// Points of A per game of a pair.
    score: Option<f64>,
    elo: Option<f64>,
    /// 95 %, either way.
    elo_error: Option<f64>,
    nelo: Option<f64>,
    nelo_error: Option<f64>,
    los: Option<f64>,
    sprt: Option<SprtSummary>,
    terminations: BTreeMap<&'static str, u64>,
    time_losses: [u64; 2],
    /// New nodes per move of A and B.
    nodes_per_move: [f64; 2],
    nodes: u64,
    seconds: f64,
    nps: u64,
}

#[derive(Clone, Debug, Serialize)]
struct SprtSummary {
    elo0: f64,
    elo1: f64,
    llr: f64,
    lower: f64,
    upper: f64,
    /// `H0`, `H1` or `undecided`.
    verdict: &'static str,
}

impl Summary {
    /// `names` are those of A and B; `seconds` is how long the `nodes` that were searched here took.
    pub(super) fn new(
        names: [&str; 2],
        counts: &Counts,
        sprt: Option<&Sprt>,
        (nodes, seconds): (u64, f64),
    ) -> Summary {
        let tally = &counts.tally;
        let elo = Elo::of(tally);
        // JSON has no infinity.
        let finite = |value: fn(&Elo) -> f64| elo.as_ref().map(value).filter(|x| x.is_finite());
        Summary {
            a: names[0].into(),
            b: names[1].into(),
            games: tally.games(),
            wins: tally.wins,
            draws: tally.draws,
            losses: tally.losses,
            pairs: tally.pairs,
            unpaired_games: tally.unpaired(),
            score: finite(|elo| elo.score),
            elo: finite(|elo| elo.elo),
            elo_error: finite(|elo| elo.elo_error),
            nelo: finite(|elo| elo.nelo),
            nelo_error: finite(|elo| elo.nelo_error),
            los: finite(|elo| elo.los),
            sprt: sprt.map(|sprt| {
                let state = sprt.state(tally);
                let verdict = match state.verdict() {
                    SprtVerdict::H0 => "H0",
                    SprtVerdict::H1 => "H1",
                    SprtVerdict::Undecided => "undecided",
                };
                let (llr, lower, upper) = (state.llr, state.lower, state.upper);
                SprtSummary { elo0: sprt.elo0, elo1: sprt.elo1, llr, lower, upper, verdict }
            }),
            terminations: counts.terminations.clone(),
            time_losses: counts.time_losses,
            nodes_per_move: [0, 1].map(|side| counts.nodes[side] as f64 / counts.moves[side].max(1) as f64),
            nodes,
            seconds,
            nps: (nodes as f64 / seconds.max(1e-9)) as u64,
        }
    }

    /// One line for a progress bar.
    pub(super) fn line(&self) -> String {
        let mut line = format!("+{} ={} -{}", self.wins, self.draws, self.losses);
        if let (Some(elo), Some(error)) = (self.elo, self.elo_error) {
            line += &format!("  Elo {elo:+.1} ± {error:.1}");
        }
        if let Some(sprt) = &self.sprt {
            line += &format!("  LLR {:.2} [{:.2}, {:.2}]", sprt.llr, sprt.lower, sprt.upper);
        }
        line
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure = |value: Option<f64>, error: Option<f64>| match (value, error) {
            (Some(value), Some(error)) => format!("{value:+.1} ± {error:.1}"),
            (Some(value), None) => format!("{value:+.1}"),
            _ => "-".into(),
        };
        writeln!(f, "A                 {}", self.a)?;
        writeln!(f, "B                 {}", self.b)?;
        writeln!(f, "games             {}: +{} ={} -{}", self.games, self.wins, self.draws, self.losses)?;
        writeln!(f, "pairs 0-½-1-1½-2  {:?}", self.pairs)?;
        if let Some(score) = self.score {
            writeln!(f, "score             {:.2} %", 100.0 * score)?;
        }
        writeln!(f, "Elo               {} (95 %)", figure(self.elo, self.elo_error))?;
        writeln!(f, "normalized Elo    {} (95 %)", figure(self.nelo, self.nelo_error))?;
        if let Some(los) = self.los {
            writeln!(f, "LOS               {:.2} %", 100.0 * los)?;
        }
        if let Some(SprtSummary { elo0, elo1, llr, lower, upper, verdict }) = &self.sprt {
            writeln!(f, "SPRT [{elo0}, {elo1}]      LLR {llr:.2} in [{lower:.2}, {upper:.2}]: {verdict}")?;
        }
        let ends: Vec<_> = self.terminations.iter().map(|(word, n)| format!("{word} {n}")).collect();
        writeln!(f, "ends              {}", ends.join(", "))?;
        writeln!(f, "lost on time      A {}, B {}", self.time_losses[0], self.time_losses[1])?;
        writeln!(f, "nodes per move    A {:.1}, B {:.1}", self.nodes_per_move[0], self.nodes_per_move[1])?;
        writeln!(f, "{} nodes in {:.1} s, {} nodes/s", self.nodes, self.seconds, self.nps)
    }
}
