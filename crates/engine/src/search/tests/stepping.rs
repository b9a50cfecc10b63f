//! An analysis in which the game goes forward and back again.

use super::invariants::{check_memory, is_pruned};
use super::{KIWIPETE, TestBench};
use crate::search::run;
use crate::search::tree::Past;

impl TestBench {
    fn roots_own_value(&self) -> i64 {
        let tree = &self.tree.tree;
        let root = tree.node(self.tree.root);
        tree.children(root)
            .map(|(_, child)| child.value_sum())
            .sum::<i64>()
            + root.value_sum()
    }

    pub(super) fn root_moves(&self) -> Vec<(String, u32, f32)> {
        let (tree, history) = (&self.tree.tree, &self.tree.history);
        let children = tree.children(tree.node(self.tree.root));
        children
            .map(|(_, child)| (history.format_move(child.edge().mv()), child.visits(), child.wl()))
            .collect()
    }
}

/// A regression: a step back to the position before the last move began with an empty tree.
#[test]
fn a_step_back_finds_the_tree_as_it_was_and_a_step_forward_what_was_searched_there() {
    let mut bench = TestBench::new("random", 1, KIWIPETE);
    let (search, result) = bench.search(2_000);
    let start = search.context().history.clone();
    let before = bench.root_moves();
    let mut line = start.clone();
    let best = result.info.unwrap().lines[0].moves.clone();
    best[..2].iter().for_each(|&mv| line.push(mv));
    bench.step_to(&line, Past::Keep);
    let kept = bench.visits();
    assert!(kept > 1);
    bench.search(5_000);
    let mut untried = line.clone();
    let tried: Vec<_> = bench.root_moves().into_iter().map(|(mv, ..)| mv).collect();
    let fresh = line
        .legal_moves()
        .into_iter()
        .find(|&mv| !tried.contains(&line.format_move(mv)));
    untried.push(fresh.unwrap_or(line.legal_moves()[0]));
    bench.step_to(&untried, Past::Keep);
    bench.search(700);

    bench.step_to(&start, Past::Keep);
    assert_eq!(
        bench.root_moves(),
        before,
        "nothing that was searched below counts here"
    );
    bench.step_to(&line, Past::Keep);
    assert_eq!(bench.visits(), 5_000);
    bench.step_to(&untried, Past::Keep);
    assert!(bench.visits() >= 700);
    check_memory(&bench.tree);

    // Searches above continue, and a game frees all behind it.
    bench.step_to(&start, Past::Keep);
    let (_, result) = bench.search(2_500);
    assert_eq!(
        (result.figures.stats.nodes.0, result.figures.stats.new_nodes.0),
        (2_500, 500)
    );
    let used = bench.tree.tree.bytes();
    bench.step_to(&line, Past::Release);
    assert!(bench.tree.tree.bytes() < used);
    check_memory(&bench.tree);
    bench.step_to(&start, Past::Keep);
    assert_eq!(bench.visits(), 0);
}

#[test]
fn a_tree_that_is_short_of_memory_keeps_nothing_of_the_past() {
    let mut bench = TestBench::new("random", 1, KIWIPETE);
    bench.tree.tree.set_limit(0);
    let (search, result) = bench.search(55_000);
    let start = search.context().history.clone();
    let mut next = start.clone();
    next.push(result.best.unwrap());
    bench.step_to(&next, Past::Keep);
    check_memory(&bench.tree);
    bench.step_to(&start, Past::Keep);
    assert_eq!(bench.visits(), 0);
}

/// A regression: after a step back the position kept its visits as a root, and the move to it was played.
#[test]
fn what_was_searched_below_does_not_count_above_where_the_past_is_released_either() {
    for (visits, past) in [(5_000, Past::Release), (50_000, Past::Keep)] {
        let mut bench = TestBench::new("random", 1, KIWIPETE);
        let (search, result) = bench.search(2_000);
        let start = search.context().history.clone();
        let (before, own) = (bench.root_moves(), bench.roots_own_value());
        let mut next = start.clone();
        next.push(result.best.unwrap());
        bench.step_to(&next, Past::Keep);
        if past == Past::Keep {
            bench.tree.tree.set_limit(0);
        }
        bench.search(visits);
        bench.step_to(&start, past);
        assert_eq!((bench.root_moves(), bench.roots_own_value()), (before, own));
        assert_eq!(bench.visits(), 2_000);
    }
}

