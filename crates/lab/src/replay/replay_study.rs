//! Findings from rows of replays, in any order.

use std::fmt;
use std::path::PathBuf;

use itertools::Itertools;
use serde::{Serialize, Serializer};

use super::engine_model::{EngineModel, REACTION_MS};
use super::replay_rows::{ReplayGameRow, ReplayRows};
use crate::move_rows::{Curves, ExactMean, MoveRow};
use crate::phase::Phase;
use crate::report::{Page, Table};
use crate::rows::{MergedGames, RowError, files_of};
use zeitnot_engine::time::DEFAULT_MANAGER;

/// Does not depend on the order of the games.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(super) struct ReplaySummary {
    games: u64,
    /// Means of the columns of [`ReplayGameRow`].
    pub(super) time_used: ExactMean,
    min_clock_ms: Option<f64>,
    max_used_ms: f64,
    pub(super) losses: u64,
    pub(super) instamoves: u64,
    pub(super) nodes_cv: ExactMean,
    pub(super) pruned: ExactMean,
    pruning_saved: ExactMean,
    /// Mean absolute errors, in the order of [`Phase::ALL`].
    #[serde(rename = "moves_left_mae", serialize_with = "by_phase")]
    moves_left: [ExactMean; 3],
}

fn by_phase<S: Serializer>(means: &[ExactMean; 3], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Phase::ALL.map(Phase::name).iter().zip(means))
}

impl ReplaySummary {
    pub(super) fn add(&mut self, game: &ReplayGameRow) {
        self.games += 1;
        self.losses += u64::from(game.lost);
        self.time_used.add(game.time_used, 1);
        if game.moves > 0 {
            let clocks = [self.min_clock_ms, game.min_clock_ms];
            self.min_clock_ms = clocks.into_iter().flatten().reduce(f64::min);
        }
        self.max_used_ms = self.max_used_ms.max(game.max_used_ms);
        self.instamoves += u64::from(game.instamoves);
        self.nodes_cv.add(game.nodes_cv, 1);
        self.pruned.add(game.pruned.into(), game.moves);
        self.pruning_saved.add(game.pruning_saved, 1);
        for (mean, (moves, error)) in self.moves_left.iter_mut().zip(game.moves_left()) {
            mean.add(error, moves);
        }
    }
}

#[derive(Clone, Debug, Default, Serialize)]
struct ManagerFigures {
    #[serde(rename = "name")]
    manager: String,
    control: String,
    #[serde(flatten)]
    summary: ReplaySummary,
    #[serde(skip)]
    curves: Curves,
}

/// The keys of the JSON form are a contract.
#[derive(Clone, Debug, Default, Serialize)]
pub struct ReplayStudy {
    /// By manager and time control, in the order of appearance.
    managers: Vec<ManagerFigures>,
}

impl ReplayStudy {
    /// Two files with the same replay are an error.
    pub fn read(files: &[PathBuf]) -> Result<ReplayStudy, RowError> {
        let mut study = ReplayStudy::default();
        for games in MergedGames::open(&files_of::<ReplayGameRow>(files)?)? {
            study.add_games(&games?);
        }
        for moves in MergedGames::open(&files_of::<MoveRow>(files)?)? {
            study.add_moves(&moves?);
        }
        Ok(study)
    }

    pub fn add(&mut self, (game, moves): ReplayRows) {
        self.add_games(&[game]);
        self.add_moves(&moves);
    }

    fn add_games(&mut self, rows: &[ReplayGameRow]) {
        for row in rows {
            self.figures(&row.manager, &row.control).summary.add(row);
        }
    }

