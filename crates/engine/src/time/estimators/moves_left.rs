//! How many full moves our side still has to make in this game.
//!
//! The Moves Left Head's output M is in plies, all results are full moves of our side.

use crate::options::{OptionGroup, option_group};
use crate::params::{ParamError, Params};
use crate::time::parameters::{Named, Registered, registered};
use crate::time::units::{GamePly, Plies};

/// Bounds every estimate, whatever the network's output.
const MOST_MOVES: f64 = 1000.0;

/// What moves left are estimated from.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MovesLeftInput {
    /// Plies since the start of the game.
    pub game_ply: GamePly,
    /// Pieces and pawns on the board, kings included.
    pub pieces: u32,
    /// The head's M for the root, visit-weighted over the tree.
    pub m: Option<Plies>,
    /// Standard deviation of M over the tree.
    pub m_spread: Option<Plies>,
}

/// An estimate of the moves left.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MovesLeftEstimate {
    /// Full moves that our side still has to make, `1..=1000`.
    pub moves: f64,
    /// The name of the estimator that gave it.
    pub source: &'static str,
}

/// The estimators of moves left.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each holds what says it")]
pub enum MovesLeftEstimator {
    LogLogistic(LogLogistic),
    Pieces(PieceCountTable),
    Head(MovesLeftHead),
    Blend(Blend),
}

/// All estimators.
pub const ESTIMATORS: &[Registered<MovesLeftEstimator>] = &registered![
    LogLogistic => MovesLeftEstimator::LogLogistic,
    PieceCountTable => MovesLeftEstimator::Pieces,
    MovesLeftHead => MovesLeftEstimator::Head,
    Blend => MovesLeftEstimator::Blend,
];

impl MovesLeftEstimator {
    /// Finite and within `1..=1000` for any input.
    pub fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate {
        let MovesLeftEstimate { moves, source } = match self {
            MovesLeftEstimator::LogLogistic(curve) => MovesLeftEstimate {
                moves: curve.moves_left(input.game_ply),
                source: LogLogistic::NAME,
            },
            MovesLeftEstimator::Pieces(table) => table.estimate(input),
            MovesLeftEstimator::Head(head) => head.estimate(input),
            MovesLeftEstimator::Blend(blend) => blend.estimate(input),
        };
        let moves = if moves.is_nan() {
            MOST_MOVES
        } else {
            moves.clamp(1.0, MOST_MOVES)
        };
        MovesLeftEstimate { moves, source }
    }

    /// True if it reads the Moves Left Head.
    pub fn uses_head(&self) -> bool {
        match self {
            MovesLeftEstimator::LogLogistic(_) | MovesLeftEstimator::Pieces(_) => false,
            MovesLeftEstimator::Head(_) => true,
            MovesLeftEstimator::Blend(blend) => {
                blend.members.iter().any(|member| member.estimator.uses_head())
            }
        }
    }

    /// With the same estimates for a network without the head.
    pub(crate) fn without_head(self) -> MovesLeftEstimator {
        let counts = |member: &BlendMember| member.weight > 0.0 && !member.estimator.uses_head();
        match self {
            MovesLeftEstimator::Head(_) => MovesLeftEstimator::Pieces(PieceCountTable::default()),
            MovesLeftEstimator::Blend(Blend { mut members }) => {
                // Where all members read the head, the first decides.
                if members.iter().any(counts) {
                    members.retain(counts)
                } else {
                    members.truncate(1)
                }
                match members.len() {
                    1 => members.remove(0).estimator.without_head(),
                    _ => MovesLeftEstimator::Blend(Blend { members }),
                }
            }
            other => other,
        }
    }
}

pub(crate) fn estimator_names() -> Vec<&'static str> {
    ESTIMATORS.iter().map(|estimator| estimator.name).collect()
}

