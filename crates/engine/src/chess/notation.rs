//! Reads and writes moves.
//!
//! [`Position::parse_move`] reads UCI's notation, [`Position::read_move`] all that files hold. What fits no
//! legal move, or several, is refused.

use shakmaty::san::{San, SanPlus};
use shakmaty::uci::UciMove;
use shakmaty::{CastlingSide, File, Rank, Role, Square};
use thiserror::Error;

use super::moves::{Move, Variant};
use super::position::Position;

/// Marks behind a move or alone.
const MARKS: [&str; 36] = [
    "+/-", "-/+", "+/=", "=/+", "=/∞", "+--", "--+", "+-", "-+", "+", "#", "!", "?", "‼", "⁇", "⁈", "⁉", "=",
    "±", "∓", "⩲", "⩱", "⟳", "→", "↑", "⇆", "∞", "□", "○", "⊙", "⊕", "⌓", "≅", "†", "‡", "≠",
];
/// Behind a capture en passant, attached or alone.
const EN_PASSANT: [&str; 5] = ["e.p.", "e.p", "ep", "(ep)", "(e.p.)"];
const ILLEGAL: &str = "is not legal";
const NULL_MOVES: [&str; 7] = ["--", "Z0", "z0", "0000", "null", "@@@@", "<>"];

/// Why a move is refused.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum MoveError {
    #[error("\"{0}\" is not a move in UCI notation (such as e2e4 or e7e8q)")]
    Syntax(String),
    #[error("\"{0}\" cannot be read as a move (such as Nf3, exd5, O-O or e2e4)")]
    Unreadable(String),
    #[error("\"{0}\" is a null move, which the rules of chess do not have")]
    Null(String),
    #[error("{text} {reason} in \"{fen}\"")]
    Misfit {
        text: String,
        reason: &'static str,
        fen: String,
    },
}

impl Position {
    /// Reads a legal move in UCI notation, in either case and castling notation. A promotion without a piece
    /// is to a knight, as in Lc0.
    pub fn parse_move(&self, uci: &str) -> Result<Move, MoveError> {
        let (from, to, promotion) = squares_of(uci).ok_or_else(|| MoveError::Syntax(uci.to_owned()))?;
        let written = Move::new(from, to, promotion);
        let knight_promotion = Move::new(from, to, promotion.or(Some(Role::Knight)));
        let castling = self
            .castling_of_king_steps(from, to)
            .filter(|_| promotion.is_none());
        let legal = self.legal_moves();
        [Some(written), Some(knight_promotion), castling]
            .into_iter()
            .flatten()
            .find(|m| legal.contains(m) && !self.takes_king(*m))
            .ok_or_else(|| MoveError::Misfit {
                text: uci.to_owned(),
                reason: ILLEGAL,
                fen: self.to_fen(),
            })
    }

    /// Fails if `m` is not legal.
    pub(crate) fn check_move(&self, m: Move) -> Result<(), MoveError> {
        if self.legal_moves().contains(&m) {
            Ok(())
        } else {
            Err(MoveError::Misfit {
                text: format!("{m:?}"),
                reason: ILLEGAL,
                fen: self.to_fen(),
            })
        }
    }

    /// Reads a legal move in algebraic notation, short or long, or in UCI's. Ignores marks behind it: `++`,
    /// `!?`, `±`, `$1`. Accepts figurines, castling with zeros, `b8Q` or `b8(Q)`, `e.p.`, and a capture
    /// without `x`.
    pub fn read_move(&self, text: &str) -> Result<Move, MoveError> {
        let standard = San::from_ascii(text.as_bytes())
            .ok()
            .and_then(|san| san.to_move(self.chess()).ok());
        match standard.map(Move::from_shakmaty) {
            Some(m) if !self.takes_king(m) => Ok(m),
            _ => self.read_spelled_move(text),
        }
    }

    fn read_spelled_move(&self, text: &str) -> Result<Move, MoveError> {
        let text = text.to_owned();
        if NULL_MOVES.contains(&&*text) {
            return Err(MoveError::Null(text));
        }
        let Some(written) = WrittenMove::of(&text) else {
            return Err(MoveError::Unreadable(text));
        };
        let mut legal = self.legal_moves();
        legal.retain(|m| !self.takes_king(*m));
        let mut fitting = legal
            .iter()
            .copied()
            .filter(|&m| self.fits(m, &written, written.promotion));
        let lacks_promotion =
            || written.promotion.is_none() && legal.iter().any(|&m| self.fits(m, &written, m.promotion()));
        let reason = match (fitting.next(), fitting.next()) {
            (Some(m), None) => return Ok(m),
            (Some(_), Some(_)) => "may be several moves",
            (None, _) if lacks_promotion() => "does not say what the pawn becomes",
            (None, _) => ILLEGAL,
        };
        Err(MoveError::Misfit {
            text,
            reason,
            fen: self.to_fen(),
        })
    }

