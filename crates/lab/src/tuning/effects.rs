//! What the compared values are worth, by the rows of a run.

use std::collections::HashSet;

use ndarray::{Array1, Array2};
use serde::Serialize;

use super::{PairRow, TunePlan};
use crate::matches::statistics::{counted, inverse};
use crate::report::{Origin, Page, Table};

/// Elo of a small difference in the share of points, near one half: 400 / ln 10 · 4.
const ELO_OF_POINTS: f64 = 694.87;

/// Of what is done of a run. Its fields are the keys of the JSON document.
#[derive(Debug, Serialize)]
pub struct TuneStudy {
    pairs: u64,
    planned_pairs: u64,
    games: u64,
    /// One that equals an earlier one of the same values counts in no effect.
    different_games: u64,
    nodes: u64,
    draws: f64,
    effects: Vec<Effect>,
}

/// What a value of an option is worth against the first one.
#[derive(Debug, Serialize)]
struct Effect {
    name: String,
    base: String,
    value: String,
    elo: f64,
    /// Half the interval of 95 %. 0 where nothing is known, as where all games were drawn.
    elo_error: f64,
}

impl TuneStudy {
    pub fn new(plan: &TunePlan, rows: &[PairRow]) -> TuneStudy {
        let mut known = HashSet::new();
        // Older rows do not say.
        let different = rows.iter().filter(|row| {
            row.moves_hashes[0].is_empty() || known.insert((&row.moves_hashes, &row.a, &row.b))
        });
        let different: Vec<_> = different.collect();
        let points = different.iter().flat_map(|row| &row.half_points);
        let drawn = points.filter(|&&points| points == 1).count();
        TuneStudy {
            pairs: rows.len() as u64,
            planned_pairs: plan.pairs,
            games: 2 * rows.len() as u64,
            different_games: 2 * different.len() as u64,
            nodes: rows.iter().map(|row| row.nodes).sum(),
            draws: drawn as f64 / (2 * different.len()).max(1) as f64,
            effects: (0..plan.parameters.len())
                .flat_map(|index| effects(plan, &different, index))
                .collect(),
        }
    }

    fn games(&self) -> String {
        counted(self.games, " games", self.different_games)
    }

    pub fn is_whole(&self) -> bool {
        self.pairs == self.planned_pairs
    }
}

/// Finds the effects of the values of one parameter against its first one.
///
/// The result of A is a sum of what its values are worth, less those of B. All parameters vary independently,
/// so that the effects of one are found by least squares without a look at the others. The intervals are
/// those of White (1980), which hold whatever the spread of results is.
fn effects(plan: &TunePlan, rows: &[&PairRow], index: usize) -> Vec<Effect> {
    let parameter = &plan.parameters[index];
    let size = parameter.values.len() - 1;
    let mut squares = Array2::<f64>::zeros((size, size));
    let mut variances = squares.clone();
    let mut products = Array1::<f64>::zeros(size);
    for row in rows {
        let is = |played: usize, value: usize| f64::from(played == value + 1);
        let x = Array1::from_shape_fn(size, |value| is(row.a[index], value) - is(row.b[index], value));
        let [first, second] = row.half_points.map(f64::from);
        let y = (first + second - 2.0) / 4.0;
        let outer = Array2::from_shape_fn((size, size), |(i, j)| x[i] * x[j]);
        variances.scaled_add(y * y, &outer);
        squares += &outer;
        products.scaled_add(y, &x);
    }
    let inverse = inverse(squares).unwrap_or_else(|| Array2::zeros((size, size)));
    let elo = inverse.dot(&products) * ELO_OF_POINTS;
    let spread = inverse.dot(&variances).dot(&inverse).diag().mapv(f64::sqrt) * (1.96 * ELO_OF_POINTS);
    let effect = |i: usize| Effect {
        name: parameter.name.clone(),
        base: parameter.values[0].clone(),
        value: parameter.values[i + 1].clone(),
        elo: elo[i],
        elo_error: spread[i],
    };
    (0..size).map(effect).collect()
}