/// The estimator named in a parameter list. More than one is an error.
pub fn estimator_from(owner: &str, params: &Params) -> Result<Option<MovesLeftEstimator>, ParamError> {
    let known = |name: &str| ESTIMATORS.iter().find(|estimator| estimator.name == name);
    let mut named = params.lists().filter_map(|(name, own)| Some((known(name)?, own)));
    let Some((estimator, own)) = named.next() else {
        return Ok(None);
    };
    if let Some((second, _)) = named.next() {
        return Err(ParamError::Value {
            key: owner.into(),
            value: format!("{},{}", estimator.name, second.name),
            expected: "at most one moves-left estimator, but blend(...) mixes them".into(),
        });
    }
    (estimator.create)(own).map(Some)
}

option_group! {
    /// The conditional median of a log-logistic game length (Lc0's `mle-legacy`).
    #[derive(Copy)]
    pub struct LogLogistic {
        /// Median length of games, in full moves.
        midpoint: f64 = LogLogistic::MIDPOINT, in 1.0..=1000.0, "midpoint";
        /// Steepness of the distribution of game lengths around its median.
        steepness: f64 = LogLogistic::STEEPNESS, in 0.5..=100.0, "steepness";
    }
}

impl LogLogistic {
    /// Median length of games in Lc0's legacy manager, full moves.
    pub(crate) const MIDPOINT: f64 = 51.5;
    pub(crate) const STEEPNESS: f64 = 7.0;

    /// m·(1 + 2·(k/m)^s)^(1/s) − k with k = ply/2, always above 0.
    pub fn moves_left(&self, ply: GamePly) -> f64 {
        let LogLogistic { midpoint, steepness } = *self;
        let played = ply.as_f64() / 2.0;
        let ratio = played / midpoint;
        let power = ratio.powf(steepness);
        if power.is_infinite() {
            // The 1 is lost in rounding.
            return played * (2f64.powf(1.0 / steepness) - 1.0);
        }
        midpoint * (1.0 + 2.0 * power).powf(1.0 / steepness) - played
    }
}

impl Named for LogLogistic {
    const NAME: &'static str = "mle-legacy";
    const SUMMARY: &'static str = "The median of the remaining moves if game lengths are log-logistic: m·(1 + 2(k/m)^s)^(1/s) − k with k = ply/2.";
    type Params = LogLogistic;
}

const FEWEST: u32 = 2;
const MOST: u32 = 32;

/// Median number of full moves that our side still has to make, for 2, 3, … 32 pieces on the board.
///
/// From 8 pieces on, the values come from 3,081 games of TCEC (every eighth of TCEC-Chess/tcecgames, without
/// abandoned ones, moves to the adjudication), below from 2,556 games of Stockfish 15.1 against itself, as
/// TCEC adjudicates there by tablebases. Pooling adjacent violators made them monotone. Held-out mean
/// absolute error on TCEC: 20.8 moves (bias −8.1), of `mle-legacy` 24.1 (−19.6).
const MEDIAN_MOVES: [f64; (MOST - FEWEST + 1) as usize] = [
    12.7, 12.7, 12.7, 12.7, 12.7, 12.7, 12.7, 15.0, 15.0, 18.6, 18.6, 21.5, 21.5, 24.0, 24.0, 26.0, 27.0,
    29.0, 33.0, 33.0, 37.0, 37.0, 41.0, 42.0, 45.7, 45.7, 48.0, 49.0, 54.0, 56.0, 59.0,
];

const KNOTS: [u32; 5] = [2, 8, 16, 24, 32];

option_group! {
    /// `mle-pieces`: estimates moves left by a table of medians. The differences between the values given
    /// here and the table change evenly from one number of pieces to the next.
    #[derive(Copy)]
    pub struct PieceCountTable {
        /// Factor on all estimates of the table.
        scale: f64 = 1.0, in 0.01..=100.0, "scale";
        /// Estimate in full moves with 2 pieces on the board.
        at_2: f64 = median(KNOTS[0]), in 1.0..=1000.0, "at-2";
        /// Estimate in full moves with 8 pieces on the board.
        at_8: f64 = median(KNOTS[1]), in 1.0..=1000.0, "at-8";
        /// Estimate in full moves with 16 pieces on the board.
        at_16: f64 = median(KNOTS[2]), in 1.0..=1000.0, "at-16";
        /// Estimate in full moves with 24 pieces on the board.
        at_24: f64 = median(KNOTS[3]), in 1.0..=1000.0, "at-24";
        /// Estimate in full moves with 32 pieces on the board.
        at_32: f64 = median(KNOTS[4]), in 1.0..=1000.0, "at-32";
    }
}

