//! A match's result, which grows as its games end, and a ranking of several matches' players.

use std::collections::{BTreeMap, HashSet};
use std::fmt;

use itertools::Itertools;
use serde::{Serialize, Serializer};
use serde_json::json;

use super::Side;
use super::match_files::{MatchGameRow, PlayedGame};
use super::statistics::{Elo, Rating, ResultTally, Sprt, SprtState, Verdict, counted, ratings};
use crate::move_rows::{MoveRow, PruningCounts};
use crate::report::Table;

const FEWEST_PLAYERS: usize = 3;
/// What is not known.
const NONE: &str = "–";

/// Games by their moves and colours.
type KnownGames = HashSet<(String, bool)>;

/// A game that was played before proves nothing more.
fn is_new(row: &MatchGameRow, known: &mut KnownGames) -> bool {
    // Older rows do not say.
    row.moves_hash.is_empty() || known.insert((row.moves_hash.clone(), row.a_is_white))
}

/// The games of one match without those that were played before.
pub(super) fn different(games: &[MatchGameRow]) -> impl Iterator<Item = &MatchGameRow> {
    let mut known = KnownGames::default();
    games.iter().filter(move |row| is_new(row, &mut known))
}

/// The result of a match so far, from A's point of view.
#[derive(Clone, Debug, Default)]
pub struct MatchSummary {
    names: [String; 2],
    sprt: Option<Sprt>,
    /// Of this run. `None` in reports on rows.
    pub speed: Option<MatchSpeed>,
    /// All of them.
    pub games: u64,
    /// Of the games that differ.
    tally: ResultTally,
    known: KnownGames,
    terminations: BTreeMap<String, u64>,
    time_losses: [u64; 2],
    /// Games that A and B lost by illegal moves and crashes.
    faults: [u64; 2],
    /// Moves of A and B, and their new nodes.
    moves: [u64; 2],
    nodes: [u64; 2],
    pruning: [PruningCounts; 2],
}

/// New nodes of both engines.
#[derive(Clone, Copy, Debug)]
pub struct MatchSpeed {
    pub nodes: u64,
    pub seconds: f64,
}

impl MatchSpeed {
    fn nps(self) -> u64 {
        (self.nodes as f64 / self.seconds.max(1e-9)) as u64
    }
}

impl MatchSummary {
    pub fn new(names: [&str; 2], sprt: Option<Sprt>) -> MatchSummary {
        MatchSummary {
            names: names.map(str::to_owned),
            sprt,
            ..MatchSummary::default()
        }
    }

    pub(super) fn add_move(&mut self, row: &MoveRow) {
        self.pruning[Side::of(row).index()].add(row);
    }

    pub fn add_game(&mut self, game: &PlayedGame) {
        self.add(&game.game);
        for row in &game.moves {
            self.add_move(row);
        }
    }

    pub(super) fn add(&mut self, row: &MatchGameRow) {
        self.games += 1;
        if is_new(row, &mut self.known) {
            self.tally.add(row.pair, row.half_points.min(2) as u8);
        }
        *self.terminations.entry(row.termination.clone()).or_default() += 1;
        let moves = [row.a_moves, row.b_moves].map(u64::from);
        let nodes = [row.a_nodes, row.b_nodes];
        for side in [0, 1] {
            self.moves[side] += moves[side];
            self.nodes[side] += nodes[side];
            self.time_losses[side] += u64::from(row.time_losses()[side]);
            self.faults[side] += u64::from(row.faults()[side]);
        }
    }

    pub(crate) fn names(&self) -> [&str; 2] {
        self.names.each_ref().map(String::as_str)
    }

    fn elo(&self) -> Option<Elo> {
        Elo::of(&self.tally)
    }

    fn elo_in_words(&self, words: impl Fn(&Elo) -> String) -> String {
        self.elo().map_or(NONE.into(), |elo| words(&elo))
    }

    fn sprt(&self) -> Option<SprtState> {
        self.sprt.map(|sprt| sprt.state(&self.tally))
    }

    pub fn is_proven(&self) -> bool {
        self.sprt().is_some_and(|sprt| sprt.is_decided())
    }

    /// Whether 0 Elo lies outside the interval.
    pub(super) fn is_decided(&self) -> bool {
        self.elo().is_some_and(|elo| elo.verdict() != Verdict::Undecided)
    }

    /// `None` of an engine that does not tell nodes.
    fn nodes_per_move(&self) -> [Option<f64>; 2] {
        [0, 1].map(|side| {
            let nodes = self.nodes[side] as f64;
            (nodes > 0.0).then(|| nodes / self.moves[side].max(1) as f64)
        })
    }

