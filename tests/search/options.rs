//! Tests that every option of the search does something: a search with another value than the default goes another way.

use std::collections::HashSet;

use crate::common::engine::Engine;

const MIDDLEGAME: &str = "fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
const ENDGAME: &str = "fen 7k/8/8/8/8/8/P7/K7 w - - 0 1";
const MATE_IN_TWO: &str = "fen k7/3R4/2K5/8/8/8/8/8 w - - 0 1";

/// Returns an engine that makes the same search each time and tells of all moves.
fn repeatable() -> Engine {
    let mut engine = Engine::repeatable();
    engine.set(&[("VerboseMoveStats", "true")]);
    engine.ask(&["isready"], "readyok");
    engine
}

/// Returns what a search of a fresh tree finds, without times and speeds.
fn search(engine: &mut Engine, position: &str, go: &str) -> Vec<String> {
    let lines = engine.search(&["ucinewgame", &format!("position {position}"), go]);
    lines
        .into_iter()
        .filter(|line| line.starts_with("info string ") || line.starts_with("bestmove"))
        .collect()
}

#[test]
fn every_option_changes_the_search_and_can_be_taken_back() {
    changes_the_search(
        &mut repeatable(),
        &[
            ("CPuct", "3", "1.745", MIDDLEGAME),
            ("CPuctBase", "100", "38739", MIDDLEGAME),
            ("CPuctFactor", "50", "3.894", MIDDLEGAME),
            ("FpuStrategy", "absolute", "reduction", MIDDLEGAME),
            ("FpuValue", "1", "0.33", MIDDLEGAME),
            ("FpuStrategyAtRoot", "absolute", "same", MIDDLEGAME),
            ("DrawScore", "-0.5", "0", MIDDLEGAME),
            ("PolicyTemperature", "3", "1.359", MIDDLEGAME),
            ("MovesLeftThreshold", "0.1", "0.8", MIDDLEGAME),
            ("StickyEndgames", "false", "true", MATE_IN_TWO),
            ("LeafMateSearch", "0", "2", MATE_IN_TWO),
            ("TwoFoldDraws", "false", "true", ENDGAME),
            ("SmartPruningFactor", "1.33", "0", MIDDLEGAME),
        ],
    );
}

#[test]
fn bounds_choose_the_move_where_smart_pruning_does_not() {
    let mut engine = repeatable();
    let mut found = |factor: &str, pruning: &str| {
        engine.set(&[("LcbFactor", factor), ("SmartPruningFactor", pruning)]);
        search(&mut engine, MIDDLEGAME, "go nodes 60")
    };
    assert_ne!(found("0.001", "0"), found("1", "0"));
    assert_eq!(found("0.001", "1.33"), found("1", "1.33"));
}

/// A regression: smart pruning ended searches, but until then moves went on to be visited that could not overtake the best.
#[test]
fn root_moves_that_cannot_overtake_get_no_more_visits() {
    let mut engine = repeatable();
    let mut visits = |factor: &str| -> Vec<u32> {
        engine.set(&[("SmartPruningFactor", factor)]);
        let lines = search(&mut engine, MIDDLEGAME, "go nodes 600");
        let of_move = |line: &String| {
            let (head, rest) = line.strip_prefix("info string ")?.split_once(" N: ")?;
            let visits = rest.trim_start().split(' ').next()?.parse().ok()?;
            (!head.starts_with("node")).then_some(visits)
        };
        lines.iter().filter_map(of_move).collect()
    };
    let mut of_the_others = |factor: &str| -> u32 {
        let mut visits = visits(factor);
        visits.sort_unstable();
        visits[..visits.len() - 2].iter().sum()
    };
    let (all, pruned) = (of_the_others("0"), of_the_others("1.33"));
    assert!(
        pruned < all,
        "{pruned} visits to moves behind the best two, {all} without smart pruning"
    );
}

#[test]
fn every_option_of_the_moves_left_utility_changes_the_search() {
    let mut engine = repeatable();
    engine.set(&[("MovesLeftThreshold", "0")]);
    changes_the_search(
        &mut engine,
        &[
            ("MovesLeftMaxEffect", "0.2", "0.0345", MIDDLEGAME),
            ("MovesLeftSlope", "0.0001", "0.0027", MIDDLEGAME),
            ("MovesLeftConstantFactor", "1", "0", MIDDLEGAME),
            ("MovesLeftScaledFactor", "-2", "1.6521", MIDDLEGAME),
            ("MovesLeftQuadraticFactor", "1", "-0.6521", MIDDLEGAME),
        ],
    );
}

