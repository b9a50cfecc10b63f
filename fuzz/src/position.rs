//! Positions as UCI's `position` and the commands take them: FEN and moves, Chess960 too.

use zeitnot_engine::chess::{History, Variant, perft};
use zeitnot_engine::network::encode::{HistoryFill, InputFormat};
use zeitnot_engine::network::{EvalSlot, PositionEncoding};

/// Reads a position. Each legal move can be written, read and made, and the position can be encoded.
pub fn run(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let mut any = false;
    for variant in [Variant::Standard, Variant::Chess960] {
        if let Ok(game) = History::from_uci_position(&text, variant) {
            any = true;
            check(&game);
        }
        if let Ok(game) = History::to_evaluate(&text, variant) {
            encode(&game);
        }
    }
    any
}

fn check(game: &History) {
    let position = game.current();
    let fen = position.to_fen();
    let again = History::from_fen(&fen, Variant::Chess960).unwrap_or_else(|error| panic!("{fen}: {error}"));
    assert_eq!(again.current().to_fen(), fen);
    let moves = game.legal_moves();
    for &mv in moves.iter() {
        assert_eq!(game.parse_move(&game.format_move(mv)).ok(), Some(mv), "{fen}");
        let mut after = game.clone();
        after.push(mv);
        after.evaluation_key();
    }
    assert_eq!(perft(position, 1), moves.len() as u64, "{fen}");
    encode(game);
}

fn encode(game: &History) {
    let encoding = PositionEncoding {
        format: InputFormat::default(),
        history_fill: HistoryFill::default(),
    };
    EvalSlot::of(game, encoding);
}
