//! A match's files: PGN, rows of games and moves, and the journal, behind whose last whole game a stopped
//! match resumes.

use std::fmt::Write;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Side;
use super::game::{GameRecord, PlayedMove, SideLimit, Termination};
use super::openings::GameAssignment;
use crate::error::LabError;
use crate::move_rows::MoveRow;
use crate::pgn::{commands, numbered, written};
use crate::rows::{GameFiles, GameKey, Row, csv_of};
use crate::run::{Entry, Journal, Run};
use crate::score::MoveScore;
use crate::uci_process::move_between;
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::{Color, Variant};

fn pgn(game: &GameRecord, date: &str) -> String {
    let [white, black] = game
        .assignment
        .sides()
        .map(|side| &*game.contenders[side.index()]);
    let [details, termination] = game.end.termination.words();
    let result = game
        .end
        .winner
        .map_or("1/2-1/2", |color| color.fold_wb("1-0", "0-1"));
    let mut tags = vec![
        ("Event", "zeitnot match".to_owned()),
        ("Site", "?".to_owned()),
        ("Date", date.replace('-', ".")),
        ("Round", game.assignment.round()),
        ("White", white.name.clone()),
        ("Black", black.name.clone()),
        ("Result", result.to_owned()),
    ];
    let first = game.history.position(0);
    if game.history.variant() == Variant::Chess960 {
        tags.push(("Variant", "Chess960".to_owned()));
    }
    if !first.is_standard_start() || first.game_ply() > 0 {
        tags.extend([("SetUp", "1".to_owned()), ("FEN", first.to_fen())]);
    }
    if white.limit == black.limit {
        tags.push(("TimeControl", time_control(white.limit)));
    } else {
        tags.push(("WhiteTimeControl", time_control(white.limit)));
        tags.push(("BlackTimeControl", time_control(black.limit)));
    }
    tags.extend([
        ("PlyCount", (game.history.len() - 1).to_string()),
        ("Termination", termination.to_owned()),
        ("TerminationDetails", details.to_owned()),
        ("Annotator", format!("Zeitnot {VERSION}")),
    ]);
    written(tags, &(movetext(game) + result))
}

fn time_control(limit: SideLimit) -> String {
    match limit {
        SideLimit::Nodes(_) | SideLimit::Depth(_) => "-".into(),
        SideLimit::Clock(_) => limit.to_string(),
        SideLimit::MoveTime(time) => format!("1/{}", time.0 / 1000.0),
    }
}

/// The moves, each with a blank behind it.
fn movetext(game: &GameRecord) -> String {
    let first = game.first_position();
    let position = |index| game.history.position(index);
    let mut text = String::new();
    for index in 0..first {
        if let Some(played) = move_between(position(index), position(index + 1)) {
            text += &format!("{} {{book}} ", numbered(position(index), played));
        }
    }
    for (own, played) in game.moves.iter().enumerate() {
        let before = position(first + own);
        let comment = comment(played, before.turn());
        text += &format!("{} {{{comment}}} ", numbered(before, played.mv));
    }
    text
}

/// Commands that other programs read, then our figures as `key=value`.
fn comment(played: &PlayedMove, mover: Color) -> String {
    let PlayedMove { clock_ms, row, .. } = played;
    let eval = row
        .centipawns
        .map(|score| MoveScore::of_centipawns(score).of_white(mover));
    let mut text = commands(eval, *clock_ms, clock_ms.and(row.used_ms));
    let _ = write!(text, "n={} new={}", row.nodes, row.new_nodes);
    if let Some(plies) = row.moves_left_plies {
        let _ = write!(text, " ml={plies:.1}");
    }
    if let Some(ms) = row.budget_ms {
        let _ = write!(text, " budget={:.3}", ms / 1000.0);
    }
    let _ = write!(text, " end={}", row.end);
    text
}

pub type MatchRowFiles = GameFiles<MatchGameRow, MoveRow>;

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MatchGameRow {
    /// The same on every machine. Other options or openings give another.
    pub(crate) match_id: String,
    /// In the whole tournament, from 0, whatever the shard.
    pub(crate) game: u64,
    /// Two games with the same opening and colours swapped.
    pub(crate) pair: u64,
    pub(crate) a: String,
    pub(crate) b: String,
    pub(crate) a_is_white: bool,
    pub(crate) half_points: u32,
    /// See [`Termination::words`].
    pub(crate) termination: String,
    /// FEN where the engines began.
    pub(crate) opening: String,
    pub(crate) a_moves: u32,
    pub(crate) b_moves: u32,
    /// New nodes of A and B, late moves included.
    pub a_nodes: u64,
    pub b_nodes: u64,
    /// At the end, negative for a fallen flag, `None` where only nodes count.
    pub(crate) a_clock_ms: Option<f64>,
    pub(crate) b_clock_ms: Option<f64>,
    /// Of start and moves, those of the opening included. Empty in older rows.
    #[serde(default)]
    pub(crate) moves_hash: String,
    /// See [`VERSION`], empty in older rows.
    #[serde(default)]
    pub(crate) version: String,
}