    /// Only [`Position::from_fen_to_evaluate`], or a position that no game leads to, offers the king.
    fn takes_king(&self, m: Move) -> bool {
        Some(m.to_square()) == self.board().king_of(!self.turn())
    }

    fn fits(&self, m: Move, written: &WrittenMove, promotion: Option<Role>) -> bool {
        let (from, to) = (m.from_square(), m.to_square());
        let role = self.board().role_at(from);
        let own = self.board().by_color(self.turn());
        if own.contains(to) {
            // Castling by its sign, the king's steps, or the king that takes its rook.
            return match written.place {
                Place::Castling(side) => side == CastlingSide::from_king_side(from < to),
                Place::Squares {
                    role,
                    file: Some(file),
                    rank: Some(rank),
                    to: target,
                } => {
                    let start = Square::from_coords(file, rank);
                    let by_steps = || self.castling_of_king_steps(start, target) == Some(m);
                    matches!(role, None | Some(Role::King)) && ((start, target) == (from, to) || by_steps())
                }
                Place::Squares { .. } => false,
            };
        }
        let Place::Squares {
            role: named,
            file,
            rank,
            to: target,
        } = written.place
        else {
            return false;
        };
        // Without a piece's letter it is a pawn, unless its starting square is given.
        let named = named.or((file.is_none() || rank.is_none()).then_some(Role::Pawn));
        let file = file.or((named == Some(Role::Pawn)).then_some(target.file()));
        target == to
            && (named.is_none() || named == role)
            && file.is_none_or(|file| file == from.file())
            && rank.is_none_or(|rank| rank == from.rank())
            && promotion == m.promotion()
            && (!written.is_en_passant || self.is_en_passant(m))
    }

    /// True if a pawn takes another in passing by this move.
    pub fn is_en_passant(&self, m: Move) -> bool {
        matches!(self.to_shakmaty(m), Some(shakmaty::Move::EnPassant { .. }))
    }

    /// Writes the legal move `m` in UCI notation. In [`Variant::Standard`] castling is the king's two steps,
    /// except from squares of Chess960, where that is ambiguous.
    pub fn format_move(&self, m: Move, variant: Variant) -> String {
        let (from, to) = (m.from_square(), m.to_square());
        let own = self.board().by_color(self.turn());
        let standard_castling = variant == Variant::Standard
            && own.contains(to)
            && from.file() == File::E
            && matches!(to.file(), File::A | File::H);
        if standard_castling {
            return format!(
                "{from}{}",
                CastlingSide::from_king_side(from < to).king_to(self.turn())
            );
        }
        format!("{m:?}")
    }

    /// With its `+` or `#`. `m` must be legal.
    pub fn format_san(&self, m: Move) -> String {
        self.to_shakmaty(m)
            .map(|m| SanPlus::from_move(self.chess().clone(), m).to_string())
            .unwrap_or_default()
    }

    fn castling_of_king_steps(&self, from: Square, to: Square) -> Option<Move> {
        let king = self.board().king_of(self.turn())?;
        let side = CastlingSide::from_king_side(from < to);
        let steps = from.file().distance(to.file());
        if king != from || to != side.king_to(self.turn()) || steps < 2 {
            return None;
        }
        Some(Move::new(from, self.castling_rook(self.turn(), side)?, None))
    }
}

fn squares_of(uci: &str) -> Option<(Square, Square, Option<Role>)> {
    match UciMove::from_ascii(uci.to_ascii_lowercase().as_bytes()).ok()? {
        UciMove::Normal {
            promotion: Some(Role::Pawn | Role::King),
            ..
        } => None,
        UciMove::Normal { from, to, promotion } => Some((from, to, promotion)),
        UciMove::Put { .. } | UciMove::Null => None,
    }
}

#[derive(Clone, Copy)]
struct WrittenMove {
    place: Place,
    promotion: Option<Role>,
    is_en_passant: bool,
}

#[derive(Clone, Copy)]
enum Place {
    Castling(CastlingSide),
    Squares {
        role: Option<Role>,
        file: Option<File>,
        rank: Option<Rank>,
        to: Square,
    },
}

