//! The phases of a game.

/// A phase of a game, by the pieces and pawns on the board, kings included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// 25 pieces or more.
    Opening,
    /// 13 to 24 pieces.
    Middlegame,
    /// 12 pieces or fewer.
    Endgame,
}

impl Phase {
    pub const ALL: [Phase; 3] = [Phase::Opening, Phase::Middlegame, Phase::Endgame];

    pub fn of(pieces: u32) -> Phase {
        match pieces {
            25.. => Phase::Opening,
            13..25 => Phase::Middlegame,
            _ => Phase::Endgame,
        }
    }

    pub fn name(self) -> &'static str {
        ["opening", "middlegame", "endgame"][self as usize]
    }
}
