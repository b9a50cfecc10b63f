//! Opening, middlegame and endgame, as every measurement and document means them.

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
    /// All of them, in their order.
    pub const ALL: [Phase; 3] = [Phase::Opening, Phase::Middlegame, Phase::Endgame];

    /// Returns the phase with this many pieces on the board.
    pub fn of(pieces: u32) -> Phase {
        match pieces {
            25.. => Phase::Opening,
            13..25 => Phase::Middlegame,
            _ => Phase::Endgame,
        }
    }

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Phase::Opening => "opening",
            Phase::Middlegame => "middlegame",
            Phase::Endgame => "endgame",
        }
    }
}
