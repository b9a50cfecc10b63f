//! Whole searches in which results are proven: what proofs do to values, visits and the root.

use super::{KIWIPETE, MATE_IN_ONE, TestBench, run};
use crate::chess::Terminal;
use crate::search::tests::invariants::Kept;
use crate::search::tree::{Node, Proof, ProofOutcome, ProvenBounds, verdict};
use crate::time::Limit;

fn root_child<'a>(bench: &'a TestBench, mv: &str) -> &'a Node {
    let mv = bench.tree.history.parse_move(mv).unwrap();
    let tree = &bench.tree.tree;
    tree.children(tree.node(bench.tree.root))
        .find(|(_, child)| child.edge().mv() == mv)
        .unwrap()
        .1
}

/// A regression: a certainly lost move was visited on and on, and lowered its siblings' first-play urgency.
#[test]
fn a_move_that_certainly_loses_has_no_policy() {
    let bench = TestBench::new("random", 1, "fen 7k/6pp/8/8/8/8/r5PP/6K1 w - - 0 1");
    bench.search(1_000);
    let lost = root_child(&bench, "g1h1");
    let visits_when_proven = lost.visits();
    assert!(lost.is_lost());
    bench.search(5_000);
    assert_eq!(lost.visits(), visits_when_proven);
    let bench = TestBench::new("random", 1, "fen 6k1/5ppp/8/8/8/8/Q4PPP/3R2K1 b - - 0 1");
    bench.search(3_000);
    bench.check(Kept::Whole);
    let nodes = bench.nodes();
    let lost: Vec<_> = nodes.iter().filter(|node| node.is_lost()).collect();
    assert!(!lost.is_empty());
    assert!(lost.iter().all(|node| node.edge().policy() < 1e-9));
    let others = || nodes.iter().filter(|node| !node.is_lost());
    assert!(others().all(|node| node.edge().policy() > 1e-9));
}

/// A regression: the root's proof was kept, whichever moves it came from, and a search of other moves ended
/// at once.
#[test]
fn the_root_is_decided_by_the_moves_that_may_be_searched() {
    let mut bench = TestBench::new("random", 1, MATE_IN_ONE);
    let (search, _) = bench.search(3_000);
    assert!(search.stats().root_is_certain);
    bench.choose(&["h2h3"]);
    let before = search.context().visits();
    let bounds = crate::time::Bounds {
        depth: Some(6),
        ..Default::default()
    };
    let search = bench.start_within(Limit::Until(bounds), 2_000);
    let result = run(&search, &mut |_| {});
    assert!(!result.figures.stats.root_is_certain);
    assert!(
        result.figures.stats.nodes.0 >= u64::from(before) + 50,
        "{:?}",
        result.figures
    );
    let root = search.context().tree.node(search.context().root);
    assert_eq!(
        (root.proof(), root.visits()),
        (None, result.figures.stats.nodes.0 as u32)
    );
    assert!(
        root.wl().abs() < 1.0,
        "visits to other moves count for what they are worth"
    );
}

/// A regression: a proven position that the game reached kept its certain value and its terminal visits.
#[test]
fn a_proven_position_is_searched_like_any_other_once_the_game_is_there() {
    // Black's only move is Kb8, and then Rd8 mates.
    let mut bench = TestBench::new("random", 1, "fen k7/3R4/1K6/8/8/8/8/8 b - - 0 1");
    bench.params.leaf_mate_search = 0;
    bench.search(2_000);
    let child = root_child(&bench, "a8b8");
    assert!(child.is_lost() && child.visits() > 1_000);
    bench.play(&[bench.tree.history.parse_move("a8b8").unwrap()]);
    let (tree, root) = (bench.tree.tree.clone(), bench.tree.root);
    let kept = tree.node(root).visits();
    assert!(
        tree.node(root).proof().is_none() && (2..1_000).contains(&kept),
        "{kept}"
    );
    bench.check(Kept::Whole);
    let (search, result) = bench.search(u64::from(kept) + 2_000);
    assert_eq!(result.figures.stats.new_nodes.0, 2_000);
    bench.check(Kept::Whole);
    assert_eq!(
        search.snapshot().ranked_moves()[0]
            .node
            .proof
            .map(|proof| proof.plies),
        Some(0.0)
    );
}

#[test]
fn a_leaf_that_mates_by_checks_is_proven_without_an_evaluation() {
    let bench = TestBench::new("random", 1, "fen 7k/6pp/8/8/8/8/r5PP/6K1 w - - 0 1");
    bench.search(100);
    let lost = root_child(&bench, "g1h1");
    let expected = Proof {
        outcome: ProofOutcome::Loss,
        plies: 1.0,
        is_mate: true,
    };
    assert_eq!((lost.proof(), lost.is_terminal()), (Some(expected), true));
}

