//! A match's result from its rows, and a ranking of several matches' players.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use serde::Serialize;

use super::Side;
use super::match_files::PlayedGame;
use super::match_rows::MatchGameRow;
use super::statistics::{Elo, Rating, ResultTally, Sprt, SprtState, Verdict, ratings};
use crate::move_rows::{MoveRow, PruningCounts};
use crate::report::Table;

/// For a ranking: two players have their match.
const FEWEST_PLAYERS: usize = 3;

/// The games of a match so far, by their moves and colours: one that was played before proves nothing more.
#[derive(Clone, Debug, Default)]
struct KnownGames(HashSet<(String, bool)>);

impl KnownGames {
    fn is_new(&mut self, row: &MatchGameRow) -> bool {
        // Older rows do not say.
        row.moves_hash.is_empty() || self.0.insert((row.moves_hash.clone(), row.a_is_white))
    }
}

/// The games of one match without those that were played before.
pub(super) fn different(games: &[MatchGameRow]) -> impl Iterator<Item = &MatchGameRow> {
    let mut known = KnownGames::default();
    games.iter().filter(move |row| known.is_new(row))
}

/// Over all games, from A's point of view.
#[derive(Clone, Debug, Default)]
pub struct MatchCounts {
    /// Of the games that differ.
    pub tally: ResultTally,
    /// All of them.
    pub games: u64,
    known: KnownGames,
    terminations: BTreeMap<String, u64>,
    time_losses: [u64; 2],
    faults: [u64; 2],
    /// Moves of A and B, and their new nodes.
    moves: [u64; 2],
    nodes: [u64; 2],
    pruning: [PruningCounts; 2],
}

impl MatchCounts {
    pub(super) fn add_move(&mut self, row: &MoveRow) {
        self.pruning[Side::of(row).index()].add(row);
    }

    pub fn add_game(&mut self, game: &PlayedGame) {
        self.add(&game.game);
        game.moves.iter().for_each(|row| self.add_move(row));
    }

    pub(super) fn add(&mut self, row: &MatchGameRow) {
        self.games += 1;
        if self.known.is_new(row) {
            self.tally.add(row.pair, row.half_points.min(2) as u8);
        }
        *self.terminations.entry(row.termination.clone()).or_default() += 1;
        let ([a_lost, b_lost], faults) = (row.time_losses(), row.faults());
        let sides = [(row.a_moves, row.a_nodes, a_lost), (row.b_moves, row.b_nodes, b_lost)];
        for (index, (moves, nodes, lost)) in sides.into_iter().enumerate() {
            self.moves[index] += u64::from(moves);
            self.nodes[index] += nodes;
            self.time_losses[index] += u64::from(lost);
            self.faults[index] += u64::from(faults[index]);
        }
    }
}

/// The fields are the keys of the JSON document.
#[derive(Clone, Debug, Serialize)]
pub struct MatchSummary {
    a: String,
    b: String,
    games: u64,
    /// One that equals an earlier one counts in no figure from here to the test.
    different_games: u64,
    wins: u64,
    draws: u64,
    losses: u64,
    /// By points: 0, ½, 1, 1½, 2.
    pairs: [u64; 5],
    unpaired_games: u64,
    /// Points of A per game of a pair.
    score: Option<f64>,
    /// Elo of A, half its 95 % interval, and the ends. Infinite values are `null`.
    elo: Option<f64>,
    elo_error: Option<f64>,
    elo_low: Option<f64>,
    elo_high: Option<f64>,
    /// `ahead`, `behind`, or `undecided` with 0 in the interval.
    verdict: Option<Verdict>,
    nelo: Option<f64>,
    nelo_error: Option<f64>,
    los: Option<f64>,
    sprt: Option<SprtState>,
    terminations: BTreeMap<String, u64>,
    time_losses: [u64; 2],
    /// Games that A and B lost by illegal moves and crashes.
    faults: [u64; 2],
    /// New nodes of A and B. `null` of an engine that does not tell them.
    nodes_per_move: [Option<f64>; 2],
    /// Of the moves of A and B. `null` without clocks, and in reports on rows of games alone.
    pruned: [Option<f64>; 2],
    /// Time that this saved A and B, as shares of the time used.
    pruning_saved: [Option<f64>; 2],
    /// New nodes searched in this run. Absent in reports on rows.
    nodes: Option<u64>,
    seconds: Option<f64>,
    nps: Option<u64>,
}

