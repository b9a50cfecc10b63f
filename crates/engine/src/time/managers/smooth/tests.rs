//! Games of the whole manager in a few steps, and the defects of Lc0's version.

use super::*;
use crate::time::chain::{Chain, StopperOptions};
use crate::time::estimators::decay;
use crate::time::facts::{Bounds, Limit, RootEvaluation};
use crate::time::report::MoveReport;
use crate::time::stats::{Hints, SearchStats};
use crate::time::stoppers::StopReason;
use crate::time::timekeeper::{SearchEnd, Timekeeper};
use crate::time::units::{GamePly, Nodes, Nps, Plies};
use proptest::prelude::*;

fn smooth(params: &str) -> Smooth {
    Smooth::with(SmoothConfig::from_params(&Params::parse(params).unwrap()).unwrap())
}

fn facts(time_ms: f64, inc_ms: f64) -> MoveFacts {
    MoveFacts {
        limit: Limit::clock(Millis(time_ms), Millis(inc_ms)),
        overhead: Millis(200.0),
        pieces: 32,
        legal_moves: 30,
        ..MoveFacts::default()
    }
}

/// 1,000 nodes/s, the first batch of 10 back after 10 ms.
fn stats(elapsed_ms: f64, reused: u64) -> SearchStats {
    let new_nodes = if elapsed_ms >= 10.0 { elapsed_ms as u64 } else { 0 };
    SearchStats {
        elapsed: Millis(elapsed_ms),
        since_first_eval: (elapsed_ms >= 10.0).then_some(Millis(elapsed_ms - 10.0)),
        nodes: Nodes(reused + new_nodes),
        new_nodes: Nodes(new_nodes),
        batches: new_nodes / 10,
        race_visits: vec![(reused + new_nodes) as u32 / 2; 2],
        ..SearchStats::default()
    }
}

fn report_of(manager: &mut Smooth, facts: &MoveFacts) -> MoveReport {
    manager.start_move(facts).unwrap().report().unwrap()
}

fn finish(manager: &mut Smooth, report: MoveReport, used_ms: f64, nodes: u64) {
    let stats = SearchStats {
        nodes: Nodes(nodes),
        batches: 100,
        ..SearchStats::default()
    };
    let reason = Some(StopReason::Budget);
    manager.finish_move(&MoveOutcome {
        used: Millis(used_ms),
        stats,
        legal_moves: 30,
        reason,
        report,
    });
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6 * b.abs().max(1.0)
}

#[test]
fn the_first_move_by_hand() {
    // ML(0) = 51.5. T = 60,000 + 600·50.5 − 200 = 90,100. /51.5 = 1,749.5146 ms. ·2 for the expected reuse,
    // none is there. /0.7 = 4,998.6130.
    let report = report_of(&mut smooth(""), &facts(60_000.0, 600.0));
    assert!(close(report.budget.0, 4_998.613_037), "{report}");
    assert!(
        close(report.target_nodes.unwrap().0, 69_980.582_524),
        "20,000 nodes/s for 3,499.03 ms"
    );
}

/// Lc0's defect: pondered nodes count as reused, and it moves at once.
#[test]
fn nodes_made_while_pondering_do_not_shorten_a_move() {
    let pondered = MoveFacts {
        reused_nodes: Nodes(31_000),
        pondered_nodes: Nodes(30_000),
        reused_visits: vec![20_000, 10_000],
        ..facts(60_000.0, 600.0)
    };
    let alone = MoveFacts {
        reused_nodes: Nodes(1_000),
        ..facts(60_000.0, 600.0)
    };
    let report = report_of(&mut smooth(""), &pondered);
    assert_eq!(report.reused_nodes.map(|nodes| nodes.0), Some(1_000.0));
    assert_eq!(report.budget, report_of(&mut smooth(""), &alone).budget);
}

