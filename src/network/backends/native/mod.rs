//! The native backend: evaluates networks on the CPU, with nothing but this crate.
//!
//! [`Native::new`] packs a [`Network`]'s weights for the best kernels of the machine; the registry in [`super`] calls
//! it. `model` is the whole evaluation, in the order of the data: a residual `tower` (with `first_layer`) or the `body`
//! of an attention network (made of `encoder`s), then the heads `value`, `policy` and `attention`. All are made of the
//! layers in `linear`, `layer` and `convolution`, and those of the operations in `kernels`, the only place with
//! `unsafe` code. Weights are immutable and shared; each evaluator has its scratch.

mod attention;
mod body;
mod buffer;
mod convolution;
mod encoder;
mod first_layer;
mod kernels;
mod layer;
mod linear;
mod model;
mod norm;
mod policy;
mod smolgen;
mod tower;
mod value;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use self::kernels::{Kernels, Tiles};
use self::model::{Model, Scratch};
use crate::network::weights::{Body, Network, PolicyHead};
use crate::network::{
    Backend, BackendError, BackendInfo, EvalSlot, Evaluator, POLICY_SIZE, Processor, cores,
};
use crate::options::{OptionChoice, OptionGroup, option_choice, option_group};
use crate::params::{ParamError, Params};

/// The name as in `--backend`.
pub const NAME: &str = "native";
/// Batches are cut into small groups anyway; more than this only costs the caller memory.
const MAX_BATCH: usize = 1024;
/// The batch size for the search, unless the caches suggest smaller groups. Shipped networks and maia-1900 are then within 3 % of
/// their fastest size on all kernels (`cargo bench --bench native`). 96×8 was 5 to 9 % slower, and small attention bodies in bf16 6 %.
const PREFERRED_BATCH: usize = 6;
/// The value of options that leave the choice to us.
const AUTO: &str = "auto";

/// A network, ready on this CPU.
#[derive(Debug)]
pub struct Native {
    info: BackendInfo,
    model: Arc<Model>,
}

option_choice! {
    /// The precision that a user asks for.
    pub enum WantedPrecision {
        /// bf16 where that is faster: with AMX, for attention bodies also with AVX512-BF16.
        Auto = "auto",
        /// Single precision.
        Fp32 = "fp32",
        /// bfloat16.
        Bf16 = "bf16",
    }
}

option_group! {
    /// The parameters of `native`.
    pub struct NativeParams {
        /// Instruction set: `portable`, `avx2`, `avx512`, `amx` or `neon`; `auto` takes the fastest that this CPU has.
        kernel: String = AUTO.into(), "kernel";
        /// The precision of a tower's 3×3 convolutions, and of dense layers in attention.
        precision: WantedPrecision = WantedPrecision::Auto, "precision";
    }
}

impl Native {
    /// Packs `network`, called `name` in messages, for this CPU. `options` are [`NativeParams`].
    ///
    /// # Errors
    /// Returns [`BackendError::Params`] for options that are unknown or that this CPU cannot follow;
    /// [`BackendError::Model`] for attention bodies with a policy of convolutions, which Lc0 has never had.
    pub fn new(network: &Network, name: &str, options: &Params) -> Result<Native, BackendError> {
        let (kernels, tiles) = choose_arithmetic(options, &network.body)?;
        Native::with_arithmetic(network, name, kernels, tiles.as_ref())
    }