impl Row for MatchGameRow {
    const KIND: &'static str = "games of a match";

    fn game(&self) -> GameKey {
        GameKey {
            match_id: self.match_id.clone(),
            game: self.game,
        }
    }
}

impl MatchGameRow {
    fn new(match_id: &str, game: &GameRecord) -> MatchGameRow {
        let [a, b] = game.contenders.each_ref().map(|contender| contender.name.clone());
        let mut row = MatchGameRow {
            match_id: match_id.into(),
            game: game.assignment.game,
            pair: game.assignment.pair,
            a,
            b,
            a_is_white: game.assignment.white == Side::A,
            half_points: game.half_points_of_a().into(),
            termination: game.end.termination.words()[0].into(),
            opening: game.history.position(game.first_position()).to_fen(),
            version: VERSION.into(),
            moves_hash: game.hash(),
            ..MatchGameRow::default()
        };
        for (index, played) in game.moves.iter().chain(&game.late).enumerate() {
            let (moves, nodes, clock_ms) = match game.mover(index) {
                Side::A => (&mut row.a_moves, &mut row.a_nodes, &mut row.a_clock_ms),
                Side::B => (&mut row.b_moves, &mut row.b_nodes, &mut row.b_clock_ms),
            };
            *moves += u32::from(index < game.moves.len());
            *nodes += played.row.new_nodes;
            *clock_ms = played.clock_ms;
        }
        row
    }

    pub(crate) fn time_losses(&self) -> [bool; 2] {
        self.losses_by(&[Termination::TimeForfeit])
    }

    pub(super) fn faults(&self) -> [bool; 2] {
        self.losses_by(&[Termination::IllegalMove, Termination::Disconnection])
    }

    fn losses_by(&self, ways: &[Termination]) -> [bool; 2] {
        let is_one = ways.iter().any(|way| way.words()[0] == self.termination);
        [0, 2].map(|points| is_one && points == self.half_points)
    }
}

fn rows_of_moves(match_id: &str, game: &GameRecord) -> Vec<MoveRow> {
    let is_played_out = matches!(game.end.termination, Termination::Rules(_));
    let row = |(index, played): (usize, &PlayedMove)| MoveRow {
        match_id: match_id.into(),
        game: game.assignment.game,
        control: game.contenders[game.mover(index).index()].limit.to_string(),
        // Without a clock rows do not depend on the machine.
        used_ms: played.row.clock_ms.and(played.row.used_ms),
        really_left: is_played_out.then_some((game.moves.len() - index).div_ceil(2) as u32),
        ..played.row.clone()
    };
    game.moves.iter().enumerate().map(row).collect()
}

#[derive(Debug, Serialize, Deserialize)]
pub struct PlayedGame {
    pub game: MatchGameRow,
    pub moves: Vec<MoveRow>,
    pub(super) pgn: String,
}

impl PlayedGame {
    /// `date` is the day when the run began, such as `2026-11-28`.
    pub fn new(match_id: &str, date: &str, game: &GameRecord) -> PlayedGame {
        PlayedGame {
            game: MatchGameRow::new(match_id, game),
            moves: rows_of_moves(match_id, game),
            pgn: pgn(game, date),
        }
    }

    pub fn number(&self) -> u64 {
        self.game.game
    }
}

impl Entry for PlayedGame {
    const JOURNAL: &'static str = "games.jsonl";

    fn exports() -> Vec<(&'static str, String)> {
        vec![
            ("games.csv", MatchGameRow::header()),
            ("moves.csv", MoveRow::header()),
            ("games.pgn", String::new()),
        ]
    }

    fn texts(&self) -> Vec<String> {
        let game = csv_of(std::slice::from_ref(&self.game), false);
        vec![game, csv_of(&self.moves, false), self.pgn.clone()]
    }
}

pub const MATCH_FILES: [&str; 5] = [
    PlayedGame::JOURNAL,
    "games.csv",
    "moves.csv",
    "games.pgn",
    "index.html",
];

/// Opens or makes the journal of a match. `take` gets its games, which must be the first ones of `schedule`.
pub fn open_games(
    run: &Run,
    schedule: &[GameAssignment],
    mut take: impl FnMut(&PlayedGame),
) -> Result<Journal<PlayedGame>, LabError> {
    let mut schedule = schedule.iter();
    Journal::open(run, |game: PlayedGame| {
        if schedule
            .next()
            .is_some_and(|expected| expected.game != game.game.game)
        {
            return Err(LabError::OtherRun {
                path: run.folder().into(),
                what: "the games of another match or shard",
            });
        }
        take(&game);
        Ok(())
    })
}

pub(super) fn games_in(
    folder: &Path,
) -> Result<impl Iterator<Item = Result<PlayedGame, LabError>>, LabError> {
    let path = folder.join(PlayedGame::JOURNAL);
    let games = path.exists().then(|| crate::run::rows(&path, None)).transpose()?;
    Ok(games.into_iter().flatten())
}
