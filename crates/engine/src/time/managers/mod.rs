//! The time managers, and their choice by name.

use std::time::Duration;

use super::manager::TimeManager;
use super::parameters::{Named, Registered, registered};
use crate::options::option_group;
use crate::params::{ParamError, Params};
pub use smooth::Smooth;

mod alphazero;
mod argo;
mod iterations;
mod legacy;
mod simple;
pub mod smooth;
mod stockfish;

/// The engine's own time managers.
pub const MANAGERS: &[Registered<Box<dyn TimeManager>>] = &registered![
    Smooth => boxed,
    legacy::Legacy => boxed,
    alphazero::Alphazero => boxed,
    simple::Simple => boxed,
    stockfish::Stockfish => boxed,
    argo::Argo => boxed,
];

fn boxed(manager: impl TimeManager + 'static) -> Box<dyn TimeManager> {
    Box::new(manager)
}

/// `docs/results/time-management.md` has the evidence.
pub const DEFAULT_MANAGER: &str = "smooth(preset=zeitnot)";

impl TimeOptions {
    /// `Slowmover` belongs to `legacy` and, as in Lc0, chooses it if no manager but the default is named.
    pub(crate) fn manager(&self) -> Result<Box<dyn TimeManager>, ParamError> {
        let TimeOptions {
            time_manager,
            slowmover,
            ..
        } = self;
        let named = time_manager.to_ascii_lowercase();
        if *slowmover == 1.0 {
            manager_from(time_manager)
        } else if [DEFAULT_MANAGER, "legacy", "legacy()"].contains(&&*named) {
            manager_from(&format!("legacy(slowmover={slowmover})"))
        } else {
            Err(ParamError::Value {
                key: "Slowmover".into(),
                value: slowmover.to_string(),
                expected: format!("1 with TimeManager={named}, or TimeManager=legacy(slowmover=...)"),
            })
        }
    }
}

/// Parses `NAME` or `NAME(key=value,…)`, in any case of letters.
pub fn manager_from(text: &str) -> Result<Box<dyn TimeManager>, ParamError> {
    let params = Params::parse(&text.to_ascii_lowercase())?;
    params.refuse_repeated_keys()?;
    let mut lists = params.lists();
    let (Some((name, own)), None, 1) = (lists.next(), lists.next(), params.entries().len()) else {
        return Err(ParamError::Value {
            key: "TimeManager".into(),
            value: text.into(),
            expected: format!(
                "one manager, NAME or NAME(key=value,...), with NAME one of {}",
                names()
            ),
        });
    };
    let Some(manager) = MANAGERS.iter().find(|manager| manager.name == name) else {
        let kind = "time manager".into();
        let valid = names();
        return Err(ParamError::Unknown {
            kind,
            name: name.into(),
            valid,
        });
    };
    (manager.create)(own)
}

/// The parameters of a manager with those that a preset stands for.
pub fn spelled_out(text: &str) -> Result<Params, ParamError> {
    let params = Params::parse(&text.to_ascii_lowercase())?;
    let own = params.lists().find(|(name, _)| *name == Smooth::NAME);
    let Some(whole) = own.map(|(_, own)| smooth::with_preset(own)).transpose()? else {
        return Ok(params);
    };
    Ok(params.with_list(Smooth::NAME, |_| Some(whole)).unwrap_or(params))
}

fn names() -> String {
    MANAGERS
        .iter()
        .map(|manager| manager.name)
        .collect::<Vec<_>>()
        .join(", ")
}

