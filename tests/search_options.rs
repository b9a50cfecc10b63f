//! Every option of the search does something: a search with another value than the default goes another way.

#[path = "common/engine.rs"]
mod engine;

use engine::Engine;

const MIDDLEGAME: &str = "fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
const ENDGAME: &str = "fen 7k/8/8/8/8/8/P7/K7 w - - 0 1";
const MATE_IN_TWO: &str = "fen k7/3R4/2K5/8/8/8/8/8 w - - 0 1";

/// An engine that makes the same search each time.
fn repeatable() -> Engine {
    let mut engine = Engine::start(&[
        "--backend=random",
        "--threads=1",
        "--minibatch-size=1",
        "--nncache=0",
        "--verbose-move-stats=true",
    ]);
    engine.ask(&["isready"], "readyok");
    engine
}

fn set(engine: &mut Engine, name: &str, value: &str) {
    engine.send(&format!("setoption name {name} value {value}"));
}

/// What a search of a fresh tree finds, without times and speeds.
fn search(engine: &mut Engine, position: &str, go: &str) -> Vec<String> {
    engine.send("ucinewgame");
    engine.send(&format!("position {position}"));
    engine.send(go);
    let lines = engine.read_until("bestmove");
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
            ("TwoFoldDraws", "false", "true", ENDGAME),
        ],
    );
}

#[test]
fn every_option_of_the_moves_left_utility_changes_the_search() {
    let mut engine = repeatable();
    set(&mut engine, "MovesLeftThreshold", "0");
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

/// Each option with this value makes another search of this position than with its default.
fn changes_the_search(engine: &mut Engine, options: &[(&str, &str, &str, &str)]) {
    for &(name, value, default, position) in options {
        let plain = search(engine, position, "go nodes 800");
        set(engine, name, value);
        assert!(search(engine, position, "go nodes 800") != plain, "{name}");
        set(engine, name, default);
        assert!(search(engine, position, "go nodes 800") == plain, "{name} taken back");
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
        set(&mut engine, own, "7");
        assert!(search(&mut engine, MIDDLEGAME, "go nodes 800") == plain, "{own} without {switch}");
        set(&mut engine, switch, on);
        assert!(search(&mut engine, MIDDLEGAME, "go nodes 800") != plain, "{own}");
        set(&mut engine, switch, off);
    }
}

#[test]
fn a_policy_out_of_the_cache_is_of_the_present_temperature() {
    let mut engine = repeatable();
    set(&mut engine, "NNCacheSize", "10000");
    let plain = search(&mut engine, MIDDLEGAME, "go nodes 200");
    set(&mut engine, "PolicyTemperature", "5");
    let flat = search(&mut engine, MIDDLEGAME, "go nodes 200");
    set(&mut engine, "NNCacheSize", "0");
    assert!(flat != plain && flat.last() == search(&mut engine, MIDDLEGAME, "go nodes 200").last());
    let policy = |lines: &[String]| {
        let of = |line: &String| {
            Some(line.split_once("(P: ")?.1.split_once('%')?.0.trim().parse::<f32>().unwrap())
        };
        lines.iter().filter(|line| !line.contains(" node ")).filter_map(of).fold(0.0, f32::max)
    };
    assert!(policy(&flat) < 0.6 * policy(&plain), "{} {}", policy(&flat), policy(&plain));
}