/// A regression: pondered nodes left two moves later shortened a move.
#[test]
fn nodes_left_from_pondering_shorten_no_later_move() {
    let budget = |gift: u64| {
        let mut manager = smooth("");
        let first = report_of(&mut manager, &facts(60_000.0, 600.0));
        finish(&mut manager, first, 1_000.0, 1_000);
        let second = MoveFacts {
            reused_nodes: Nodes(500 + gift),
            pondered_nodes: Nodes(gift),
            ..facts(59_000.0, 600.0)
        };
        let report = report_of(&mut manager, &second);
        finish(&mut manager, report, 1_000.0, 1_500 + gift);
        let third = MoveFacts {
            reused_nodes: Nodes(750 + gift / 2),
            ..facts(58_000.0, 600.0)
        };
        report_of(&mut manager, &third).budget.0
    };
    assert!(close(budget(4_000), budget(0)), "{} {}", budget(4_000), budget(0));
}

/// Lc0's defect: with movestogo=1 most of the last move is thrown away.
#[test]
fn the_last_move_before_the_control_may_use_the_clock() {
    let mut last = facts(10_000.0, 0.0);
    last.limit = Limit::Until(Bounds {
        movestogo: Some(1),
        ..last.limit.bounds()
    });
    assert_eq!(report_of(&mut smooth(""), &last).budget.0, 9_800.0);
}

/// Lc0's defect: a first batch longer than the whole budget makes the move late.
#[test]
fn a_slow_first_batch_does_not_hide_the_deadline() {
    let mut stopper = smooth("").start_move(&facts(1_000.0, 0.0)).unwrap();
    let deadline = stopper.deadline().unwrap().0;
    assert!(deadline <= 100.0, "a tenth of the clock: {deadline}");
    let mut hints = Hints::default();
    let waiting = |elapsed_ms| SearchStats {
        elapsed: Millis(elapsed_ms),
        ..SearchStats::default()
    };
    assert_eq!(stopper.should_stop(&waiting(deadline - 1.0), &mut hints), None);
    assert!(close(hints.remaining_time.0, 1.0));
    assert_eq!(hints.batch_cap(256, Nps(100.0)), 1);
    assert_eq!(
        stopper.should_stop(&waiting(deadline), &mut hints),
        Some(StopReason::Budget)
    );
}

#[test]
fn a_fresh_root_revises_its_budget_when_m_is_known() {
    let mut manager = smooth("mle-mlh");
    let fresh = MoveFacts {
        has_moves_left: true,
        ..facts(60_000.0, 0.0)
    };
    let mut stopper = manager.start_move(&fresh).unwrap();
    let before = stopper.report().unwrap();
    assert_eq!(
        (before.moves_left, before.moves_left_source),
        (Some(59.0), Some("mle-pieces"))
    );
    let root = RootEvaluation {
        m: Some(Plies(39.0)),
        ..RootEvaluation::default()
    };
    let evaluated = SearchStats {
        root: Some(root),
        ..stats(10.0, 0)
    };
    assert_eq!(stopper.should_stop(&evaluated, &mut Hints::default()), None);
    let after = stopper.report().unwrap();
    // (1 + 39)/2 = 20 moves: 59,800/20·2/0.7 = 8,542.857
    assert_eq!(
        (after.moves_left, after.moves_left_source),
        (Some(20.0), Some("mle-mlh"))
    );
    assert!(close(after.budget.0, 8_542.857_143), "{after}");
    assert!(close(stopper.deadline().unwrap().0, after.budget.0));
    assert_eq!(manager.take_message(), None);
}

#[test]
fn a_move_gets_more_where_more_is_at_stake() {
    let params = "mle-mlh,init-tree-reuse=0,init-timeuse=1,move-weight=stakes";
    let root = RootEvaluation {
        wl: 0.6,
        d: Some(0.2),
        m: Some(Plies(39.0)),
        m_spread: None,
    };
    let known = MoveFacts {
        root: Some(root),
        has_moves_left: true,
        ..facts(60_000.0, 0.0)
    };
    // 20 moves. Those ahead weigh (0.64 + 0.2)/2/0.64 = 0.65625: 59,800/(1 + 19·0.65625) = 4,439.907
    assert!(close(
        report_of(&mut smooth(params), &known).budget.0,
        4_439.907_193
    ));
    // A control after 10 of 20 moves: 0.53/0.64 of the weight now. 59,800/(1 + 9·0.828125)
    let limit = Limit::Until(Bounds {
        movestogo: Some(10),
        ..known.limit.bounds()
    });
    let control = MoveFacts {
        limit,
        ..known.clone()
    };
    assert!(close(
        report_of(&mut smooth(params), &control).budget.0,
        7_074.306_839
    ));
    let fresh = MoveFacts { root: None, ..known };
    let mut manager = smooth(params);
    let mut stopper = manager.start_move(&fresh).unwrap();
    stopper.should_stop(
        &SearchStats {
            root: Some(root),
            ..stats(10.0, 0)
        },
        &mut Hints::default(),
    );
    assert!(close(stopper.report().unwrap().budget.0, 4_439.907_193));
}