#[test]
fn a_line_goes_on_to_the_mate_that_was_found_at_its_leaf() {
    // Nh6, Kh8, Qg8, Rxg8, Nf7. The leaf is after Kh8.
    let mut bench = TestBench::new("random", 1, "fen 5rk1/5Npp/8/8/8/1Q6/6PP/6K1 w - - 0 1");
    let (_, result) = bench.search_moves(100, &["f7h6"]);
    let line = &result.info.unwrap().lines[0];
    assert_eq!((line.mate(), line.moves.len()), (Some(3), 5));
    let mut history = bench.tree.history.clone();
    line.moves.iter().for_each(|&mv| history.push(mv));
    assert_eq!(
        history.terminal(&history.legal_moves()),
        Some(Terminal::Checkmate)
    );
}

/// A regression: a mate found at a leaf was forgotten when the game came there.
#[test]
fn a_mate_that_was_found_at_a_leaf_is_known_where_the_game_comes_to_it() {
    let mut bench = TestBench::new("random", 1, "fen 3K4/8/8/8/8/7k/2r4q/8 b - - 0 1");
    let mut moves_left = 100;
    while moves_left > 1 {
        let (search, result) = bench.search(u64::from(bench.visits()) + 50);
        let line = result.info.unwrap().lines.remove(0);
        let mate = line.mate().expect("a mate once told is not forgotten");
        assert!(mate > 0 && mate < moves_left, "{mate} after {moves_left}");
        assert_eq!(
            (result.best, line.moves.len() as i32),
            (line.moves.first().copied(), 2 * mate - 1)
        );
        assert!(search.stats().proven_win);
        moves_left = mate;
        bench.play(&line.moves[..line.moves.len().min(2)]);
    }
}

#[test]
fn a_mate_at_the_root_counts_where_it_may_be_played() {
    // Qg8, Rxg8, Nf7.
    let mut bench = TestBench::new("random", 1, "fen 5r1k/6pp/7N/8/8/1Q6/6PP/6K1 w - - 0 1");
    let mut mate_of = |nodes, root_moves: &[&str]| {
        let (_, result) = bench.search_moves(nodes, root_moves);
        result.info.unwrap().lines[0].mate()
    };
    assert_eq!(mate_of(3, &[]), Some(2));
    assert_eq!(mate_of(20, &["g2g3", "h2h3"]), None);
    assert_eq!(mate_of(25, &["g2g3", "b3g8"]), Some(2));
}

/// A regression: a draw was not proven where no move can win and one surely draws.
#[test]
fn a_draw_is_proven_where_no_move_can_win() {
    // Kxh7 draws. After Kg7 any king move draws by the fifty-move rule.
    let bench = TestBench::new("random", 1, "fen 7k/7P/8/8/8/8/8/K7 b - - 98 80");
    let (search, _) = bench.search(200);
    bench.check(Kept::Whole);
    let cannot_win = ProvenBounds {
        worst: ProofOutcome::Loss,
        best: ProofOutcome::Draw,
    };
    let is_bounded = |node: &&Node| node.proof().is_none() && node.bounds() == cannot_win;
    assert!(bench.nodes().iter().any(is_bounded));
    let proof = search.snapshot().root.proof.unwrap();
    assert_eq!((proof.outcome, proof.is_mate), (ProofOutcome::Draw, false));
}

/// A regression: a nearer mate, found after a slower one, was played but not reported.
#[test]
fn a_nearer_mate_counts_that_is_found_after_the_first() {
    let bench = TestBench::new("random", 1, KIWIPETE);
    let (search, _) = bench.search(2_000);
    let tree = &search.context().tree;
    let children = |id| {
        tree.children(tree.node(id))
            .map(|(child, _)| child)
            .collect::<Vec<_>>()
    };
    let root = search.context().root;
    let reply = *children(root)
        .iter()
        .max_by_key(|id| tree.node(**id).visits())
        .unwrap();
    let moves = children(reply);
    for (mv, plies) in [(moves[0], 2.0), (moves[1], 0.0), (moves[2], 4.0)] {
        assert!(
            tree.node(mv)
                .prove(Proof {
                    outcome: ProofOutcome::Win,
                    plies,
                    is_mate: true
                })
                .is_some()
        );
        let before = tree.node(root).mean().m;
        verdict::propagate(tree, &[root, reply, mv]);
        let nearest = if plies == 2.0 { 3.0 } else { 1.0 };
        let expected = Proof {
            outcome: ProofOutcome::Loss,
            plies: nearest,
            is_mate: true,
        };
        assert_eq!(tree.node(reply).proof(), Some(expected));
        let change = tree.node(root).mean().m - before;
        assert_eq!(change != 0.0, plies != 4.0, "the mean of the plies left follows");
    }
}