impl MatchSummary {
    /// `speed` has nodes and seconds of this run.
    pub fn new(
        names: [&str; 2],
        counts: &MatchCounts,
        sprt: Option<&Sprt>,
        speed: Option<(u64, f64)>,
    ) -> MatchSummary {
        let tally = &counts.tally;
        let elo = Elo::of(tally);
        let finite = |value: fn(&Elo) -> f64| elo.as_ref().map(value).filter(|x| x.is_finite());
        MatchSummary {
            a: names[0].into(),
            b: names[1].into(),
            games: counts.games,
            different_games: tally.games(),
            wins: tally.wins,
            draws: tally.draws,
            losses: tally.losses,
            pairs: tally.pairs,
            unpaired_games: tally.unpaired(),
            score: finite(|elo| elo.score),
            elo: finite(|elo| elo.elo),
            elo_error: finite(|elo| (elo.high - elo.low) / 2.0),
            elo_low: finite(|elo| elo.low),
            elo_high: finite(|elo| elo.high),
            verdict: elo.as_ref().map(Elo::verdict),
            nelo: finite(|elo| elo.nelo),
            nelo_error: finite(|elo| elo.nelo_error),
            los: finite(|elo| elo.los),
            sprt: sprt.map(|sprt| sprt.state(tally)),
            terminations: counts.terminations.clone(),
            time_losses: counts.time_losses,
            faults: counts.faults,
            nodes_per_move: [0, 1].map(|side| {
                let nodes = Some(counts.nodes[side]).filter(|&nodes| nodes > 0);
                nodes.map(|nodes| nodes as f64 / counts.moves[side].max(1) as f64)
            }),
            pruned: counts.pruning.map(|side| side.pruned()),
            pruning_saved: counts.pruning.map(|side| side.saved()),
            nodes: speed.map(|(nodes, _)| nodes),
            seconds: speed.map(|(_, seconds)| seconds),
            nps: speed.map(|(nodes, seconds)| (nodes as f64 / seconds.max(1e-9)) as u64),
        }
    }

    pub(crate) fn names(&self) -> [&str; 2] {
        [&self.a, &self.b]
    }

    fn pruning(&self) -> Option<[(&str, f64, f64); 2]> {
        let [a, b] = [0, 1].map(|side| Some((self.pruned[side]?, self.pruning_saved[side]?)));
        let ((a_pruned, a_saved), (b_pruned, b_saved)) = (a?, b?);
        Some([(&self.a, a_pruned, a_saved), (&self.b, b_pruned, b_saved)])
    }

    /// Infinite if one side has won all games.
    fn elo(&self) -> String {
        match (self.elo, self.score) {
            (Some(elo), _) => format!("{elo:+.1}"),
            (None, Some(score)) if score > 0.5 => "+∞".into(),
            (None, Some(_)) => "-∞".into(),
            (None, None) => "–".into(),
        }
    }

    fn interval(&self) -> String {
        let end =
            |value: Option<f64>, none: &str| value.map_or(none.to_owned(), |value| format!("{value:+.0}"));
        match self.verdict {
            Some(_) => format!("{} to {}", end(self.elo_low, "-∞"), end(self.elo_high, "+∞")),
            None => "–".into(),
        }
    }

    fn nelo(&self) -> String {
        match (self.nelo, self.nelo_error) {
            (Some(nelo), Some(error)) => format!("{nelo:+.1} ± {error:.1}"),
            _ => "–".into(),
        }
    }

    pub(super) fn key_figure(&self) -> (String, String) {
        let MatchSummary { a, b, wins, draws, losses, .. } = self;
        let of_games = format!("{}: {wins} won, {draws} drawn, {losses} lost by {a}.", self.games());
        let Some(verdict) = self.verdict else {
            return ("undecided".into(), format!("No pair of games is complete yet. {of_games}"));
        };
        let (leader, other) = if self.score >= Some(0.5) { (a, b) } else { (b, a) };
        let lead = match self.elo.map(f64::abs) {
            Some(0.0) => format!("{a} and {b} have scored alike"),
            Some(elo) => format!("{leader} is ahead of {other} by {elo:.0} Elo"),
            None => format!("{leader} has won all games"),
        };
        let interval = self.interval().replace('-', "−");
        let certainty = match verdict {
            Verdict::Undecided => "With 0 in it, either may be the stronger one.".to_owned(),
            Verdict::Ahead | Verdict::Behind => format!("{leader} is stronger."),
        };
        if let Some(sprt) = self.sprt.as_ref().filter(|sprt| sprt.is_decided()) {
            return (
                format!("{} is accepted", sprt.verdict),
                format!("{} {lead}. {of_games}", sprt.in_words(a, b)),
            );
        }
        let elo = self.elo.map_or(self.elo(), |elo| format!("{elo:+.0}")).replace('-', "−");
        let undecided = if verdict == Verdict::Undecided { ": undecided" } else { "" };
        (
            format!("{elo} Elo{undecided}"),
            format!("{lead}. The interval of 95 % for {a} is {interval}. {certainty} {of_games}"),
        )
    }