#[test]
fn a_lead_at_the_start_lengthens_the_budget_that_it_shortens() {
    let params = "timeuse=tree,init-timeuse=0.8,min-timeuse=0.5,init-tree-reuse=0,init-nps=1000";
    let known = |visits: &[u32]| MoveFacts {
        reused_nodes: Nodes(visits.iter().map(|&n| u64::from(n)).sum()),
        reused_visits: visits.into(),
        smart_pruning_factor: 1.5,
        ..facts(51_700.0, 0.0)
    };
    // 51,500 ms for 51.5 moves: 1,000 in all, 600 of them new. /0.8, and 1.5·(220 − 140) more.
    let mut manager = smooth(params);
    let report = report_of(&mut manager, &known(&[220, 140, 40]));
    assert!(close(report.budget.0, 750.0 + 120.0), "{report}");
    // Of 870 ms, 750 are beyond the lead. 600 are 0.8 of that, as expected.
    finish(&mut manager, report, 600.0, 1000);
    let after = report_of(&mut manager, &known(&[220, 140, 40]));
    assert!(close(after.timeuse.unwrap(), 0.8), "{after}");
    // Without a lead: the average. A large lead is capped by `min-timeuse`.
    assert!(close(
        report_of(&mut smooth(params), &known(&[180, 180, 40])).budget.0,
        750.0
    ));
    assert!(close(
        report_of(&mut smooth(params), &known(&[400, 0])).budget.0,
        1_200.0
    ));
    let off = MoveFacts {
        smart_pruning_factor: 0.0,
        ..known(&[220, 140, 40])
    };
    assert!(close(report_of(&mut smooth(params), &off).budget.0, 750.0));
}

#[test]
fn a_network_without_the_head_is_noticed_once() {
    for (params, decides) in [
        ("mle-mlh", "mle-pieces"),
        ("blend(mle-mlh,mle-legacy)", "mle-legacy"),
    ] {
        let mut manager = smooth(params);
        let report = report_of(&mut manager, &facts(60_000.0, 0.0));
        assert_eq!(report.moves_left_source, Some(decides));
        // A regression: the notice said mle-pieces for another estimator.
        let notice = manager.take_message().unwrap();
        assert!(
            notice.contains("Moves Left Head") && notice.contains(&format!("({decides})")),
            "{notice}"
        );
        report_of(&mut manager, &facts(59_000.0, 0.0));
        assert_eq!(manager.take_message(), None);
    }
}

fn end_of_search(params: &str, time_ms: f64, elapsed_ms: f64, race_visits: [u32; 2]) -> Option<StopReason> {
    let mut keeper = Timekeeper::new(Box::new(smooth(params)), StopperOptions::default());
    let mut chain = keeper.start_move(&facts(time_ms, 0.0));
    let decided = SearchStats {
        race_visits: race_visits.into(),
        ..stats(elapsed_ms, 0)
    };
    chain.should_stop(&decided, &mut Hints::default())
}

/// A regression: smart pruning used the search's own rate.
#[test]
fn smart_pruning_counts_with_the_managers_rate() {
    let ask = |params: &str| end_of_search(params, 60_000.0, 1_000.0, [5_000, 10]);
    // 2,317.6 ms are left: 1,743 visits at 1,000/s cannot catch up 4,990, but 174,258 at 100,000/s can.
    assert_eq!(ask("init-nps=1000"), Some(StopReason::SmartPruning));
    assert_eq!(
        ask("init-nps=100000,init-nps-weight=1e6,nps-update-rate=1e6"),
        None
    );
}

#[test]
fn smart_pruning_leaves_a_move_its_least_share() {
    let ask = |params: &str, elapsed_ms| end_of_search(params, 51_700.0, elapsed_ms, [50_000, 10]);
    // 51,500/51.5 = 1,000 ms on average.
    assert_eq!(ask("", 400.0), Some(StopReason::SmartPruning));
    assert_eq!(ask("min-pruned-share=0.5", 499.0), None);
    assert_eq!(ask("min-pruned-share=0.5", 500.0), Some(StopReason::SmartPruning));
}

