//! The reserve of `preset=lc0`: time kept for moves that turn out to need more than their budget.

use super::params::PiggybankParams;

/// The reserve's balance over a game.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Piggybank {
    /// ms; `None` before the first move.
    balance_ms: Option<f64>,
}

impl Piggybank {
    /// Opens the reserve at the first move with a share of the clock; holds it to `cap_ms` at every move.
    pub fn prepare(&mut self, params: &PiggybankParams, time_ms: f64, cap_ms: f64) {
        let balance = self.balance_ms.unwrap_or(params.initial_share * time_ms);
        self.balance_ms = Some(balance.min(cap_ms).max(0.0));
    }

    /// Returns the time in the reserve, ms.
    pub fn balance_ms(&self) -> f64 {
        self.balance_ms.unwrap_or(0.0)
    }

    /// Books what a move paid in and what it drew, ms.
    pub fn book(&mut self, saved_ms: f64, drawn_ms: f64) {
        self.balance_ms = self.balance_ms.map(|balance| (balance + saved_ms - drawn_ms).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::OptionGroup;

    #[test]
    fn opens_with_nine_percent_and_keeps_its_books() {
        let params = PiggybankParams::lc0();
        let mut bank = Piggybank::default();
        assert_eq!(bank.balance_ms(), 0.0);
        bank.prepare(&params, 100_000.0, 1e9);
        assert_eq!(bank.balance_ms(), 9_000.0);
        bank.book(500.0, 2_000.0);
        assert_eq!(bank.balance_ms(), 7_500.0);
        bank.prepare(&params, 50_000.0, 6_000.0);
        assert_eq!(bank.balance_ms(), 6_000.0, "held to the cap, not opened again");
        bank.book(0.0, 1e9);
        assert_eq!(bank.balance_ms(), 0.0);
    }
}
