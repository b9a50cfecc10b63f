//! A match's files. A stopped match resumes behind its last whole game.

use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::game::{GameOutcome, GameRecord, PlayedMove, SideLimit, Termination};
use super::match_rows::{MatchGameRow, MatchHeader, MatchRowFiles};
use super::summary::MatchCounts;
use crate::LabError;
use crate::move_rows::MoveRow;
use crate::pgn::{commands, numbered, write_game};
use crate::rows::{RowError, RowReader, RowWriter, make_folder};
use crate::score::MoveScore;
use crate::uci_process::move_between;
use zeitnot_engine::VERSION;
use zeitnot_engine::chess::{Color, Variant};

/// Most games replayed because another file lacks them, more than a crash can lose.
const MOST_LOST: usize = 100;

fn write_pgn(out: &mut impl Write, game: &GameRecord, header: MatchHeader<'_>) -> io::Result<()> {
    let MatchHeader { names, limits, .. } = header;
    let [white, black] = [game.assignment.white, game.assignment.white.other()].map(|side| side.index());
    let mut tags = vec![
        ("Event", "zeitnot match".to_owned()),
        ("Site", "?".to_owned()),
        ("Date", "????.??.??".to_owned()),
        ("Round", game.assignment.round()),
        ("White", names[white].to_owned()),
        ("Black", names[black].to_owned()),
        ("Result", result(game.end.outcome).to_owned()),
    ];
    let first = game.history.position(0);
    if game.history.variant() == Variant::Chess960 {
        tags.push(("Variant", "Chess960".to_owned()));
    }
    if !first.is_standard_start() || first.game_ply() > 0 {
        tags.extend([("SetUp", "1".to_owned()), ("FEN", first.to_fen())]);
    }
    if limits[white] == limits[black] {
        tags.push(("TimeControl", time_control(limits[white])));
    } else {
        tags.push(("WhiteTimeControl", time_control(limits[white])));
        tags.push(("BlackTimeControl", time_control(limits[black])));
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

/// `games.pgn`, `games.csv` and `moves.csv`.
#[derive(Debug)]
pub struct MatchFiles {
    rows: MatchRowFiles,
    pgn: BufWriter<File>,
    pgn_path: PathBuf,
}

impl MatchFiles {
    /// `counts` gets the existing games. The last games of `games.csv` that other files lack, as after a
    /// crash, are replayed. Refuses files of another match or with many missing games.
    pub fn open(
        folder: &Path,
        schedule: &[u64],
        header: MatchHeader<'_>,
        counts: &mut MatchCounts,
    ) -> Result<MatchFiles, LabError> {
        make_folder(folder)?;
        let pgn_path = folder.join("games.pgn");
        let ends = ends_of_games(&pgn_path).map_err(RowError::io(&pgn_path))?;
        let whole = whole_games(folder, &pgn_path, ends.len() - 1)?;
        let [games_path, moves_path] = MatchRowFiles::paths(folder);
        let (mut done, mut last, mut is_other) = (0, None, false);
        let games = RowWriter::<MatchGameRow>::resume(&games_path, |row| {
            let expected = schedule.get(done);
            is_other |= row.match_id != header.match_id || expected.is_some_and(|&game| game != row.game);
            if is_other || done == whole {
                // Nothing of another match is cut off.
                return is_other;
            }
            done += 1;
            last = Some(row.game);
            counts.add(&row);
            true
        })?;
        if is_other {
            let what = "the games of another match or shard";
            return Err(LabError::OtherRun { path: folder.into(), what });
        }
        let pgn = OpenOptions::new().write(true).create(true).truncate(false).open(&pgn_path);
        let pgn = pgn.and_then(|mut pgn| {
            pgn.set_len(ends[done])?;
            pgn.seek(SeekFrom::End(0))?;
            Ok(BufWriter::new(pgn))
        });
        let pgn = pgn.map_err(RowError::io(&pgn_path))?;
        let moves = RowWriter::<MoveRow>::resume(&moves_path, |row| {
            let is_kept = Some(row.game) <= last;
            if is_kept {
                counts.add_move(&row);
            }
            is_kept
        })?;
        Ok(MatchFiles { rows: MatchRowFiles::new(games, moves), pgn, pgn_path })
    }

    /// Adds a finished game and flushes.
    pub fn add(
        &mut self,
        header: MatchHeader<'_>,
        game: &GameRecord,
        row: &MatchGameRow,
        moves: &[MoveRow],
    ) -> Result<(), RowError> {
        let written = write_pgn(&mut self.pgn, game, header).and_then(|()| self.pgn.flush());
        written.map_err(RowError::io(&self.pgn_path))?;
        self.rows.add(row, moves)
    }

    pub fn finish(self) -> Result<(), RowError> {
        self.rows.finish()
    }
}

/// First games in `games.csv` that the other files have whole too.
fn whole_games(folder: &Path, pgn: &Path, in_pgn: usize) -> Result<usize, RowError> {
    let [games, moves] = MatchRowFiles::paths(folder);
    let rows_of_moves = || -> Result<u64, RowError> {
        let rows = moves.exists().then(|| RowReader::<MoveRow>::open(&moves)).transpose()?;
        Ok(rows.into_iter().flatten().map_while(Result::ok).count() as u64)
    };
    if !games.exists() {
        let has_games = pgn.metadata().is_ok_and(|file| file.len() > 0);
        if has_games || rows_of_moves()? > 0 {
            let path = if has_games { pgn } else { &moves };
            let text =
                "has games of which no games.csv is beside it; bring that back, or choose another --out";
            return Err(RowError::Content(format!("{}: {text}", path.display())));
        }
        return Ok(0);
    }
    // A half-written row ends the rows. Other kinds are refused later.
    let rows = RowReader::<MatchGameRow>::open(&games)?.map_while(Result::ok);
    let moves_of_games: Vec<u64> = rows.map(|row| u64::from(row.a_moves) + u64::from(row.b_moves)).collect();
    let listed = moves_of_games.len();
    let mut left = Some(rows_of_moves()?);
    let has_moves = |made: &&u64| {
        left = left.and_then(|left| left.checked_sub(**made));
        left.is_some()
    };
    let with_moves = moves_of_games.iter().take_while(has_moves).count();
    for (there, path) in [(in_pgn, pgn), (with_moves, &moves)] {
        if there < listed && (there + MOST_LOST < listed || !path.exists()) {
            let text = "lacks many games that games.csv beside it has; bring it back as it was, or begin anew in another --out";
            return Err(RowError::Content(format!("{}: {text}", path.display())));
        }
    }
    Ok(listed.min(in_pgn).min(with_moves))
}

/// 0 and the ends of whole games, bytes. An empty line follows each.
pub(super) fn ends_of_games(path: &Path) -> io::Result<Vec<u64>> {
    let (mut ends, mut end, mut in_moves, mut line) = (vec![0], 0, false, Vec::new());
    if !path.exists() {
        return Ok(ends);
    }
    let mut reader = BufReader::new(File::open(path)?);
    while reader.read_until(b'\n', &mut line)? > 0 {
        end += line.len() as u64;
        if in_moves && line == b"\n" {
            ends.push(end);
        }
        // Moves may continue with a comment's `[%clk …]`.
        in_moves = line != b"\n" && !matches!(line[..], [b'[', b'A'..=b'Z', ..]);
        line.clear();
    }
    Ok(ends)
}
