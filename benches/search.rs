//! Measures the speed of the search on the synthetic backends, whose evaluations cost next to nothing, as tables: over the size of
//! the tree, over threads, and against a simulated accelerator.
//!
//! `cargo bench --bench search` takes minutes. A number as argument is the largest tree of the first table, in nodes
//! (10,000,000 by default, of 130 to 145 bytes each). All trees are of one middlegame position with 48 moves, and no evaluation is
//! cached. The table over threads shows medians of runs that take turns, so that other work of the machine does less harm;
//! the other tables show single runs.

use std::num::NonZero;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use zeitnot_engine::engine::{Engine, Settings};
use zeitnot_engine::search::Figures;
use zeitnot_engine::time::Limit;

const POSITION: &str = "fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1";
/// The tree size at which the first table begins, nodes.
const FIRST_SIZE: u64 = 100_000;
const MAX_SIZE: u64 = 10_000_000;
/// The number of searches per row of the table over threads.
const REPEATS: usize = 5;
const NODES_PER_REPEAT: u64 = 1_000_000;
/// The trees in which the device's work is measured, nodes: up to the first size, and then the second one more.
const SMALL_TREE: u64 = 250_000;
const LARGE_TREE: u64 = 1_000_000;
/// A backend that makes 125,000 evaluations a second.
const ACCELERATOR: &str = "simulated(latency-us=2000,per-position-ns=8000,max-batch=256)";

fn main() {
    let max_size = std::env::args()
        .find_map(|arg| arg.parse().ok())
        .unwrap_or(MAX_SIZE);
    for backend in ["random", "trivial"] {
        over_tree_size(backend, max_size);
    }
    for backend in ["random", "trivial"] {
        over_threads(backend);
    }
    against_an_accelerator();
}

/// Prints the speed of one tree that grows by doubling, for each new part.
fn over_tree_size(backend: &str, max_size: u64) {
    println!("\n`{backend}`, one thread\n");
    println!("| nodes in the tree | nodes per CPU second since the last row | bytes per node |");
    println!("|---|---|---|");
    let mut engine = engine(backend, 1);
    let mut size = FIRST_SIZE.min(max_size);
    loop {
        let run = search(&mut engine, size);
        println!(
            "| {size} | {:.0} | {:.1} |",
            run.summary.stats.new_nodes.as_f64() / run.cpu.as_secs_f64(),
            run.summary.tree_bytes as f64 / run.summary.stats.nodes.as_f64()
        );
        if size == max_size {
            return;
        }
        size = (size * 2).min(max_size);
    }
}

/// Prints the speed of the same search on one thread and on more.
fn over_threads(backend: &str) {
    println!("\n`{backend}`, {NODES_PER_REPEAT} nodes, median of {REPEATS}\n");
    println!("| threads | nodes per second | against one thread | nodes per CPU second |");
    println!("|---|---|---|---|");
    let cores = zeitnot_engine::network::cores();
    let counts: Vec<_> = (0..)
        .map(|power| 1 << power)
        .take_while(|&threads| threads <= cores)
        .collect();
    let mut engines: Vec<_> = counts.iter().map(|&threads| engine(backend, threads)).collect();
    let mut speeds = vec![(Vec::new(), Vec::new()); counts.len()];
    for _ in 0..REPEATS {
        for (engine, (wall, cpu)) in engines.iter_mut().zip(&mut speeds) {
            engine.new_game();
            let run = search(engine, NODES_PER_REPEAT);
            wall.push(run.summary.stats.new_nodes.as_f64() / run.summary.stats.elapsed.as_secs());
            cpu.push(run.summary.stats.new_nodes.as_f64() / run.cpu.as_secs_f64());
        }
    }
    let medians: Vec<_> = speeds
        .into_iter()
        .map(|(wall, cpu)| (median(wall), median(cpu)))
        .collect();
    for (threads, (wall, cpu)) in counts.iter().zip(&medians) {
        println!(
            "| {threads} | {wall:.0} | {:.2} | {cpu:.0} |",
            wall / medians[0].0
        );
    }
    if cores > 1 {
        println!(
            "\nA cache line goes to another core and back in {:.0} ns.",
            round_trip().as_nanos()
        );
    }
}

