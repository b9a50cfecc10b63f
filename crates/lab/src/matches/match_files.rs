//! A match's files. A stopped match resumes behind the last whole game of its journal.

use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::game::{GameOutcome, GameRecord, PlayedMove, SideLimit, Termination};
use super::match_rows::{MatchGameRow, MatchRowFiles, rows_of_moves};
use super::openings::GameAssignment;
use crate::LabError;
use crate::move_rows::MoveRow;
use crate::pgn::{commands, numbered, write_game};
use crate::rows::{Export, RowError};
use crate::run::{Journal, Run};
use crate::score::MoveScore;
use crate::uci_process::move_between;
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::{Color, Variant};

const JOURNAL: &str = "games.jsonl";
const GAMES: &str = "games.pgn";

fn write_pgn(out: &mut impl Write, game: &GameRecord) -> io::Result<()> {
    let [white, black] =
        [game.assignment.white, game.assignment.white.other()].map(|side| &*game.contenders[side.index()]);
    let mut tags = vec![
        ("Event", "zeitnot match".to_owned()),
        ("Site", "?".to_owned()),
        ("Date", "????.??.??".to_owned()),
        ("Round", game.assignment.round()),
        ("White", white.name.clone()),
        ("Black", black.name.clone()),
        ("Result", result(game.end.outcome).to_owned()),
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
        ("Termination", termination(game.end.termination).to_owned()),
        ("TerminationDetails", game.end.termination.word().to_owned()),
        ("Annotator", format!("Zeitnot {VERSION}")),
    ]);
    write_game(out, tags, &movetext(game))
}

fn result(outcome: GameOutcome) -> &'static str {
    match outcome {
        GameOutcome::Win(Color::White) => "1-0",
        GameOutcome::Win(Color::Black) => "0-1",
        GameOutcome::Draw => "1/2-1/2",
    }
}

fn termination(termination: Termination) -> &'static str {
    match termination {
        Termination::Rules(_) => "normal",
        Termination::TimeForfeit => "time forfeit",
        Termination::IllegalMove => "rules infraction",
        Termination::Disconnection => "abandoned",
        Termination::Adjudication => "adjudication",
    }
}

fn time_control(limit: SideLimit) -> String {
    match limit {
        SideLimit::Nodes(_) => "-".into(),
        SideLimit::Clock(_) => limit.to_string(),
    }
}

fn movetext(game: &GameRecord) -> String {
    let (positions, first) = (|index| game.history.position(index), game.first_position());
    let book = (0..first).filter_map(|index| {
        let played = move_between(positions(index), positions(index + 1))?;
        Some(format!("{} {{book}} ", numbered(positions(index), played)))
    });
    let own = game.moves.iter().enumerate().map(|(own, played)| {
        let before = positions(first + own);
        format!("{} {{{}}} ", numbered(before, played.mv), comment(played, before.turn()))
    });
    book.chain(own).collect::<String>() + result(game.end.outcome)
}

/// Commands that other programs read, then our figures as `key=value`.
fn comment(played: &PlayedMove, mover: Color) -> String {
    let PlayedMove { clock_ms, row, .. } = played;
    let eval = row.centipawns.map(|score| MoveScore::of_centipawns(score).of_white(mover));
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

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PlayedGame {
    pub game: MatchGameRow,
    pub moves: Vec<MoveRow>,
    pub(super) pgn: String,
}

impl PlayedGame {
    pub fn new(match_id: &str, game: &GameRecord) -> PlayedGame {
        let mut pgn = Vec::new();
        // Writing into memory cannot fail.
        let _ = write_pgn(&mut pgn, game);
        PlayedGame {
            game: MatchGameRow::new(match_id, game),
            moves: rows_of_moves(match_id, game),
            pgn: String::from_utf8_lossy(&pgn).into_owned(),
        }
    }

    pub fn number(&self) -> u64 {
        self.game.game
    }
}

/// The files of a match: its journal, and `games.csv`, `moves.csv` and `games.pgn`, which are made of it.
#[derive(Debug)]
pub struct MatchFiles {
    journal: Journal,
    rows: MatchRowFiles,
    pgn: Export,
}

impl MatchFiles {
    pub const NAMES: [&str; 5] = [JOURNAL, "games.csv", "moves.csv", GAMES, "index.html"];

    /// `take` gets the games that are there, which must be the first ones of `schedule`.
    pub fn open(
        run: &Run,
        schedule: &[GameAssignment],
        mut take: impl FnMut(&PlayedGame),
    ) -> Result<MatchFiles, LabError> {
        run.check_journal(JOURNAL, &MatchFiles::NAMES[1..4])?;
        let mut rows = MatchRowFiles::create(run.folder())?;
        let mut pgn = Export::create(&run.folder().join(GAMES))?;
        let mut schedule = schedule.iter();
        let journal = Journal::open(run, JOURNAL, |game: PlayedGame| {
            if schedule.next().is_some_and(|expected| expected.game != game.game.game) {
                let what = "the games of another match or shard";
                return Err(LabError::OtherRun { path: run.folder().into(), what });
            }
            rows.add(&game.game, &game.moves)?;
            pgn.add(&game.pgn)?;
            take(&game);
            Ok(())
        })?;
        rows.publish()?;
        pgn.publish()?;
        Ok(MatchFiles { journal, rows, pgn })
    }

    /// Adds a finished game, which then survives the end of the program.
    pub fn add(&mut self, game: &PlayedGame) -> Result<(), RowError> {
        self.journal.add(game)?;
        self.rows.add(&game.game, &game.moves)?;
        self.pgn.add(&game.pgn)
    }
}

/// The games of the match in `folder`, if its journal is there.
pub(super) fn games_in(
    folder: &Path,
) -> Result<impl Iterator<Item = Result<PlayedGame, LabError>>, LabError> {
    let path = folder.join(JOURNAL);
    let games = path.exists().then(|| crate::run::rows(&path, None)).transpose()?;
    Ok(games.into_iter().flatten())
}
