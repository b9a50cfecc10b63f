//! The games to play: openings from EPD, FEN or PGN, and the colours of pairs.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::Side;
use crate::error::RowError;
use crate::pgn::{Ending, GameError, Games, RecordedGame};
use zeitnot_engine::chance::fnv1a;
use zeitnot_engine::chess::{History, Move, Position, PositionError, PositionLines, Variant};
use zeitnot_engine::files::{self, Lines};
use zeitnot_engine::options::OptionChoice;

/// Balanced lines that are far apart, by `scripts/opening_book.py`, in SAN.
const BUILT_IN: &str = include_str!("openings.txt");
/// Openings that are named where they are left out.
const MOST_NAMED: usize = 10;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    fen: Option<String>,
    moves: Vec<Move>,
}

impl Opening {
    pub fn history(&self, variant: Variant) -> Result<History, PositionError> {
        let mut history = match &self.fen {
            Some(fen) => History::from_fen(fen, variant)?,
            None => History::from_position(Position::start(), variant),
        };
        for &mv in &self.moves {
            history.push(mv);
        }
        Ok(history)
    }

    fn is_of_chess960(&self) -> bool {
        self.history(Variant::Standard)
            .is_ok_and(|history| history.position(0).is_of_chess960())
    }

    fn end(&self) -> Option<Ending> {
        let history = self.history(Variant::Standard).ok()?;
        history.terminal(&history.legal_moves()).map(Ending::from)
    }
}

#[derive(Clone, Debug)]
pub struct Openings {
    list: Vec<Opening>,
    /// Chess960 if any of them needs its rules.
    pub variant: Variant,
    pub notes: Vec<String>,
}

impl Openings {
    /// The start position alone.
    pub fn standard() -> Openings {
        Openings::of_standard_chess(vec![Opening::default()])
    }

    fn of_standard_chess(list: Vec<Opening>) -> Openings {
        Openings {
            list,
            variant: Variant::Standard,
            notes: Vec::new(),
        }
    }

    /// With at most `max_plies` of each.
    pub fn built_in(max_plies: Option<usize>) -> Openings {
        let opening = |line: &str| {
            let moves: Vec<_> = line.split(' ').take(max_plies.unwrap_or(usize::MAX)).collect();
            // Invariant: a test reads them all.
            played(None, &moves).expect("the book that comes with the program")
        };
        Openings::of_standard_chess(BUILT_IN.lines().map(opening).collect())
    }

    /// Reads PGN games (at most `max_plies` of each), or EPD or FEN lines, possibly compressed.
    pub fn read(path: &Path, max_plies: Option<usize>) -> Result<Openings, RowError> {
        let file = files::open_text(path, &[".pgn", ".epd", ".fen"]).map_err(RowError::io(path))?;
        let mut content = BufReader::new(file.content);
        let read = if is_pgn(&file.name, &mut content) {
            read_pgn(content, max_plies.unwrap_or(usize::MAX))
        } else {
            read_lines(content)
        };
        let mut list = Vec::new();
        let mut left_out = Vec::new();
        for (place, opening) in read.map_err(|error| RowError::of(path, error))? {
            match opening.map(|opening| (opening.end(), opening)) {
                Ok((None, opening)) => list.push(opening),
                Ok((Some(end), _)) => {
                    left_out.push(format!("{place} is left out: the game is over by {}", end.name()))
                }
                Err(reason) => left_out.push(format!("{place}: {reason}; it is left out")),
            }
        }
        if list.is_empty() {
            let why = left_out
                .first()
                .map_or(String::new(), |first| format!(" ({first})"));
            let text = format_args!("no openings in it; give EPD or FEN lines, or PGN games{why}");
            return Err(RowError::of(path, text));
        }
        let mut openings = Openings {
            notes: file.notes,
            ..Openings::of_standard_chess(list)
        };
        let path = path.display();
        for text in left_out.iter().take(MOST_NAMED) {
            openings.notes.push(format!("{path}, {text}"));
        }
        if left_out.len() > MOST_NAMED {
            openings
                .notes
                .push(format!("{path}: {} openings are left out in all", left_out.len()));
        }
        if openings.list.iter().any(Opening::is_of_chess960) {
            openings.variant = Variant::Chess960;
            openings
                .notes
                .push(format!("{path}: positions of Chess960, whose rules count"));
        }
        Ok(openings)
    }