/// Returns how long a cache line takes to another thread and back: about 60 ns between cores that share a cache, several times as
/// long between others, on which threads that search one tree wait for each other's lines.
fn round_trip() -> Duration {
    const TRIPS: u32 = 200_000;
    let turn = AtomicU32::new(0);
    let wait_for = |value| {
        while turn.load(Ordering::Acquire) != value {
            std::hint::spin_loop();
        }
    };
    let began = Instant::now();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for trip in 0..TRIPS {
                wait_for(2 * trip + 1);
                turn.store(2 * trip + 2, Ordering::Release);
            }
        });
        for trip in 0..TRIPS {
            turn.store(2 * trip + 1, Ordering::Release);
            wait_for(2 * trip + 2);
        }
    });
    began.elapsed() / TRIPS
}

/// Prints how busy a device is that evaluates as fast as two cores can search: while the tree is small, and then.
fn against_an_accelerator() {
    println!("\n`{ACCELERATOR}`, batch size measured\n");
    println!(
        "| threads | device busy up to {SMALL_TREE} nodes | in the next {LARGE_TREE} | nodes per second then |"
    );
    println!("|---|---|---|---|");
    for threads in [1, 2, 3, 4, 0] {
        let mut engine = engine(ACCELERATOR, threads);
        // The batch size is found here.
        search(&mut engine, SMALL_TREE + LARGE_TREE);
        engine.new_game();
        let (small, _) = busy_share(&mut engine, SMALL_TREE);
        let (large, nps) = busy_share(&mut engine, SMALL_TREE + LARGE_TREE);
        let threads = if threads == 0 {
            format!("default ({})", engine.threads())
        } else {
            threads.to_string()
        };
        println!(
            "| {threads} | {:.1} % | {:.1} % | {nps:.0} |",
            100.0 * small,
            100.0 * large
        );
    }
}

/// Searches until the tree has `nodes`. Returns the share of that time for which the device was busy, and the nodes per second.
fn busy_share(engine: &mut Engine, nodes: u64) -> (f64, f64) {
    let (began, busy) = (Instant::now(), engine.busy_time());
    let run = search(engine, nodes);
    let busy = busy
        .zip(engine.busy_time())
        .map(|(before, after)| after - before)
        .unwrap_or_default();
    let seconds = began.elapsed().as_secs_f64();
    (
        busy.as_secs_f64() / seconds,
        run.summary.stats.new_nodes.as_f64() / seconds,
    )
}

fn engine(backend: &str, threads: usize) -> Engine {
    let mut settings = Settings::default();
    settings.network.backend = backend.into();
    settings.network.threads = NonZero::new(threads);
    settings.memory.nn_cache_size = 0;
    settings.stoppers.smart_pruning_factor = 0.0;
    let mut engine = Engine::new(settings).expect("the settings are valid");
    engine.prepare().expect("synthetic backends are always to be had");
    engine
}

struct MeasuredSearch {
    summary: Figures,
    cpu: Duration,
}

/// Searches until the tree has `nodes`; goes on from the last search unless a new game was begun.
fn search(engine: &mut Engine, nodes: u64) -> MeasuredSearch {
    engine.set_position(POSITION).expect("the position is legal");
    let cpu = cpu_time();
    let limit = Limit::nodes(nodes);
    let (_, found) = engine.search(limit).expect("the position has moves");
    MeasuredSearch {
        summary: found.figures,
        cpu: cpu_time() - cpu,
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Returns the CPU time of the process so far; wall time where the system does not measure it.
fn cpu_time() -> Duration {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        let time = clock_gettime(ClockId::ProcessCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    {
        static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        START.elapsed()
    }
}