impl WrittenMove {
    fn of(text: &str) -> Option<WrittenMove> {
        let text: String = text.chars().filter_map(ascii).collect();
        let mut core = without_marks(&text);
        let before_sign = EN_PASSANT.iter().find_map(|sign| core.strip_suffix(sign));
        core = before_sign.map_or(core, without_marks);
        let write = |place, promotion| WrittenMove {
            place,
            promotion,
            is_en_passant: before_sign.is_some(),
        };
        match &*core.replace(['0', 'o'], "O") {
            "O-O" => return Some(write(Place::Castling(CastlingSide::KingSide), None)),
            "O-O-O" => return Some(write(Place::Castling(CastlingSide::QueenSide), None)),
            _ => {}
        }
        // `B7f6` is a bishop's move, and `B7F6` is UCI's notation in capitals.
        let is_in_capitals = core.bytes().all(|byte| !byte.is_ascii_lowercase());
        if let Some((from, to, promotion)) = squares_of(core).filter(|_| is_in_capitals) {
            let place = Place::Squares {
                role: None,
                file: Some(from.file()),
                rank: Some(from.rank()),
                to,
            };
            return Some(write(place, promotion));
        }
        let behind_rank = core.trim_end_matches(['(', ')', '=', '/', 'N', 'B', 'R', 'Q', 'n', 'b', 'r', 'q']);
        let promotion = match core[behind_rank.len()..].trim_matches(['(', ')', '=', '/']) {
            "" if core.len() == behind_rank.len() => None,
            letter => Some(Role::from_char(letter.parse().ok()?)?),
        };
        let (start, to) = behind_rank.split_at_checked(behind_rank.len().checked_sub(2)?)?;
        let to = Square::from_ascii(to.as_bytes()).ok()?;
        let role = start
            .chars()
            .next()
            .filter(char::is_ascii_uppercase)
            .map(Role::from_char);
        let start = if role.is_some() { &start[1..] } else { start };
        let capturer = start.strip_suffix('x');
        let start = capturer.or_else(|| start.strip_suffix('-')).unwrap_or(start);
        let file = start.chars().next().and_then(File::from_char);
        let rank = start[usize::from(file.is_some())..]
            .chars()
            .next()
            .and_then(Rank::from_char);
        let is_whole = start.len() == usize::from(file.is_some()) + usize::from(rank.is_some());
        let is_pawn = matches!(role, None | Some(Some(Role::Pawn)));
        // A pawn captures from another file, which must be named.
        let captures_ahead =
            capturer.is_some() && rank.is_none() && file.is_none_or(|file| file == to.file());
        if is_pawn && captures_ahead || !is_pawn && promotion.is_some() {
            return None;
        }
        let place = Place::Squares {
            role: role.map_or(Some(None), |role| role.map(Some))?,
            file,
            rank,
            to,
        };
        is_whole.then(|| write(place, promotion))
    }
}

fn ascii(c: char) -> Option<char> {
    match c {
        '♔' | '♚' => Some('K'),
        '♕' | '♛' => Some('Q'),
        '♖' | '♜' => Some('R'),
        '♗' | '♝' => Some('B'),
        '♘' | '♞' => Some('N'),
        '♙' | '♟' => Some('P'),
        '×' | ':' => Some('x'),
        '‐'..='―' | '−' => Some('-'),
        // Shows a figurine as text.
        '\u{fe0e}' | '\u{fe0f}' => None,
        _ => Some(c),
    }
}

fn without_marks(mut text: &str) -> &str {
    loop {
        // `$1`, and `#3` for a mate in three.
        let numbered = text
            .trim_end_matches(|c: char| c.is_ascii_digit())
            .strip_suffix(['$', '#']);
        let numbered = numbered.filter(|rest| rest.len() + 1 < text.len());
        match numbered.or_else(|| MARKS.iter().find_map(|mark| text.strip_suffix(mark))) {
            Some(rest) => text = rest,
            None => return text,
        }
    }
}

/// Nothing but marks of the move before it.
pub fn is_mark(word: &str) -> bool {
    let word: String = word.chars().filter_map(ascii).collect();
    // Some escape the `$`.
    without_marks(word.strip_prefix('\\').unwrap_or(&word)).is_empty()
}

/// True for the words by which programs write a null move.
pub fn is_null_move(word: &str) -> bool {
    NULL_MOVES.contains(&word)
}

