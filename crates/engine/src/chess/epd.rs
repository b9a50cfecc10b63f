//! A line of a list of positions: FEN, EPD, or UCI's `position`.

use std::iter;

use shakmaty::san::SanPlus;
use thiserror::Error;

/// Before the counters.
const FIELDS: usize = 4;
/// End an operation whose semicolon is missing.
const CODES: [&str; 16] = [
    "acd", "acn", "acs", "am", "bm", "c0", "c9", "ce", "dm", "eco", "fmvn", "hmvc", "id", "pm", "pv", "sm",
];

/// Why a line of a test suite is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum EpdError {
    #[error("a quotation mark (\") is not closed")]
    Quote,
    #[error("{code} \"{text}\": expected a number")]
    Counter { code: &'static str, text: String },
    #[error(
        "a field is missing before {0}: side to move, castling rights and en passant square follow the board"
    )]
    Field(String),
    #[error("\"{0}\" is left over behind the start position, and is no move")]
    LeftOver(String),
}

/// A position of a list, with the operations of EPD behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedPosition<'a> {
    /// With counters. `None` is the start position.
    pub fen: Option<String>,
    /// The moves behind a position, as UCI or people write them.
    pub moves: Vec<&'a str>,
    operations: &'a str,
    /// The name of a puzzle, and the move that solves it.
    pub puzzle: Option<(&'a str, &'a str)>,
}

/// Such as `bm Nf3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation<'a> {
    /// The operation's name, such as `bm`.
    pub code: &'a str,
    /// With quotation marks.
    pub operands: &'a str,
}

impl Operation<'_> {
    /// The operand as text, without quotes.
    pub fn text(&self) -> &str {
        self.operands.trim_matches('"')
    }
}

/// Reads a list of positions line by line. The head of a table tells what its columns hold.
#[derive(Debug, Default)]
pub struct PositionLines {
    /// Names in small letters. Empty without a head.
    columns: Vec<String>,
}

impl PositionLines {
    /// Reads a line as [`ListedPosition::read`] does, or a row of a table: its column `fen` or `epd`, what
    /// solves it (`bm`), and the `moves` of a puzzle, of which the second solves it. Without a head, rows of
    /// puzzles have a name in front, as Lichess has them.
    pub fn read<'a>(&mut self, line: &'a str) -> Option<Result<ListedPosition<'a>, EpdError>> {
        let fields = line
            .split([',', ';', '\t'])
            .map(|field| field.trim().trim_matches('"'));
        let fields: Vec<_> = fields.collect();
        let is_head = |field: &&str| ["fen", "epd"].iter().any(|name| field.eq_ignore_ascii_case(name));
        if fields.iter().any(is_head) {
            self.columns = fields.iter().map(|field| field.to_ascii_lowercase()).collect();
            return None;
        }
        let named = |name: &str| {
            let place = self.columns.iter().position(|column| column == name)?;
            fields.get(place).copied().filter(|field| !field.is_empty())
        };
        let is_fen =
            |field: &str| field.matches('/').count() == 7 && (4..=6).contains(&field.split(' ').count());
        let are_moves = |field: &str| field.contains(' ') && field.split(' ').all(is_uci_move);
        let found = |fits: &dyn Fn(&str) -> bool| fields.iter().copied().find(|field| fits(field));
        let mut fen = named("fen").or_else(|| named("epd"));
        let mut moves = named("moves");
        let mut name = named("puzzleid").or_else(|| named("id"));
        if self.columns.is_empty() && !is_fen(fields[0]) {
            moves = found(&are_moves);
            fen = found(&is_fen).filter(|_| moves.is_some());
            name = Some(fields[0]);
        }
        let Some(fen) = fen else {
            return ListedPosition::read(line);
        };
        let mut listed = ListedPosition::read(fen)?;
        if let Ok(listed) = &mut listed {
            let mut moves = moves.unwrap_or_default().split_whitespace();
            listed.moves.extend(moves.next());
            let solution = moves.next().or_else(|| named("bm"));
            listed.puzzle = solution.map(|solution| (name.unwrap_or_default(), solution));
        }
        Some(listed)
    }
}

