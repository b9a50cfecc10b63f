//! Makes random games for property tests.

use proptest::prelude::*;
use zeitnot_engine::chess::{History, Move, Variant};

/// Starts that lead to castling, promotions, en passant, repetitions and transformed boards soon.
const STARTS: [&str; 10] = [
    "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1",
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "r3k2r/pppq1ppp/2npbn2/2b1p3/2B1P3/2NPBN2/PPPQ1PPP/R3K2R b Kq - 4 8",
    "n1n5/PPPk4/8/8/8/8/4Kppp/5N1N b - - 0 1",
    "rnbqkbnr/ppp2ppp/8/3pP3/8/8/PPPP1PPP/RNBQKBNR w KQkq d6 0 4",
    "4k3/2p1p1p1/8/1P1P1P2/1p1p1p2/8/2P1P1P1/4K3 b - - 0 30",
    "8/8/8/3k4/8/8/1K6/R7 w - - 7 91",
    "8/5k2/8/3R4/8/2K5/6r1/8 b - - 95 70",
    "bnrbkrqn/pppppppp/8/8/8/8/PPPPPPPP/BNRBKRQN w FCfc - 0 1",
    "1r2k1r1/pppppppp/8/8/8/8/PPPPPPPP/1R2K1R1 b GBgb - 0 1",
];

/// A game: its start and its moves.
#[derive(Clone, Debug)]
pub struct Game {
    pub fen: &'static str,
    pub moves: Vec<Move>,
    pub history: History,
}

/// Makes random games of up to `plies` plies. Often a piece goes back to where it came from, for repetitions.
pub fn games(plies: usize) -> impl Strategy<Value = Game> {
    let picks = prop::collection::vec(any::<u16>(), 0..=plies);
    (prop::sample::select(STARTS.as_slice()), picks).prop_map(|(fen, picks)| play(fen, &picks))
}

fn play(fen: &'static str, picks: &[u16]) -> Game {
    let mut history = History::from_fen(fen, Variant::Chess960).unwrap();
    let mut moves: Vec<Move> = Vec::new();
    for &pick in picks {
        let legal = history.legal_moves();
        if legal.is_empty() {
            break;
        }
        let back = moves
            .len()
            .checked_sub(2)
            .map(|own| Move::new(moves[own].to_square(), moves[own].from_square(), None));
        let m = match back.filter(|m| pick & 1 == 1 && legal.contains(m)) {
            Some(back) => back,
            None => legal[usize::from(pick >> 1) % legal.len()],
        };
        history.push(m);
        moves.push(m);
    }
    Game { fen, moves, history }
}