    fn add_moves(&mut self, rows: &[MoveRow]) {
        for row in rows {
            self.figures(&row.player, &row.control).curves.add(row);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.managers.is_empty()
    }

    fn controls(&self) -> Vec<&str> {
        let controls = self.managers.iter().map(|figures| &*figures.control);
        controls.unique().collect()
    }

    /// In the order in which they first came.
    fn names(&self) -> Vec<&str> {
        let names = self.managers.iter().map(|figures| &*figures.manager);
        names.unique().collect()
    }

    fn at<'a>(&'a self, control: &'a str) -> impl Iterator<Item = &'a ManagerFigures> {
        let managers = self.managers.iter();
        managers.filter(move |figures| figures.control == control)
    }

    fn figures(&mut self, manager: &str, control: &str) -> &mut ManagerFigures {
        let is_asked = |own: &ManagerFigures| own.manager == manager && own.control == control;
        let known = self.managers.iter().position(is_asked);
        let place = known.unwrap_or_else(|| {
            self.managers.push(ManagerFigures {
                manager: manager.to_owned(),
                control: control.to_owned(),
                ..ManagerFigures::default()
            });
            self.managers.len() - 1
        });
        &mut self.managers[place]
    }
}

impl fmt::Display for ReplayStudy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for control in self.controls() {
            writeln!(f, "{}", table(self, control))?;
        }
        let managers = self.names();
        if managers.len() > 1 {
            return writeln!(f, "{}", comparison(self, &managers));
        }
        for figures in &self.managers {
            writeln!(f, "{}", in_words(figures))?;
        }
        Ok(())
    }
}

/// Managers side by side.
fn comparison(study: &ReplayStudy, managers: &[&str]) -> Table {
    let cell = |manager: &str, control: &str| {
        let figures = study.at(control).find(|figures| figures.manager == manager);
        let Some(summary) = figures.map(|figures| &figures.summary) else {
            return "–".into();
        };
        let mut cell = format!("{:.3}", summary.nodes_cv.value().unwrap_or_default());
        if summary.losses > 0 {
            cell += &format!(" ({} lost)", summary.losses);
        }
        cell
    };
    let mut caption =
        "Variation of nodes by clock: less is steadier. Only a match tells which is stronger".to_owned();
    if study.managers.iter().any(|figures| figures.summary.losses > 0) {
        caption += &cost();
    }
    let table = Table::of(caption, managers).words("manager", |manager| **manager);
    let controls = study.controls().into_iter();
    controls
        .fold(table, |table, control| {
            table.numbers(control, |manager| cell(manager, control))
        })
        .table()
}

/// The manager that loses fewest games on time, and among those varies least, with its losses.
fn steadiest<'a>(study: &ReplayStudy, managers: &[&'a str]) -> Option<(&'a str, u64)> {
    let ranked = managers.iter().map(|&manager| {
        let mut losses = 0;
        let mut variation = 0.0;
        for ManagerFigures { summary, .. } in study.managers.iter().filter(|own| own.manager == manager) {
            losses += summary.losses;
            variation += summary.nodes_cv.value().unwrap_or_default();
        }
        (losses, variation, manager)
    });
    let (losses, _, manager) = ranked.min_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)))?;
    Some((manager, losses))
}

fn in_words(figures: &ManagerFigures) -> String {
    let ManagerFigures {
        manager,
        control,
        summary,
        ..
    } = figures;
    let name = if manager == DEFAULT_MANAGER {
        "the default"
    } else {
        manager
    };
    let used = 100.0 * summary.time_used.value().unwrap_or_default();
    let slowest = seconds(summary.max_used_ms);
    let mut text =
        format!("At {control} {name} uses {used:.0} % of the clock. Its slowest move takes {slowest} s");
    if let Some(ms) = summary.min_clock_ms {
        let least = seconds(ms.max(0.0));
        text += &format!(", and the clock never shows less than {least} s");
    }
    if summary.losses > 0 {
        let ReplaySummary { losses, games, .. } = summary;
        text += &format!(". It loses {losses} of {games} games on time{}", cost());
    }
    text + "."
}

