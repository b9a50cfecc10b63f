//! The groups of positions for which figures are given.

use serde::Serialize;

use super::rows::PositionRow;
use crate::lab::Phase;
use crate::lab::training::game::Ending;

/// The property by which positions are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Dimension {
    /// All of them in one group.
    All,
    /// Positions of games that the rules of chess ended.
    PlayedOut,
    /// Plies played, in chunks of 20.
    ByPly,
    /// Opening, middlegame, endgame, see [`Phase`].
    ByPhase,
    /// Pieces on the board.
    ByPieces,
    /// Distance of the network's Q from 0, for either side.
    ByEvaluation,
    /// The way the game ended.
    ByTermination,
}

impl Dimension {
    /// Those by which all positions are divided.
    pub const GROUPED: [Dimension; 5] = [
        Dimension::ByPly,
        Dimension::ByPhase,
        Dimension::ByPieces,
        Dimension::ByEvaluation,
        Dimension::ByTermination,
    ];

    /// Returns the key in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Dimension::All => "all",
            Dimension::PlayedOut => "played_out",
            Dimension::ByPly => "by_ply",
            Dimension::ByPhase => "by_phase",
            Dimension::ByPieces => "by_pieces",
            Dimension::ByEvaluation => "by_evaluation",
            Dimension::ByTermination => "by_termination",
        }
    }

    /// Returns the name for people.
    pub fn title(self) -> &'static str {
        match self {
            Dimension::All => "all positions",
            Dimension::PlayedOut => "games that were played out",
            Dimension::ByPly => "plies played",
            Dimension::ByPhase => "phase",
            Dimension::ByPieces => "pieces on the board",
            Dimension::ByEvaluation => "evaluation |Q|",
            Dimension::ByTermination => "end of the game",
        }
    }
}

/// Plies of a group of [`Dimension::ByPly`].
pub(super) const PLIES: u32 = 20;
/// The ply from which on all plies are one group.
const LAST_PLY: u32 = 300;

/// A group: its dimension, its place among the dimension's groups, its name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Group {
    /// The dimension that it is a group of.
    pub dimension: Dimension,
    /// Orders the groups of a dimension.
    pub place: u32,
    /// The name for people and in JSON.
    pub name: String,
}

impl Group {
    fn new(dimension: Dimension, place: u32, name: impl Into<String>) -> Group {
        Group { dimension, place, name: name.into() }
    }

    /// Says whether the group has no upper end.
    pub fn is_open(&self) -> bool {
        self.dimension == Dimension::ByPly && self.place == LAST_PLY
    }

    /// Returns the groups that a position belongs to: at most one of each dimension.
    pub fn of(row: &PositionRow) -> Vec<Group> {
        let groups = [
            Some(Group::new(Dimension::All, 0, "all")),
            is_played_out(row).then(|| Group::new(Dimension::PlayedOut, 0, "played out")),
            Some(by_ply(row.ply)),
            Some(by_phase(row.pieces)),
            Some(by_pieces(row.pieces)),
            row.q.map(by_evaluation),
            Some(Group::new(Dimension::ByTermination, 0, row.ending.clone())),
        ];
        groups.into_iter().flatten().collect()
    }
}

fn by_ply(ply: u32) -> Group {
    let first = (ply / PLIES * PLIES).min(LAST_PLY);
    let name =
        if first == LAST_PLY { format!("{first}+") } else { format!("{first}–{}", first + PLIES - 1) };
    Group::new(Dimension::ByPly, first, name)
}

/// Says whether the position is of a game that the rules of chess ended.
pub(super) fn is_played_out(row: &PositionRow) -> bool {
    Ending::from_name(&row.ending).is_some_and(Ending::is_played_out)
}

fn by_phase(pieces: u32) -> Group {
    let phase = Phase::of(pieces);
    Group::new(Dimension::ByPhase, phase as u32, phase.name())
}

fn by_pieces(pieces: u32) -> Group {
    let (place, name) = match pieces {
        0..=7 => (4, "2–7"),
        8..=12 => (3, "8–12"),
        13..=18 => (2, "13–18"),
        19..=24 => (1, "19–24"),
        _ => (0, "25–32"),
    };
    Group::new(Dimension::ByPieces, place, name)
}

fn by_evaluation(q: f32) -> Group {
    let (place, name) = match q.abs() {
        size if size < 0.1 => (0, "below 0.1"),
        size if size < 0.3 => (1, "0.1–0.3"),
        size if size < 0.6 => (2, "0.3–0.6"),
        size if size < 0.9 => (3, "0.6–0.9"),
        _ => (4, "0.9 and more"),
    };
    Group::new(Dimension::ByEvaluation, place, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_position_is_in_one_group_of_each_dimension() {
        let row = PositionRow { ply: 39, pieces: 32, ending: "adjudication".into(), ..Default::default() };
        let names: Vec<String> = Group::of(&row).into_iter().map(|group| group.name).collect();
        assert_eq!(names, ["all", "20–39", "opening", "25–32", "adjudication"], "no network, no Q");
        let row = PositionRow { ply: 777, pieces: 3, q: Some(-0.95), ending: "stalemate".into(), ..row };
        let names: Vec<String> = Group::of(&row).into_iter().map(|group| group.name).collect();
        assert_eq!(names, ["all", "played out", "300+", "endgame", "2–7", "0.9 and more", "stalemate"]);
    }
    /// A regression: phases went by officers here, by other numbers of pieces in `timelab`, and by a third one in the networks' card.
    #[test]
    fn groups_by_pieces_divide_phases() {
        for pieces in 2..32 {
            let [of_one, of_next] = [by_phase(pieces), by_phase(pieces + 1)];
            assert!(
                of_one == of_next || by_pieces(pieces) != by_pieces(pieces + 1),
                "{} ends amid a group, with {pieces} pieces",
                of_one.name
            );
        }
    }
}
