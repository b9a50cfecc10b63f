//! The native backend: evaluates networks on the CPU, with nothing but this crate.
//!
//! [`Native::new`] packs a [`Network`]'s weights for the machine's best kernels. `Model` evaluates in the
//! order of the data: a residual `tower` or the `body` of an attention network (made of `encoder`s), then the
//! `heads`. All are made of `layers` and `convolution`s, and those of operations of `zeitnot-kernels`.
//! Weights are shared, each evaluator has its own scratch.

mod body;
mod convolution;
mod encoder;
mod heads;
mod layers;
mod tower;

#[cfg(test)]
mod tests;

use std::env;
use std::fmt;
use std::sync::Arc;

use self::body::AttentionBody;
use self::heads::{Features, Head, HeadScratch, Order, Policy, PolicyScratch};
use self::layers::{Arithmetic, Precision, Rows, boards_to_rows, buffer_bytes};
use self::tower::{Tower, TowerScratch};
use crate::network::backend::{Backend, Evaluator, Made};
use crate::network::backend_error::BackendError;
use crate::network::backend_info::BackendInfo;
use crate::network::eval_slot::EvalSlot;
use crate::network::layers::{Body as PlainBody, Network, PolicyHead, SQUARES};
use crate::network::policy_map::POLICY_SIZE;
use crate::network::value::Value;
use crate::network::weights::{self, NetworkFile};
use crate::options::{OptionChoice, OptionGroup, option_choice, option_group};
use crate::params::{ParamError, Params};
use zeitnot_kernels::{Kernels, Tiles};

pub const NAME: &str = "native";
/// Batches are cut into small groups anyway.
const MAX_BATCH: usize = 1024;
/// The search's batch size, unless the caches suggest smaller groups. It is within 3 % of the
/// fastest (`cargo bench --bench native`).
const PREFERRED_BATCH: usize = 6;
/// Other defaults for [`NativeParams`], so that tests run as on other machines.
const DEFAULTS_VARIABLE: &str = "ZEITNOT_NATIVE_DEFAULTS";

pub struct Native {
    info: BackendInfo,
    model: Arc<Model>,
}

impl fmt::Debug for Native {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Native")
            .field("info", &self.info)
            .finish_non_exhaustive()
    }
}

option_choice! {
    pub enum WantedPrecision {
        /// bf16 where it is faster: with AMX, and for attention bodies also with AVX512-BF16 on CPUs where a
        /// short measurement says so.
        Auto = "auto",
        /// Single precision.
        Fp32 = "fp32",
        /// bfloat16.
        Bf16 = "bf16",
        /// 16-bit fixed point: the same bits on every machine.
        Int16 = "int16",
    }
}

option_choice! {
    /// The instruction set that a user asks for.
    pub enum WantedKernel {
        /// The fastest that this CPU supports.
        Auto = "auto",
        /// None beyond those that every processor has.
        Portable = "portable",
        /// AVX2.
        Avx2 = "avx2",
        /// AVX-512.
        Avx512 = "avx512",
        /// AMX, for bf16.
        Amx = "amx",
        /// AVX512-VNNI, for int16.
        Avx512Vnni = "avx512vnni",
        /// AVX-VNNI, for int16.
        AvxVnni = "avxvnni",
        /// NEON, on ARM64.
        Neon = "neon",
    }
}

option_group! {
    pub struct NativeParams {
        /// Instruction set. A CPU has some of them.
        kernel: WantedKernel = WantedKernel::Auto, "kernel";
        /// Number format of convolutions (towers) and dense layers (attention).
        precision: WantedPrecision = WantedPrecision::Auto, "precision";
    }
}

pub(super) fn open(network: &NetworkFile, options: &Params) -> Made {
    match &network.model {
        weights::Model::Layers(layers) => Ok(Arc::new(Native::new(
            layers,
            &network.path.display().to_string(),
            options,
        )?)),
        weights::Model::Onnx(_) => Err(BackendError::Model {
            backend: NAME.into(),
            reason: "it is an ONNX model, but this backend evaluates layers. Use --backend=onnxruntime"
                .into(),
        }),
    }
}