    fn games(&self) -> String {
        let MatchSummary { games, different_games, .. } = self;
        match games == different_games {
            true => format!("{games} games"),
            false => format!("{games} games, {different_games} different"),
        }
    }

    pub(super) fn is_decided(&self) -> bool {
        matches!(self.verdict, Some(Verdict::Ahead | Verdict::Behind))
    }

    pub(super) fn sprt_in_words(&self) -> Option<String> {
        let sprt = self.sprt.as_ref()?;
        let SprtState { elo0, elo1, model, .. } = sprt;
        let (a, b) = (&self.a, &self.b);
        Some(format!(
            "The sequential test weighs H1, that {a} is {elo1} {model} Elo ahead of {b}, against H0, that it is {elo0}: {sprt}. \
             {} The test ends when the logarithm of the ratio (LLR) leaves its bounds.",
            sprt.in_words(a, b)
        ))
    }

    pub fn line(&self) -> String {
        let mut line = format!("+{} ={} -{}", self.wins, self.draws, self.losses);
        if self.verdict.is_some() {
            line += &format!("  Elo {} ({})", self.elo(), self.interval());
        }
        if let Some(sprt) = &self.sprt {
            line += &format!("  LLR {:.2} [{:.2}, {:.2}]", sprt.llr, sprt.lower, sprt.upper);
        }
        line
    }
}

impl fmt::Display for MatchSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "A                 {}", self.a)?;
        writeln!(f, "B                 {}", self.b)?;
        let games = self.games().replacen(" games", "", 1);
        writeln!(f, "games             {games}: +{} ={} -{}", self.wins, self.draws, self.losses)?;
        writeln!(f, "pairs 0-½-1-1½-2  {:?}", self.pairs)?;
        if let Some(score) = self.score {
            writeln!(f, "score             {:.2} %", 100.0 * score)?;
        }
        match self.verdict {
            Some(verdict) => {
                writeln!(f, "Elo               {} (95 %: {}), {verdict}", self.elo(), self.interval())?
            }
            None => writeln!(f, "Elo               –")?,
        }
        writeln!(f, "normalized Elo    {}", self.nelo())?;
        if let Some(los) = self.los {
            writeln!(f, "LOS               {:.2} %", 100.0 * los)?;
        }
        if let Some(sprt) = &self.sprt {
            writeln!(f, "SPRT [{}, {}]      {sprt} ({} Elo)", sprt.elo0, sprt.elo1, sprt.model)?;
            writeln!(f, "                  {}", sprt.in_words("A", "B"))?;
        }
        let ends: Vec<_> = self.terminations.iter().map(|(word, n)| format!("{word} {n}")).collect();
        writeln!(f, "ends              {}", ends.join(", "))?;
        writeln!(f, "lost on time      A {}, B {}", self.time_losses[0], self.time_losses[1])?;
        if self.faults != [0, 0] {
            writeln!(f, "lost by a fault   A {}, B {}", self.faults[0], self.faults[1])?;
        }
        let [a, b] =
            self.nodes_per_move.map(|nodes| nodes.map_or("–".into(), |nodes| format!("{nodes:.1}")));
        writeln!(f, "nodes per move    A {a}, B {b}")?;
        if let Some(sides) = self.pruning() {
            let [a, b] = sides.map(|(_, pruned, saved)| {
                format!("{:.1} % of the moves, {:.1} % of the time saved", 100.0 * pruned, 100.0 * saved)
            });
            writeln!(f, "smart pruning     A {a}; B {b}")?;
        }
        if let (Some(nodes), Some(seconds), Some(nps)) = (self.nodes, self.seconds, self.nps) {
            writeln!(f, "{nodes} nodes in {seconds:.1} s, {nps} nodes/s")?;
        }
        Ok(())
    }
}

