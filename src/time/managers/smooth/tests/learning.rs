//! Tests of what the manager learns from its moves.

use super::*;
use crate::time::chain::Chain;
use crate::time::estimators::decay;
use crate::time::timekeeper::SearchEnd;

#[test]
fn it_learns_reuse_and_timeuse_from_a_move() {
    let mut manager = smooth("");
    let report = report_of(&mut manager, &facts(60_000.0, 600.0));
    let average = report.average.unwrap().0;
    let budget = report.budget.0;
    finish(&mut manager, report, average, 10_000);
    // One average move; 1,749.51/4,998.61 = 0.35 used: 0.35 − (0.35 − 0.7)·2^(−1/10) = 0.676562.
    assert!(close(average / budget, 0.35));
    assert!(close(manager.timeuse.value(), 0.676_561_547));
    let next = MoveFacts { reused_nodes: Nodes(3_000), game_ply: GamePly(2), ..facts(58_800.0, 600.0) };
    // 3,000 of 10,000: 0.3 − (0.3 − 0.5)·2^(−1/4) = 0.468179.
    let report = report_of(&mut manager, &next);
    assert!(close(report.tree_reuse.unwrap(), 0.468_179_283), "{report}");
}

#[test]
fn time_beyond_the_budget_counts_as_all_of_it() {
    let mut manager = smooth("");
    let report = report_of(&mut manager, &facts(60_000.0, 600.0));
    let (average, used) = (report.average.unwrap().0, report.budget.0 * 3.0);
    finish(&mut manager, report, used, 10_000);
    // 1 − (1 − 0.7)·2^(−8.571429/10) = 0.834380
    assert!(close(used / average, 8.571_428_571));
    assert!((manager.timeuse.value() - 0.834_380).abs() < 1e-4, "{}", manager.timeuse.value());
}

#[test]
fn insta_moves_hardly_count() {
    let mut manager = smooth("");
    for _ in 0..10 {
        let report = report_of(&mut manager, &facts(60_000.0, 600.0));
        finish(&mut manager, report, 1.0, 10_000);
    }
    assert!((manager.timeuse.value() - 0.7).abs() < 0.001);
    assert!((manager.tree_reuse.value() - 0.5).abs() < 0.001);
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
    assert_eq!(manager.timeuse.value(), 0.7);
}

/// A regression: only ponder hits taught how much of a tree survives a move, so that it was overestimated.
#[test]
fn reuse_is_learnt_from_the_move_played_whatever_was_pondered() {
    let learnt = |is_pondered: bool| {
        let mut keeper = Timekeeper::new(Box::new(smooth("")), StopperOptions::default());
        let end = |keeper: &mut Timekeeper, chain: &Chain, nodes| {
            let stats = stats(2_000.0, nodes);
            keeper.finish_move(chain, &SearchEnd { stats: &stats, reason: Some(StopReason::Budget) });
        };
        let chain = keeper.start_move(&facts(60_000.0, 600.0));
        end(&mut keeper, &chain, 10_000);
        let mut next = MoveFacts { reused_nodes: Nodes(500), ..facts(58_600.0, 600.0) };
        if is_pondered {
            let mut pondering = facts(58_600.0, 600.0);
            pondering.limits.ponder = true;
            let chain = keeper.start_move(&pondering);
            assert!(chain.is_open_ended() && chain.deadline().is_none() && chain.report().is_none());
            end(&mut keeper, &chain, 90_000);
            // A miss: 500 nodes were below the reply before.
            (next.reused_nodes, next.pondered_nodes) = (Nodes(4_500), Nodes(4_000));
        }
        keeper.start_move(&next).report().unwrap().tree_reuse.unwrap()
    };
    assert_eq!(learnt(true), learnt(false));
    assert!(learnt(true) < 0.45, "{}", learnt(true));
}

