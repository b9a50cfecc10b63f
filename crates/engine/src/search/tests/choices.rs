//! Searches of chosen moves, and of others after them: visits count for the moves that could be chosen from.

use std::sync::Arc;

use super::invariants::check_memory;
use super::{KIWIPETE, TestBench};
use crate::search::PvLine;
use crate::search::tree::Past;
use crate::time::Limit;

impl TestBench {
    fn visits_of(&self, mv: &str) -> u32 {
        let moves = self.root_moves();
        moves
            .iter()
            .find(|(text, ..)| text == mv)
            .map_or(0, |(_, visits, _)| *visits)
    }
}

/// A regression: visits to all moves counted as those of the chosen one, which got none, and their mean was
/// shown as its value.
#[test]
fn a_search_of_chosen_moves_counts_their_visits_alone() {
    let mut bench = TestBench::new("random", 1, KIWIPETE);
    bench.search(900);
    let known = bench.visits_of("e2a6") + bench.visits_of("a2a3");
    let (search, result) = bench.search_moves(400, &["e2a6", "a2a3"]);
    let summary = &result.figures;
    assert_eq!(
        (summary.stats.nodes.0, summary.stats.new_nodes.0),
        (400, 400 - u64::from(known))
    );
    assert_eq!(summary.visits_by_move.iter().map(|(_, n)| n).sum::<u32>(), 400);
    assert_eq!(bench.visits_of("e2a6") + bench.visits_of("a2a3"), 400);
    let children = search.context().tree.children(bench.root());
    let of_chosen = children
        .map(|(_, child)| child)
        .filter(|child| search.state.root.allows(child.edge().mv()));
    assert_eq!(
        bench.root().value_sum(),
        -of_chosen.map(|child| child.value_sum()).sum::<i64>()
    );
}

/// A regression: the move with most visits was played, though they were made where it was the only one.
#[test]
fn visits_of_a_choice_do_not_count_after_it() {
    for earlier in [0, 900] {
        let mut bench = TestBench::new("random", 1, KIWIPETE);
        if earlier > 0 {
            bench.search(earlier);
        }
        let before = bench.root_moves();
        bench.search_moves(600, &["a2a3"]);
        bench.search_moves(800, &["a2a3", "e1c1"]);
        assert!(bench.visits_of("e1c1") > 1, "{:?}", bench.root_moves());
        bench.choose(&[]);
        let mut after = bench.root_moves();
        assert!(after[before.len()..].iter().all(|(_, visits, _)| *visits == 0));
        after.truncate(before.len());
        assert_eq!((u64::from(bench.visits()), after), (earlier, before));
        let (_, result) = bench.search(1_200);
        assert_eq!(result.figures.stats.new_nodes.0, 1_200 - earlier);
        assert!(bench.visits_of("a2a3") < 400, "{:?}", bench.root_moves());
        bench.choose(&["a2a3"]);
        bench.choose(&["a2a3"]);
        assert_eq!(bench.visits(), bench.visits_of("a2a3"));
    }
}

#[test]
fn all_moves_are_no_choice() {
    let mut bench = TestBench::new("random", 1, "fen 7k/8/8/8/8/8/8/K7 w - - 0 1");
    bench.search(50);
    let before = bench.root_moves();
    bench.choose(&["a1b1", "a1a2", "a1b2", "a1a2"]);
    assert_eq!((bench.visits(), bench.root_moves()), (50, before));
    assert!(bench.tree.chosen_moves().is_empty());
}

#[test]
fn a_chosen_move_that_is_played_keeps_its_tree() {
    for past in [Past::Release, Past::Keep] {
        let mut bench = TestBench::new("random", 1, KIWIPETE);
        bench.search(300);
        let (start, before) = (bench.tree.history.clone(), bench.root_moves());
        bench.search_moves(600, &["a2a3"]);
        let mut next = start.clone();
        next.push(next.parse_move("a2a3").unwrap());
        bench.step_to(&next, past);
        assert_eq!(bench.visits(), 600);
        bench.search(700);
        check_memory(&bench.tree);
        if past == Past::Keep {
            bench.step_to(&start, past);
            let mut after = bench.root_moves();
            after.truncate(before.len());
            assert_eq!((bench.visits(), after), (300, before));
        }
    }
}

#[test]
fn a_mate_that_a_choice_has_found_is_known_after_it() {
    let mut bench = TestBench::new("random", 1, "fen k7/3R4/2K5/8/8/8/8/8 w - - 0 1");
    bench.params.leaf_mate_search = 0;
    bench.search(2);
    bench.search_moves(3_000, &["c6b6"]);
    bench.choose(&[]);
    let (search, result) = bench.search(10);
    assert!(search.stats().proven_win);
    let best = result.best.map(|mv| bench.tree.history.format_move(mv));
    assert_eq!(best.as_deref(), Some("c6b6"));
}

/// A regression: the value of the position was shown as that of moves without visits.
#[test]
fn a_move_without_visits_has_no_value() {
    let mut bench = TestBench::new("random", 1, KIWIPETE);
    bench.search(1);
    for (chosen, valued) in [(&[][..], [true, false]), (&["a2a3", "h1g1"], [false, false])] {
        bench.choose(chosen);
        let mut search = bench.prepare(Limit::nodes(1), 0);
        Arc::get_mut(&mut search).unwrap().state.context.reporting.lines = 2;
        let snapshot = search.snapshot();
        let info = snapshot.info(&snapshot.ranked_moves(), &bench.tree.tree.enter());
        let lines = info.unwrap().lines;
        let has_value = |line: &PvLine| line.value.is_some();
        assert_eq!(lines.iter().map(has_value).collect::<Vec<_>>(), valued);
        assert!(lines.iter().all(|line| line.moves.len() == 1 && line.nodes == 0));
    }
}