pub fn table(matches: &[MatchSummary]) -> Table {
    let table = Table::of("Results of A; intervals and errors are those of 95 %", matches)
        .words("A", |summary| &summary.a)
        .words("B", |summary| &summary.b)
        .numbers("games", |summary| summary.games().replacen(" games", "", 1))
        .numbers("won", |summary| summary.wins)
        .numbers("drawn", |summary| summary.draws)
        .numbers("lost", |summary| summary.losses)
        .numbers("Elo", |summary| summary.elo())
        .numbers("95 %", |summary| summary.interval())
        .words("verdict", |summary| summary.verdict.map_or("–".into(), |verdict| verdict.to_string()))
        .numbers("normalized Elo", |summary| summary.nelo())
        .numbers("LOS, %", |summary| summary.los.map_or("–".into(), percent))
        .numbers("lost on time, A / B", |MatchSummary { time_losses: [a, b], .. }| format!("{a} / {b}"));
    let sprt = |summary: &MatchSummary| summary.sprt.as_ref().map(ToString::to_string);
    if matches.iter().any(|summary| summary.sprt.is_some()) {
        return table.words("SPRT", |summary| sprt(summary).unwrap_or_default()).table();
    }
    table.table()
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// Smart pruning by player, `None` without clocks.
pub fn pruning_table(matches: &[MatchSummary]) -> Option<Table> {
    let sides = matches.iter().filter_map(MatchSummary::pruning);
    let players: Vec<_> = sides.flat_map(|[a, b]| [(a, b.0), (b, a.0)]).collect();
    (!players.is_empty()).then(|| {
        Table::of("Smart pruning", players)
            .words("player", |((player, ..), _)| *player)
            .words("against", |(_, against)| *against)
            .numbers("ended by smart pruning, % of the moves", |((_, pruned, _), _)| percent(*pruned))
            .numbers("time saved, % of the time used", |((.., saved), _)| percent(*saved))
            .table()
    })
}

/// The strongest first.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Ranking {
    players: Vec<RankedPlayer>,
}

#[derive(Clone, Debug, Serialize)]
struct RankedPlayer {
    name: String,
    #[serde(flatten)]
    rating: Rating,
}

impl Ranking {
    /// `None` with fewer than three players, or if some cannot be compared.
    pub(super) fn of<'a>(matches: impl Iterator<Item = &'a [MatchGameRow]>) -> Option<Ranking> {
        let mut names: Vec<&str> = Vec::new();
        let mut place = |name: &'a str| {
            names.iter().position(|known| *known == name).unwrap_or_else(|| {
                names.push(name);
                names.len() - 1
            })
        };
        let mut played = Vec::new();
        for games in matches {
            let Some(first) = games.first() else { continue };
            played.push(([place(&first.a), place(&first.b)], tally_of(games)));
        }
        if names.len() < FEWEST_PLAYERS {
            return None;
        }
        let results: Vec<_> = played.iter().map(|(players, tally)| (*players, tally)).collect();
        let ratings = ratings(names.len(), &results)?;
        let players = names.into_iter().zip(ratings);
        let mut players: Vec<_> =
            players.map(|(name, rating)| RankedPlayer { name: name.into(), rating }).collect();
        players.sort_by(|a, b| b.rating.elo.total_cmp(&a.rating.elo));
        Some(Ranking { players })
    }

    pub(super) fn best(&self) -> String {
        self.players.first().map_or(String::new(), |player| player.name.clone())
    }

    pub fn table(&self) -> Table {
        Table::of("All players; the mean of all is 0", &self.players)
            .words("player", |player| &player.name)
            .numbers("Elo", |player| format!("{:+.1}", player.rating.elo))
            .numbers("± 95 %", |player| format!("{:.1}", player.rating.elo_error))
            .numbers("games", |player| player.rating.games)
            .numbers("score, %", |player| percent(player.rating.score))
            .table()
    }
}

pub(super) fn tally_of(games: &[MatchGameRow]) -> ResultTally {
    let mut tally = ResultTally::default();
    different(games).for_each(|row| tally.add(row.pair, row.half_points.min(2) as u8));
    tally
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nothing_bounds_is_infinite_and_the_test_names_its_scale() {
        // The interval reaches all points.
        let mut counts = MatchCounts::default();
        for (pair, half_points) in [(0, 2), (0, 0), (1, 2), (1, 2), (2, 2), (2, 2)] {
            counts.tally.add(pair, half_points);
        }
        let sprt = Sprt::parse("elo0=0,elo1=5,model=logistic").unwrap();
        let text = MatchSummary::new(["A", "B"], &counts, Some(&sprt), None).to_string();
        assert!(text.contains("Elo               +279.6 (95 %: -76 to +∞), undecided\n"), "{text}");
        assert!(text.contains("undecided (logistic Elo)\n"), "{text}");
        let none = MatchSummary::new(["A", "B"], &MatchCounts::default(), None, None).to_string();
        assert!(none.contains("Elo               –\n"), "{none}");
    }
}