    /// Of A and B the moves that smart pruning ended, and the time that this saved, percent. `None` without
    /// clocks or rows of moves.
    fn pruning(&self) -> Option<[[String; 2]; 2]> {
        let in_percent = |side: PruningCounts| Some([percent(side.pruned()?), percent(side.saved()?)]);
        let [a, b] = self.pruning.map(in_percent);
        Some([a?, b?])
    }

    pub(super) fn key_figure(&self) -> (String, String) {
        let [a, b] = self.names();
        let ResultTally {
            wins, draws, losses, ..
        } = &self.tally;
        let of_games = format!(
            "{}: {wins} won, {draws} drawn, {losses} lost by {a}.",
            self.count(" games")
        );
        let Some(elo) = self.elo() else {
            return (
                "undecided".into(),
                format!("No pair of games is complete yet. {of_games}"),
            );
        };
        let (leader, other) = if elo.score >= 0.5 { (a, b) } else { (b, a) };
        let lead = match elo.elo.abs() {
            0.0 => format!("{a} and {b} have scored alike"),
            f64::INFINITY => format!("{leader} has won all games"),
            ahead => format!("{leader} is ahead of {other} by {ahead:.0} Elo"),
        };
        if let Some(sprt) = self.sprt().filter(SprtState::is_decided) {
            return (
                format!("{} is accepted", sprt.verdict),
                format!("{} {lead}. {of_games}", sprt.in_words(a, b)),
            );
        }
        let [mut figure, interval] =
            [elo.lead(0) + " Elo", elo.interval()].map(|text| text.replace('-', "−"));
        let certainty = if elo.verdict() == Verdict::Undecided {
            figure += ": undecided";
            "With 0 in it, either may be the stronger one.".to_owned()
        } else {
            format!("{leader} is stronger.")
        };
        let sentence = format!("{lead}. The interval of 95 % for {a} is {interval}. {certainty} {of_games}");
        (figure, sentence)
    }

    fn count(&self, unit: &str) -> String {
        counted(self.games, unit, self.tally.games())
    }

    pub(super) fn sprt_in_words(&self) -> Option<String> {
        let sprt = self.sprt()?;
        let [a, b] = self.names();
        let SprtState {
            elo0, elo1, model, ..
        } = &sprt;
        Some(format!(
            "The sequential test weighs H1, that {a} is {elo1} {model} Elo ahead of {b}, against H0, that it is {elo0}: {sprt}. \
             {} The test ends when the logarithm of the ratio (LLR) leaves its bounds.",
            sprt.in_words(a, b)
        ))
    }

    pub fn line(&self) -> String {
        let mut line = self.tally.to_string();
        if let Some(elo) = self.elo() {
            line += &format!("  Elo {} ({})", elo.lead(1), elo.interval());
        }
        if let Some(SprtState {
            llr, lower, upper, ..
        }) = self.sprt()
        {
            line += &format!("  LLR {llr:.2} [{lower:.2}, {upper:.2}]");
        }
        line
    }
}

/// The keys are a contract.
impl Serialize for MatchSummary {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (elo, [a, b]) = (self.elo(), self.names());
        // What is not finite becomes `null`.
        let of_elo = |value: fn(&Elo) -> f64| elo.as_ref().map(value);
        json!({
            "a": a,
            "b": b,
            "games": self.games,
            // One that equals an earlier one counts in no figure up to the test.
            "different_games": self.tally.games(),
            "wins": self.tally.wins,
            "draws": self.tally.draws,
            "losses": self.tally.losses,
            "pairs": self.tally.pair_count(),
            // By points: 0, ½, 1, 1½, 2.
            "pentanomial": self.tally.pairs,
            "unpaired_games": self.tally.unpaired(),
            "score": of_elo(|elo| elo.score),
            "elo": of_elo(|elo| elo.elo),
            // Half the interval of 95 %.
            "elo_error": of_elo(|elo| (elo.high - elo.low) / 2.0),
            "elo_low": of_elo(|elo| elo.low),
            "elo_high": of_elo(|elo| elo.high),
            "verdict": elo.as_ref().map(Elo::verdict),
            "nelo": of_elo(|elo| elo.nelo),
            "nelo_error": of_elo(|elo| elo.nelo_error),
            "los": of_elo(|elo| elo.los),
            "sprt": self.sprt(),
            "terminations": self.terminations,
            "time_losses": self.time_losses,
            "faults": self.faults,
            "nodes_per_move": self.nodes_per_move(),
            "pruned": self.pruning.map(|side| side.pruned()),
            "pruning_saved": self.pruning.map(|side| side.saved()),
            "nodes": self.speed.map(|speed| speed.nodes),
            "time_ms": self.speed.map(|speed| 1000.0 * speed.seconds),
            "nps": self.speed.map(MatchSpeed::nps),
        })
        .serialize(serializer)
    }
}

