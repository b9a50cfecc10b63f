//! The report on a move: what its manager has computed, and what came of it.

use std::fmt;

use super::units::{ExpectedNodes, Millis, Nps, Plies};

/// The figures that a manager has computed for a move, and what came of it so far. They are printed in one
/// line as `key=value …`, for scripts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MoveReport {
    /// The manager's name.
    pub manager: &'static str,
    /// Longest time that the move may take as it is planned now, from `go`.
    pub budget: Millis,
    /// Average time per move to the end of the game or the time control, as computed at the start of the
    /// move.
    pub average: Option<Millis>,
    /// New nodes that the move should make.
    pub target_nodes: Option<ExpectedNodes>,
    /// Expected share of the tree that survives a move.
    pub tree_reuse: Option<f64>,
    /// Nodes that counted as reused.
    pub reused_nodes: Option<ExpectedNodes>,
    /// Expected share of a budget that is used.
    pub timeuse: Option<f64>,
    /// Expected new nodes per second.
    pub nps: Option<Nps>,
    /// Time of search that this rate was measured over in the game so far, not printed.
    pub nps_measured: Millis,
    /// Estimated number of full moves that our side still has to make.
    pub moves_left: Option<f64>,
    /// Name of the estimator that gave that number.
    pub moves_left_source: Option<&'static str>,
    /// The Moves Left Head's M for the root, where the estimator knows it.
    pub m: Option<Plies>,
    /// Standard deviation of M over the tree.
    pub m_spread: Option<Plies>,
    /// Time taken out of a reserve beyond the regular budget.
    pub overdraft: Millis,
    /// Time put into that reserve.
    pub saved: Millis,
}

impl fmt::Display for MoveReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "manager={} budget_ms={:.1}", self.manager, self.budget)?;
        let values = [
            ("average_ms", self.average.map(|average| average.0), 1),
            ("target_nodes", self.target_nodes.map(|nodes| nodes.0), 0),
            ("reused_nodes", self.reused_nodes.map(|nodes| nodes.0), 0),
            ("tree_reuse", self.tree_reuse, 4),
            ("timeuse", self.timeuse, 4),
            ("nps", self.nps.map(|nps| nps.0), 1),
            ("moves_left", self.moves_left, 2),
        ];
        for (key, value, digits) in values {
            if let Some(value) = value {
                write!(f, " {key}={value:.digits$}")?;
            }
        }
        if let Some(source) = self.moves_left_source {
            write!(f, " moves_left_source={source}")?;
        }
        for (key, plies) in [("m", self.m), ("m_spread", self.m_spread)] {
            if let Some(plies) = plies {
                write!(f, " {key}={plies:.1}")?;
            }
        }
        for (key, time) in [("overdraft_ms", self.overdraft), ("saved_ms", self.saved)] {
            if time > Millis::ZERO {
                write!(f, " {key}={time:.1}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_one_line_of_keys_and_values() {
        let report = MoveReport {
            manager: "smooth",
            budget: Millis(1234.56),
            target_nodes: Some(ExpectedNodes(999.6)),
            timeuse: Some(0.7),
            moves_left: Some(40.0),
            moves_left_source: Some("mle-legacy"),
            m: Some(Plies(79.04)),
            m_spread: Some(Plies(10.0)),
            ..MoveReport::default()
        };
        assert_eq!(
            report.to_string(),
            "manager=smooth budget_ms=1234.6 target_nodes=1000 timeuse=0.7000 moves_left=40.00 \
             moves_left_source=mle-legacy m=79.0 m_spread=10.0"
        );
    }
}