    /// Packs `network` for the arithmetic that was chosen.
    fn with_arithmetic(
        network: &Network,
        name: &str,
        kernels: Box<dyn Kernels>,
        tiles: Option<&Arc<dyn Tiles>>,
    ) -> Result<Native, BackendError> {
        let Some(model) = Model::new(kernels, tiles, network) else {
            let reason =
                "it has an attention body whose policy head is not attention; use --backend=onnxruntime";
            return Err(BackendError::Model { backend: NAME.into(), reason: reason.into() });
        };
        let arithmetic = tiles.map_or("fp32".into(), |tiles| format!("bf16 on {}", tiles.name()));
        let info = BackendInfo {
            name: NAME.into(),
            description: format!(
                "{name}, {}, {} kernels, {arithmetic}",
                model.description(),
                model.kernels().name()
            ),
            input_format: network.input_format,
            has_wdl: network.has_wdl(),
            has_moves_left: network.moves_left.is_some(),
            max_batch: MAX_BATCH,
            preferred_batch: PREFERRED_BATCH.min(model.group()),
            processor: Processor::Cpu,
            preferred_threads: cores(),
            queues: 0,
            virtual_pace: None,
        };
        Ok(Native { info, model: Arc::new(model) })
    }

    /// Returns the multiply-adds of the matrix products of an evaluation, for benchmarks. Other work (transforms, the
    /// sparse first layer, single outputs of policy heads) is not counted.
    pub fn multiply_adds(&self) -> usize {
        self.model.multiply_adds()
    }
}

/// Says whether the backend evaluates networks of this kind: all but attention bodies with a policy of convolutions.
pub fn evaluates(network: &Network) -> bool {
    matches!(network.body, Body::Tower(_)) || matches!(network.policy, PolicyHead::Attention(_))
}

/// Returns the names of the fp32 kernels that this CPU can run, the fastest first.
pub fn available_kernels() -> Vec<&'static str> {
    kernels::available().iter().map(|kernels| kernels.name()).collect()
}

/// Runs a short loop of multiply-adds with the kernel called `name`, for benchmarks. Returns their number; `None` if
/// this CPU has no such kernel.
pub fn spin(name: &str) -> Option<usize> {
    let kernels = kernels::available().into_iter().find(|kernels| kernels.name() == name)?;
    let (multiply_adds, sum) = kernels.spin();
    std::hint::black_box(sum);
    Some(multiply_adds)
}

/// Kernels, and tiles if 3×3 convolutions shall be in bf16.
type Arithmetic = (Box<dyn Kernels>, Option<Arc<dyn Tiles>>);

fn choose_arithmetic(options: &Params, body: &Body) -> Result<Arithmetic, ParamError> {
    let NativeParams { kernel, precision } = NativeParams::default().read(NAME, options, &[])?;
    let (kernel, precision) = (kernel.as_str(), OptionChoice::name(precision));
    let fault = |key: &str, value: &str, expected: String| {
        Err(ParamError::Value { key: key.into(), value: value.into(), expected })
    };
    if kernel == "amx" && precision == "fp32" {
        return fault("kernel", kernel, "another kernel, AMX has no fp32".into());
    }
    let is_dense = matches!(body, Body::Attention(_));
    let tiles = kernels::tiles().into_iter().find(|tiles| match precision {
        "fp32" => false,
        "bf16" => [AUTO, tiles.name()].contains(&kernel),
        _ => (is_dense || tiles.outruns_winograd()) && [AUTO, tiles.name()].contains(&kernel),
    });
    if precision == "bf16" && tiles.is_none() {
        let expected =
            "fp32 or auto; bf16 needs a CPU with AMX or AVX512-BF16, and kernel=auto, amx or avx512";
        return fault("precision", precision, expected.into());
    }
    // What tiles do not compute is fp32 even there.
    let wanted = if tiles.is_some() { AUTO } else { kernel };
    match kernels::available().into_iter().find(|kernels| wanted == AUTO || wanted == kernels.name()) {
        Some(kernels) => Ok((kernels, tiles)),
        None => {
            let available = available_kernels().join(", ");
            fault("kernel", kernel, format!("one of auto, or what this CPU has: {available}"))
        }
    }
}

impl Backend for Native {
    fn info(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(NativeEvaluator { model: Arc::clone(&self.model), scratch: self.model.scratch() }))
    }
}

/// Evaluates on the calling thread.
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