pub fn table(study: &TuneStudy) -> Table {
    let caption = format!(
        "After {}, {:.0} % of them draws; all at once, each game answers every line",
        study.games(),
        100.0 * study.draws
    );
    Table::of(caption, &study.effects)
        .words("option", |effect| &effect.name)
        .words("value", |effect| &effect.value)
        .words("against", |effect| &effect.base)
        .numbers("Elo, 95 %", |effect| match effect.elo_error {
            0.0 => "–".into(),
            error => format!("{:+.1} ± {error:.1}", effect.elo),
        })
        .table()
}

/// The largest difference that is certain, if any is.
fn key_figure(study: &TuneStudy) -> (String, String) {
    let games = study.games();
    let is_clear = |effect: &&Effect| effect.elo_error > 0.0 && effect.elo.abs() > effect.elo_error;
    let clear = study.effects.iter().filter(is_clear);
    let Some(largest) = clear.max_by(|a, b| a.elo.abs().total_cmp(&b.elo.abs())) else {
        return (
            "undecided".into(),
            format!("After {games} no value is certain to be better than the one that it is compared with."),
        );
    };
    let Effect {
        name,
        base,
        value,
        elo,
        elo_error,
    } = largest;
    let sentence =
        format!("is what {name}={value} is worth against {base}, the largest difference that {games} show.");
    (format!("{elo:+.0} ± {elo_error:.0} Elo"), sentence)
}

pub fn page(study: &TuneStudy, origin: &Origin) -> Page {
    let (figure, sentence) = key_figure(study);
    Page::new("Comparison")
        .key_figure(&figure, &sentence)
        .paragraph(
            "All options vary at once and independently of each other, so that each line has all games. The Elo of a line \
             is an average over the values of all other options.",
        )
        .table(&table(study))
        .origins([origin])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matches::SideLimit;
    use crate::tuning::Parameter;
    use zeitnot_engine::engine::Settings;

    fn study(list: &str, mut points: impl FnMut(&PairRow) -> [u8; 2]) -> TuneStudy {
        let parameters = Parameter::parse_list(list, &Settings::default()).unwrap();
        let plan = TunePlan {
            parameters,
            pairs: 3000,
            seed: 1,
            limit: SideLimit::Nodes(1),
        };
        let row = |pair| {
            let row = PairRow::new(&plan, pair, [0, 0].map(|points| (points, String::new())), 1);
            PairRow {
                half_points: points(&row),
                ..row
            }
        };
        TuneStudy::new(&plan, &(0..plan.pairs).map(row).collect::<Vec<_>>())
    }

    /// The second value of three gains a tenth of the games against the first, the third loses as much. A
    /// switch beside it is worth nothing.
    #[test]
    fn values_are_compared_with_the_first() {
        let mut rng = fastrand::Rng::with_seed(7);
        let worth = [0.0, 0.1, -0.1];
        let list = "TimeManager=(mle-mlh)|(mle-legacy)|(mle-pieces),TwoFoldDraws=true|false,CPuct=1.5|1.9";
        let study = study(list, |row| {
            let expected = 0.5 + worth[row.a[0]] - worth[row.b[0]];
            [(); 2].map(|()| if rng.f64() < expected { 2 } else { 0 })
        });
        let names: Vec<_> = study
            .effects
            .iter()
            .map(|effect| [&*effect.value, &*effect.base])
            .collect();
        assert_eq!(
            names,
            [
                ["(mle-legacy)", "(mle-mlh)"],
                ["(mle-pieces)", "(mle-mlh)"],
                ["false", "true"],
                ["1.9", "1.5"]
            ]
        );
        for (effect, points) in study.effects.iter().zip([0.1, -0.1, 0.0, 0.0]) {
            let distance = (effect.elo - ELO_OF_POINTS * points) / effect.elo_error;
            assert!(distance.abs() < 1.5 && effect.elo_error < 15.0, "{effect:?}");
        }
    }

    /// A regression: the table gave +0.0 ± 0.0.
    #[test]
    fn drawn_games_say_nothing() {
        let shown = table(&study("CPuct=1|2", |_| [1, 1])).to_string();
        assert!(shown.contains('–') && !shown.contains('±'), "{shown}");
    }
}