const fn median(pieces: u32) -> f64 {
    MEDIAN_MOVES[(pieces - FEWEST) as usize]
}

impl Named for PieceCountTable {
    const NAME: &'static str = "mle-pieces";
    const SUMMARY: &'static str = "A table by the number of pieces on the board. It holds medians over 3,081 games of TCEC, and \
                                   below 8 pieces over games played to mate. A value given for 2, 8, 16, 24 or 32 pieces changes \
                                   the table between its neighbours.";
    type Params = PieceCountTable;
}

impl PieceCountTable {
    fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate {
        MovesLeftEstimate {
            moves: self.moves_left(input.pieces),
            source: Self::NAME,
        }
    }

    /// Full moves of our side, kings included in `pieces`.
    pub fn moves_left(&self, pieces: u32) -> f64 {
        let pieces = pieces.clamp(FEWEST, MOST);
        let above = KNOTS.partition_point(|&knot| knot < pieces).max(1);
        let knots = [self.at_2, self.at_8, self.at_16, self.at_24, self.at_32];
        let bend = |knot: usize| knots[knot] - median(KNOTS[knot]);
        let low = KNOTS[above - 1];
        let high = KNOTS[above];
        let share = f64::from(pieces - low) / f64::from(high - low);
        self.scale * (median(pieces) + bend(above - 1) * (1.0 - share) + bend(above) * share)
    }
}

/// Up to this number the head is averaged with the table, as it is up to twice too high in elementary wins.
const ELEMENTARY_PIECES: u32 = 4;

option_group! {
    /// `mle-mlh`: reads the head's M, or asks `mle-pieces` where the network has no such head.
    #[derive(Copy)]
    pub struct MovesLeftHead {
        /// Factor on the estimate, for networks whose M is too large or too small by a constant factor.
        scale: f64 = 1.0, in 0.01..=100.0, "scale";
        /// Minimum estimate in full moves. It keeps a wrong head from using up the clock.
        floor: f64 = 6.0, in 1.0..=1000.0, "floor";
        /// Number of standard deviations that are added to M. If the tree disagrees about the length of the
        /// game, more time then stays on the clock.
        caution: f64 = 0.0, in 0.0..=10.0, "caution";
    }
}

impl Named for MovesLeftHead {
    const NAME: &'static str = "mle-mlh";
    const SUMMARY: &'static str = "The network's Moves Left Head: scale·(1 + M + caution·spread)/2 moves. M is the tree's average \
                                   in plies, and spread is its standard deviation over the lines searched. With at most 4 pieces \
                                   it is averaged with `mle-pieces`. If the network has no such head, `mle-pieces` is used and a message says so.";
    type Params = MovesLeftHead;
}

impl MovesLeftHead {
    /// Our side makes the first of M plies.
    fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate {
        let Some(m) = known(input.m) else {
            return PieceCountTable::default().estimate(input);
        };
        let plies = m + self.caution * known(input.m_spread).unwrap_or(0.0);
        let by_head = self.scale * (1.0 + plies) / 2.0;
        let by_both = || (by_head + PieceCountTable::default().moves_left(input.pieces)) / 2.0;
        let moves = if input.pieces <= ELEMENTARY_PIECES {
            by_both()
        } else {
            by_head
        };
        let moves = moves.max(self.floor);
        MovesLeftEstimate {
            moves,
            source: MovesLeftHead::NAME,
        }
    }
}

fn known(plies: Option<Plies>) -> Option<f64> {
    plies
        .map(|plies| plies.0)
        .filter(|plies| plies.is_finite() && *plies >= 0.0)
}

option_group! {
    /// Parameters of each member of `blend`, beside the member's own.
    #[derive(Copy)]
    pub struct BlendMemberParams {
        /// Weight of the member in the mean.
        weight: f64 = 1.0, in 0.0..=1000.0, "weight";
    }
}

