//! One line of figures per move, for `LogFile` and `VerboseTime`.

use std::fmt;

/// What a manager reckoned for a move and where it stands. Printed as `key=value …`, one line, for scripts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MoveReport {
    /// The manager's name.
    pub manager: &'static str,
    /// Longest time the move may take as it is planned now, ms since `go`.
    pub budget_ms: f64,
    /// Average time per move to the end of the game or the time control, ms.
    pub average_ms: Option<f64>,
    /// New nodes aimed at.
    pub target_nodes: Option<f64>,
    /// Expected share of the tree that survives a move.
    pub tree_reuse: Option<f64>,
    /// Nodes that counted as reused.
    pub reused_nodes: Option<f64>,
    /// Expected share of a budget that is really used.
    pub timeuse: Option<f64>,
    /// New nodes per second reckoned with.
    pub nps: Option<f64>,
    /// Moves that our side still has to make, as estimated.
    pub moves_left: Option<f64>,
    /// Which estimator that figure comes from.
    pub moves_left_source: Option<&'static str>,
    /// The Moves Left Head's M for the root, plies, where the estimator knows it.
    pub m: Option<f64>,
    /// Standard deviation of M over the tree, plies.
    pub m_spread: Option<f64>,
    /// Time taken out of a reserve beyond the regular budget, ms.
    pub overdraft_ms: f64,
    /// Time put into that reserve, ms.
    pub saved_ms: f64,
}

impl fmt::Display for MoveReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "manager={} budget_ms={:.1}", self.manager, self.budget_ms)?;
        let figures = [
            ("average_ms", self.average_ms, 1),
            ("target_nodes", self.target_nodes, 0),
            ("reused_nodes", self.reused_nodes, 0),
            ("tree_reuse", self.tree_reuse, 4),
            ("timeuse", self.timeuse, 4),
            ("nps", self.nps, 1),
            ("moves_left", self.moves_left, 2),
        ];
        for (key, value, digits) in figures {
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
        for (key, ms) in [("overdraft_ms", self.overdraft_ms), ("saved_ms", self.saved_ms)] {
            if ms > 0.0 {
                write!(f, " {key}={ms:.1}")?;
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
            budget_ms: 1234.56,
            target_nodes: Some(999.6),
            timeuse: Some(0.7),
            moves_left: Some(40.0),
            moves_left_source: Some("mle-legacy"),
            m: Some(79.04),
            m_spread: Some(10.0),
            ..MoveReport::default()
        };
        assert_eq!(
            report.to_string(),
            "manager=smooth budget_ms=1234.6 target_nodes=1000 timeuse=0.7000 moves_left=40.00 \
             moves_left_source=mle-legacy m=79.0 m_spread=10.0"
        );
    }
}
