//! Searches in which lines that come to one position share what is below it.

use std::collections::{HashMap, HashSet};

use super::invariants::{Kept, check_memory};
use super::{KIWIPETE, TestBench};
use crate::chess::{History, Variant};
use crate::search::tree::{Node, NodeState, Past};

/// Rooks and kings come to most positions in several ways.
const ROOK_ENDING: &str = "fen 8/5pk1/4p1p1/3r3p/5P1P/4P1P1/5K2/2R5 w - - 0 1";

/// A node that an edge leads to, and the key of its position.
struct Reached<'a> {
    key: u64,
    node: &'a Node,
}

impl TestBench {
    /// Returns all nodes below the root, those below a common node once.
    fn reached(&self) -> Vec<Reached<'_>> {
        let mut walk = Walk { bench: self, seen: HashSet::new(), reached: Vec::new() };
        walk.below(self.root(), &mut self.tree.history().clone());
        walk.reached
    }
}

struct Walk<'a> {
    bench: &'a TestBench,
    seen: HashSet<*const Node>,
    reached: Vec<Reached<'a>>,
}

impl<'a> Walk<'a> {
    fn below(&mut self, node: &'a Node, history: &mut History) {
        let tree = self.bench.tree.tree();
        if !self.seen.insert(std::ptr::from_ref(tree.common(node))) {
            return;
        }
        for (_, child) in tree.children(node) {
            history.push(child.edge().mv());
            self.reached.push(Reached { key: history.shared_key(), node: child });
            self.below(child, history);
            history.pop();
        }
    }
}

#[test]
fn every_line_to_a_position_leads_to_what_is_known_of_it() {
    let bench = TestBench::new("random", 1, ROOK_ENDING).with_twins();
    bench.search(20_000);
    let tree = bench.tree.tree();
    let mut positions: HashMap<u64, (usize, HashSet<*const Node>)> = HashMap::new();
    let reached = bench.reached();
    for Reached { key, node } in &reached {
        if matches!(node.state(), NodeState::Expanded | NodeState::Twin) {
            let (lines, commons) = positions.entry(*key).or_default();
            *lines += 1;
            commons.insert(std::ptr::from_ref(tree.common(node)));
        }
    }
    // Lines that come to a position in one batch don't know of each other.
    let split = positions.values().filter(|(_, commons)| commons.len() > 1).count();
    assert!(split * 100 < positions.len(), "{split} of {}", positions.len());
    assert!(positions.values().filter(|(lines, _)| *lines > 1).count() > 500);
}

/// Each parent's visits are its own, and a twin is worth what the position is, as of the last visit through it.
#[test]
fn twins_are_worth_what_their_position_is() {
    let bench = TestBench::new("random", 1, ROOK_ENDING).with_twins();
    bench.search(20_000);
    let (tree, mut twins, mut visits, mut difference) = (bench.tree.tree(), 0, 0.0, 0.0);
    for Reached { node, .. } in bench.reached().into_iter().filter(|reached| reached.node.is_twin()) {
        let common = tree.common(node);
        assert!(node.visits() > 0 && common.visits() > 0);
        twins += 1;
        visits += f64::from(node.visits());
        difference += f64::from((node.q() - common.q()).abs()) * f64::from(node.visits());
    }
    assert!(twins > 1_000 && difference / visits < 0.05, "{twins} {}", difference / visits);
}

#[test]
fn a_search_with_one_thread_is_the_same_each_time() {
    let run = || {
        let mut bench = TestBench::new("random", 1, KIWIPETE).with_twins();
        let mut lines = Vec::new();
        for _ in 0..4 {
            let before = bench.root_visits();
            let (_, result) = bench.search(u64::from(before) + 3_000);
            let line = &result.info.unwrap().lines[0].moves;
            assert!(before == 0 || before > 10, "{before} visits are reused");
            lines.push((result.summary.root_visits, line.clone()));
            bench.play(&line[..2]);
        }
        lines
    };
    assert_eq!(run(), run());
}

/// A twin may become the root: it is then searched as any position, and its other parents keep it.
#[test]
fn the_game_goes_on_through_a_twin() {
    let mut bench = TestBench::new("random", 1, ROOK_ENDING).with_twins();
    bench.search(20_000);
    let start = bench.tree.history().clone();
    let way = bench.way_to_a_twin();
    for past in [Past::Keep, Past::Release] {
        bench.step_to(&way, past);
        let before = bench.root_visits();
        assert!(before > 10, "{before}");
        bench.search(u64::from(before) + 2_000);
        bench.check(Kept::Whole);
        check_memory(&bench.tree);
        if past == Past::Keep {
            bench.step_to(&start, past);
            assert_eq!(bench.root_visits(), 20_000);
            bench.search(25_000);
            bench.check(Kept::Whole);
        }
    }
    for _ in 0..5 {
        let (_, result) = bench.search(u64::from(bench.root_visits()) + 1_000);
        let line = &result.info.unwrap().lines[0].moves;
        bench.play(&line[..line.len().min(2)]);
        bench.check(Kept::Whole);
        check_memory(&bench.tree);
    }
}

/// A regression: a root became a twin of another one that was kept, and visits to it ended at once.
#[test]
fn a_root_shares_nothing_with_an_earlier_one() {
    let mut bench = TestBench::new("random", 1, "startpos").with_twins();
    for line in ["startpos moves e2e4 e7e5 g1f3", "startpos moves g1f3 e7e5 e2e4"] {
        let game = History::from_uci_position(line, Variant::Standard).unwrap();
        bench.step_to(&game, Past::Keep);
        bench.search(3_000);
        assert_eq!((bench.root().state(), bench.root_visits()), (NodeState::Expanded, 3_000));
        assert!(bench.root().child_count() > 10);
        bench.check(Kept::Whole);
    }
    check_memory(&bench.tree);
}

impl TestBench {
    /// Returns the game up to the twin with the most visits.
    fn way_to_a_twin(&self) -> History {
        let best = self.reached().into_iter().filter(|reached| reached.node.is_twin());
        let best = best.max_by_key(|reached| reached.node.visits()).unwrap();
        let mut history = self.tree.history().clone();
        assert!(self.find(self.root(), best.node, &mut history));
        history
    }

    fn find(&self, from: &Node, wanted: &Node, history: &mut History) -> bool {
        for (_, child) in self.tree.tree().children(from) {
            history.push(child.edge().mv());
            let is_near = history.len() < self.tree.history().len() + 6;
            if std::ptr::eq(child, wanted) || is_near && self.find(child, wanted, history) {
                return true;
            }
            history.pop();
        }
        false
    }
}