impl Native {
    /// `name` is for messages, `options` are [`NativeParams`].
    pub fn new(network: &Network, name: &str, options: &Params) -> Result<Native, BackendError> {
        Ok(Native::with_arithmetic(
            network,
            name,
            choose_arithmetic(options, &network.body)?,
        ))
    }

    fn with_arithmetic(network: &Network, name: &str, arithmetic: Arithmetic) -> Native {
        let model = Model::new(arithmetic, network);
        let kernels = arithmetic.kernels.name();
        let (precision, place) = match arithmetic.precision {
            Precision::Single => ("fp32", String::new()),
            Precision::Fixed => ("int16", format!(" on {kernels}")),
            Precision::Half(tiles) => ("bf16", format!(" on {}", tiles.name())),
        };
        let info = BackendInfo {
            network: name.into(),
            device: "CPU".into(),
            precision: precision.into(),
            description: format!(
                "{name}, {}, {NAME} with {kernels} kernels, {precision}{place}",
                model.description(),
            ),
            input_format: network.input_format,
            has_wdl: network.has_wdl(),
            has_moves_left: network.moves_left.is_some(),
            max_batch: MAX_BATCH,
            preferred_batch: model.preferred_batch(),
            evaluator_bytes: buffer_bytes(|| model.scratch()),
            ..BackendInfo::new(NAME, "")
        };
        Native {
            info,
            model: Arc::new(model),
        }
    }
}

pub fn available_kernels() -> Vec<&'static str> {
    Kernels::available()
        .iter()
        .map(|kernels| kernels.name())
        .collect()
}

fn choose_arithmetic(options: &Params, body: &PlainBody) -> Result<Arithmetic, ParamError> {
    let defaults = Params::parse(&env::var(DEFAULTS_VARIABLE).unwrap_or_default())?;
    match arithmetic(&options.inheriting(&defaults), body) {
        // The user's options win over incompatible defaults.
        Err(_) if !options.is_empty() => arithmetic(options, body),
        chosen => chosen,
    }
}

fn arithmetic(options: &Params, body: &PlainBody) -> Result<Arithmetic, ParamError> {
    let NativeParams { kernel, precision } = NativeParams::default().read(NAME, options, &[])?;
    let fault = |key: &str, value: &str, expected: String| {
        Err(ParamError::Value {
            key: key.into(),
            value: value.into(),
            expected,
        })
    };
    if kernel == WantedKernel::Amx && precision == WantedPrecision::Fp32 {
        return fault("kernel", kernel.name(), "another kernel, AMX has no fp32".into());
    }
    let is_worth_it = |tiles: &Tiles| match body {
        PlainBody::Tower(_) => tiles.outruns_winograd(),
        PlainBody::Attention(_) => tiles.outruns_products(Kernels::available()[0]),
    };
    let tiles = Tiles::available().into_iter().find(|tiles| {
        (kernel == WantedKernel::Auto || kernel.name() == tiles.name())
            && match precision {
                WantedPrecision::Auto => is_worth_it(tiles),
                WantedPrecision::Bf16 => true,
                WantedPrecision::Fp32 | WantedPrecision::Int16 => false,
            }
    });
    if precision == WantedPrecision::Bf16 && tiles.is_none() {
        let expected =
            "fp32 or auto, because bf16 needs a CPU with AMX or AVX512-BF16, and kernel=auto, amx or avx512";
        return fault("precision", precision.name(), expected.into());
    }
    let is_fixed = match (precision, kernel) {
        (WantedPrecision::Int16, _)
        | (WantedPrecision::Auto, WantedKernel::Avx512Vnni | WantedKernel::AvxVnni) => true,
        (WantedPrecision::Auto, WantedKernel::Auto) => tiles.is_none() && suits_fixed(body),
        _ => false,
    };
    let all = if is_fixed {
        Kernels::fixed()
    } else {
        Kernels::available()
    };
    // What tiles do not compute stays fp32.
    let is_any = tiles.is_some() || kernel == WantedKernel::Auto;
    let Some(&kernels) = all
        .iter()
        .find(|kernels| is_any || kernel.name() == kernels.name())
    else {
        let names: Vec<&str> = all.iter().map(|kernels| kernels.name()).collect();
        let what = if is_fixed { "computes int16 with" } else { "has" };
        let expected = format!("one of auto, or what this CPU {what}: {}", names.join(", "));
        return fault("kernel", kernel.name(), expected);
    };
    let precision = match tiles {
        Some(tiles) => Precision::Half(tiles),
        None if is_fixed => Precision::Fixed,
        None => Precision::Single,
    };
    Ok(Arithmetic { kernels, precision })
}