#[test]
fn every_option_of_the_batches_changes_the_search() {
    let mut engine = repeatable();
    engine.set(&[("MinibatchSize", "32")]);
    changes_the_search(
        &mut engine,
        &[
            ("OutOfOrderEval", "false", "true", MATE_IN_TWO),
            ("MaxOutOfOrderEvalsFactor", "0.1", "2.4", MATE_IN_TWO),
            ("MaxCollisionEvents", "1", "0", MIDDLEGAME),
            ("MaxCollisionVisits", "1", "80000", MIDDLEGAME),
            ("MaxCollisionVisitsScalingStart", "100000", "28", MIDDLEGAME),
        ],
    );
    engine.set(&[("MaxCollisionVisitsScalingStart", "700")]);
    changes_the_search(
        &mut engine,
        &[
            ("MaxCollisionVisitsScalingEnd", "0", "145000", MIDDLEGAME),
            ("MaxCollisionVisitsScalingPower", "0.01", "1.25", MIDDLEGAME),
        ],
    );
}

/// Asserts that each option with this value makes another search of this position than with its default.
fn changes_the_search(engine: &mut Engine, options: &[(&str, &str, &str, &str)]) {
    for &(name, value, default, position) in options {
        let plain = search(engine, position, "go nodes 800");
        engine.set(&[(name, value)]);
        assert!(search(engine, position, "go nodes 800") != plain, "{name}");
        engine.set(&[(name, default)]);
        assert!(
            search(engine, position, "go nodes 800") == plain,
            "{name} taken back"
        );
    }
}

#[test]
fn options_of_the_root_count_only_when_they_are_switched_on() {
    let mut engine = repeatable();
    for (switch, on, off, own) in [
        ("RootHasOwnCpuctParams", "true", "false", "CPuctAtRoot"),
        ("RootHasOwnCpuctParams", "true", "false", "CPuctFactorAtRoot"),
        ("FpuStrategyAtRoot", "reduction", "same", "FpuValueAtRoot"),
    ] {
        let plain = search(&mut engine, MIDDLEGAME, "go nodes 800");
        engine.set(&[(own, "7")]);
        assert!(
            search(&mut engine, MIDDLEGAME, "go nodes 800") == plain,
            "{own} without {switch}"
        );
        engine.set(&[(switch, on)]);
        assert!(search(&mut engine, MIDDLEGAME, "go nodes 800") != plain, "{own}");
        engine.set(&[(switch, off)]);
    }
}

#[test]
fn a_policy_out_of_the_cache_is_of_the_present_temperature() {
    let mut engine = repeatable();
    engine.set(&[("NNCacheSize", "10000")]);
    let plain = search(&mut engine, MIDDLEGAME, "go nodes 200");
    engine.set(&[("PolicyTemperature", "5")]);
    let flat = search(&mut engine, MIDDLEGAME, "go nodes 200");
    engine.set(&[("NNCacheSize", "0")]);
    assert!(flat != plain && flat.last() == search(&mut engine, MIDDLEGAME, "go nodes 200").last());
    let policy = |lines: &[String]| {
        let of = |line: &String| {
            Some(
                line.split_once("(P: ")?
                    .1
                    .split_once('%')?
                    .0
                    .trim()
                    .parse::<f32>()
                    .unwrap(),
            )
        };
        lines
            .iter()
            .filter(|line| !line.contains(" node "))
            .filter_map(of)
            .fold(0.0, f32::max)
    };
    assert!(
        policy(&flat) < 0.6 * policy(&plain),
        "{} {}",
        policy(&flat),
        policy(&plain)
    );
}

#[test]
fn a_search_of_the_root_alone_plays_the_move_with_the_largest_policy() {
    let mut engine = repeatable();
    let lines = engine.search(&["position startpos", "go nodes 1"]);
    let policy = |line: &String| {
        let percent = line
            .split_once("(P: ")?
            .1
            .split_once('%')?
            .0
            .trim()
            .parse::<f32>()
            .unwrap();
        line.strip_prefix("info string ")
            .filter(|line| !line.starts_with("node"))
            .map(|line| (percent, line[..4].to_string()))
    };
    let (_, largest) = lines
        .iter()
        .filter_map(policy)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .unwrap();
    assert_eq!(lines.last().unwrap(), &format!("bestmove {largest}"));
    assert!(
        lines
            .iter()
            .any(|line| line.starts_with("info depth 1 ") && line.ends_with(&format!(" pv {largest}")))
    );
}

/// Returns the best moves of searches with the seeds 1 to `seeds`.
fn moves_by_seed(engine: &mut Engine, position: &str, go: &str, seeds: u32) -> HashSet<String> {
    let moves = (1..=seeds).map(|seed| {
        engine.set(&[("RandomSeed", &seed.to_string())]);
        search(engine, position, go)
            .pop()
            .unwrap()
            .split(' ')
            .nth(1)
            .unwrap()
            .to_string()
    });
    moves.collect()
}

