//! What a manager tells people of a move.

use std::fmt;

use super::units::{ExpectedNodes, Millis, Nps, Plies};

/// Printed in one line as `key=value …`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MoveReport {
    /// The manager's name.
    pub manager: &'static str,
    /// Longest time from `go` by the current plan.
    pub budget: Millis,
    /// Per move to the game's end or time control, at the move's start.
    pub average: Option<Millis>,
    /// New nodes that the budget is for.
    pub target_nodes: Option<ExpectedNodes>,
    /// Expected share of the tree that survives a move.
    pub tree_reuse: Option<f64>,
    /// Nodes that the search began with, as the target counts them.
    pub reused_nodes: Option<ExpectedNodes>,
    /// Expected share of a budget that is used.
    pub timeuse: Option<f64>,
    /// Measured nodes per second.
    pub nps: Option<Nps>,
    /// Full moves of our side.
    pub moves_left: Option<f64>,
    /// The estimator of the moves left.
    pub moves_left_source: Option<&'static str>,
    /// Plies left by the Moves Left Head.
    pub m: Option<Plies>,
    /// Standard deviation of M over the tree.
    pub m_spread: Option<Plies>,
    /// Taken from a reserve beyond the regular budget.
    pub overdraft: Millis,
    /// Time put into the reserve.
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
