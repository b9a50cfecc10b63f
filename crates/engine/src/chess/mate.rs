//! Finds short mates in which every move of the winning side is a check.
//!
//! Most moves are rejected without being made, as a search asks for each leaf.

use shakmaty::attacks::{between, bishop_attacks, knight_attacks, pawn_attacks, rook_attacks};
use shakmaty::{Bitboard, ByRole, Chess, EnPassantMode, Position as _};

use super::history::History;
use super::moves::Move;

impl History {
    /// Plies to the shortest mate in at most `moves` moves in which every move of the side to move is a
    /// check. `None` also if the fifty-move rule or a repetition might end the game before.
    pub fn plies_to_mate_by_checks(&self, legal: &[Move], moves: u32) -> Option<u32> {
        let now = self.current();
        let checks = Checks::of(now.chess())?;
        let checked: Vec<Chess> = legal
            .iter()
            .filter(|&&m| checks.may_come_of(m))
            .filter_map(|&m| checks.checked(now.chess(), now.to_shakmaty(m)?))
            .collect();
        let reaches = |&n: &u32| checked.iter().any(|check| mates(check, n));
        (1..=moves)
            .take_while(|&n| self.is_decided_in(n))
            .find(reaches)
            .map(|n| 2 * n - 1)
    }

    /// The moves of such a mate against the longest defence.
    pub fn mate_by_checks(&self, moves: u32) -> Vec<Move> {
        let mut line = Vec::new();
        let mut chess = self.current().chess().clone();
        let plies = self.plies_to_mate_by_checks(&self.legal_moves(), moves);
        let mut left = plies.map_or(0, |plies| plies.div_ceil(2));
        while left > 0
            && let Some(check) = mating_move(&chess, left)
        {
            line.push(Move::from_shakmaty(check));
            chess.play_unchecked(check);
            let needed = |reply: &shakmaty::Move| {
                let mut next = chess.clone();
                next.play_unchecked(*reply);
                (1..left).find(|&n| mating_move(&next, n).is_some()).unwrap_or(0)
            };
            let Some(reply) = chess.legal_moves().iter().copied().max_by_key(needed) else {
                break;
            };
            left = needed(&reply);
            line.push(Move::from_shakmaty(reply));
            chess.play_unchecked(reply);
        }
        line
    }

    /// No draw can come before the mate. On the shortest way nothing repeats.
    fn is_decided_in(&self, moves: u32) -> bool {
        let rule50 = self.current().rule50();
        let since = self.len().saturating_sub(1 + rule50 as usize);
        moves == 1
            || rule50 + 2 * (moves - 1) < 100
                && (since..self.len()).all(|index| self.repetitions_at(index) == 0)
    }
}

struct Checks {
    /// Squares from which a piece attacks the king.
    attacks: ByRole<Bitboard>,
    /// All these, and the ends of castling and en passant.
    ends: Bitboard,
    /// Pieces between the king and a line piece of their own side.
    discoverers: Bitboard,
}

impl Checks {
    fn of(chess: &Chess) -> Option<Checks> {
        let (board, turn) = (chess.board(), chess.turn());
        let king = board.king_of(!turn)?;
        let ours = board.by_color(turn);
        let occupied = board.occupied();
        let diagonals = bishop_attacks(king, Bitboard::EMPTY) & board.bishops_and_queens();
        let straights = rook_attacks(king, Bitboard::EMPTY) & board.rooks_and_queens();
        let blockers = |attacker| between(king, attacker) & occupied;
        let discoverers = ((diagonals | straights) & ours)
            .into_iter()
            .map(blockers)
            .filter(|blockers| blockers.count() == 1)
            .fold(Bitboard::EMPTY, |all, blocker| all | blocker & ours);
        let pawn = pawn_attacks(!turn, king);
        let knight = knight_attacks(king);
        let (bishop, rook) = (bishop_attacks(king, occupied), rook_attacks(king, occupied));
        let passed = Bitboard::from_iter(chess.ep_square(EnPassantMode::Always));
        let ends = pawn | knight | bishop | rook | chess.castles().castling_rights() | passed;
        let attacks = ByRole {
            pawn,
            knight,
            bishop,
            rook,
            queen: bishop | rook,
            king: Bitboard::EMPTY,
        };
        Some(Checks {
            attacks,
            ends,
            discoverers,
        })
    }

    /// Whether the move may give check, by its squares alone. False is certain.
    fn may_come_of(&self, m: Move) -> bool {
        self.ends.contains(m.to_square())
            || self.discoverers.contains(m.from_square())
            || m.promotion().is_some()
    }

    fn checked(&self, chess: &Chess, m: shakmaty::Move) -> Option<Chess> {
        if let shakmaty::Move::Normal {
            role,
            from,
            to,
            promotion: None,
            ..
        } = m
            && !self.attacks.get(role).contains(to)
            && !self.discoverers.contains(from)
        {
            return None;
        }
        let mut after = chess.clone();
        after.play_unchecked(m);
        after.is_check().then_some(after)
    }
}

fn mating_move(chess: &Chess, moves: u32) -> Option<shakmaty::Move> {
    let checks = Checks::of(chess)?;
    let is_mating = |&m: &shakmaty::Move| checks.checked(chess, m).is_some_and(|check| mates(&check, moves));
    chess.legal_moves().iter().copied().find(is_mating)
}

fn mates(check: &Chess, moves: u32) -> bool {
    if moves == 1 {
        check.is_checkmate()
    } else {
        always_mates(check, moves - 1)
    }
}

fn always_mates(check: &Chess, moves: u32) -> bool {
    check.legal_moves().iter().all(|&reply| {
        let mut next = check.clone();
        next.play_unchecked(reply);
        (1..=moves).any(|moves| mating_move(&next, moves).is_some())
    })
}
