//! The loaded network with its backend, and its evaluation of a single position.

use std::fmt;
use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use serde::Serialize;

use super::error::EngineError;
use crate::chess::{History, Move};
use crate::files::path_of;
use crate::network::backends::{BackendConfig, BackendName, Fallback};
use crate::network::discover::Discovered;
use crate::network::failover::{Failover, Remedy};
use crate::network::instrumented::{Instrumented, with_notes};
use crate::network::weights::{HeadChoice, NetworkError, NetworkFile, PolicyHeadName, ValueHeadName};
use crate::network::{Backend, BackendError, EvalSlot, Health, backends, discover};
use crate::note::Note;
use crate::options::option_group;
use crate::search::WorkerPool;

option_group! {
    /// The options that choose the network, what evaluates it, and the number of search threads.
    pub struct NetworkOptions {
        /// Network file (.pb.gz, .pb or .onnx). If empty, Zeitnot loads the newest network beside the program
        /// or in networks, weights or models there. If there is none, or with `<built in>`, it uses the
        /// built-in network.
        weights_file: String = String::new(), "WeightsFile", "weights", common;
        /// Backend that evaluates positions. Parameters can follow in parentheses.
        backend: BackendName = BackendName::default(), "Backend", "backend", common;
        /// Parameters of the backend as key=value pairs, separated by commas. `zeitnot options BACKEND` lists
        /// them.
        backend_options: String = String::new(), "BackendOptions", "backend-opts", common;
        /// What to do if the backend is not available: use the CPU, or report ERROR and not play. The backend
        /// auto uses the CPU in any case.
        fallback: Fallback = Fallback::Nothing, "Fallback", "fallback";
        /// Policy head to use, if the network has more than one.
        policy_head: PolicyHeadName = PolicyHeadName::Vanilla, "PolicyHead", "policy-head", hidden;
        /// Value head to use, if the network has more than one.
        value_head: ValueHeadName = ValueHeadName::Winner, "ValueHead", "value-head", hidden;
        /// Lc0's number of the input format of a bare ONNX model (.onnx). 0 is what the model says, or 1.
        input_format: Option<NonZero<usize>> = None, in 0..=133, "InputFormat", "input-format", hidden;
        /// Number of search threads. 0 lets the backend choose: one for each core of the CPU, or one for each
        /// accelerator.
        threads: Option<NonZero<usize>> = None, in 0..=256, "Threads", "threads", common;
    }
}

/// Lc0's value of `WeightsFile` for a search of the file.
const AUTODISCOVER: &str = "<autodiscover>";

impl NetworkOptions {
    fn network_file(&self) -> Option<PathBuf> {
        let file = &self.weights_file;
        (!file.is_empty() && file != AUTODISCOVER).then(|| path_of(file))
    }

    /// The file that is named, `None` if it is to be discovered or is built in.
    pub fn named_file(&self) -> Option<PathBuf> {
        self.network_file().filter(|name| !discover::is_built_in(name))
    }

    fn heads(&self) -> HeadChoice {
        let input_format = self.input_format.map(|format| format.get() as i32);
        HeadChoice {
            policy: self.policy_head,
            value: self.value_head,
            input_format,
        }
    }

    fn config(&self) -> Result<BackendConfig, EngineError> {
        Ok(BackendConfig::parse(&self.backend, &self.backend_options)?.with_fallback(self.fallback))
    }

    /// Whether the CPU may evaluate in the place of a device that fails.
    pub(super) fn may_use_cpu(&self) -> Result<bool, EngineError> {
        let config = self.config()?;
        let is_allowed = self.fallback == Fallback::Cpu || config.name == backends::AUTO;
        Ok(is_allowed && config.needs_network())
    }

    /// Whether both name the same backend and network.
    pub(super) fn names_as(&self, other: &NetworkOptions) -> bool {
        self.backend == other.backend
            && self.backend_options == other.backend_options
            && self.weights_file == other.weights_file
    }

    pub(super) fn has_backend_of(&self, other: &NetworkOptions) -> bool {
        NetworkOptions {
            threads: other.threads,
            ..self.clone()
        } == *other
    }
}

/// Reads the network that the options name, or finds one.
pub fn load_network(options: &NetworkOptions) -> Result<Discovered, NetworkError> {
    discover::load(options.network_file().as_deref(), options.heads())
}

