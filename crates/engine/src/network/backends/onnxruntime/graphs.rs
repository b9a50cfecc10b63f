//! Batches that a GPU of NVIDIA's runs as one launch: CUDA graphs.
//!
//! ONNX Runtime captures what a session launches for a batch, and then launches it as a whole. Such a graph
//! is known to the thread that captured it, and belongs to one size and to the memory that it reads and
//! writes. So each evaluator has sessions and a thread of its own, and memory for each size. That is memory
//! of the host, which the GPU reaches itself.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use ort::memory::Allocator;
use ort::session::Session;
use parking_lot::RwLock;

use super::provider::NAME;
use super::runners::{Runner, read};
use super::tensors::RunError;
use crate::network::eval_slot::EvalSlot;
use crate::network::onnx::OnnxModel;

/// Held to write while a graph is captured, when no other thread may call certain functions of CUDA, and to
/// read while anything else is done on a GPU of NVIDIA's.
pub(super) static CAPTURING: RwLock<()> = RwLock::new(());

/// A batch that is filled in, with the number of its session and its positions.
type Work = (Runner, usize, usize);

pub(super) struct Graphs {
    model: Arc<OnnxModel>,
    /// By size. They hold the sessions too, and are given up before the thread ends.
    runners: HashMap<usize, Runner>,
    /// `None` when the thread is to end.
    work: Option<SyncSender<Work>>,
    done: Receiver<(Runner, Result<(), RunError>)>,
    thread: Option<JoinHandle<()>>,
}

impl Graphs {
    /// `sizes` are those of batches, each with what makes memory for its tensors.
    pub(super) fn new(
        model: &Arc<OnnxModel>,
        mut sessions: Vec<Session>,
        sizes: Vec<(usize, Allocator)>,
    ) -> ort::Result<Graphs> {
        let runner = |(size, pinned)| Ok((size, Runner::of_graph(pinned, size)?));
        let runners = sizes.into_iter().map(runner).collect::<ort::Result<_>>()?;
        let (work, batches) = sync_channel::<Work>(1);
        let (results, done) = sync_channel(1);
        let of_thread = Arc::clone(model);
        let run = move || {
            for (mut runner, session, positions) in batches {
                let result = runner
                    .run(&mut sessions[session], &of_thread, positions)
                    .map(drop);
                if results.send((runner, result)).is_err() {
                    break;
                }
            }
        };
        let thread = Builder::new()
            .name("graphs".into())
            .spawn(run)
            .map_err(ort::Error::wrap)?;
        Ok(Graphs {
            model: Arc::clone(model),
            runners,
            work: Some(work),
            done,
            thread: Some(thread),
        })
    }

    /// Runs a batch, filled up, as the pool's sizes place it.
    pub(super) fn run(
        &mut self,
        batch: &mut [EvalSlot],
        (session, positions): (usize, usize),
    ) -> Result<(), RunError> {
        let gone = || {
            RunError::Library(ort::Error::new(format!(
                "{NAME}: the thread of its graphs has ended"
            )))
        };
        let mut runner = self.runners.remove(&positions).ok_or_else(gone)?;
        runner.input(&self.model, batch, positions)?;
        let work = self.work.as_ref().ok_or_else(gone)?;
        work.send((runner, session, positions)).map_err(|_| gone())?;
        let (mut runner, result) = self.done.recv().map_err(|_| gone())?;
        let result = result.and_then(|()| read(&self.model, &runner.outputs()?, batch, positions));
        self.runners.insert(positions, runner);
        result
    }
}

impl Drop for Graphs {
    fn drop(&mut self) {
        self.runners.clear();
        self.work = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