/// `blend`: the weighted mean of its members.
///
/// The spread s of M lowers the weight of a member that reads it to w/(1 + (s/M)²), 0 without M, unless it is
/// the only member.
#[derive(Clone, Debug, PartialEq)]
pub struct Blend {
    /// With their weights.
    pub members: Vec<BlendMember>,
}

/// An estimator of a `blend`.
#[derive(Clone, Debug, PartialEq)]
pub struct BlendMember {
    /// What it estimates by.
    pub estimator: MovesLeftEstimator,
    /// Not negative.
    pub weight: f64,
}

impl From<BlendMemberParams> for Blend {
    fn from(BlendMemberParams { weight }: BlendMemberParams) -> Self {
        let head = MovesLeftEstimator::Head(MovesLeftHead::default());
        let pieces = MovesLeftEstimator::Pieces(PieceCountTable::default());
        Blend {
            members: [head, pieces]
                .map(|estimator| BlendMember { estimator, weight })
                .into(),
        }
    }
}

impl Named for Blend {
    const NAME: &'static str = "blend";
    const SUMMARY: &'static str = "The weighted mean of its members. The weight of the head is multiplied by 1/(1 + (spread/M)²). \
                                   `blend` without members mixes `mle-mlh` and `mle-pieces` evenly.";
    type Params = BlendMemberParams;

    fn from_list(list: &Params) -> Result<Self, ParamError> {
        let possible = ESTIMATORS.iter().filter(|member| member.name != Self::NAME);
        let names: Vec<_> = possible.clone().map(|member| member.name).collect();
        list.allow_only(Self::NAME, &[], &names)?;
        let mut members = Vec::new();
        for (name, own) in list.lists() {
            let mut params = BlendMemberParams::default();
            let own = params.take(own)?;
            for member in possible.clone().filter(|member| member.name == name) {
                members.push(BlendMember {
                    estimator: (member.create)(&own)?,
                    weight: params.weight,
                });
            }
        }
        Ok(if members.is_empty() {
            Blend::from(BlendMemberParams::default())
        } else {
            Blend { members }
        })
    }
}

impl Blend {
    fn estimate(&self, input: &MovesLeftInput) -> MovesLeftEstimate {
        let weighted = self.members.iter().map(|BlendMember { estimator, weight }| {
            let trust = if estimator.uses_head() {
                trust_in_head(input)
            } else {
                1.0
            };
            (estimator.estimate(input), weight * trust)
        });
        let heard: Vec<_> = weighted.filter(|(_, weight)| *weight > 0.0).collect();
        match (heard.as_slice(), self.members.first()) {
            ([], Some(first)) => first.estimator.estimate(input),
            ([], None) => MovesLeftEstimate {
                moves: f64::NAN,
                source: Self::NAME,
            },
            ([(only, _)], _) => *only,
            (several, _) => {
                let total: f64 = several.iter().map(|(_, weight)| weight).sum();
                let sum: f64 = several
                    .iter()
                    .map(|(estimate, weight)| estimate.moves * weight)
                    .sum();
                MovesLeftEstimate {
                    moves: sum / total,
                    source: Self::NAME,
                }
            }
        }
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
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_estimator_is_bounded_for_any_input(
            game_ply: u32, pieces: u32,
            m in proptest::option::of(proptest::num::f64::ANY),
            m_spread in proptest::option::of(proptest::num::f64::ANY),
        ) {
            let input = MovesLeftInput { game_ply: GamePly(game_ply), pieces, m: m.map(Plies), m_spread: m_spread.map(Plies) };
            for Registered { name, .. } in ESTIMATORS {
                let moves = parse(name).unwrap().unwrap().estimate(&input).moves;
                prop_assert!((1.0..=MOST_MOVES).contains(&moves), "{} {}", name, moves);
            }
        }
    }

    fn parse(text: &str) -> Result<Option<MovesLeftEstimator>, ParamError> {
        estimator_from("smooth", &Params::parse(text).unwrap())
    }

