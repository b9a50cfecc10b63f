//! Holds what `bench` reports: figures per position and in all, as JSON and as text.

use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::network::BackendInfo;
use crate::search::{CounterValues, SearchSummary};

/// Figures of one position or of all.
#[derive(Clone, Debug, Default, Serialize)]
pub(in crate::tools) struct BenchFigures {
    /// Visits made.
    pub(in crate::tools) nodes: u64,
    /// Visits per second.
    pub(in crate::tools) nps: u64,
    pub(in crate::tools) time_ms: f64,
    /// Visits that the network evaluated.
    pub(in crate::tools) evaluations: u64,
    /// Visits whose evaluation was in the cache.
    pub(in crate::tools) cache_hits: u64,
    /// Visits that ended where the result is certain: in finished games, proven nodes and endgame tables.
    pub(in crate::tools) terminals: u64,
    /// Visits given up at a leaf under evaluation; they are no nodes.
    pub(in crate::tools) collisions: u64,
    /// Evaluations per batch.
    pub(in crate::tools) mean_batch: f64,
    /// Memory of the tree at the end, per visited node.
    pub(in crate::tools) bytes_per_node: f64,
    /// Time that search threads waited for a device that had as many batches as are of use.
    pub(in crate::tools) waited_for_device_ms: f64,
    /// Time that they waited for it because nothing more could be begun in the tree.
    pub(in crate::tools) waited_for_tree_ms: f64,
    #[serde(skip)]
    virtual_busy_ms: f64,
    #[serde(skip)]
    batches: u64,
    #[serde(skip)]
    tree_bytes: u64,
}

impl BenchFigures {
    pub(super) fn of(summary: &SearchSummary) -> BenchFigures {
        let mut figures = BenchFigures::default();
        figures.add(summary);
        figures
    }

    pub(in crate::tools) fn add(&mut self, summary: &SearchSummary) {
        self.nodes += summary.new_nodes;
        self.time_ms += summary.time.as_secs_f64() * 1000.0;
        self.evaluations += summary.counts.evaluations;
        self.cache_hits += summary.counts.cache_hits;
        self.terminals += summary.counts.terminals;
        self.collisions += summary.counts.collisions;
        self.batches += summary.counts.batches;
        self.tree_bytes += summary.tree_bytes;
        let ms = |time: Duration| time.as_secs_f64() * 1000.0;
        self.waited_for_device_ms += ms(summary.counts.waited_for_device);
        self.waited_for_tree_ms += ms(summary.counts.waited_for_tree);
        self.virtual_busy_ms += ms(summary.counts.virtual_busy);
        self.nps = (self.nodes as f64 / (self.time_ms / 1000.0).max(1e-9)) as u64;
        self.mean_batch = self.evaluations as f64 / self.batches.max(1) as f64;
        self.bytes_per_node = self.tree_bytes as f64 / self.nodes.max(1) as f64;
    }

    /// Returns in words what `threads` search threads waited for; `None` if they had no device to wait for.
    pub(in crate::tools) fn waits(&self, threads: usize) -> Option<String> {
        let [time, waited_for_device, waited_for_tree] =
            [self.time_ms, self.waited_for_device_ms, self.waited_for_tree_ms]
                .map(|ms| Duration::from_secs_f64(ms / 1000.0));
        CounterValues { waited_for_device, waited_for_tree, ..CounterValues::default() }.waits(time, threads)
    }

    /// Returns the share of the time for which the device computed, where time is virtual; `None` where it is real.
    pub(in crate::tools) fn virtual_busy(&self, backend: &BackendInfo) -> Option<f64> {
        backend.virtual_pace.map(|_| self.virtual_busy_ms / self.time_ms.max(1e-9))
    }
}

/// One position's row.
#[derive(Clone, Debug, Serialize)]
pub(in crate::tools) struct BenchRow {
    pub(in crate::tools) position: String,
    pub(in crate::tools) best_move: String,
    #[serde(flatten)]
    pub(in crate::tools) figures: BenchFigures,
    /// The root's visited moves, most visited first.
    pub(in crate::tools) visits: Vec<MoveVisits>,
}

