//! A weighted mix of moves-left estimators.

use crate::options::{OptionGroup, option_group};
use crate::params::{ParamError, Params};
use crate::time::parameters::{Named, Preset};

use super::mlh::known;
use super::{
    ESTIMATORS, Estimate, MovesLeftEstimate, MovesLeftEstimator, MovesLeftHead, MovesLeftInput,
    PieceCountTable,
};

option_group! {
    /// Parameters of each member of `blend`, beside the member's own.
    #[derive(Copy)]
    pub(crate) struct BlendMemberParams {
        /// Weight of the member in the mean.
        weight: f64 = 1.0, in 0.0..=1000.0, "weight";
    }
}

/// `blend`: the weighted mean of its members.
///
/// A member that reads the Moves Left Head is warned by the head's own spread s: its weight counts for
/// w/(1 + (s/M)²), half where the tree's standard deviation is as large as M itself. Without M its weight is 0,
/// unless it is all there is.
#[derive(Clone, Debug, PartialEq)]
pub struct Blend {
    /// What is mixed.
    pub members: Vec<BlendMember>,
}

/// A member of a blend.
#[derive(Clone, Debug, PartialEq)]
pub struct BlendMember {
    /// The member's estimator.
    pub estimator: MovesLeftEstimator,
    /// Its weight in the mean, not negative.
    pub weight: f64,
}

impl Named for Blend {
    const NAME: &'static str = "blend";
    const SUMMARY: &'static str = "The weighted mean of its members. The weight of the head is multiplied by 1/(1 + (spread/M)²). \
                                   `blend` without members mixes `mle-mlh` and `mle-pieces` evenly.";
    type Params = BlendMemberParams;

    fn new(BlendMemberParams { weight }: BlendMemberParams) -> Self {
        let head = MovesLeftEstimator::Head(MovesLeftHead::default());
        let pieces = MovesLeftEstimator::Pieces(PieceCountTable::default());
        Blend { members: [head, pieces].map(|estimator| BlendMember { estimator, weight }).into() }
    }

    fn from_list(list: &Params, preset: Preset) -> Result<Self, ParamError> {
        let possible = ESTIMATORS.iter().filter(|member| member.name != Self::NAME);
        let names: Vec<_> = possible.clone().map(|member| member.name).collect();
        list.allow_only(Self::NAME, &[], &names)?;
        let mut members = Vec::new();
        for (name, own) in list.lists() {
            let mut params = BlendMemberParams::default();
            let own = params.take(own)?;
            for member in possible.clone().filter(|member| member.name == name) {
                members
                    .push(BlendMember { estimator: (member.create)(&own, preset)?, weight: params.weight });
            }
        }
        Ok(if members.is_empty() { Blend::new(BlendMemberParams::default()) } else { Blend { members } })
    }
}

impl Estimate for Blend {
    /// Its source is `blend`, or the name of a member that decides alone.
    fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate {
        let weighted = self.members.iter().map(|BlendMember { estimator, weight }| {
            let trust = if estimator.uses_head() { trust_in_head(input) } else { 1.0 };
            (estimator.estimate(input), weight * trust)
        });
        let heard: Vec<_> = weighted.filter(|(_, weight)| *weight > 0.0).collect();
        match (heard.as_slice(), self.members.first()) {
            ([], Some(first)) => first.estimator.estimate(input),
            ([], None) => MovesLeftEstimate { moves: f64::NAN, source: Self::NAME },
            ([(only, _)], _) => *only,
            (several, _) => {
                let total: f64 = several.iter().map(|(_, weight)| weight).sum();
                let sum: f64 = several.iter().map(|(estimate, weight)| estimate.moves * weight).sum();
                MovesLeftEstimate { moves: sum / total, source: Self::NAME }
            }
        }
    }

    fn uses_head(&self) -> bool {
        self.members.iter().any(|member| member.estimator.uses_head())
    }
}

fn trust_in_head(input: &MovesLeftInput) -> f64 {
    match (known(input.m), known(input.m_spread)) {
        (None, _) => 0.0,
        (Some(_), None) => 1.0,
        (Some(m), Some(spread)) => 1.0 / (1.0 + (spread / m.max(1.0)).powi(2)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::LogLogistic;
    use super::*;
    use crate::time::units::{GamePly, Plies};

    fn mix() -> Blend {
        let curve = LogLogistic { midpoint: 50.0, steepness: 7.0 };
        let members = vec![
            BlendMember { estimator: MovesLeftEstimator::Head(MovesLeftHead::default()), weight: 3.0 },
            BlendMember { estimator: MovesLeftEstimator::LogLogistic(curve), weight: 1.0 },
        ];
        Blend { members }
    }

    fn input(m: Option<f64>, m_spread: Option<f64>) -> MovesLeftInput {
        MovesLeftInput { game_ply: GamePly(0), pieces: 32, m: m.map(Plies), m_spread: m_spread.map(Plies) }
    }

    #[test]
    fn weighs_its_members() {
        // The head says (1 + 59)/2 = 30, the curve 50: (3·30 + 50)/4 = 35.
        assert_eq!(
            mix().estimate(&input(Some(59.0), None)),
            MovesLeftEstimate { moves: 35.0, source: "blend" }
        );
    }

    #[test]
    fn the_heads_own_spread_warns() {
        // A spread as large as M halves its weight: (1.5·30 + 50)/2.5 = 38.
        let MovesLeftEstimate { moves, .. } = mix().estimate(&input(Some(59.0), Some(59.0)));
        assert!((moves - 38.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_head_the_others_decide() {
        assert_eq!(
            mix().estimate(&input(None, None)),
            MovesLeftEstimate { moves: 50.0, source: "mle-legacy" }
        );
        let head = MovesLeftEstimator::Head(MovesLeftHead::default());
        let alone = Blend { members: vec![BlendMember { estimator: head, weight: 1.0 }] };
        assert_eq!(alone.estimate(&input(None, None)).source, "mle-pieces");
    }
}