/// A backend and the hash of its network.
#[derive(Clone, Debug)]
pub struct OpenedBackend {
    /// What evaluates.
    pub backend: Arc<dyn Backend>,
    /// In hexadecimal, `None` without a network.
    pub network_sha256: Option<String>,
    file: Option<FileStamp>,
}

/// A network's file as it was when it was read.
#[derive(Clone, Debug, PartialEq)]
struct FileStamp {
    path: PathBuf,
    bytes: u64,
    modified: Option<SystemTime>,
}

impl FileStamp {
    /// `None` where there is no file, as of a network that is built in.
    fn of(path: &Path) -> Option<FileStamp> {
        let metadata = fs::metadata(path).ok()?;
        Some(FileStamp {
            path: path.into(),
            bytes: metadata.len(),
            modified: metadata.modified().ok(),
        })
    }
}

impl OpenedBackend {
    /// Whether another file has taken the place of the network's.
    pub(super) fn is_outdated(&self) -> bool {
        let Some(read) = &self.file else {
            return false;
        };
        FileStamp::of(&read.path).is_some_and(|now| now != *read)
    }

    fn with_network(
        network: NetworkFile,
        create: impl FnOnce(NetworkFile) -> Result<Arc<dyn Backend>, BackendError>,
    ) -> Result<OpenedBackend, EngineError> {
        Ok(OpenedBackend {
            network_sha256: Some(network.sha256.clone()),
            file: FileStamp::of(&network.path),
            backend: create(network)?,
        })
    }

    pub(super) fn of(backend: Arc<dyn Backend>) -> OpenedBackend {
        OpenedBackend {
            backend: Arc::new(Instrumented::new(backend, Vec::new())),
            network_sha256: None,
            file: None,
        }
    }
}

/// Opens the backend that the options name. If it is a device that fails later, it is opened anew, or the CPU
/// takes its place.
pub fn open_backend(options: &NetworkOptions) -> Result<OpenedBackend, EngineError> {
    let opened = open_first(options, None)?;
    if opened.backend.facts().queues == 0 {
        return Ok(opened);
    }
    let remedy = if options.may_use_cpu()? {
        Remedy::Cpu
    } else {
        Remedy::Reopened
    };
    let options = options.clone();
    let known = opened.network_sha256.clone();
    let replace = move || {
        let replacement = match remedy {
            Remedy::Cpu => open_on_cpu(&options, known.as_deref()),
            Remedy::Reopened => open_first(&options, known.as_deref()),
        };
        replacement
            .map(|opened| opened.backend)
            .map_err(|error| error.to_string())
    };
    let backend = Arc::new(Failover::new(opened.backend.clone(), remedy, Box::new(replace)));
    Ok(OpenedBackend { backend, ..opened })
}

/// Without a replacement.
fn open_first(options: &NetworkOptions, known: Option<&str>) -> Result<OpenedBackend, EngineError> {
    let mut config = options.config()?;
    if !config.needs_network() {
        return Ok(OpenedBackend {
            backend: backends::create(&config, None)?,
            network_sha256: None,
            file: None,
        });
    }
    let Discovered { network, passed_over } = load_known(options, known)?;
    config.notes.splice(0..0, passed_over);
    OpenedBackend::with_network(network, |network| backends::create(&config, Some(network)))
}

fn open_on_cpu(options: &NetworkOptions, known: Option<&str>) -> Result<OpenedBackend, EngineError> {
    OpenedBackend::with_network(load_known(options, known)?.network, backends::create_on_cpu)
}

/// The network that the options name, which must have the hash that is `known`.
fn load_known(options: &NetworkOptions, known: Option<&str>) -> Result<Discovered, EngineError> {
    let found = load_network(options)?;
    if known.is_some_and(|known| known != found.network.sha256) {
        let path = found.network.path.display();
        return Err(EngineError::NetworkRefused(format!("{path} has changed")));
    }
    Ok(found)
}

/// In a game a wrong parameter must not cost the network: all are left out, with an error among the notes.
pub(super) fn open_without_wrong_parameters(options: &NetworkOptions) -> Result<OpenedBackend, EngineError> {
    let error = match open_backend(options) {
        Err(EngineError::Backend(BackendError::Params(error))) if !options.backend_options.is_empty() => {
            error
        }
        opened => return opened,
    };
    let plain = NetworkOptions {
        backend_options: String::new(),
        ..options.clone()
    };
    let opened = open_backend(&plain)?;
    let note = format!("BackendOptions: {error}. {} is left out", options.backend_options);
    Ok(OpenedBackend {
        backend: with_notes(opened.backend, vec![Note::Error(note)]),
        ..opened
    })
}