/// What stands beside games that are lost on time.
fn cost() -> String {
    let EngineModel {
        batch_latency_ms,
        lag_ms,
        ..
    } = EngineModel::default();
    let ms = batch_latency_ms + lag_ms + REACTION_MS;
    format!("; the modelled engine needs {ms:.0} ms a move that no manager can save (batch, lag, reaction)")
}

fn seconds(ms: f64) -> String {
    let seconds = ms / 1000.0;
    let digits = if seconds < 10.0 { 1 } else { 0 };
    format!("{seconds:.digits$}")
}

fn table(study: &ReplayStudy, control: &str) -> Table {
    let number =
        |value: Option<f64>, digits: usize| value.map_or("–".into(), |value| format!("{value:.digits$}"));
    let percent = |mean: ExactMean| number(mean.value().map(|share| 100.0 * share), 1);
    let error = |figures: &ManagerFigures, phase: usize| number(figures.summary.moves_left[phase].value(), 1);
    let games = study.at(control).map(|figures| figures.summary.games);
    let games = games.max().unwrap_or(0);
    let caption =
        format!("{control}, {games} games; moves-left errors are means of absolute distances in full moves");
    Table::of(caption, study.at(control))
        .words("manager", |figures| &figures.manager)
        .numbers("clock used, %", |figures| percent(figures.summary.time_used))
        .numbers("smallest clock, ms", |figures| {
            number(figures.summary.min_clock_ms, 0)
        })
        .numbers("losses", |figures| figures.summary.losses)
        .numbers("insta-moves", |figures| figures.summary.instamoves)
        .numbers("variation of nodes", |figures| {
            number(figures.summary.nodes_cv.value(), 3)
        })
        .numbers("smart pruning, % of moves", |figures| {
            percent(figures.summary.pruned)
        })
        .numbers("time it saved, %", |figures| {
            percent(figures.summary.pruning_saved)
        })
        .numbers("ML error opening", |figures| error(figures, 0))
        .numbers("middlegame", |figures| error(figures, 1))
        .numbers("endgame", |figures| error(figures, 2))
        .table()
}

/// For each time control the table and the mean curves.
pub fn page(study: &ReplayStudy) -> Page {
    let managers = study.names();
    let mut page = Page::new("Time managers over recorded games").shorten(&managers);
    if let ([_, _, ..], Some((best, losses))) = (&managers[..], steadiest(study, &managers)) {
        let cost = if losses > 0 { cost() } else { String::new() };
        let count = managers.len();
        let text = format!(
            "is the steadiest of {count} managers over these clocks. It loses {losses} games on time{cost}."
        );
        page = page.key_figure(best, &text).table(&comparison(study, &managers));
    } else if let Some(first) = study.managers.first() {
        let used = 100.0 * first.summary.time_used.value().unwrap_or_default();
        page = page.key_figure(&format!("{used:.0} % of the clock"), &in_words(first));
        for other in &study.managers[1..] {
            page = page.paragraph(&in_words(other));
        }
    }
    page = page.paragraph(
        "Each manager made the moves of one side in every game, in virtual time. Variation of nodes is the standard deviation \
         of the nodes in the tree at the end of the moves, divided by their mean, averaged over the games: a manager that \
         plays all moves with equal care has a small one. Curves are means over the games whose moves were kept.",
    );
    for control in study.controls() {
        page = page.part(control, control == study.controls()[0], |page| {
            let curves = study.at(control).map(|own| (&*own.manager, &own.curves));
            Curves::show(page.table(&table(study, control)), &Vec::from_iter(curves))
        });
    }
    page.names_in_full()
}

#[cfg(test)]
mod tests {
    use super::super::ReplayedGame;
    use super::*;

    /// Ten games of twenty moves, as rows.
    fn lab(order: impl Iterator<Item = u64>) -> ReplayStudy {
        let mut lab = ReplayStudy::default();
        for game in order {
            let moves: Vec<_> = (0..20u32).map(|i| played(game, i)).collect();
            let replayed = ReplayedGame {
                moves,
                given_ms: 60_000.0,
                final_clock_ms: 1_000.0 / game as f64,
                ..ReplayedGame::default()
            };
            add(&mut lab, game, "smooth(mle-mlh)", replayed);
        }
        lab
    }