/// A regression: after `go infinite` within a game the next clocked move took its tree for that of the last one.
#[test]
fn a_search_without_a_clock_between_two_moves_teaches_nothing_about_reuse() {
    let mut manager = smooth("");
    let report = report_of(&mut manager, &facts(60_000.0, 600.0));
    finish(&mut manager, report, 2_000.0, 10_000);
    let mut infinite = facts(58_000.0, 600.0);
    infinite.limits.infinite = true;
    assert!(manager.start_move(&infinite).is_none());
    let next = MoveFacts { reused_nodes: Nodes(50_000), ..facts(58_000.0, 600.0) };
    assert_eq!(report_of(&mut manager, &next).tree_reuse, Some(0.5));
}

/// A regression: the weight of what is learnt was taken from the average as last revised, not from that of the move's start.
#[test]
fn the_weight_of_a_move_is_measured_by_the_average_at_its_start() {
    let mut manager = smooth("mle-mlh");
    let fresh = MoveFacts { has_moves_left: true, ..facts(60_000.0, 0.0) };
    let mut stopper = manager.start_move(&fresh).unwrap();
    let root = RootEvaluation { m: Some(Plies(39.0)), ..RootEvaluation::default() };
    stopper.should_stop(&SearchStats { root: Some(root), ..stats(10.0, 0) }, &mut Hints::default());
    // 59 moves by the pieces at the start, 20 when the head has spoken: 59,800/59 on average, a budget of 8,542.857.
    let (average, report) = (59_800.0 / 59.0, stopper.report().unwrap());
    assert!(close(report.budget.0, 8_542.857_143), "{report}");
    finish(&mut manager, report, average, 10_000);
    let expected = decay(0.7, average / 8_542.857_143, 10.0, 1.0);
    assert!(close(manager.timeuse.value(), expected), "{} {expected}", manager.timeuse.value());
    let next = MoveFacts { reused_nodes: Nodes(3_000), ..facts(58_000.0, 0.0) };
    let learnt = report_of(&mut manager, &next).tree_reuse.unwrap();
    assert!(close(learnt, decay(0.5, 0.3, 4.0, 1.0)), "{learnt}");
}

/// A regression: after a move of one batch the rate was followed in seconds, whatever `nps-update-unit` and `init-nps-weight`
/// said, and loading the network counted as search.
#[test]
fn the_rate_of_a_move_with_one_batch_is_followed_by_the_same_rule() {
    let nps_after = |params: &str, loading_ms: f64| {
        let mut keeper = Timekeeper::new(Box::new(smooth(params)), StopperOptions::default());
        let facts = MoveFacts { elapsed: Millis(loading_ms), ..facts(60_000.0, 0.0) };
        let mut chain = keeper.start_move(&facts);
        let stats = SearchStats {
            elapsed: Millis(loading_ms + 1_500.0),
            since_first_eval: Some(Millis(500.0)),
            batches: 1,
            ..stats(1_000.0, 0)
        };
        let stats = SearchStats { new_nodes: Nodes(10), nodes: Nodes(10), ..stats };
        chain.should_stop(&stats, &mut Hints::default());
        keeper.finish_move(&chain, &SearchEnd { stats: &stats, reason: Some(StopReason::Budget) });
        keeper.start_move(&facts).report().unwrap().nps.unwrap().0
    };
    // Ten nodes in one second, and a guess without weight or that of one second.
    assert!(close(nps_after("init-nps=110", 0.0), 10.0));
    assert!(close(nps_after("init-nps=110,init-nps-weight=1", 0.0), 60.0));
    assert!(close(nps_after("init-nps=110,init-nps-weight=1", 3_000.0), 60.0), "loading is no search");
    // Two average moves of 59,800/51.5 ms are the step.
    let step_s = 2.0 * 59.8 / 51.5;
    let in_moves = "init-nps=110,init-nps-weight=1e6,nps-update-unit=moves,nps-update-rate=2";
    assert!(close(nps_after(in_moves, 0.0), decay(110.0, 10.0, step_s, 1.0)));
}
