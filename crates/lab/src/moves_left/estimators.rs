//! Estimators under test: the time managers', and the median of what was left at a ply, the best function of
//! the ply for the mean absolute error. Each half of the events is measured with the medians of the other
//! half.

use std::collections::BTreeMap;

use super::PositionRow;
use super::statistics::{Unit, quantile};
use zeitnot_engine::params::{ParamError, Params};
use zeitnot_engine::time::estimators::moves_left::{MovesLeftEstimator, estimator_from};

/// Plies that share one median.
const WIDTH: u32 = 4;
/// Chunks with fewer positions take the median before them.
const FEWEST: u64 = 30;
/// Per half. With fewer, chance adds more than 0.2 moves to the medians' error.
const FEWEST_GAMES: u64 = 100;
/// Cap of plies, because rows may come from any file.
const MOST_PLIES: u32 = 4000;

/// Of the full moves that the side to move still has to make.
#[derive(Debug)]
pub struct Estimator {
    /// As in a `TimeManager` string, with its M.
    pub(super) name: String,
    rule: Rule,
}

#[derive(Debug)]
enum Rule {
    /// With the head's output for the position alone.
    Root(MovesLeftEstimator),
    /// With its mean over the searched tree, and its spread.
    Searched(MovesLeftEstimator),
    PlyMedian(PlyMedian),
}

impl Estimator {
    /// The estimator, such as `mle-legacy(midpoint=45.2)`. One that reads the head comes twice, to read a
    /// search's result too.
    pub fn parse(text: &str) -> Result<Vec<Estimator>, ParamError> {
        let rule = estimator_from("--estimator", &Params::parse(text)?)?;
        let rule = rule.ok_or_else(|| ParamError::Value {
            key: "--estimator".into(),
            value: text.into(),
            expected: "a moves-left estimator such as mle-legacy(midpoint=51.5,steepness=7)".into(),
        })?;
        let mut estimators = vec![Estimator {
            name: text.to_owned(),
            rule: Rule::Root(rule.clone()),
        }];
        if rule.uses_head() {
            estimators.push(Estimator {
                name: format!("{text} after search"),
                rule: Rule::Searched(rule),
            });
        }
        Ok(estimators)
    }

    /// The best function of the ply, cross-fitted.
    pub(super) fn by_ply(medians: PlyMedian) -> Estimator {
        Estimator {
            name: "best by ply".into(),
            rule: Rule::PlyMedian(medians),
        }
    }

    pub(super) fn uses_search(&self) -> bool {
        matches!(self.rule, Rule::Searched(_))
    }

    /// Full moves, `None` where M is missing.
    pub(crate) fn estimate(&self, row: &PositionRow) -> Option<f64> {
        let (rule, input) = match &self.rule {
            Rule::PlyMedian(medians) => return Some(medians.moves_left(row)),
            Rule::Root(rule) => (rule, row.input(row.m_plies, None)),
            Rule::Searched(rule) => (rule, row.input(row.m_search_plies, row.m_spread_plies)),
        };
        (input.m.is_some() || !rule.uses_head()).then(|| rule.estimate(&input).moves)
    }
}

/// For each chunk of plies, counts of positions by the moves left.
type ChunkCounts = BTreeMap<u32, BTreeMap<u32, u64>>;

/// Positions of each half, in fixed memory.
#[derive(Debug)]
pub(super) struct HalfCounts {
    unit: Unit,
    games: [u64; 2],
    by_chunk: [ChunkCounts; 2],
}

impl HalfCounts {
    pub(super) fn new(unit: Unit) -> HalfCounts {
        HalfCounts {
            unit,
            games: [0; 2],
            by_chunk: Default::default(),
        }
    }

    pub(super) fn add_game(&mut self, rows: &[PositionRow]) {
        let half = self.unit.half(&rows[0]);
        self.games[half] += 1;
        for row in rows {
            let chunk = row.ply.min(MOST_PLIES) / WIDTH;
            let counts = self.by_chunk[half].entry(chunk).or_default();
            *counts.entry(row.moves_left).or_default() += 1;
        }
    }