    /// The seed alone decides the order.
    pub fn shuffle(&mut self, seed: u64) {
        fastrand::Rng::with_seed(seed).shuffle(&mut self.list);
    }

    #[expect(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Differs where the openings or their order do. Equal on every machine.
    pub fn fingerprint(&self) -> u64 {
        let words = self.list.iter().flat_map(|opening| {
            let fen = opening.fen.iter().flat_map(|fen| fen.bytes().map(u16::from));
            // Larger than any move. Separates openings.
            fen.chain(opening.moves.iter().map(|mv| mv.to_bits()))
                .chain([u16::MAX])
        });
        fnv1a(words.map(u64::from))
    }

    /// Starts over after the last opening.
    pub fn at(&self, number: u64) -> &Opening {
        &self.list[(number % self.list.len() as u64) as usize]
    }
}

fn is_pgn(name: &str, content: &mut impl BufRead) -> bool {
    let begins_with_tag = |start: &[u8]| {
        let text = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(start);
        text.trim_ascii_start().starts_with(b"[")
    };
    name.ends_with(".pgn") || content.fill_buf().is_ok_and(begins_with_tag)
}

/// Openings with their places, or why one is left out.
type Places = Vec<(String, Result<Opening, String>)>;

/// An error says what is wrong with the whole file.
fn read_lines(content: impl BufRead) -> Result<Places, String> {
    let mut list = Vec::new();
    let mut reader = PositionLines::default();
    for line in Lines::new(content) {
        let (number, line) = line.map_err(|error| error.to_string())?;
        let Some(listed) = reader.read(&line) else {
            continue;
        };
        let opening = listed.map_err(|error| error.to_string());
        let opening = opening.and_then(|listed| played(listed.fen, &listed.moves));
        list.push((format!("line {number}"), opening));
    }
    Ok(list)
}

fn played(fen: Option<String>, texts: &[&str]) -> Result<Opening, String> {
    let mut position = match &fen {
        Some(fen) => Position::from_fen(fen).map_err(|error| error.to_string())?,
        None => Position::start(),
    };
    let mut moves = Vec::new();
    for text in texts {
        let played = position.read_move(text).map_err(|error| error.to_string())?;
        position = position.play(played);
        moves.push(played);
    }
    Ok(Opening { fen, moves })
}

