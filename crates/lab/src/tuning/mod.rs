//! Comparisons of option values by games.
//!
//! All options vary at once and independently of each other: each pair of games draws two different values of
//! every [`Parameter`], one for A and one for B, so that every option has the games of all. [`play`] lets
//! [`matches`] play the pairs. `effects` computes what the values are worth.

mod effects;
mod parameter;

pub use effects::{TuneStudy, page, table};
pub use parameter::{Parameter, ParameterError};

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::matches::{self, Contender, GameAssignment, MatchConfig, PlannedGame, SideLimit, Team};
use crate::run::Entry;
use parameter::assignments;
use zeitnot_engine::VERSION;
use zeitnot_engine::chance::GOLDEN;
use zeitnot_engine::engine::{EngineError, Settings, Setup};
use zeitnot_engine::note::Note;
use zeitnot_engine::time::Millis;

pub const PAIRS: &str = "pairs.jsonl";

/// All that a run depends on, results of games apart.
#[derive(Clone, Debug, PartialEq)]
pub struct TunePlan {
    pub parameters: Vec<Parameter>,
    pub pairs: u64,
    pub seed: u64,
    pub limit: SideLimit,
}

impl TunePlan {
    /// The values of A and B in a pair, by index, for each parameter.
    fn values_of(&self, pair: u64) -> [Vec<usize>; 2] {
        let mut rng = fastrand::Rng::with_seed(self.seed ^ (pair + 1).wrapping_mul(GOLDEN));
        let drawn = self.parameters.iter().map(|parameter| parameter.draw(&mut rng));
        let (a, b) = drawn.unzip();
        [a, b]
    }
}

#[derive(Debug, Deserialize, Serialize)]
pub struct PairRow {
    pair: u64,
    names: Vec<String>,
    /// See [`TunePlan::values_of`].
    a: Vec<usize>,
    b: Vec<usize>,
    /// Of A in both games, the first one with White.
    half_points: [u8; 2],
    nodes: u64,
    version: String,
    /// Of the moves of both games. Empty in older rows.
    #[serde(default)]
    moves_hashes: [String; 2],
}

impl PairRow {
    fn new(plan: &TunePlan, pair: u64, games: [(u8, String); 2], nodes: u64) -> PairRow {
        let [a, b] = plan.values_of(pair);
        let names = plan.parameters.iter().map(|parameter| parameter.name.clone());
        PairRow {
            pair,
            names: names.collect(),
            a,
            b,
            half_points: games.each_ref().map(|(points, _)| *points),
            nodes,
            version: VERSION.into(),
            moves_hashes: games.map(|(_, hash)| hash),
        }
    }
}

impl Entry for PairRow {
    const JOURNAL: &'static str = PAIRS;
}

fn setup_with<'a>(
    base: &Setup,
    chosen: impl Iterator<Item = (&'a Parameter, usize)>,
) -> Result<Arc<Setup>, EngineError> {
    let mut settings = base.settings().clone();
    for (option, value) in assignments(chosen.map(|(p, index)| (p, p.values[index].clone()))) {
        settings.set(option.name, &value)?;
    }
    Ok(Arc::new(base.with_settings(settings)?))
}

/// What engines with the values of `plan` tell at first, and which values of an option come to the same.
pub fn foretold(plan: &TunePlan, base: &Setup) -> Result<Vec<Note>, EngineError> {
    let mut told = Vec::new();
    for parameter in &plan.parameters {
        let mut known: Vec<(&str, Settings)> = Vec::new();
        for (index, value) in parameter.values.iter().enumerate() {
            let setup = setup_with(base, [(parameter, index)].into_iter())?;
            let (notes, settings) = setup.as_played(plan.limit.first())?;
            let named = |note: &Note| format!("{}={value}: {note}", parameter.name).into();
            told.extend(notes.iter().map(named));
            if let Some((same, _)) = known.iter().find(|(_, known)| *known == settings) {
                told.push(format!("{}: {same} and {value} play alike", parameter.name).into());
            }
            known.push((value, settings));
        }
    }
    Ok(told)
}