#[test]
fn a_limit_in_nodes_stops_at_nodes() {
    let mut manager = smooth("limit=nodes,init-nps=1000,init-nps-weight=5");
    let mut stopper = manager.start_move(&facts(51_700.0, 0.0)).unwrap();
    // 51,500/51.5 = 1,000 ms and nodes. ·2/0.7 = 2,857.14 nodes.
    let mut hints = Hints::default();
    assert_eq!(stopper.should_stop(&stats(2_800.0, 0), &mut hints), None);
    assert!(close(hints.remaining_visits.0, 57.142_857), "{hints:?}");
    assert_eq!(
        stopper.should_stop(&stats(2_860.0, 0), &mut hints),
        Some(StopReason::TargetNodes)
    );
    assert!(close(stopper.deadline().unwrap().0, 0.3 * 51_700.0));
}

#[test]
fn a_limit_in_both_stops_at_whichever_comes_first() {
    let start = || {
        let mut manager = smooth("limit=both,init-nps=1000,init-nps-weight=5");
        manager.start_move(&facts(51_700.0, 0.0)).unwrap()
    };
    // As above: 2,857.14 ms and nodes. Nodes end a faster search, time a slower one.
    let verdict = |elapsed_ms: f64, new_nodes| {
        let stats = SearchStats {
            new_nodes: Nodes(new_nodes),
            ..stats(elapsed_ms, 0)
        };
        start().should_stop(&stats, &mut Hints::default())
    };
    assert_eq!(verdict(2_000.0, 2_850), None);
    assert_eq!(verdict(2_000.0, 2_860), Some(StopReason::TargetNodes));
    assert_eq!(verdict(2_850.0, 2_000), None);
    assert_eq!(verdict(2_860.0, 2_000), Some(StopReason::Budget));
    let mut evaluated = start();
    evaluated.should_stop(&stats(10.0, 1), &mut Hints::default());
    assert!(close(
        evaluated.deadline().unwrap().0,
        evaluated.report().unwrap().budget.0
    ));
}

/// In a long game the clock settles where one increment is an even share: T/ML = inc, so time = inc +
/// overhead, or slightly above, where max-move-budget allows no more: 0.3·time = inc.
#[test]
fn in_long_games_the_clock_settles_near_increment_and_overhead() {
    assert!((settled_clock_ms("max-move-budget=1") - 300.0).abs() < 1.0);
    assert!((settled_clock_ms("max-move-budget=0.3") - 100.0 / 0.3).abs() < 1.0);
}

/// The clock after 150 moves at 10 s + 0.1 s, overhead 200 ms, every budget used to its end.
fn settled_clock_ms(params: &str) -> f64 {
    let (inc_ms, overhead_ms) = (100.0, 200.0);
    let full_use = "init-timeuse=1,min-timeuse=1,init-tree-reuse=0,max-tree-reuse=0";
    let mut manager = smooth(&format!("{params},{full_use}"));
    let mut clock_ms = 10_000.0;
    for move_number in 0..150 {
        let report = report_of(
            &mut manager,
            &MoveFacts {
                game_ply: GamePly(2 * move_number),
                ..facts(clock_ms, inc_ms)
            },
        );
        let used_ms = report.budget.0;
        assert!(
            clock_ms - used_ms >= overhead_ms,
            "move {move_number}: {clock_ms} {used_ms}"
        );
        finish(&mut manager, report, used_ms, 0);
        clock_ms += inc_ms - used_ms;
    }
    clock_ms
}

#[test]
fn reuse_by_distribution_counts_dead_branches_little() {
    let with = |params: &str| {
        let reused_visits = vec![600, 300, 100];
        let facts = MoveFacts {
            reused_nodes: Nodes(1_000),
            reused_visits,
            ..facts(60_000.0, 0.0)
        };
        report_of(&mut smooth(params), &facts).reused_nodes.unwrap().0
    };
    assert_eq!(with("reuse=tree"), 1_000.0);
    // 600 + 300/2 + 100/6
    assert!(close(with("reuse=distribution"), 766.666_667));
    assert_eq!(with("target=bestmove"), 600.0);
}