    #[test]
    fn names_and_parameters() {
        let curve = LogLogistic {
            midpoint: 50.0,
            steepness: 12.0,
        };
        assert_eq!(
            parse("init-nps=1,mle-legacy(steepness=12.0,midpoint=50)"),
            Ok(Some(MovesLeftEstimator::LogLogistic(curve)))
        );
        assert_eq!(parse("init-nps=1"), Ok(None));
        let Ok(Some(MovesLeftEstimator::Blend(blend))) = parse("blend(mle-mlh(weight=2,floor=4),mle-pieces)")
        else {
            panic!("a blend was asked for");
        };
        let head = MovesLeftHead {
            floor: 4.0,
            ..MovesLeftHead::default()
        };
        assert_eq!(
            blend.members,
            [
                BlendMember {
                    estimator: MovesLeftEstimator::Head(head),
                    weight: 2.0
                },
                BlendMember {
                    estimator: MovesLeftEstimator::Pieces(PieceCountTable::default()),
                    weight: 1.0
                }
            ]
        );
    }

    #[test]
    fn knots_bend_the_table_by_pieces() {
        let Ok(Some(MovesLeftEstimator::Pieces(bent))) = parse("mle-pieces(scale=2,at-24=50,at-2=5)") else {
            panic!("a table was asked for");
        };
        assert_eq!(
            (bent.moves_left(24), bent.moves_left(2), bent.moves_left(32)),
            (100.0, 10.0, 118.0)
        );
        assert!(
            parse("mle-pieces(at-9=1)")
                .unwrap_err()
                .to_string()
                .contains("at-8")
        );
    }

    #[test]
    fn errors_name_what_is_valid() {
        let error = |text: &str| parse(text).unwrap_err().to_string();
        assert_eq!(
            error("mle-legacy(middle=1)"),
            "unknown parameter of mle-legacy \"middle\". Valid: midpoint, steepness"
        );
        assert!(error("mle-legacy,mle-pieces").contains("blend(...) mixes them"));
        assert!(error("blend(blend)").contains("Valid: mle-legacy, mle-pieces, mle-mlh"));
        assert!(error("mle-mlh(floor=0)").contains("from 1 to 1000"));
        assert!(error("mle-mlh(weight=1)").contains("unknown parameter of mle-mlh"));
    }

    #[test]
    fn the_curve_by_hand() {
        let curve = LogLogistic::default();
        assert_eq!(curve.moves_left(GamePly(0)), 51.5);
        // 51.5·(1 + 2)^(1/7) − 51.5 = 51.5·(1.169931 − 1) = 8.7514
        assert!((curve.moves_left(GamePly(103)) - 8.7514).abs() < 1e-3);
        // (40/51.5)^7 = 0.170645. 51.5·1.341290^(1/7) − 40 = 51.5·1.042844 − 40 = 13.7065
        assert!((curve.moves_left(GamePly(80)) - 13.7065).abs() < 1e-2);
    }

    proptest! {
        #[test]
        fn positive_and_finite(ply in 0u32..100_000, midpoint in 1.0..300.0, steepness in 0.5..50.0) {
            let left = LogLogistic { midpoint, steepness }.moves_left(GamePly(ply));
            prop_assert!(left.is_finite() && left > 0.0);
            prop_assert!(left <= midpoint.max(f64::from(ply)) * 4.0);
        }
    }

    #[test]
    fn from_the_start_to_bare_kings() {
        let table = PieceCountTable::default();
        assert_eq!(table.moves_left(32), 59.0);
        assert_eq!(table.moves_left(17), 26.0);
        assert_eq!(table.moves_left(2), 12.7);
        assert_eq!(table.moves_left(0), 12.7);
        assert_eq!(table.moves_left(99), 59.0);
        assert_eq!(PieceCountTable { scale: 2.0, ..table }.moves_left(17), 52.0);
    }

    #[test]
    fn a_knot_bends_the_table_up_to_its_neighbours() {
        let table = PieceCountTable::default();
        let bent = PieceCountTable {
            at_24: table.at_24 + 8.0,
            ..table
        };
        let added = |pieces| bent.moves_left(pieces) - table.moves_left(pieces);
        assert_eq!([2, 16, 18, 24, 31, 32].map(added), [0.0, 0.0, 2.0, 8.0, 1.0, 0.0]);
    }