/// True for the words that people write behind a move in passing.
pub fn is_en_passant_sign(word: &str) -> bool {
    EN_PASSANT.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(fen: &str, text: &str) -> String {
        let position = Position::from_fen(fen).unwrap();
        match position.read_move(text) {
            Ok(m) => position.format_san(m),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn every_way_to_write_a_move() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let mate = "r1bqkb1r/pppp1ppp/2n2n2/4p2Q/2B1P3/8/PPPP1PPP/RNB1K1NR w KQkq - 4 4";
        let promotion = "8/1P6/8/8/8/8/5pkP/B1K5 w - - 0 38";
        let en_passant = "rnbqkbnr/1pp1pppp/p7/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 3";
        let castling = "r3k2r/8/8/8/8/8/8/R3K2R w KQkq - 0 1";
        let knights = "4k3/8/8/3p4/8/4p3/3N4/3NK3 w - - 0 1";
        for (fen, texts, expected) in [
            (
                start,
                "e4 e2e4 E2E4 e2-e4 e2–e4 Pe4 e4! e4!? e4?? e4$1 e4+/= e4± e4⩲ e4= ♙e4 e4=/∞",
                "e4",
            ),
            (
                start,
                "Nf3 Ng1f3 Ng1-f3 g1f3 g1-f3 Ngf3 ♘f3 ♞f3 N1f3 Nf3$146 Nf3!?+= Nf3□",
                "Nf3",
            ),
            (
                mate,
                "Qxf7# Qxf7++ Qxf7 Qf7 Qh5xf7 h5f7 h5xf7 ♕xf7 Q:f7 Q×f7 Qxf7+- Qxf7#!! Qxf7‡ Qxf7#1",
                "Qxf7#",
            ),
            (
                promotion,
                "b8=Q b8Q b8(Q) b8=(Q) b8/Q b8q b7b8q b7-b8=Q b8Q+- b8=Q!!",
                "b8=Q",
            ),
            (promotion, "b8N b8n b7b8n b8=N b8(N)", "b8=N"),
            (
                en_passant,
                "exd6 exd6e.p. exd6ep exd6(ep) e5d6 e5xd6e.p.! exd6!?e.p. ed6 e:d6",
                "exd6",
            ),
            (
                castling,
                "O-O 0-0 o-o O–O O-O+ 0-0+- 0-0! e1g1 e1h1 Ke1-g1 Ke1g1",
                "O-O+",
            ),
            (castling, "O-O-O 0-0-0 0-0-0!? e1c1 e1a1", "O-O-O"),
            (knights, "Nxe3 Ne3 N1xe3 d1e3", "Nxe3"),
            (
                "4k3/4B3/8/4B3/8/8/8/4K3 w - - 0 1",
                "B7f6 B7f6?! ♗7f6 B7f6+- E7F6",
                "B7f6",
            ),
        ] {
            for text in texts.split(' ') {
                let is_check = |san: &str| san.trim_end_matches(['+', '#']).to_owned();
                assert_eq!(is_check(&read(fen, text)), is_check(expected), "{text}");
            }
        }
    }

    #[test]
    fn what_is_no_move_is_refused_with_its_reason() {
        let start = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
        let promotion = "8/1P6/8/8/8/8/5pkP/B1K5 w - - 0 38";
        let en_passant = "rnbqkbnr/1pp1pppp/p7/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 3";
        let knights = "4k3/8/8/3p4/8/8/1N3N2/4K3 w - - 0 1";
        for (fen, texts, reason) in [
            (start, "-- Z0 0000 null @@@@", "null move"),
            (
                start,
                "Le3 Sf3 Cf3 nf3 N e9 e Nf3N Nf3x e4e5e6 N-f-3 xe4 O-O-O-O Nf3-- x4 exe4 $ é",
                "cannot be read",
            ),
            (
                start,
                "e5 Nf4 O-O Ke2 e1g1 e2e5 Bb5+- e3e.p. Nxd2",
                "is not legal",
            ),
            (
                promotion,
                "b8 b7b8 b7-b8 b8=",
                "does not say what the pawn becomes",
            ),
            (en_passant, "d6 exe6 e6e.p.", ""),
            (knights, "Nd1 Nd3 N-d3", "may be several moves"),
        ] {
            for text in texts.split(' ') {
                let position = Position::from_fen(fen).unwrap();
                let error = position.read_move(text).expect_err(text).to_string();
                assert!(error.contains(reason) && error.contains(text), "{text}: {error}");
            }
        }
        let in_check = Position::from_fen_to_evaluate("4k3/8/8/8/8/8/4Q3/4K3 w - - 0 1").unwrap();
        assert!(
            in_check.read_move("Qxe8").is_err() && in_check.read_move("Qe7").is_ok(),
            "no king is taken"
        );
    }

    #[test]
    fn chess960_castles_in_every_way() {
        let fen = "4k3/8/8/8/8/8/8/RK5R w HA - 0 1";
        for (texts, expected) in [
            ("O-O b1h1 b1g1 0-0 Kb1h1", "O-O"),
            ("O-O-O b1a1 0-0-0", "O-O-O"),
            ("Kc1 b1c1 Kb1-c1", "Kc1"),
        ] {
            for text in texts.split(' ') {
                assert_eq!(read(fen, text), expected, "{text}");
            }
        }
    }

    #[test]
    fn marks_are_told_from_moves() {
        assert!(
            [
                "!", "?!", "+-", "−+", "+--", "±", "$12", "\\$14", "=", "#", "‼", "⊙"
            ]
            .iter()
            .all(|word| is_mark(word))
        );
        assert!(
            ["e4", "$", "N", "e4!", "12", "e.p."]
                .iter()
                .all(|word| !is_mark(word))
        );
    }
}