fn read_pgn(content: impl Read + Send, max_plies: usize) -> Result<Places, String> {
    let opening = |game: RecordedGame| {
        let is_usual = game.start.is_standard_start() && game.start.game_ply() == 0;
        if is_usual && game.moves.is_empty() {
            return Err("it has neither moves nor a FEN".into());
        }
        let moves = game.moves.iter().take(max_plies);
        Ok(Opening {
            fen: (!is_usual).then(|| game.start.to_fen()),
            moves: moves.map(|played| played.r#move).collect(),
        })
    };
    let mut list = Vec::new();
    for game in Games::new("", content) {
        list.push(match game {
            Ok(game) => (format!("game {}", game.number), opening(game)),
            Err(GameError::Broken {
                number,
                players,
                reason,
            }) => (format!("game {number}{players}"), Err(reason)),
            Err(GameError::Read { error, .. }) => return Err(error.to_string()),
        });
    }
    Ok(list)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GameAssignment {
    /// In the whole tournament, from 0.
    pub(crate) game: u64,
    /// Two games of one opening with colours swapped, from 0.
    pub pair: u64,
    /// The matches of the tournament, of which each opening goes through all.
    pairings: u64,
    pub(crate) white: Side,
}

impl GameAssignment {
    /// Games 2k and 2k + 1 are a pair.
    pub fn of(game: u64, pairings: u64) -> GameAssignment {
        let white = if game.is_multiple_of(2) { Side::A } else { Side::B };
        GameAssignment {
            game,
            pair: game / 2,
            pairings,
            white,
        }
    }

    /// The place of its match in the tournament.
    pub fn pairing(&self) -> usize {
        (self.pair % self.pairings) as usize
    }

    /// Its number in its match, from 0.
    pub fn number(&self) -> u64 {
        2 * self.opening() + self.game % 2
    }

    pub(super) fn opening(&self) -> u64 {
        self.pair / self.pairings
    }

    /// The engines with White and with Black.
    pub(super) fn sides(&self) -> [Side; 2] {
        [self.white, self.white.other()]
    }

    /// Pair and game, from 1, as PGN's tag `Round` has them.
    pub(crate) fn round(&self) -> String {
        format!("{}.{}", self.pair + 1, 1 + self.game % 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::{Cursor, Write};

    const EPD: &str = "# book\nrnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - bm e5;\n\n\
                       8/8/8/8/4k3/8/4P3/4K3 w - - 3 40\n";
    const PGN: &str = "[Event \"x\"]\n\n1. e4 {best} e5 (1... c5) 2. Nf3 *\n\n[FEN \"4k3/8/8/8/8/8/4P3/4K3 b - - 0 1\"]\n\n1... Kd7 *\n";

    #[test]
    fn a_pair_swaps_colours() {
        let [first, second] = [8, 9].map(|game| GameAssignment::of(game, 1));
        assert_eq!((first.game, first.pair, first.white), (8, 4, Side::A));
        assert_eq!((second.game, second.pair, second.white), (9, 4, Side::B));
    }

    fn positions(openings: &Openings) -> Vec<String> {
        let history = |opening: &Opening| opening.history(Variant::Standard).unwrap();
        openings
            .list
            .iter()
            .map(|opening| history(opening).current().to_fen())
            .collect()
    }

    #[test]
    fn every_format_in_every_compression() {
        let folder = tempfile::tempdir().unwrap();
        let epd_positions = [
            "rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
            "8/8/8/8/4k3/8/4P3/4K3 w - - 3 40",
        ];
        let pgn_positions = [
            "rnbqkbnr/pppp1ppp/8/4p3/4P3/5N2/PPPP1PPP/RNBQKB1R b KQkq - 1 2",
            "8/3k4/8/8/8/8/4P3/4K3 w - - 1 2",
        ];
        let epd = [&b"# Gr\xfcnfeld\r\n"[..], EPD.as_bytes()].concat();
        for (name, text, expected) in [
            ("a.epd", &epd[..], epd_positions),
            ("b.pgn", PGN.as_bytes(), pgn_positions),
        ] {
            let mut gz = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            gz.write_all(text).unwrap();
            let mut bz2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
            bz2.write_all(text).unwrap();
            let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
            zip.start_file(name, zip::write::SimpleFileOptions::default())
                .unwrap();
            zip.write_all(text).unwrap();
            for (ending, bytes) in [
                ("", text.to_vec()),
                (".gz", gz.finish().unwrap()),
                (".zst", compress_to_vec(text, CompressionLevel::Fastest)),
                (".bz2", bz2.finish().unwrap()),
                (".zip", zip.finish().unwrap().into_inner()),
            ] {
                let path = folder.path().join(format!("{name}{ending}"));
                std::fs::write(&path, bytes).unwrap();
                assert_eq!(
                    positions(&Openings::read(&path, None).unwrap()),
                    expected,
                    "{name}{ending}"
                );
            }
        }
    }

    fn fault(name: &str, text: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let error = Openings::read(&path, None).unwrap_err().to_string();
        error.replace(folder.path().to_str().unwrap(), "")
    }

    #[test]
    fn faults_name_line_or_game() {
        assert!(fault("a.epd", "\nx y z\n").contains("(line 2: bad FEN"));
        assert!(fault("a.pgn", "1. e4 Ke7 *\n").contains("(game 1: ply 2: "));
        assert!(fault("a.epd", "\n").contains("no openings in it"));
    }

    /// A regression: a game without a move counted in the score.
    #[test]
    fn openings_that_are_over_are_left_out_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let (epd, pgn) = (folder.path().join("a.epd"), folder.path().join("b.pgn"));
        let over = "R5k1/5ppp/8/8/8/8/8/6K1 b - - 0 1\n7k/5Q2/6K1/8/8/8/8/8 b - - 0 1\n8/8/8/8/8/k7/8/K7 w - - 0 1\n\
                    7k/8/8/8/8/8/R7/K7 w - - 100 80\n";
        std::fs::write(&epd, format!("{over}{EPD}")).unwrap();
        std::fs::write(&pgn, "1. Nf3 Nf6 2. Ng1 Ng8 3. Nf3 Nf6 4. Ng1 Ng8 *\n\n1. e4 *\n").unwrap();
        let openings = Openings::read(&epd, None).unwrap();
        assert_eq!(
            (openings.len(), openings.notes.len()),
            (2, 4),
            "{:?}",
            openings.notes
        );
        assert!(openings.notes[0].ends_with("a.epd, line 1 is left out: the game is over by checkmate"));
        let games = Openings::read(&pgn, None).unwrap();
        assert!(
            games.len() == 1
                && games.notes[0].ends_with("game 1 is left out: the game is over by repetition")
        );
        assert_eq!(Openings::read(&pgn, Some(6)).unwrap().len(), 2);
        assert!(fault("a.epd", over).contains("over by checkmate"));
        // A regression: one bad line refused its book.
        std::fs::write(&epd, format!("{EPD}x y z\n{}", "8/8 w - -\n".repeat(20))).unwrap();
        let Openings { list, notes, .. } = Openings::read(&epd, None).unwrap();
        assert_eq!((list.len(), notes.len()), (2, 11));
        assert!(
            notes[0].contains("a.epd, line 5: bad FEN") && notes[0].ends_with("; it is left out"),
            "{notes:?}"
        );
        assert!(
            notes[10].ends_with("a.epd: 21 openings are left out in all"),
            "{notes:?}"
        );
    }

    #[test]
    fn the_built_in_openings_are_many_different_lines_of_legal_moves() {
        let (openings, mut ends) = (Openings::built_in(None), positions(&Openings::built_in(None)));
        for (opening, line) in openings.list.iter().zip(BUILT_IN.lines()) {
            assert_eq!(opening.moves.len(), line.split(' ').count(), "{line}");
            assert!(
                (4..=8).contains(&opening.moves.len()) && opening.end().is_none(),
                "{line}"
            );
        }
        ends.sort();
        ends.dedup();
        assert!(
            ends.len() == openings.len() && (400..=600).contains(&ends.len()),
            "{}",
            ends.len()
        );
        assert!(
            Openings::built_in(Some(4))
                .list
                .iter()
                .all(|opening| opening.moves.len() == 4)
        );
    }

    #[test]
    fn games_are_cut_and_the_seed_decides_the_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pgn");
        std::fs::write(&path, PGN).unwrap();
        let cut = Openings::read(&path, Some(1)).unwrap();
        assert_eq!(cut.list[0].moves.len(), 1);
        let book: String = (1..=50)
            .map(|n| format!("4k3/8/8/8/8/8/4P3/4K3 w - - 0 {n}\n"))
            .collect();
        std::fs::write(folder.path().join("b.epd"), book).unwrap();
        let shuffled = |seed| {
            let mut openings = Openings::read(&folder.path().join("b.epd"), None).unwrap();
            openings.shuffle(seed);
            positions(&openings)
        };
        assert_eq!(shuffled(3), shuffled(3));
        assert_ne!(shuffled(3), shuffled(4));
    }
}