    /// Medians by ply, cross-fitted. An error says how many games are missing.
    pub(super) fn medians(&self) -> Result<PlyMedian, String> {
        let [first, second] = self.games;
        let [of_first, of_second] = &self.by_chunk;
        match (medians(of_second), medians(of_first)) {
            (Some(for_first), Some(for_second)) if first.min(second) >= FEWEST_GAMES => Ok(PlyMedian {
                unit: self.unit,
                medians: [for_first, for_second],
            }),
            _ => Err(format!(
                "\"best by ply\" is left out: it needs {FEWEST_GAMES} games in each half of the {}, and there are {first} and {second}",
                self.unit.plural()
            )),
        }
    }
}

/// Thin chunks take the median before them. `None` if all are thin.
fn medians(by_chunk: &ChunkCounts) -> Option<Vec<f64>> {
    let own = |counts: &BTreeMap<u32, u64>| {
        if counts.values().sum::<u64>() < FEWEST {
            return None;
        }
        quantile(counts.iter().map(|(&moves, &count)| (moves, count)), 0.5)
    };
    let mut last = by_chunk.values().find_map(own)?;
    let medians = (0..=*by_chunk.keys().last()?).map(|chunk| {
        last = by_chunk.get(&chunk).and_then(own).unwrap_or(last);
        last
    });
    Some(medians.collect())
}

/// By chunk of plies, for each half, not empty.
#[derive(Debug)]
pub(super) struct PlyMedian {
    unit: Unit,
    medians: [Vec<f64>; 2],
}

impl PlyMedian {
    fn moves_left(&self, row: &PositionRow) -> f64 {
        let medians = &self.medians[self.unit.half(row)];
        let chunk = (row.ply / WIDTH) as usize;
        let median = medians.get(chunk).or(medians.last());
        median.map_or(1.0, |median| median.max(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_counts_plies_and_estimates_are_full_moves() {
        let row = PositionRow {
            ply: 40,
            pieces: 20,
            m_plies: Some(79.0),
            ..PositionRow::default()
        };
        let [root, search] = &Estimator::parse("mle-mlh").unwrap()[..] else {
            panic!("two of the head")
        };
        assert_eq!(root.estimate(&row), Some(40.0), "(1 + 79 plies)/2");
        assert_eq!(search.estimate(&row), None, "there was no search");
        assert!(Estimator::parse("mle-none").is_err());
        assert!(
            Estimator::parse("")
                .unwrap_err()
                .to_string()
                .contains("mle-legacy")
        );
    }

    fn row(event: u64, ply: u32, moves_left: u32) -> PositionRow {
        PositionRow {
            event,
            ply,
            moves_left,
            ..PositionRow::default()
        }
    }

    fn events() -> [u64; 2] {
        [0, 1].map(|half| {
            (1..)
                .find(|&event| Unit::Event.half(&row(event, 0, 1)) == half)
                .unwrap()
        })
    }

    /// A regression: such rows exhausted the memory.
    #[test]
    fn numbers_beyond_all_games_cost_no_memory() {
        let mut left = HalfCounts::new(Unit::Event);
        (0..FEWEST).for_each(|_| left.add_game(&[row(events()[0], u32::MAX, u32::MAX)]));
        assert_eq!(medians(&left.by_chunk[0]).unwrap().len(), 1001);
    }

    #[test]
    fn an_event_is_never_tried_on_its_own_half() {
        let [zero, one] = events();
        let mut left = HalfCounts::new(Unit::Event);
        for _ in 0..FEWEST_GAMES {
            left.add_game(&[row(zero, 10, 50)]);
            left.add_game(&[row(one, 10, 20)]);
        }
        let medians = left.medians().unwrap();
        let at = |event, ply| medians.moves_left(&row(event, ply, 0));
        assert_eq!((at(zero, 10), at(one, 9)), (20.0, 50.0));
        assert_eq!(at(one, 500), 50.0, "beyond all games the last one counts");
        assert_eq!(at(one, 0), 50.0, "before all games the first one counts");
    }

    /// A regression: with few games the best function of the ply was one move.
    #[test]
    fn few_games_have_no_best_function_of_the_ply() {
        let [zero, one] = events();
        let mut left = HalfCounts::new(Unit::Event);
        assert!(left.medians().is_err());
        for _ in 0..FEWEST_GAMES {
            left.add_game(&[row(zero, 10, 50)]);
        }
        (0..6).for_each(|_| left.add_game(&[row(one, 10, 20)]));
        let note = left.medians().unwrap_err();
        assert!(
            note.contains("100 games in each half of the events") && note.ends_with("100 and 6"),
            "{note}"
        );
    }
}