/// A regression: visits of a pruned position counted as nodes, and `bestmove` waited a minute for moves.
#[test]
fn a_position_whose_tree_was_pruned_is_searched_from_nothing() {
    let mut bench = TestBench::new("random", 1, KIWIPETE);
    bench.tree.tree.set_limit(0);
    let (search, _) = bench.search(120_000);
    let tree = &search.context().tree;
    let replies = tree
        .children(search.context().root_node())
        .flat_map(|(_, child)| {
            tree.children(child)
                .map(|(_, reply)| (child.edge().mv(), reply.edge().mv(), reply))
        });
    let pruned: Vec<_> = replies.filter(|(.., reply)| is_pruned(reply)).collect();
    let (mv, reply, _) = pruned[0];
    bench.play(&[mv, reply]);
    assert_eq!(bench.visits(), 0);
    let (_, result) = bench.search(1);
    assert_eq!((result.best.is_some(), result.figures.stats.nodes.0), (true, 1));
}

/// A regression: a visit to a root without room for its policy was the only one, and `bestmove` waited a
/// minute.
#[test]
fn a_root_without_room_for_its_policy_is_evaluated_again_once_there_is_some() {
    let bench = TestBench::new("random", 1, "startpos");
    let (tree, root) = (&bench.tree.tree, bench.tree.root);
    // All memory of the least limit is taken.
    tree.set_limit(0);
    assert!(tree.node(root).claim());
    while tree.expand(root, &[0.05; 20]).is_ok() {}
    tree.node(root).unclaim();
    let search = bench.start(Some(1));
    while search.state.counters.lock().batches == 0 {
        std::thread::yield_now();
    }
    assert!(!search.context().has_evaluated_root());
    tree.set_limit(u64::MAX);
    let result = run(&search, &mut |_| {});
    assert_eq!((result.best.is_some(), result.figures.stats.nodes.0), (true, 1));
}

/// A regression: a node without a move list counted as one whose moves are all proven.
#[test]
fn a_position_that_was_stepped_into_and_not_searched_proves_nothing() {
    let mut bench = TestBench::new("random", 1, KIWIPETE);
    let (search, _) = bench.search(10);
    let (tree, start) = (&search.context().tree, search.context().history.clone());
    let root = tree.node(search.context().root);
    let untried = tree.best_unvisited(root, None).unwrap();
    let mv = start.legal_moves()[usize::from(untried.index)];
    let child = tree.new_child(root, untried, mv).unwrap().unwrap();
    let mut next = start.clone();
    next.push(mv);
    bench.step_to(&next, Past::Keep);
    assert_eq!(bench.visits(), 0);
    bench.step_to(&start, Past::Keep);
    assert_eq!(tree.node(child).proof(), None);
}

/// A regression: what was found two or more plies below was not known above.
#[test]
fn a_mate_that_was_found_below_is_known_above() {
    for line in [&["c6b6"][..], &["c6b6", "a8b8"]] {
        let mut bench = TestBench::new("random", 1, "fen k7/3R4/2K5/8/8/8/8/8 w - - 0 1");
        bench.params.leaf_mate_search = 0;
        let mut nodes = 1;
        while !bench
            .root_moves()
            .iter()
            .any(|(mv, visits, _)| mv == "c6b6" && *visits > 1)
        {
            nodes += 1;
            bench.search(nodes);
        }
        assert!(!bench.search(nodes).0.stats().proven_win);
        let own = bench.roots_own_value();
        let start = bench.tree.history.clone();
        let mut below = start.clone();
        line.iter()
            .for_each(|text| below.push(below.parse_move(text).unwrap()));
        bench.step_to(&below, Past::Keep);
        let (search, _) = bench.search(3_000);
        assert!(search.stats().root_is_certain);
        bench.step_to(&start, Past::Keep);
        assert_eq!(
            bench.roots_own_value(),
            own,
            "the root sees the visits to the move at their new worth"
        );
        let (search, result) = bench.search(u64::from(bench.visits()) + 5);
        assert!(search.stats().proven_win);
        assert_eq!(
            result.best.map(|mv| start.format_move(mv)).as_deref(),
            Some("c6b6")
        );
    }
}