#[test]
fn the_reserve_is_drawn_when_the_best_move_is_in_doubt() {
    let mut manager = smooth("preset=lc0");
    let mut stopper = manager
        .start_move(&MoveFacts {
            first_move: true,
            ..facts(60_000.0, 600.0)
        })
        .unwrap();
    let mut hints = Hints::default();
    let ask = |stopper: &mut Box<dyn Stopper>, elapsed_ms, best_by_q, hints: &mut Hints| {
        let race_visits = vec![elapsed_ms as u32, 10];
        let stats = SearchStats {
            best_by_q,
            race_visits,
            ..stats(elapsed_ms, 0)
        };
        stopper.should_stop(&stats, hints)
    };
    assert_eq!(ask(&mut stopper, 2_000.0, Some(0), &mut hints), None);
    let budget = stopper.report().unwrap().budget.0;
    assert!(
        close(stopper.deadline().unwrap().0, budget),
        "no doubt, no reserve"
    );
    assert_eq!(ask(&mut stopper, budget + 1_000.0, Some(1), &mut hints), None);
    // 0.94 of 9 % of 60 s
    let budget = stopper.report().unwrap().budget.0;
    assert!(close(stopper.deadline().unwrap().0, budget + 5_076.0));
    assert!(stopper.report().unwrap().overdraft > Millis::ZERO);

    let report = stopper.report().unwrap();
    let (saved, drawn) = (report.saved.0, report.overdraft.0);
    let used = report.budget.0 + drawn;
    finish(&mut manager, report, used, 1_000);
    assert!(close(manager.piggybank.balance_ms(), 5_400.0 + saved - drawn));
    assert!(manager.timeuse.value > 0.7, "a draw counts as full use");
}

/// With a low speed guess, reused nodes look like many seconds.
#[test]
fn a_fast_machine_is_not_hasty_because_of_a_low_guess() {
    let mut manager = smooth("init-nps=100");
    let facts = MoveFacts {
        reused_nodes: Nodes(1_000),
        ..facts(60_000.0, 0.0)
    };
    let mut stopper = manager.start_move(&facts).unwrap();
    let mut hints = Hints::default();
    let mut stopped_ms = 0.0;
    for ms in 0..10_000 {
        stopped_ms = f64::from(ms);
        if stopper
            .should_stop(&stats(stopped_ms, 1_000), &mut hints)
            .is_some()
        {
            break;
        }
    }
    // At 100 nodes/s the 1,000 reused nodes are worth 10 s, at the true 1,000 only 1 s of 2·1,161 ms.
    assert!(stopped_ms > 1_000.0, "{stopped_ms}");
}

proptest! {
    #[test]
    fn a_game_never_gets_more_than_the_clock_allows(
        moves in proptest::collection::vec((0.0..1.3f64, 0u64..100_000, 0.0..1.0f64, 0u32..60), 1..60),
        time_ms in 0.0..1e6, inc_ms in 0.0..1e4, overhead_ms in 0.0..1e3,
        preset in prop_oneof![Just("preset=pr1195"), Just("preset=lc0"), Just("target=bestmove,limit=both")],
    ) {
        let mut manager = smooth(preset);
        let mut clock = time_ms;
        for (i, (share, nodes, kept, legal_moves)) in moves.into_iter().enumerate() {
            let facts = MoveFacts {
                overhead: Millis(overhead_ms),
                game_ply: GamePly(2 * i as u32),
                legal_moves,
                reused_nodes: Nodes((nodes as f64 * kept) as u64),
                reused_visits: vec![(nodes / 2) as u32, (nodes / 3) as u32],
                ..facts(clock, inc_ms)
            };
            let mut stopper = manager.start_move(&facts).unwrap();
            let available = (clock - overhead_ms).max(0.0);
            let report = stopper.report().unwrap();
            prop_assert!(report.budget.0 >= 0.0 && report.budget.0 <= available);
            let used_ms = (report.budget.0 * share).min(clock);
            stopper.should_stop(&stats(used_ms.max(10.0), facts.reused_nodes.0), &mut Hints::default());
            let deadline = stopper.deadline().unwrap().0;
            prop_assert!(deadline >= 0.0 && deadline <= available, "{} {}", deadline, available);
            finish(&mut manager, stopper.report().unwrap(), used_ms, nodes);
            clock += inc_ms - used_ms;
        }
    }
}