    #[test]
    fn fewer_pieces_never_mean_a_longer_game() {
        assert!(MEDIAN_MOVES.is_sorted());
    }

    fn head_input(m: Option<f64>, m_spread: Option<f64>) -> MovesLeftInput {
        MovesLeftInput {
            game_ply: GamePly(40),
            pieces: 20,
            m: m.map(Plies),
            m_spread: m_spread.map(Plies),
        }
    }

    fn from_head(moves: f64) -> MovesLeftEstimate {
        MovesLeftEstimate {
            moves,
            source: "mle-mlh",
        }
    }

    #[test]
    fn plies_become_moves_of_our_side() {
        let head = MovesLeftHead::default();
        assert_eq!(head.estimate(&head_input(Some(79.0), None)), from_head(40.0));
        assert_eq!(
            head.estimate(&head_input(Some(3.0), None)),
            from_head(6.0),
            "the floor"
        );
        let halved = MovesLeftHead { scale: 0.5, ..head };
        assert_eq!(halved.estimate(&head_input(Some(79.0), None)).moves, 20.0);
    }

    /// The head of `zeitnot-small` says 47.6 plies, mates take some 9 moves.
    #[test]
    fn in_elementary_endings_the_table_has_a_say() {
        let with = |pieces| MovesLeftInput {
            pieces,
            ..head_input(Some(47.6), None)
        };
        let moves = |pieces| MovesLeftHead::default().estimate(&with(pieces)).moves;
        assert!((moves(3) - (24.3 + 12.7) / 2.0).abs() < 1e-9);
        assert!((moves(5) - 24.3).abs() < 1e-9);
    }

    #[test]
    fn spread_adds_moves_only_where_asked_for() {
        let wary = MovesLeftHead {
            caution: 2.0,
            ..MovesLeftHead::default()
        };
        // (1 + 79 + 2·10)/2
        assert_eq!(wary.estimate(&head_input(Some(79.0), Some(10.0))).moves, 50.0);
        assert_eq!(
            MovesLeftHead::default()
                .estimate(&head_input(Some(79.0), Some(10.0)))
                .moves,
            40.0
        );
    }

    #[test]
    fn networks_without_the_head_fall_back_to_pieces() {
        let MovesLeftEstimate { moves, source } = MovesLeftHead::default().estimate(&head_input(None, None));
        assert_eq!(
            (moves, source),
            (PieceCountTable::default().moves_left(20), "mle-pieces")
        );
        assert_eq!(
            MovesLeftHead::default()
                .estimate(&head_input(Some(f64::NAN), None))
                .source,
            PieceCountTable::NAME
        );
    }

    fn mix() -> Blend {
        let curve = LogLogistic {
            midpoint: 50.0,
            steepness: 7.0,
        };
        let members = vec![
            BlendMember {
                estimator: MovesLeftEstimator::Head(MovesLeftHead::default()),
                weight: 3.0,
            },
            BlendMember {
                estimator: MovesLeftEstimator::LogLogistic(curve),
                weight: 1.0,
            },
        ];
        Blend { members }
    }

    fn input(m: Option<f64>, m_spread: Option<f64>) -> MovesLeftInput {
        MovesLeftInput {
            game_ply: GamePly(0),
            pieces: 32,
            m: m.map(Plies),
            m_spread: m_spread.map(Plies),
        }
    }

    #[test]
    fn weighs_its_members() {
        // The head: (1 + 59)/2 = 30, the curve: 50, (3·30 + 50)/4 = 35.
        assert_eq!(
            mix().estimate(&input(Some(59.0), None)),
            MovesLeftEstimate {
                moves: 35.0,
                source: "blend"
            }
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
            MovesLeftEstimate {
                moves: 50.0,
                source: "mle-legacy"
            }
        );
        let head = MovesLeftEstimator::Head(MovesLeftHead::default());
        let alone = Blend {
            members: vec![BlendMember {
                estimator: head,
                weight: 1.0,
            }],
        };
        assert_eq!(alone.estimate(&input(None, None)).source, "mle-pieces");
    }
}
