//! What a person at a terminal is shown beyond UCI, as in Stockfish: a greeting, the commands, the board.

use std::fmt::Write;

use crate::chess::{File, History, Rank, Square, Terminal};
use crate::options::Visibility;

/// Whom a session talks to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Audience {
    /// A person at a terminal, who is greeted. A GUI is told nothing that it has not asked for.
    pub is_person: bool,
    /// The options that `uci` lists.
    pub options: Visibility,
}

/// The moves that `eval` shows.
pub(super) const BEST_MOVES: usize = 10;

/// The answer to `help`.
pub(super) const HELP: &str = "\
Commands:
  position startpos moves e2e4 e7e5      set the position; also: position fen FEN [moves ...]
  go nodes 1000                          search; also: movetime MS, depth N, mate N, infinite
  go wtime MS btime MS winc MS binc MS   search as in a game with a clock
  stop                                   end the search
  d                                      show the board, its FEN and whether the game is over
  eval                                   show what the network says, without a search
  go perft N                             count the move paths of N plies
  setoption name NAME value VALUE        set an option
  uci                                    list name, version and options
  ucinewgame                             forget the game
  quit                                   leave
Outside: zeitnot --help lists more commands, zeitnot options explains all options.";

const BETWEEN_RANKS: &str = " +---+---+---+---+---+---+---+---+\n";

/// Returns the answer to `d`: the board as White sees it, its FEN, the pieces that give check, the legal moves and how the game has
/// ended. The first lines are Stockfish's, which scripts read.
pub(super) fn board(game: &History) -> String {
    let position = game.current();
    let mut text = format!("\n{BETWEEN_RANKS}");
    for rank in Rank::ALL.into_iter().rev() {
        for file in File::ALL {
            let piece = position.board().piece_at(Square::from_coords(file, rank));
            text += &format!(" | {}", piece.map_or(' ', |piece| piece.char()));
        }
        text += &format!(" | {rank}\n{BETWEEN_RANKS}");
    }
    let checkers: Vec<_> = position.checkers().into_iter().map(|square| square.to_string()).collect();
    let legal = game.legal_moves();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        "   a   b   c   d   e   f   g   h\n\nFen: {}\nCheckers: {}\nLegal moves: {}",
        position.to_fen(),
        checkers.join(" "),
        legal.len()
    );
    if let Some(end) = game.terminal(&legal) {
        let end = match end {
            Terminal::Checkmate => "checkmate",
            Terminal::Stalemate => "stalemate",
            Terminal::FiftyMoves => "draw by the fifty-move rule",
            Terminal::ThreefoldRepetition => "draw by threefold repetition",
            Terminal::InsufficientMaterial => "draw by insufficient material",
        };
        text += &format!("\nGame over: {end}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::Variant;

    fn after(moves: &str) -> String {
        board(&History::from_uci_position(moves, Variant::Standard).unwrap())
    }

    #[test]
    fn the_board_stands_as_white_sees_it() {
        let text = after("startpos moves e2e4");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[2], " | r | n | b | q | k | b | n | r | 8");
        assert_eq!(lines[10], " |   |   |   |   | P |   |   |   | 4");
        assert_eq!(
            lines[18..],
            [
                "   a   b   c   d   e   f   g   h",
                "",
                "Fen: rnbqkbnr/pppppppp/8/8/4P3/8/PPPP1PPP/RNBQKBNR b KQkq - 0 1",
                "Checkers: ",
                "Legal moves: 20",
            ]
        );
    }

    #[test]
    fn checks_and_the_end_of_the_game_are_told() {
        let text = after("startpos moves f2f3 e7e5 g2g4 d8h4");
        assert!(text.ends_with("Checkers: h4\nLegal moves: 0\nGame over: checkmate"), "{text}");
        let shuffle = "g1f3 g8f6 f3g1 f6g8";
        let text = after(&format!("startpos moves {shuffle} {shuffle}"));
        assert!(text.ends_with("Legal moves: 20\nGame over: draw by threefold repetition"), "{text}");
    }
}