option_group! {
    /// The options of the clock.
    pub struct TimeOptions {
        /// Time manager and its parameters: name(parameter=value,…). `zeitnot options NAME` lists them.
        time_manager: String = DEFAULT_MANAGER.into(), "TimeManager", "time-manager", common;
        /// Factor on the move times of the manager `legacy`. Any value except 1 selects that manager.
        slowmover: f64 = 1.0, in 0.0..=100.0, "Slowmover", "slowmover", hidden;
        /// Time reserved on every clock for lag and the GUI, in milliseconds.
        move_overhead: Duration = Duration::from_millis(200), in 0..=100_000_000, "MoveOverheadMs", "move-overhead", common;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::facts::{Bounds, Limit, MoveFacts};
    use crate::time::units::{GamePly, Millis, Nodes};
    use proptest::prelude::*;

    fn budget(name: &str, facts: &MoveFacts) -> f64 {
        manager_from(name)
            .unwrap()
            .start_move(facts)
            .unwrap()
            .report()
            .unwrap()
            .budget
            .0
    }

    fn name_of(manager: &mut dyn TimeManager) -> &'static str {
        let limit = Limit::clock(Millis(1e3), Millis::ZERO);
        let stopper = manager
            .start_move(&MoveFacts {
                limit,
                ..MoveFacts::default()
            })
            .unwrap();
        stopper.report().unwrap().manager
    }

    proptest! {
        #[test]
        fn budgets_stay_within_the_clock_and_grow_with_it(
            time_ms in 0.0..1e8, more_ms in 0.0..1e7, inc_ms in 0.0..1e6, overhead_ms in 0.0..1e4,
            reserve_ms in 0.0..1e4, movestogo in proptest::option::of(0u32..100), game_ply in 0u32..2000,
            first_move: bool, reused_nodes in 0u64..1_000_000,
        ) {
            let limit = Limit::Until(Bounds { time: Some(Millis(time_ms)), inc: Millis(inc_ms), movestogo, ..Bounds::default() });
            let facts = MoveFacts {
                limit, overhead: Millis(overhead_ms), reserve: Millis(reserve_ms), game_ply: GamePly(game_ply), first_move,
                reused_nodes: Nodes(reused_nodes),
                pieces: 20, legal_moves: 30, ..MoveFacts::default()
            };
            let richer = MoveFacts {
                limit: Limit::Until(Bounds { time: Some(Millis(time_ms + more_ms)), ..limit.bounds() }), ..facts.clone()
            };
            for Registered { name, .. } in MANAGERS {
                let less = budget(name, &facts);
                prop_assert!(less >= 0.0 && less <= facts.available().unwrap().0, "{} {}", name, less);
                // ArGO's manager has steps at 5, 10, 30 and 60 s on purpose.
                if *name != "argo" {
                    prop_assert!(budget(name, &richer) >= less * (1.0 - 1e-9) - 1e-6, "{}", name);
                }
            }
        }
    }

    /// Worked by hand with 200 ms of overhead.
    #[test]
    fn huge_clocks_resumed_games_and_last_moves() {
        let limit = |time_ms, inc_ms, movestogo| {
            Limit::Until(Bounds {
                time: Some(Millis(time_ms)),
                inc: Millis(inc_ms),
                movestogo,
                ..Bounds::default()
            })
        };
        let facts = |time_ms, inc_ms, movestogo, game_ply| MoveFacts {
            limit: limit(time_ms, inc_ms, movestogo),
            overhead: Millis(200.0),
            game_ply: GamePly(game_ply),
            first_move: game_ply > 0,
            pieces: 20,
            legal_moves: 30,
            ..MoveFacts::default()
        };
        // 999,999,800/51.5 = 19,417,471.84 on average, for smooth ·2/0.7.
        let huge = facts(1e9, 0.0, None, 0);
        // Move 60 of a resumed game: ML = 51.5·(1 + 2·(60/51.5)^7)^(1/7) − 60 = 7.7614 moves for 60,000 +
        // 600·6.7614 − 200 = 63,856.8 ms, on average 8,227.5. smooth: ·2/0.7, cut to 0.3 of the clock.
        // legacy: ·5.8 after a long book. simple: (1.4 + 120·0.049)/100 + 1.5·600/60,000 = 0.0878 of 59,800.
        let resumed = facts(60_000.0, 600.0, None, 120);
        let last_move = facts(10_000.0, 0.0, Some(1), 0);
        let below_overhead = facts(150.0, 0.0, None, 0);
        for (name, expected) in [
            ("smooth", [55_478_490.98, 18_000.0, 9_800.0, 0.0]),
            ("legacy", [19_417_471.84, 47_720.0, 9_800.0, 0.0]),
            ("alphazero", [119_999_976.0, 7_176.0, 1_176.0, 0.0]),
            ("simple", [13_999_997.2, 5_250.44, 137.2, 0.0]),
        ] {
            let found = [&huge, &resumed, &last_move, &below_overhead].map(|facts| budget(name, facts));
            for (found, expected) in found.into_iter().zip(expected) {
                assert!(
                    (found - expected).abs() <= 1e-4 * expected,
                    "{name}: {found} for {expected}"
                );
            }
        }
    }

    #[test]
    fn each_manager_is_made_by_its_name() {
        for Registered { name, .. } in MANAGERS {
            assert_eq!(name_of(&mut *manager_from(name).unwrap()), *name);
            let mut manager = manager_from(&format!("{name}()")).unwrap();
            assert_eq!(name_of(&mut *manager), *name);
            assert!(
                manager.start_move(&MoveFacts::default()).is_none(),
                "no clock, no budget"
            );
            assert!(
                manager
                    .start_move(&MoveFacts {
                        limit: Limit::Infinite,
                        ..MoveFacts::default()
                    })
                    .is_none()
            );
        }
    }

    #[test]
    fn slowmover_belongs_to_legacy() {
        let name = |text: &str, slowmover| {
            let options = TimeOptions {
                time_manager: text.into(),
                slowmover,
                ..TimeOptions::default()
            };
            options.manager().map(|mut manager| name_of(&mut *manager))
        };
        assert_eq!(name(DEFAULT_MANAGER, 1.0), Ok("smooth"));
        assert_eq!(name(DEFAULT_MANAGER, 1.5), Ok("legacy"));
        assert_eq!(name("Legacy", 1.5), Ok("legacy"));
        assert_eq!(name("argo", 1.0), Ok("argo"));
        let error = name("argo", 1.5).unwrap_err().to_string();
        assert!(
            error.contains("Slowmover=1.5: expected 1 with TimeManager=argo"),
            "{error}"
        );
        assert!(name(DEFAULT_MANAGER, 101.0).is_err());
    }

    #[test]
    fn letters_may_be_large_and_whole_numbers_decimal() {
        assert_eq!(
            name_of(&mut *manager_from("SMOOTH(MLE-MLH(Floor=5),TARGET=Tree)").unwrap()),
            "smooth"
        );
        assert!(manager_from("stockfish(emergency-move-horizon=30.0)").is_ok());
        for text in ["30.5", "30.", "30.0e1"] {
            assert!(
                manager_from(&format!("stockfish(emergency-move-horizon={text})")).is_err(),
                "{text}"
            );
        }
    }

    #[test]
    fn a_parameter_stands_once() {
        let error = |text: &str| manager_from(text).unwrap_err().to_string();
        assert_eq!(
            error("smooth(init-nps=2,INIT-NPS=3)"),
            "init-nps=3: expected each parameter once"
        );
        assert!(error("smooth(blend(mle-mlh(floor=4,floor=4)))").contains("once"));
        assert!(manager_from("smooth(blend(mle-legacy(midpoint=40),mle-legacy(midpoint=60)))").is_ok());
    }

    #[test]
    fn errors_name_what_is_valid() {
        let error = |text: &str| manager_from(text).unwrap_err().to_string();
        assert!(error("hasty").starts_with("unknown time manager \"hasty\". Valid: "));
        assert!(error("").contains("expected one manager"));
        assert!(error("legacy,legacy").contains("expected one manager"));
        assert!(error("legacy(speed=1)").contains("unknown parameter of legacy \"speed\". Valid: slowmover"));
        assert!(error("legacy(steepness=x)").contains("steepness=x: expected a number"));
        assert!(error("legacy(steepness=7").contains("a ')' is missing"));
    }
}