#[test]
fn it_learns_reuse_and_timeuse_from_a_move() {
    let mut manager = smooth("");
    let report = report_of(&mut manager, &facts(60_000.0, 600.0));
    let average = report.average.unwrap().0;
    let budget = report.budget.0;
    finish(&mut manager, report, average, 10_000);
    // One average move. 1,749.51/4,998.61 = 0.35 used: 0.35 − (0.35 − 0.7)·2^(−1/10) = 0.676562.
    assert!(close(average / budget, 0.35));
    assert!(close(manager.timeuse.value, 0.676_561_547));
    let next = MoveFacts {
        reused_nodes: Nodes(3_000),
        game_ply: GamePly(2),
        ..facts(58_800.0, 600.0)
    };
    // 3,000 of 10,000: 0.3 − (0.3 − 0.5)·2^(−1/4) = 0.468179.
    let report = report_of(&mut manager, &next);
    assert!(close(report.tree_reuse.unwrap(), 0.468_179_283), "{report}");
}

#[test]
fn long_moves_count_as_one_budget_and_insta_moves_hardly_at_all() {
    let mut manager = smooth("");
    let report = report_of(&mut manager, &facts(60_000.0, 600.0));
    let (average, used) = (report.average.unwrap().0, report.budget.0 * 3.0);
    finish(&mut manager, report, used, 10_000);
    // 1 − (1 − 0.7)·2^(−8.571429/10) = 0.834380
    assert!(close(used / average, 8.571_428_571));
    assert!(
        (manager.timeuse.value - 0.834_380).abs() < 1e-4,
        "{}",
        manager.timeuse.value
    );
    let mut manager = smooth("");
    for _ in 0..10 {
        let report = report_of(&mut manager, &facts(60_000.0, 600.0));
        finish(&mut manager, report, 1.0, 10_000);
    }
    assert!((manager.timeuse.value - 0.7).abs() < 0.001 && (manager.tree_reuse.value - 0.5).abs() < 0.001);
}

/// Lc0's defect: forced moves drag timeuse to its floor.
#[test]
fn forced_moves_teach_nothing_about_timeuse() {
    let mut manager = smooth("");
    let report = report_of(&mut manager, &facts(60_000.0, 600.0));
    let used_ms = report.average.unwrap().0 / 4.0;
    let outcome = MoveOutcome {
        used: Millis(used_ms),
        legal_moves: 1,
        reason: Some(StopReason::OnlyMove),
        report,
        ..MoveOutcome::default()
    };
    (0..100).for_each(|_| manager.finish_move(&outcome));
    assert_eq!(manager.timeuse.value, 0.7);
}

/// A regression: only ponder hits taught tree reuse, so that it was overestimated.
#[test]
fn reuse_is_learnt_from_the_move_played_whatever_was_pondered() {
    let learnt = |is_pondered: bool| {
        let mut keeper = Timekeeper::new(Box::new(smooth("")), StopperOptions::default());
        let end = |keeper: &mut Timekeeper, chain: &Chain, nodes| {
            let stats = stats(2_000.0, nodes);
            keeper.finish_move(
                chain,
                &SearchEnd {
                    stats: &stats,
                    reason: Some(StopReason::Budget),
                },
            );
        };
        let chain = keeper.start_move(&facts(60_000.0, 600.0));
        end(&mut keeper, &chain, 10_000);
        let mut next = MoveFacts {
            reused_nodes: Nodes(500),
            ..facts(58_600.0, 600.0)
        };
        if is_pondered {
            let mut pondering = facts(58_600.0, 600.0);
            pondering.limit = Limit::Ponder(Some(pondering.limit.bounds()));
            let chain = keeper.start_move(&pondering);
            assert!(chain.waits_for_stop && chain.deadline().is_none() && chain.report().is_none());
            end(&mut keeper, &chain, 90_000);
            (next.reused_nodes, next.pondered_nodes) = (Nodes(4_500), Nodes(4_000));
        }
        keeper.start_move(&next).report().unwrap().tree_reuse.unwrap()
    };
    assert_eq!(learnt(true), learnt(false));
    assert!(learnt(true) < 0.45, "{}", learnt(true));
}