impl<'a> ListedPosition<'a> {
    /// Reads `startpos …`, `fen …`, FEN or EPD, with counters in the FEN or as `hmvc` and `fmvn`. `None` for
    /// an empty line and a `#` comment.
    pub fn read(line: &'a str) -> Option<Result<ListedPosition<'a>, EpdError>> {
        let mut rest = line.trim();
        if rest.is_empty() || rest.starts_with('#') {
            return None;
        }
        let mut behind = rest;
        let fen = match take_word(&mut behind) {
            "startpos" => None,
            first => {
                if first == "fen" {
                    rest = behind;
                }
                let fields = (0..FIELDS)
                    .map(|_| take_word(&mut rest))
                    .filter(|field| !field.is_empty());
                let fields: Vec<_> = fields.collect();
                if let Some(code) = fields
                    .iter()
                    .find(|field| **field == "moves" || CODES.contains(*field))
                {
                    return Some(Err(EpdError::Field(code.to_string())));
                }
                let fen = fields.join(" ");
                behind = rest;
                Some(fen)
            }
        };
        let counters: Vec<_> = iter::from_fn(|| take_counter(&mut behind)).take(2).collect();
        skip_nothings(&mut behind);
        let (list, operations) = behind.split_once(';').unwrap_or((behind, ""));
        let mut moves: Vec<_> = words_of_moves(list).collect();
        let begins_with_move = moves.first().is_some_and(|first| is_move(first, list));
        if begins_with_move || moves.first() == Some(&"moves") {
            moves.retain(|word| *word != "moves");
            behind = operations;
        } else if fen.is_none() && !moves.is_empty() {
            return Some(Err(EpdError::LeftOver(list.into())));
        } else {
            moves.clear();
        }
        let listed = ListedPosition {
            fen,
            moves,
            operations: behind,
            puzzle: None,
        };
        Some(listed.with_counters(&counters))
    }

    fn with_counters(self, counters: &[&str]) -> Result<ListedPosition<'a>, EpdError> {
        let Some(fen) = &self.fen else { return Ok(self) };
        let mut fields = [counters.first().copied(), counters.get(1).copied()];
        for Operation { code, operands } in self.operations().unwrap_or_default() {
            let Some(place) = ["hmvc", "fmvn"].iter().position(|own| *own == code) else {
                continue;
            };
            if !is_counter(operands) {
                return Err(EpdError::Counter {
                    code: ["hmvc", "fmvn"][place],
                    text: operands.into(),
                });
            }
            fields[place].get_or_insert(operands);
        }
        if fen.split(' ').count() < FIELDS {
            return Ok(self);
        }
        let fen = format!("{fen} {} {}", fields[0].unwrap_or("0"), fields[1].unwrap_or("1"));
        Ok(ListedPosition {
            fen: Some(fen),
            ..self
        })
    }

    /// As after UCI's `position`.
    pub fn uci_position(&self) -> String {
        let start = self
            .fen
            .as_ref()
            .map_or("startpos".into(), |fen| format!("fen {fen}"));
        if self.moves.is_empty() {
            start
        } else {
            format!("{start} moves {}", self.moves.join(" "))
        }
    }

    /// Marks and semicolons within words or quotation marks end nothing.
    pub fn operations(&self) -> Result<Vec<Operation<'a>>, EpdError> {
        let (mut is_quoted, mut is_word_start) = (false, true);
        let is_end = |c: char| {
            is_quoted = if c == '"' {
                !is_quoted && is_word_start
            } else {
                is_quoted
            };
            is_word_start = c.is_whitespace() || c == ';';
            c == ';' && !is_quoted
        };
        let parts: Vec<&str> = self.operations.split(is_end).collect();
        if is_quoted {
            return Err(EpdError::Quote);
        }
        Ok(parts.into_iter().flat_map(operations_in).collect())
    }
}

fn operations_in(text: &str) -> Vec<Operation<'_>> {
    let mut list = Vec::new();
    let mut rest = text;
    skip_nothings(&mut rest);
    while !rest.is_empty() {
        let mut operands = rest;
        let code = take_word(&mut operands);
        // Some write them in capitals.
        let known = CODES.iter().find(|known| known.eq_ignore_ascii_case(code));
        let code = known.copied().unwrap_or(code);
        let is_forgotten = |word: &&str| ["bm", "am"].contains(&code) && CODES.contains(word);
        let next = operands.split_whitespace().find(is_forgotten);
        let end = next.map_or(operands.len(), |next| {
            next.as_ptr().addr() - operands.as_ptr().addr()
        });
        list.push(Operation {
            code,
            operands: operands[..end].trim(),
        });
        rest = &operands[end..];
    }
    list
}

fn is_uci_move(word: &str) -> bool {
    matches!(
        word.as_bytes(),
        [b'a'..=b'h', b'1'..=b'8', b'a'..=b'h', b'1'..=b'8', ..]
    ) && word.len() <= 5
}

/// Without numbers and what people set around moves.
fn words_of_moves(text: &str) -> impl Iterator<Item = &str> {
    let is_around = |c: char| c.is_whitespace() || "|:,()[]".contains(c);
    let without_number = |word| {
        let behind = str::trim_start_matches(word, |c: char| c.is_ascii_digit());
        if behind.starts_with('.') {
            behind.trim_start_matches('.')
        } else {
            word
        }
    };
    let words = text.split(is_around).map(without_number);
    words.filter(|word| !["", "->"].contains(word))
}