pub(super) struct LoadedNetwork {
    pub(super) options: NetworkOptions,
    pub(super) opened: OpenedBackend,
    /// Workers that were wanted. The system may refuse some.
    threads: usize,
    pub(super) workers: WorkerPool,
}

impl LoadedNetwork {
    /// Whether the same would be loaded.
    pub(super) fn is_of(&self, options: &NetworkOptions, threads: usize) -> bool {
        self.options == *options && self.threads == threads
    }

    /// In the place of a device that has failed or does not answer. Fails if there is nothing.
    pub(super) fn successor(&self) -> Result<Option<OpenedBackend>, EngineError> {
        match self.opened.backend.health() {
            Health::Replaced(backend) => Ok(Some(OpenedBackend {
                backend,
                ..self.opened.clone()
            })),
            Health::Silent(_) if self.options.may_use_cpu()? => {
                let known = self.opened.network_sha256.as_deref();
                Ok(Some(open_on_cpu(&self.options, known)?))
            }
            Health::Lost(reason) => Err(EngineError::Lost(reason)),
            Health::Good | Health::Silent(_) => Ok(None),
        }
    }

    pub(super) fn of(
        options: &NetworkOptions,
        threads: usize,
        opened: OpenedBackend,
    ) -> Result<LoadedNetwork, EngineError> {
        Ok(LoadedNetwork {
            options: options.clone(),
            workers: WorkerPool::new(&*opened.backend, threads)?,
            opened,
            threads,
        })
    }
}

/// What the network says of one position, from the point of view of the side to move.
#[derive(Clone, Debug, Serialize)]
pub struct PositionEvaluation {
    /// Win minus loss, `-1..=1`.
    pub q: f32,
    /// Probability of a win.
    pub w: f32,
    /// Probability of a draw, 0 if the network does not know draws.
    pub d: f32,
    /// Probability of a loss.
    pub l: f32,
    /// Plies to the end of the game, if the network estimates them.
    pub m: Option<f32>,
    /// All legal moves, the likeliest first.
    pub policy: Vec<MovePolicy>,
}

/// What the network says of a move.
#[derive(Clone, Debug, Serialize)]
pub struct MovePolicy {
    /// The move itself.
    #[serde(skip)]
    pub mv: Move,
    /// In UCI's notation.
    #[serde(rename = "move")]
    pub text: String,
    /// Its place among the network's 1858 moves.
    pub index: u16,
    /// What the network gives, before softmax.
    pub logit: f32,
    /// Its probability. Those of all legal moves sum to 1.
    pub p: f32,
}

impl PositionEvaluation {
    /// The evaluation in `slot` of the last position, with `legal` in the slot's order.
    pub fn of(game: &History, legal: &[Move], slot: &EvalSlot, has_moves_left: bool) -> PositionEvaluation {
        let evaluation = slot.evaluation;
        let mut policy: Vec<MovePolicy> = legal
            .iter()
            .zip(&slot.moves)
            .zip(slot.logits.iter().zip(slot.policy()))
            .map(|((&m, &index), (&logit, p))| MovePolicy {
                mv: m,
                text: game.format_move(m),
                index,
                logit,
                p,
            })
            .collect();
        policy.sort_by(|a, b| b.p.total_cmp(&a.p));
        let [w, d, l] = evaluation.wdl();
        PositionEvaluation {
            q: evaluation.wl,
            w,
            d,
            l,
            m: has_moves_left.then_some(evaluation.m),
            policy,
        }
    }

    /// The same with the `count` likeliest moves.
    #[must_use]
    pub fn with_best_moves(mut self, count: usize) -> PositionEvaluation {
        self.policy.truncate(count);
        self
    }
}

impl fmt::Display for PositionEvaluation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "q {:+.4}  w {:.4}  d {:.4}  l {:.4}",
            self.q, self.w, self.d, self.l
        )?;
        match self.m {
            Some(plies) => writeln!(f, "  m {plies:.1} plies")?,
            None => writeln!(f)?,
        }
        writeln!(f, "  move   index     logit         p")?;
        for m in &self.policy {
            writeln!(
                f,
                "  {:<6} {:>5} {:>9.4} {:>7.2} %",
                m.text,
                m.index,
                m.logit,
                100.0 * m.p
            )?;
        }
        Ok(())
    }
}