/// Plays the pairs of `plan` behind the first `done`. `base` has the options that are not compared.
/// `finished` gets the row of each pair, in order, and what its games had to tell, and may fail.
pub fn play(
    config: &MatchConfig<'_>,
    plan: &TunePlan,
    done: u64,
    base: &Setup,
    stop: &AtomicBool,
    mut finished: impl FnMut(PairRow, Vec<Note>) -> Result<(), LabError>,
) -> Result<(), LabError> {
    let contender = |indices: &[usize]| -> Result<Arc<Contender>, EngineError> {
        let setup = setup_with(base, plan.parameters.iter().zip(indices.iter().copied()))?;
        Ok(Arc::new(Contender {
            name: String::new(),
            team: Team::Own(setup),
            limit: plan.limit,
            margin: Millis::ZERO,
        }))
    };
    let mut games = 2 * done..2 * plan.pairs;
    let mut of_pair = None;
    let mut pair = done;
    let mut first = None;
    let mut nodes = 0;
    let mut notes = Vec::new();
    matches::play(
        config,
        stop,
        || {
            let Some(game) = games.next() else { return Ok(None) };
            if game.is_multiple_of(2) {
                let [a, b] = plan.values_of(game / 2);
                of_pair = Some([contender(&a)?, contender(&b)?]);
            }
            let assignment = GameAssignment::of(game, 1);
            Ok(of_pair.clone().map(|contenders| PlannedGame {
                assignment,
                contenders,
            }))
        },
        |mut game| {
            notes.extend(game.notes.iter_mut().flat_map(|notes| notes.drain(..)));
            nodes += game.moves.iter().map(|played| played.row.new_nodes).sum::<u64>();
            let result = (game.half_points_of_a(), game.hash());
            match first.take() {
                None => first = Some(result),
                Some(first) => {
                    let row = PairRow::new(plan, pair, [first, result], std::mem::take(&mut nodes));
                    finished(row, std::mem::take(&mut notes))?;
                    pair += 1;
                }
            }
            Ok(ControlFlow::Continue(()))
        },
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::run::{Journal, Origin, Run};

    #[test]
    fn half_a_row_is_cut_off_and_a_damaged_file_is_refused() {
        let parameters = Parameter::parse_list("CPuct=1.745|2|3,FpuValue=.33|.5", &Settings::default());
        let plan = TunePlan {
            parameters: parameters.unwrap(),
            pairs: 9,
            seed: 1,
            limit: SideLimit::Nodes(1),
        };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PAIRS);
        let run = Run::claim(
            folder.path(),
            Origin {
                run: "id".into(),
                ..Origin::default()
            },
            &[PAIRS],
        )
        .unwrap();
        let open = || {
            let mut rows = 0;
            let count = |_: PairRow| {
                rows += 1;
                Ok(())
            };
            Journal::open(&run, count).map(|journal| (journal, rows))
        };
        let (mut journal, _) = open().unwrap();
        (0..3).for_each(|pair| {
            journal
                .add(&PairRow::new(
                    &plan,
                    pair,
                    [2, 1].map(|points| (points, String::new())),
                    5,
                ))
                .unwrap()
        });
        let before = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{before}{{\"pair\":4,\"half written")).unwrap();
        assert_eq!(open().unwrap().1, 3);
        assert_eq!(fs::read_to_string(&path).unwrap(), before);
        fs::write(&path, format!("{before}no row\n")).unwrap();
        let fault = open().unwrap_err().to_string();
        assert!(fault.contains("line 4: expected"), "{fault}");
        fs::write(&path, before.replacen("\"nodes\":5", "\"nodes\":6", 1)).unwrap();
        let fault = open().unwrap_err().to_string();
        assert!(fault.contains("line 1: its checksum is another one"), "{fault}");
    }
}