impl fmt::Display for MatchSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b] = self.names();
        let elo = self.elo();
        let mut fact = |name: &str, value: String| writeln!(f, "{name:<17} {value}");
        let of_both = |[of_a, of_b]: [String; 2]| format!("{a} {of_a}, {b} {of_b}");
        fact("players", format!("{a} against {b}"))?;
        fact("games", format!("{}: {a} {}", self.count(""), self.tally))?;
        fact("pairs 0-½-1-1½-2", format!("{:?}", self.tally.pairs))?;
        if let Some(elo) = &elo {
            fact("score", format!("{:.2} %", 100.0 * elo.score))?;
        }
        let whole = |elo: &Elo| {
            let verdict = elo.verdict().in_words(a, b);
            format!("{} (95 %: {}), {verdict}", elo.lead(1), elo.interval())
        };
        fact("Elo", self.elo_in_words(whole))?;
        fact("normalized Elo", self.elo_in_words(Elo::normalized))?;
        if let Some(elo) = &elo {
            fact("LOS", format!("{:.2} %", 100.0 * elo.los))?;
        }
        if let Some(sprt) = self.sprt() {
            let name = format!("SPRT [{}, {}]", sprt.elo0, sprt.elo1);
            fact(&name, format!("{sprt} ({} Elo)", sprt.model))?;
            fact("", sprt.in_words(a, b))?;
        }
        let ends = self.terminations.iter();
        fact("ends", ends.map(|(word, n)| format!("{word} {n}")).join(", "))?;
        fact("lost on time", of_both(self.time_losses.map(|n| n.to_string())))?;
        if self.faults != [0; 2] {
            fact("lost by a fault", of_both(self.faults.map(|n| n.to_string())))?;
        }
        let nodes = self.nodes_per_move();
        let nodes = nodes.map(|nodes| nodes.map_or(NONE.into(), |nodes| format!("{nodes:.1}")));
        fact("nodes per move", of_both(nodes))?;
        if let Some(sides) = self.pruning() {
            let [of_a, of_b] =
                sides.map(|[pruned, saved]| format!("{pruned} % of the moves, {saved} % of the time saved"));
            fact("smart pruning", format!("{a} {of_a}; {b} {of_b}"))?;
        }
        if let Some(speed) = self.speed {
            let MatchSpeed { nodes, seconds } = speed;
            writeln!(f, "{nodes} nodes in {seconds:.1} s, {} nodes/s", speed.nps())?;
        }
        Ok(())
    }
}

pub fn table(matches: &[MatchSummary]) -> Table {
    let table = Table::of("Results of A; intervals and errors are those of 95 %", matches)
        .words("A", |summary| &summary.names[0])
        .words("B", |summary| &summary.names[1])
        .numbers("games", |summary| summary.count(""))
        .numbers("won", |summary| summary.tally.wins)
        .numbers("drawn", |summary| summary.tally.draws)
        .numbers("lost", |summary| summary.tally.losses)
        .numbers("pairs 0-½-1-1½-2", |summary| {
            format!("{:?}", summary.tally.pairs)
        })
        .numbers("Elo", |summary| summary.elo_in_words(|elo| elo.lead(1)))
        .numbers("95 %", |summary| summary.elo_in_words(Elo::interval))
        .words("verdict", |summary| {
            let [a, b] = summary.names();
            summary.elo_in_words(|elo| elo.verdict().in_words(a, b))
        })
        .numbers("normalized Elo", |summary| summary.elo_in_words(Elo::normalized))
        .numbers("LOS, %", |summary| summary.elo_in_words(|elo| percent(elo.los)))
        .numbers(
            "lost on time, A / B",
            |MatchSummary {
                 time_losses: [a, b], ..
             }| format!("{a} / {b}"),
        );
    let sprt = |summary: &MatchSummary| summary.sprt().map(|sprt| sprt.to_string()).unwrap_or_default();
    let has_test = matches.iter().any(|summary| summary.sprt.is_some());
    if has_test {
        table.words("SPRT", |summary| sprt(summary)).table()
    } else {
        table.table()
    }
}