/// `c1` to `c8` are operations too, whose operands have quotation marks.
fn is_move(word: &str, list: &str) -> bool {
    let is_comment = word.starts_with('c') && list.contains('"');
    let plain = word.trim_end_matches(['!', '?']);
    is_uci_move(word) || !is_comment && SanPlus::from_ascii(plain.as_bytes()).is_ok()
}

fn skip_nothings(text: &mut &str) {
    loop {
        *text = text.trim_start_matches(|c: char| c.is_whitespace() || c == ';');
        let mut behind = *text;
        if take_word(&mut behind) != "-" {
            return;
        }
        *text = behind;
    }
}

fn take_word<'a>(text: &mut &'a str) -> &'a str {
    let (word, behind) = text
        .trim_start()
        .split_once(char::is_whitespace)
        .unwrap_or((text.trim_start(), ""));
    *text = behind.trim_start();
    word
}

fn take_counter<'a>(text: &mut &'a str) -> Option<&'a str> {
    let mut behind = *text;
    let word = take_word(&mut behind);
    let (number, glued) = word.split_once([';', ':', ',']).unwrap_or((word, ""));
    if !is_counter(number) {
        return None;
    }
    *text = if glued.is_empty() {
        behind
    } else {
        &text[number.len() + 1..]
    };
    Some(number)
}

