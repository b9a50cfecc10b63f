//! The native backend: evaluates residual towers on the CPU, with nothing but this crate.
//!
//! [`Native::new`] packs a [`Network`]'s weights for the best kernels of the machine; the registry in
//! [`super`] calls it. `model` is the whole evaluation, in the order of the data `tower` (with `first_layer`), then
//! the heads `value`, `policy` and `attention`; all are made of the layers in `linear`, and those of the operations
//! in `kernels`, the only place with `unsafe` code. Weights are immutable and shared; each evaluator has its scratch.

mod attention;
mod buffer;
mod first_layer;
mod kernels;
mod linear;
mod model;
mod policy;
mod tower;
mod value;

use std::sync::Arc;

use self::kernels::Kernels;
use self::model::{Model, Scratch};
use crate::network::weights::Network;
use crate::network::{Backend, BackendError, BackendInfo, EvalSlot, Evaluator, POLICY_SIZE};
use crate::params::{ParamError, Params};

/// The name as in `--backend`.
pub const NAME: &str = "native";
/// Batches are cut into small groups anyway; more than this only costs the caller memory.
const MAX_BATCH: usize = 1024;
/// The value of options that leave the choice to us.
const AUTO: &str = "auto";

/// A residual tower, ready on this CPU.
#[derive(Debug)]
pub struct Native {
    info: BackendInfo,
    model: Arc<Model>,
}

impl Native {
    /// Packs `network`, which people know as `name`, for this CPU.
    ///
    /// | option | values | meaning |
    /// |---|---|---|
    /// | `kernel` | `auto`, `portable`, `avx2`, `avx512`, `neon` | the instruction set; `auto` takes the fastest |
    ///
    /// # Errors
    /// [`BackendError::Params`] for unknown options and for kernels that this CPU cannot run;
    /// [`BackendError::Model`] for networks that are no residual tower.
    pub fn new(network: &Network, name: &str, options: &Params) -> Result<Native, BackendError> {
        options.allow_only(NAME, &["kernel"], &[])?;
        let kernels = choose_kernels(options.get("kernel").unwrap_or(AUTO))?;
        let Some(model) = Model::new(kernels, network) else {
            let reason =
                "it has an attention body, this backend evaluates residual towers; use --backend=onnxruntime";
            return Err(BackendError::Model { backend: NAME.into(), reason: reason.into() });
        };
        let info = BackendInfo {
            name: NAME.into(),
            description: format!("{name}, {}, {} kernels, fp32", model.description(), model.kernels().name()),
            input_format: network.input_format,
            has_wdl: network.has_wdl(),
            has_moves_left: network.moves_left.is_some(),
            max_batch: MAX_BATCH,
            preferred_batch: model.group(),
        };
        Ok(Native { info, model: Arc::new(model) })
    }
}

/// The names of the kernels that this CPU can run, the fastest first.
pub fn available_kernels() -> Vec<&'static str> {
    kernels::available().iter().map(|kernels| kernels.name()).collect()
}

fn choose_kernels(name: &str) -> Result<Box<dyn Kernels>, ParamError> {
    let found = kernels::available().into_iter().find(|kernels| name == AUTO || name == kernels.name());
    found.ok_or_else(|| ParamError::Value {
        key: "kernel".into(),
        value: name.into(),
        expected: format!("one of auto, or what this CPU has: {}", available_kernels().join(", ")),
    })
}

impl Backend for Native {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(NativeEvaluator { model: Arc::clone(&self.model), scratch: self.model.scratch() }))
    }
}

/// Evaluates on the thread that calls.
#[derive(Debug)]
struct NativeEvaluator {
    model: Arc<Model>,
    scratch: Scratch,
}

impl Evaluator for NativeEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let indices = batch.iter().flat_map(|slot| &slot.moves);
        if let Some(index) = indices.copied().find(|&index| usize::from(index) >= POLICY_SIZE) {
            let reason = format!("policy index {index} does not exist, there are {POLICY_SIZE}");
            return Err(BackendError::Evaluation { backend: NAME.into(), reason });
        }
        self.model.evaluate(batch, &mut self.scratch);
        Ok(())
    }
}