/// A regression: the next move took the tree of `go infinite` for the last move's.
#[test]
fn a_search_without_a_clock_between_two_moves_teaches_nothing_about_reuse() {
    let mut manager = smooth("");
    let report = report_of(&mut manager, &facts(60_000.0, 600.0));
    finish(&mut manager, report, 2_000.0, 10_000);
    let infinite = MoveFacts {
        limit: Limit::Infinite,
        ..facts(58_000.0, 600.0)
    };
    assert!(manager.start_move(&infinite).is_none());
    let next = MoveFacts {
        reused_nodes: Nodes(50_000),
        ..facts(58_000.0, 600.0)
    };
    assert_eq!(report_of(&mut manager, &next).tree_reuse, Some(0.5));
}

/// A regression: learning was weighted by the revised average.
#[test]
fn the_weight_of_a_move_is_measured_by_the_average_at_its_start() {
    let mut manager = smooth("mle-mlh");
    let fresh = MoveFacts {
        has_moves_left: true,
        ..facts(60_000.0, 0.0)
    };
    let mut stopper = manager.start_move(&fresh).unwrap();
    let root = RootEvaluation {
        m: Some(Plies(39.0)),
        ..RootEvaluation::default()
    };
    stopper.should_stop(
        &SearchStats {
            root: Some(root),
            ..stats(10.0, 0)
        },
        &mut Hints::default(),
    );
    // 59 moves by the pieces, 20 by the head: 59,800/59 on average, a budget of 8,542.857.
    let (average, report) = (59_800.0 / 59.0, stopper.report().unwrap());
    assert!(close(report.budget.0, 8_542.857_143), "{report}");
    finish(&mut manager, report, average, 10_000);
    let expected = decay(0.7, average / 8_542.857_143, 10.0, 1.0);
    assert!(
        close(manager.timeuse.value, expected),
        "{} {expected}",
        manager.timeuse.value
    );
    let next = MoveFacts {
        reused_nodes: Nodes(3_000),
        ..facts(58_000.0, 0.0)
    };
    let learnt = report_of(&mut manager, &next).tree_reuse.unwrap();
    assert!(close(learnt, decay(0.5, 0.3, 4.0, 1.0)), "{learnt}");
}

/// A regression: after a move of one batch the rate ignored the rule, and loading counted as search.
#[test]
fn the_rate_of_a_move_with_one_batch_is_followed_by_the_same_rule() {
    let nps_after = |params: &str, loading_ms: f64| {
        let mut keeper = Timekeeper::new(Box::new(smooth(params)), StopperOptions::default());
        let facts = MoveFacts {
            elapsed: Millis(loading_ms),
            ..facts(60_000.0, 0.0)
        };
        let mut chain = keeper.start_move(&facts);
        let stats = SearchStats {
            elapsed: Millis(loading_ms + 1_500.0),
            since_first_eval: Some(Millis(500.0)),
            batches: 1,
            ..stats(1_000.0, 0)
        };
        let stats = SearchStats {
            new_nodes: Nodes(10),
            nodes: Nodes(10),
            ..stats
        };
        chain.should_stop(&stats, &mut Hints::default());
        keeper.finish_move(
            &chain,
            &SearchEnd {
                stats: &stats,
                reason: Some(StopReason::Budget),
            },
        );
        keeper.start_move(&facts).report().unwrap().nps.unwrap().0
    };
    // Ten nodes in one second, the guess worth 0 or 1 s.
    assert!(close(nps_after("init-nps=110", 0.0), 10.0));
    assert!(close(nps_after("init-nps=110,init-nps-weight=1", 0.0), 60.0));
    assert!(
        close(nps_after("init-nps=110,init-nps-weight=1", 3_000.0), 60.0),
        "loading is no search"
    );
    // The step: two average moves of 59,800/51.5 ms.
    let step_s = 2.0 * 59.8 / 51.5;
    let in_moves = "init-nps=110,init-nps-weight=1e6,nps-update-unit=moves,nps-update-rate=2";
    assert!(close(nps_after(in_moves, 0.0), decay(110.0, 10.0, step_s, 1.0)));
}