/// Some programs write counters below zero, or with a fraction.
fn is_counter(text: &str) -> bool {
    text.chars().all(|c| c.is_ascii_digit() || "-.".contains(c)) && text.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEN: &str = "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - -";

    fn read(line: &str) -> (String, Vec<(String, String)>) {
        let listed = ListedPosition::read(line).unwrap().unwrap();
        let operations = listed.operations().unwrap();
        let pairs = operations
            .iter()
            .map(|operation| (operation.code.into(), operation.operands.into()));
        (listed.uci_position(), pairs.collect())
    }

    #[test]
    fn position_counters_moves_and_operations_are_told_apart() {
        for (behind, position, operations) in [
            ("", "0 1", &[][..]),
            (" 3 41", "3 41", &[]),
            (" 3", "3 1", &[]),
            (" bm b4f4; id \"x\";", "0 1", &[("bm", "b4f4"), ("id", "\"x\"")]),
            ("\t3\t41\tbm\tb4f4;", "3 41", &[("bm", "b4f4")]),
            (" 12 bm b4f4", "12 1", &[("bm", "b4f4")]),
            (" 99 120; cdb eval", "99 120", &[("cdb", "eval")]),
            (" 99 120;bm b4f4;", "99 120", &[("bm", "b4f4")]),
            (" BM b4f4; Id \"x\";", "0 1", &[("bm", "b4f4"), ("id", "\"x\"")]),
            (" -1 0.5", "-1 0.5", &[]),
            (
                " hmvc 7; fmvn 20; bm b4f4;",
                "7 20",
                &[("hmvc", "7"), ("fmvn", "20"), ("bm", "b4f4")],
            ),
            (" - bm b4f4;", "0 1", &[("bm", "b4f4")]),
            (
                " - - bm b4f4; - ; am b4b1",
                "0 1",
                &[("bm", "b4f4"), ("am", "b4b1")],
            ),
            (
                " id \"a; bm b4b1\"; bm b4f4",
                "0 1",
                &[("id", "\"a; bm b4b1\""), ("bm", "b4f4")],
            ),
            (
                " bm b4f4 c3 id \"x\"; c0 \"bm\"",
                "0 1",
                &[("bm", "b4f4 c3"), ("id", "\"x\""), ("c0", "\"bm\"")],
            ),
            (
                " bm #1; 00:00; 00'40\" (Gustav); id \"x\"",
                "0 1",
                &[
                    ("bm", "#1"),
                    ("00:00", ""),
                    ("00'40\"", "(Gustav)"),
                    ("id", "\"x\""),
                ],
            ),
        ] {
            let operations = operations
                .iter()
                .map(|&(code, text)| (code.to_owned(), text.to_owned()))
                .collect();
            assert_eq!(
                read(&format!(" {FEN}{behind} ")),
                (format!("fen {FEN} {position}"), operations),
                "{behind}"
            );
        }
        assert_eq!(
            read("4k3/8/8/8/8/8/8/4K3 w").0,
            "fen 4k3/8/8/8/8/8/8/4K3 w",
            "which has defaults"
        );
        for line in ["", "  ", "# a comment", "\t#"] {
            assert_eq!(ListedPosition::read(line), None);
        }
    }

    /// A regression: the moves were lost, also in Stockfish's own bench.
    #[test]
    fn moves_may_follow_the_position() {
        for (line, expected) in [
            (
                format!("{FEN} 7 14 moves b4f4 h4g5"),
                format!("fen {FEN} 7 14 moves b4f4 h4g5"),
            ),
            (
                format!("{FEN} moves b4f4; id \"x\""),
                format!("fen {FEN} 0 1 moves b4f4"),
            ),
            (
                format!("fen {FEN} 7 14 moves b4f4"),
                format!("fen {FEN} 7 14 moves b4f4"),
            ),
            ("startpos moves e2e4".into(), "startpos moves e2e4".into()),
            ("startpos".into(), "startpos".into()),
            // A regression: without the word `moves` they were skipped.
            ("startpos e2e4 e7e5".into(), "startpos moves e2e4 e7e5".into()),
            (
                format!("{FEN} 7 14 b4f4; id \"x\""),
                format!("fen {FEN} 7 14 moves b4f4"),
            ),
            // Regressions: these passed for operations.
            (
                format!("{FEN} 7 14 | b4f4 h4g5"),
                format!("fen {FEN} 7 14 moves b4f4 h4g5"),
            ),
            (format!("{FEN} -> b4f4"), format!("fen {FEN} 0 1 moves b4f4")),
            (format!("{FEN} 7 14: b4f4"), format!("fen {FEN} 7 14 moves b4f4")),
            (format!("{FEN} 7 14,b4f4"), format!("fen {FEN} 7 14 moves b4f4")),
            (
                format!("{FEN} (b4f4 h4g5)"),
                format!("fen {FEN} 0 1 moves b4f4 h4g5"),
            ),
            (
                format!("{FEN} [b4f4, h4g5]"),
                format!("fen {FEN} 0 1 moves b4f4 h4g5"),
            ),
            (
                format!("{FEN} 7 14 14. Rxf4+ Kg5"),
                format!("fen {FEN} 7 14 moves Rxf4+ Kg5"),
            ),
            (
                "startpos 1. e4 e5 2. Nf3".into(),
                "startpos moves e4 e5 Nf3".into(),
            ),
            ("startpos | e2e4".into(), "startpos moves e2e4".into()),
            // Tuners write these.
            (format!("{FEN} 7 14 | 23 | 0.5"), format!("fen {FEN} 7 14")),
            (format!("{FEN} 7 14 [0.5]"), format!("fen {FEN} 7 14")),
            (format!("{FEN} 7 14,-10"), format!("fen {FEN} 7 14")),
            (format!("{FEN} c3 \"1-0\";"), format!("fen {FEN} 0 1")),
        ] {
            assert_eq!(read(&line).0, expected);
        }
    }

    /// A regression: any row with a FEN and moves was a puzzle.
    #[test]
    fn tables_are_read_by_their_heads() {
        let full = format!("{FEN} 0 1");
        let row = format!("{FEN},b4f4 h4g5,46,206765,31,");
        for (head, row, moves, puzzle) in [
            ("fen,line,depth,knodes,cp,mate", &*row, 0, None),
            (
                "cp\tFEN\tbm",
                &format!("31\t\"{FEN}\"\tb4f4"),
                0,
                Some(("", "b4f4")),
            ),
            (
                "PuzzleId,FEN,Moves",
                &format!("p1,{FEN},b4f4 h4g5"),
                1,
                Some(("p1", "h4g5")),
            ),
            ("FEN;Moves", &format!("{FEN};b4f4 h4g5"), 1, Some(("", "h4g5"))),
            ("", &format!("p1,{FEN},b4f4 h4g5,1500"), 1, Some(("p1", "h4g5"))),
            ("FEN,Evaluation", &format!("{FEN},#+3"), 0, None),
        ] {
            let mut lines = PositionLines::default();
            assert_eq!(lines.read(head), None, "{head}");
            let listed = lines.read(row).unwrap().unwrap();
            assert_eq!(listed.fen.as_ref(), Some(&full), "{head}");
            assert_eq!((listed.moves.len(), listed.puzzle), (moves, puzzle), "{head}");
        }
    }

    #[test]
    fn faults_are_named() {
        let open = format!("{FEN} id \"x; bm b4f4;");
        assert_eq!(
            ListedPosition::read(&open).unwrap().unwrap().operations(),
            Err(EpdError::Quote)
        );
        for (line, reason) in [
            (
                String::from("startpos soon"),
                "\"soon\" is left over behind the start position",
            ),
            (String::from("startpos | 0.5"), "\"| 0.5\" is left over"),
            (
                "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - bm Rxf4; id \"x\";".into(),
                "a field is missing before bm",
            ),
        ] {
            let error = ListedPosition::read(&line).unwrap().unwrap_err().to_string();
            assert!(error.starts_with(reason), "{line}: {error}");
        }
        let text = format!("{FEN} hmvc seven;");
        let error = ListedPosition::read(&text).unwrap().unwrap_err();
        assert_eq!(error.to_string(), "hmvc \"seven\": expected a number");
    }
}