#[test]
fn noise_changes_the_policy_of_the_root_and_is_the_same_for_the_same_seed() {
    let mut engine = repeatable();
    let plain = search(&mut engine, MIDDLEGAME, "go nodes 200");
    engine.set(&[("DirichletNoiseEpsilon", "0.5")]);
    engine.set(&[("RandomSeed", "1")]);
    let first = search(&mut engine, MIDDLEGAME, "go nodes 200");
    assert!(first != plain);
    assert!(first == search(&mut engine, MIDDLEGAME, "go nodes 200"));
    engine.set(&[("RandomSeed", "2")]);
    assert!(first != search(&mut engine, MIDDLEGAME, "go nodes 200"));
    engine.set(&[("RandomSeed", "1")]);
    engine.set(&[("DirichletNoiseAlpha", "100")]);
    assert!(first != search(&mut engine, MIDDLEGAME, "go nodes 200"));
    engine.set(&[("RandomSeed", "0")]);
    assert!(
        search(&mut engine, MIDDLEGAME, "go nodes 200") != search(&mut engine, MIDDLEGAME, "go nodes 200")
    );
    engine.set(&[("DirichletNoiseEpsilon", "0")]);
    assert!(plain == search(&mut engine, MIDDLEGAME, "go nodes 200"));
}

#[test]
fn noise_is_drawn_anew_for_a_tree_that_is_kept() {
    let mut engine = repeatable();
    engine.set(&[("DirichletNoiseEpsilon", "0.9")]);
    engine.best_move(&["position startpos", "go nodes 300"]);
    let policies = |engine: &mut Engine| -> Vec<String> {
        engine.send("go nodes 301");
        let policy = |line: &String| Some(line.split_once("(P: ")?.1.split_once('%')?.0.to_string());
        let mut policies: Vec<_> = engine.read_until("bestmove").iter().filter_map(policy).collect();
        policies.sort();
        policies
    };
    assert!(policies(&mut engine) != policies(&mut engine));
}

#[test]
fn moves_are_drawn_at_a_temperature() {
    let mut engine = repeatable();
    let draws = |engine: &mut Engine, position: &str, go: &str| moves_by_seed(engine, position, go, 12);
    assert_eq!(draws(&mut engine, "startpos", "go nodes 100").len(), 1);
    engine.set(&[("Temperature", "2")]);
    let drawn = draws(&mut engine, "startpos", "go nodes 100");
    assert!(drawn.len() > 3, "{drawn:?}");
    assert_eq!(
        drawn,
        draws(&mut engine, "startpos", "go nodes 100"),
        "the same for the same seeds"
    );
    assert!(
        draws(&mut engine, "startpos", "go nodes 1").len() > 3,
        "by policy"
    );
    let only = draws(&mut engine, "startpos", "go nodes 100 searchmoves a2a3 h2h3");
    assert!(
        only.iter().all(|mv| mv == "a2a3" || mv == "h2h3") && only.len() == 2,
        "{only:?}"
    );
}

#[test]
fn every_option_of_the_temperature_holds_draws_back() {
    let mut engine = repeatable();
    engine.set(&[("Temperature", "2")]);
    let second_move = "startpos moves e2e4 e7e5";
    for (name, value, default) in [
        ("TempDecayMoves", "1", "0"),
        ("TempCutoffMove", "2", "0"),
        ("TempValueCutoff", "0", "100"),
        ("TempVisitOffset", "-9.5", "0"),
    ] {
        let all = moves_by_seed(&mut engine, second_move, "go nodes 100", 12).len();
        engine.set(&[(name, value)]);
        let fewer = moves_by_seed(&mut engine, second_move, "go nodes 100", 12).len();
        assert!(fewer < all, "{name}: {fewer} of {all}");
        engine.set(&[(name, default)]);
    }
    engine.set(&[("TempDecayMoves", "1")]);
    for (name, value) in [("TempDecayDelayMoves", "1"), ("TempEndgame", "2")] {
        assert_eq!(
            moves_by_seed(&mut engine, second_move, "go nodes 100", 12).len(),
            1,
            "{name}"
        );
        engine.set(&[(name, value)]);
        assert!(
            moves_by_seed(&mut engine, second_move, "go nodes 100", 12).len() > 3,
            "{name}"
        );
        engine.set(&[(name, "0")]);
    }
}

#[test]
fn nodes_per_second_can_be_limited() {
    let mut engine = repeatable();
    let nodes = |engine: &mut Engine| {
        let lines = engine.search(&["ucinewgame", "go movetime 700"]);
        let last = lines.iter().rfind(|line| line.starts_with("info depth")).unwrap();
        last.split(' ')
            .skip_while(|word| *word != "nodes")
            .nth(1)
            .unwrap()
            .parse::<u64>()
            .unwrap()
    };
    engine.set(&[("MoveOverheadMs", "0")]);
    engine.set(&[("NodesPerSecondLimit", "300")]);
    let limited = nodes(&mut engine);
    assert!((50..=230).contains(&limited), "{limited}");
    engine.set(&[("NodesPerSecondLimit", "0")]);
    assert!(nodes(&mut engine) > 2 * limited);
}

#[test]
fn short_batches_are_filled_up_if_the_option_says_so() {
    let mut engine = repeatable();
    engine.set(&[("MinibatchSize", "4")]);
    engine.set(&[("NNCacheSize", "10000")]);
    let plain = search(&mut engine, MIDDLEGAME, "go nodes 500");
    engine.set(&[("NNCacheSize", "10001")]);
    engine.set(&[("MaxPrefetch", "32")]);
    assert!(search(&mut engine, MIDDLEGAME, "go nodes 500") != plain);
}
