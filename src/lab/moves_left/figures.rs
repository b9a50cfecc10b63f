//! The findings as a JSON document, whose keys are a contract.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    ClockFigures, Dimension, EstimatorFigures, Fit, PairDifference, SpreadCoverage, StudyReport, Unit,
};

/// The document. All errors are in full moves.
#[derive(Debug, Serialize)]
pub struct Findings {
    games: u64,
    positions: u64,
    events: usize,
    played_out_games: u64,
    /// The unit of the intervals.
    intervals_by: Unit,
    unit: &'static str,
    notes: Vec<String>,
    estimators: Vec<NamedFigures>,
    /// The figures of each group, by `by_ply`, `by_phase` and so on.
    #[serde(flatten)]
    groups: BTreeMap<&'static str, Vec<GroupDocument>>,
    differences: Vec<PairDifference>,
    spread: Option<SpreadCoverage>,
    clock: Option<Vec<NamedClock>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fit: Option<Vec<Fit>>,
}

#[derive(Debug, Serialize)]
struct NamedFigures {
    name: String,
    #[serde(flatten)]
    figures: EstimatorFigures,
}

#[derive(Debug, Serialize)]
struct GroupDocument {
    group: String,
    positions: u64,
    estimators: Vec<NamedFigures>,
}

#[derive(Debug, Serialize)]
struct NamedClock {
    name: String,
    #[serde(flatten)]
    figures: ClockFigures,
}

impl Findings {
    /// Computes the document of a report.
    pub fn new(report: &StudyReport) -> Findings {
        let named = |figures: &[Option<EstimatorFigures>]| {
            let pairs = report.names.iter().zip(figures);
            pairs
                .filter_map(|(name, figures)| Some(NamedFigures { name: name.clone(), figures: (*figures)? }))
                .collect()
        };
        let mut groups: BTreeMap<&'static str, Vec<GroupDocument>> = BTreeMap::new();
        let mut estimators = Vec::new();
        for group in &report.groups {
            let own = named(&group.figures);
            match group.group.dimension {
                Dimension::All => estimators = own,
                dimension => groups.entry(dimension.key()).or_default().push(GroupDocument {
                    group: group.group.name.clone(),
                    positions: group.positions,
                    estimators: own,
                }),
            }
        }
        let clock = report.clock_figures().filter(|clocks| !clocks.is_empty()).map(|clocks| {
            let pairs = report.names.iter().zip(clocks);
            pairs.map(|(name, figures)| NamedClock { name: name.clone(), figures }).collect()
        });
        Findings {
            games: report.games,
            positions: report.positions,
            events: report.events,
            played_out_games: report.played_out,
            intervals_by: report.unit,
            unit: "full moves",
            notes: report.notes.clone(),
            estimators,
            groups,
            differences: report.differences.clone(),
            spread: Some(report.spread).filter(|spread| spread.positions > 0),
            clock,
            fit: report.fits.clone(),
        }
    }
}