    fn add(study: &mut ReplayStudy, game: u64, player: &str, replayed: ReplayedGame) {
        let row = ReplayGameRow {
            game,
            manager: player.to_owned(),
            control: "60+0".to_owned(),
            ..ReplayGameRow::new(&replayed)
        };
        let moves = replayed.moves.into_iter().map(|played| MoveRow {
            game,
            player: player.to_owned(),
            control: "60+0".to_owned(),
            ..played
        });
        study.add((row, moves.collect()));
    }

    fn played(game: u64, i: u32) -> MoveRow {
        MoveRow {
            number: i + 1,
            pieces: 32 - i,
            had_choice: true,
            clock_ms: Some(60_000.0 - f64::from(i) * 1_000.0),
            budget_ms: Some(1_500.0),
            used_ms: Some(1_000.0 / 3.0),
            nodes: 1_000 + game * u64::from(i),
            moves_left: game.is_multiple_of(2).then_some(30.0),
            really_left: Some(20 - i),
            ..MoveRow::default()
        }
    }

    #[test]
    fn rows_in_any_order_give_the_same_answer_and_page() {
        let (forth, back) = (lab(1..=10), lab((1..=10).rev()));
        let json = |lab: &ReplayStudy| serde_json::to_value(lab).unwrap();
        assert_eq!(json(&forth), json(&back));
        assert_eq!(page(&forth).to_html(), page(&back).to_html());
        assert_eq!(json(&forth)["managers"][0]["games"], 10);
        assert_eq!(json(&forth)["managers"][0]["name"], "smooth(mle-mlh)");
    }

    #[test]
    fn the_page_has_the_mean_curves() {
        let html = page(&lab(1..=10)).to_html();
        for text in ["Clock before a move", "Time used for a move"] {
            assert!(html.contains(text), "{text}");
        }
    }

    #[test]
    fn the_table_names_every_column() {
        let text = lab(1..=2).to_string();
        assert!(
            text.contains("60+0, 2 games") && text.contains("smooth(mle-mlh)"),
            "{text}"
        );
        assert!(text.contains("insta-moves"), "{text}");
    }

    /// A regression: losses stood alone that no manager can prevent, as at one second for the game.
    #[test]
    fn what_the_model_costs_stands_beside_the_losses_it_makes() {
        let cost = "the modelled engine needs 12 ms a move that no manager can save";
        assert!(!lab(1..=2).to_string().contains(cost));
        let mut study = ReplayStudy::default();
        let lost = || ReplayedGame {
            moves: vec![played(1, 0)],
            final_clock_ms: -7.0,
            ..ReplayedGame::default()
        };
        add(&mut study, 1, "smooth", lost());
        assert!(
            study
                .to_string()
                .contains(&format!("loses 1 of 1 games on time; {cost}")),
            "{study}"
        );
        add(&mut study, 1, "legacy", lost());
        let html = page(&study).to_html();
        assert!(study.to_string().contains(cost) && html.contains(cost), "{study}");
    }

    /// A regression: each manager had a sentence for each clock, and no word said which is better.
    #[test]
    fn several_managers_stand_in_one_table() {
        let mut study = lab(1..=2);
        let steady = ReplayedGame {
            moves: vec![played(1, 0), played(1, 0)],
            ..ReplayedGame::default()
        };
        add(&mut study, 1, "legacy", steady);
        let text = study.to_string();
        assert!(
            text.contains("Variation of nodes by clock") && !text.contains("% of the clock"),
            "{text}"
        );
        let html = page(&study).to_html();
        assert!(
            html.contains("<b>legacy</b> is the steadiest of 2 managers"),
            "{html}"
        );
    }
}