/// Attention is left out: no trained transformer was compared, and their activations may have outliers.
fn suits_fixed(body: &PlainBody) -> bool {
    matches!(body, PlainBody::Tower(_)) && Kernels::fixed()[0].fixed_outruns(Kernels::available()[0])
}

impl Backend for Native {
    fn facts(&self) -> &BackendInfo {
        &self.info
    }

    fn evaluator(&self) -> Result<Box<dyn Evaluator>, BackendError> {
        Ok(Box::new(NativeEvaluator {
            model: Arc::clone(&self.model),
            scratch: self.model.scratch(),
        }))
    }
}

struct NativeEvaluator {
    model: Arc<Model>,
    scratch: Scratch,
}

impl Evaluator for NativeEvaluator {
    fn evaluate(&mut self, batch: &mut [EvalSlot]) -> Result<(), BackendError> {
        let indices = batch.iter().flat_map(|slot| &slot.moves);
        if let Some(index) = indices.copied().find(|&index| usize::from(index) >= POLICY_SIZE) {
            let reason = format!("policy index {index} does not exist, there are {POLICY_SIZE}");
            return Err(BackendError::Evaluation {
                backend: NAME.into(),
                reason,
            });
        }
        for group in batch.chunks_mut(self.model.group()) {
            self.model.evaluate(group, &mut self.scratch);
        }
        Ok(())
    }
}

/// Winograd tiles of positions evaluated together should stay in the L2 cache.
const TILE_BYTES: usize = 600 << 10;
/// Per channel of a position: 36 points of 4 tiles.
const TILE_BYTES_PER_CHANNEL: usize = 36 * 4 * size_of::<f32>();
/// From this width on, reading Winograd's weights takes longest in fp32, and [`WIDE_GROUP`] positions share
/// it. 256 filters became 1.5 times as fast.
const WIDE: usize = 192;
const WIDE_GROUP: usize = 16;

struct Model {
    arithmetic: Arithmetic,
    body: Body,
    policy: Policy,
    value: Head,
    moves_left: Option<Head>,
    has_wdl: bool,
}

enum Body {
    Tower(Box<Tower>),
    Attention(Box<AttentionBody>),
}

enum BodyScratch {
    /// With the squares of its boards as rows.
    Tower(Box<TowerScratch>, Rows),
    Attention(Box<body::BodyScratch>),
}

struct Scratch {
    body: BodyScratch,
    policy: PolicyScratch,
    value: HeadScratch,
    moves_left: Option<HeadScratch>,
}

impl Model {
    fn new(arithmetic: Arithmetic, network: &Network) -> Model {
        let (kernels, activation) = (arithmetic.kernels, network.activation);
        let first_of_policy = match &network.policy {
            PolicyHead::Convolution { conv1, .. } => Some(conv1),
            _ => None,
        };
        let body = match &network.body {
            PlainBody::Tower(tower) => Body::Tower(Box::new(Tower::new(
                arithmetic,
                tower,
                first_of_policy,
                activation,
            ))),
            PlainBody::Attention(body) => {
                Body::Attention(Box::new(AttentionBody::new(arithmetic, body, activation)))
            }
        };
        let (inputs, order) = match &body {
            Body::Tower(tower) => (arithmetic.padded(tower.channels()), Order::ChannelMajor),
            Body::Attention(body) => (body.stride, Order::SquareMajor),
        };
        let head = |head| Head::new(kernels, head, order, activation, inputs);
        Model {
            arithmetic,
            policy: Policy::new(arithmetic, &network.policy, activation, inputs),
            value: head(&network.value),
            moves_left: network.moves_left.as_ref().map(head),
            body,
            has_wdl: network.has_wdl(),
        }
    }