/// A root move and its visits.
#[derive(Clone, Debug, Serialize)]
pub(in crate::tools) struct MoveVisits {
    pub(super) r#move: String,
    pub(super) visits: u32,
}

impl fmt::Display for BenchRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let BenchFigures {
            nodes,
            nps,
            time_ms,
            evaluations,
            cache_hits,
            terminals,
            collisions,
            mean_batch,
            ..
        } = self.figures;
        writeln!(
            f,
            "{:6} {nodes:>9} {nps:>9} {time_ms:>8.0} {evaluations:>9} {cache_hits:>9} {terminals:>9} \
             {collisions:>9} {mean_batch:>7.1}  {}",
            self.best_move, self.position
        )
    }
}

/// The heads of the columns of [`BenchRow`].
pub(in crate::tools) const HEAD: &str =
    "move       nodes       nps  time ms    evals     cached terminals  collided   batch  position\n";

/// The whole report.
#[derive(Clone, Debug, Serialize)]
pub(super) struct BenchReport {
    #[serde(flatten)]
    pub(super) figures: BenchFigures,
    /// The number that tells one search from another on any machine, if it was computed.
    pub(super) bench: Option<u64>,
    /// CPU time of all threads while searching, seconds; not known on every system.
    pub(super) cpu_s: Option<f64>,
    /// Share of the time in which the device computed; not known for every backend.
    pub(super) device_busy: Option<f64>,
    pub(super) version: &'static str,
    pub(super) backend: String,
    pub(super) description: String,
    pub(super) threads: usize,
    /// A hash over the root visits of all positions, where the search is reproducible.
    pub(super) signature: Option<String>,
    pub(super) positions: Vec<BenchRow>,
}

impl fmt::Display for BenchReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figures = &self.figures;
        writeln!(f)?;
        writeln!(f, "backend           {}: {}", self.backend, self.description)?;
        writeln!(f, "threads           {}", self.threads)?;
        writeln!(f, "evaluations       {} in batches of {:.1}", figures.evaluations, figures.mean_batch)?;
        writeln!(f, "cache hits        {}", figures.cache_hits)?;
        writeln!(f, "terminals         {}", figures.terminals)?;
        writeln!(f, "collisions        {}", figures.collisions)?;
        writeln!(f, "bytes per node    {:.1}", figures.bytes_per_node)?;
        if let Some(cpu) = self.cpu_s {
            let per_cpu_second = figures.nodes as f64 / cpu.max(1e-9);
            writeln!(f, "CPU time          {cpu:.2} s, {per_cpu_second:.0} nodes per CPU second")?;
        }
        if let Some(busy) = self.device_busy {
            write!(f, "device busy       {:.1} %", busy * 100.0)?;
            if let Some(waits) = figures.waits(self.threads) {
                write!(f, "; {waits}")?;
            }
            writeln!(f)?;
        }
        if let Some(signature) = &self.signature {
            writeln!(f, "signature         {signature}")?;
        }
        if let Some(number) = self.bench {
            writeln!(f, "speed             {} nodes in {:.0} ms", figures.nodes, figures.time_ms)?;
            writeln!(
                f,
                "bench number      {number}: nodes to a fixed depth with plain kernels, the same on every machine"
            )?;
        }
        // OpenBench reads this line.
        writeln!(f, "{} nodes {} nps", self.bench.unwrap_or(figures.nodes), figures.nps)
    }
}

/// The signature of a search: FNV-1a over every root move with its visits.
pub(super) struct Signature(u64);

impl Signature {
    pub(super) fn new() -> Signature {
        Signature(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn add(&mut self, summary: &SearchSummary) {
        for (mv, visits) in &summary.root_visits {
            for byte in mv.to_bits().to_le_bytes().into_iter().chain(visits.to_le_bytes()) {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
            }
        }
    }

    pub(super) fn text(&self) -> String {
        format!("{:016x}", self.0)
    }
}