fn percent(share: f64) -> String {
    format!("{:.1}", 100.0 * share)
}

/// Smart pruning by player, `None` without clocks.
pub fn pruning_table(matches: &[MatchSummary]) -> Option<Table> {
    let mut players = Vec::new();
    for summary in matches {
        let [a, b] = summary.names();
        if let Some([of_a, of_b]) = summary.pruning() {
            players.push((a, b, of_a));
            players.push((b, a, of_b));
        }
    }
    let has_any = !players.is_empty();
    let table = Table::of("Smart pruning", players)
        .words("player", |(player, ..)| *player)
        .words("against", |(_, against, _)| *against)
        .numbers("ended by smart pruning, % of the moves", |(.., [pruned, _])| {
            pruned.clone()
        })
        .numbers("time saved, % of the time used", |(.., [_, saved])| saved.clone());
    has_any.then(|| table.table())
}

/// The players, the strongest first.
#[derive(Debug, Serialize)]
pub struct Ranking(Vec<RankedPlayer>);

#[derive(Debug, Serialize)]
struct RankedPlayer {
    name: String,
    #[serde(flatten)]
    rating: Rating,
}

impl Ranking {
    /// Ranks the players of several matches. `None` with fewer than three, or if some cannot be compared.
    pub fn of(matches: &[MatchSummary]) -> Option<Ranking> {
        let names: Vec<_> = matches.iter().flat_map(MatchSummary::names).unique().collect();
        if names.len() < FEWEST_PLAYERS {
            return None;
        }
        let place = |name: &str| names.iter().position(|known| *known == name).unwrap_or_default();
        let results = matches
            .iter()
            .map(|summary| (summary.names().map(place), &summary.tally));
        let ratings = ratings(names.len(), &results.collect::<Vec<_>>())?;
        let players = names.into_iter().zip(ratings).map(|(name, rating)| RankedPlayer {
            name: name.to_owned(),
            rating,
        });
        let ranked = players.sorted_by(|a, b| b.rating.elo.total_cmp(&a.rating.elo));
        Some(Ranking(ranked.collect()))
    }

    pub(super) fn best(&self) -> String {
        self.0[0].name.clone()
    }

    pub fn table(&self) -> Table {
        let caption = "All players; the mean of all is 0; half a drawn pair is added to a match that was won to nothing";
        Table::of(caption, &self.0)
            .words("player", |player| &player.name)
            .numbers("Elo", |player| format!("{:+.1}", player.rating.elo))
            .numbers("± 95 %", |player| format!("{:.1}", player.rating.elo_error))
            .numbers("games", |player| player.rating.games)
            .numbers("score, %", |player| percent(player.rating.score))
            .table()
    }

    /// The players and their Elo so far, in one line.
    pub fn line(&self) -> String {
        let of_player = |RankedPlayer { name, rating }: &RankedPlayer| {
            format!("{name} {:+.1} ± {:.1}", rating.elo, rating.elo_error)
        };
        format!("Elo {}", self.0.iter().map(of_player).join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_moves_with_colours_swapped_are_another_game() {
        let mut summary = MatchSummary::new(["A", "B"], None);
        for (game, a_is_white) in [true, false, true, false].into_iter().enumerate() {
            summary.add(&MatchGameRow {
                game: game as u64,
                pair: game as u64 / 2,
                a_is_white,
                half_points: 1,
                moves_hash: "equal".into(),
                ..MatchGameRow::default()
            });
        }
        assert_eq!(
            (summary.games, summary.tally.games(), summary.tally.pairs),
            (4, 2, [0, 0, 1, 0, 0])
        );
    }

    #[test]
    fn what_nothing_bounds_is_infinite_and_the_test_names_its_scale() {
        // The interval reaches all points.
        let sprt = Sprt::parse("elo0=0,elo1=5,model=logistic").unwrap();
        let mut summary = MatchSummary::new(["A", "B"], Some(sprt));
        for (pair, half_points) in [(0, 2), (0, 0), (1, 2), (1, 2), (2, 2), (2, 2)] {
            summary.tally.add(pair, half_points);
        }
        let text = summary.to_string();
        assert!(
            text.contains("Elo               +279.6 (95 %: -76 to +∞), undecided\n"),
            "{text}"
        );
        assert!(text.contains("undecided (logistic Elo)\n"), "{text}");
        assert!(json!(summary)["elo_high"].is_null());
        let none = MatchSummary::new(["A", "B"], None).to_string();
        assert!(none.contains("Elo               –\n"), "{none}");
    }
}