    fn description(&self) -> String {
        match &self.body {
            Body::Tower(tower) => format!("{}x{}", tower.filters, tower.units.len()),
            Body::Attention(body) => body.description(),
        }
    }

    /// Positions evaluated together: more would leave the cache, fewer would read the weights more often.
    fn group(&self) -> usize {
        match &self.body {
            Body::Tower(_) if self.is_wide() => self.wide_group(),
            Body::Tower(tower) => (TILE_BYTES / (tower.channels() * TILE_BYTES_PER_CHANNEL)).clamp(4, 16),
            Body::Attention(body) => body.group(),
        }
    }

    fn is_wide(&self) -> bool {
        matches!(&self.body, Body::Tower(tower) if tower.channels() >= WIDE)
            && self.arithmetic.tiles().is_none()
    }

    fn wide_group(&self) -> usize {
        match self.arithmetic.precision {
            // Weights have half the size: 7 % faster on Zen 3.
            Precision::Fixed => WIDE_GROUP / 2,
            Precision::Single | Precision::Half(_) => WIDE_GROUP,
        }
    }

    fn preferred_batch(&self) -> usize {
        if self.is_wide() {
            self.wide_group()
        } else {
            PREFERRED_BATCH.min(self.group())
        }
    }

    fn scratch(&self) -> Scratch {
        let positions = self.group();
        let body = match &self.body {
            Body::Tower(tower) => {
                let width = self.arithmetic.padded(tower.channels());
                let rows = Rows::exact(self.arithmetic, positions * SQUARES, width);
                BodyScratch::Tower(Box::new(tower.scratch(positions)), rows)
            }
            Body::Attention(body) => {
                BodyScratch::Attention(Box::new(body.scratch(self.arithmetic, positions)))
            }
        };
        Scratch {
            body,
            policy: self.policy.scratch(self.arithmetic, positions),
            value: self.value.scratch(positions),
            moves_left: self.moves_left.as_ref().map(|head| head.scratch(positions)),
        }
    }

    fn evaluate(&self, group: &mut [EvalSlot], scratch: &mut Scratch) {
        let positions = group.len();
        let (rows, boards) = match (&self.body, &mut scratch.body) {
            (Body::Tower(tower), BodyScratch::Tower(scratch, rows)) => {
                let width = self.arithmetic.padded(tower.channels());
                let boards = tower.evaluate(group, scratch);
                boards_to_rows(boards, tower.channels(), &mut rows.numbers, width);
                if self.policy.first_layer().is_some() {
                    rows.round(positions * SQUARES, width);
                }
                (&*rows, &scratch.inner.numbers[..])
            }
            (Body::Attention(body), BodyScratch::Attention(scratch)) => {
                body.evaluate(group, scratch, self.policy.first_layer());
                (&scratch.stream, &[][..])
            }
            _ => unreachable!("an evaluator's scratch is made by its own model"),
        };
        let features = Features {
            positions,
            rows,
            boards,
        };
        let values = self.value.evaluate(features, &mut scratch.value);
        for (slot, outputs) in group.iter_mut().zip(values) {
            slot.evaluation = if self.has_wdl {
                from_wdl([outputs[0], outputs[1], outputs[2]])
            } else {
                Value {
                    wl: libm::tanhf(outputs[0]),
                    ..Value::default()
                }
            };
        }
        if let (Some(head), Some(scratch)) = (&self.moves_left, &mut scratch.moves_left) {
            for (slot, outputs) in group.iter_mut().zip(head.evaluate(features, scratch)) {
                slot.evaluation.m = outputs[0].max(0.0);
            }
        }
        self.policy.evaluate(group, features, &mut scratch.policy);
    }
}

fn from_wdl(logits: [f32; 3]) -> Value {
    let largest = logits.iter().copied().fold(f32::MIN, f32::max);
    let [win, draw, loss] = logits.map(|logit| libm::expf(logit - largest));
    let sum = win + draw + loss;
    Value {
        wl: (win - loss) / sum,
        d: draw / sum,
        m: 0.0,
    }
}
