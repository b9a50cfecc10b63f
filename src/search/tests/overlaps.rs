//! What may happen beside a search in the same tree: the last batches of an earlier one, the reclaimer, pruning.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::invariants::{Kept, check_tree};
use super::test_bench::nodes_below;
use super::{KIWIPETE, TestBench};
use crate::chess::History;
use crate::search::Search;
use crate::search::tree::{Node, NodeState, Past, Reclaimer};

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(120), "{what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl TestBench {
    fn after_best_move(&self) -> History {
        let (tree, mut history) = (self.tree.tree(), self.tree.history().clone());
        let children = tree.children(tree.node(self.tree.root())).map(|(_, child)| child);
        history.push(children.max_by_key(|child| child.visits()).unwrap().edge().mv());
        history
    }

    /// Plays the best move while workers of `search` may be at work, and lets `reclaimer` wait for them, as the engine does.
    fn move_on(&mut self, search: &Arc<Search>, reclaimer: &Reclaimer) {
        let (history, draining) = (self.after_best_move(), search.clone());
        let quiescence = move || draining.state.progress.wait_idle(Duration::from_secs(60));
        self.tree.advance(history, Past::Release, reclaimer, quiescence).unwrap();
    }

    /// Waits until all memory in use belongs to nodes that can be reached.
    fn wait_until_reclaimed(&self) {
        let lost = self.tree.tree().reserved_bytes() / 100;
        let reachable = self.tree.reachable_bytes();
        wait_until("the reclaimer frees what the game has left", || {
            (reachable..=reachable + lost).contains(&self.tree.tree().bytes())
        });
    }
}

/// Batches of the last search are backed up through nodes that are searched, and through others that wait to be freed.
#[test]
fn batches_that_come_back_after_the_game_has_moved_on_count_in_the_kept_part() {
    let mut bench = TestBench::new("simulated(latency-us=20000,per-position-ns=1000)", 3, KIWIPETE);
    let reclaimer = Reclaimer::new();
    let (mut late, mut round) = (0, 0);
    // Batches are small beside the tree: not every time is one under way below the move that is played.
    while round < 5 || late == 0 && round < 100 {
        let search = bench.start(None, &[]);
        let wanted = bench.tree.tree().node(bench.tree.root()).visits() + 100;
        wait_until("visits are made", || search.state.context.root_visits() >= wanted);
        search.request_stop();
        bench.move_on(&search, &reclaimer);
        late += u32::from(bench.tree.tree().node(bench.tree.root()).in_flight() > 0);
        let before = bench.tree.tree().node(bench.tree.root()).visits();
        let (next, _) = bench.search(u64::from(before) + 50 + round);
        search.state.progress.wait_idle(Duration::from_secs(60));
        assert!(search.state.progress.is_idle() && next.state.progress.is_idle());
        check_tree(bench.tree.tree(), bench.tree.root(), Kept::Whole);
        bench.wait_until_reclaimed();
        round += 1;
    }
    assert!(late > 0, "no batch was late");
}

/// What the game has left is freed on a thread of its own while a search takes memory.
#[test]
fn a_search_goes_on_while_the_reclaimer_frees_what_the_game_has_left() {
    let mut bench = TestBench::new("random", 3, KIWIPETE);
    let reclaimer = Reclaimer::new();
    let (mut search, _) = bench.search(6_000);
    for _ in 0..3 {
        bench.move_on(&search, &reclaimer);
        let before = bench.tree.tree().node(bench.tree.root()).visits();
        search = bench.search(u64::from(before) + 2_000).0;
        check_tree(bench.tree.tree(), bench.tree.root(), Kept::Whole);
        bench.wait_until_reclaimed();
    }
}

/// A tree at its limit is pruned at once when the game has moved on, while the reclaimer frees the rest.
#[test]
fn a_full_tree_is_pruned_while_the_reclaimer_frees_what_the_game_has_left() {
    let mut bench = TestBench::new("random", 3, KIWIPETE);
    bench.tree.tree().set_limit(0);
    let reclaimer = Reclaimer::new();
    // How much the reclaimer has freed before the tree is full again depends on the machine.
    let (mut rounds, mut prunings) = (0, 0);
    while rounds < 2 || prunings == 0 {
        assert!(rounds < 20, "nothing was pruned");
        rounds += 1;
        let tree = bench.tree.tree().clone();
        let search = bench.start(None, &[]);
        wait_until("the tree is full", || tree.is_full());
        search.request_stop();
        bench.move_on(&search, &reclaimer);
        let before = tree.node(bench.tree.root()).visits();
        let (next, _) = bench.search(u64::from(before) + 20_000);
        search.state.progress.wait_idle(Duration::from_secs(60));
        assert!(search.state.progress.is_idle() && next.state.progress.is_idle());
        check_tree(&tree, bench.tree.root(), Kept::Pruned);
        bench.wait_until_reclaimed();
        // A leaf with several visits had them below it once.
        let is_pruned = |node: &&Node| node.state() == NodeState::Unexpanded && node.visits() > 1;
        prunings += u32::from(nodes_below(&tree, bench.tree.root()).iter().any(is_pruned));
    }
}
