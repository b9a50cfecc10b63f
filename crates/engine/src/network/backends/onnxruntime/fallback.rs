//! Opens a network on a device, and asks for less where the device refuses it.

use std::sync::Arc;

use super::backend::OnnxRuntime;
use super::device_options::DeviceOptions;
use crate::network::backend::{Backend, Made};
use crate::network::backend_error::BackendError;
use crate::network::instrumented::with_notes;
use crate::network::onnx::{self, Form, InputForm};
use crate::network::weights::{Model, NetworkFile};
use crate::note::Note;
use crate::options::OptionChoice;
use crate::params::Params;

/// Where options are open and the device refuses the model, it gets one of plain operations, with inputs as
/// planes, then one in single precision. At last it computes what it can, and the CPU the rest.
pub fn open(network: NetworkFile, options: &Params) -> Made {
    let name = network.path.display().to_string();
    let device = DeviceOptions::parse(options)?;
    let (first, last) = match network.model {
        Model::Layers(..) => device.choices(options),
        Model::Onnx(_) => device.choices_for_ready_model(),
    };
    let open = |model, device: &DeviceOptions| {
        let model = match model {
            Model::Layers(layers) => onnx::build(layers, &device.build_options()),
            Model::Onnx(model) => model,
        };
        OnnxRuntime::new(model, &name, device)
    };
    let mut refused = None;
    for device in first {
        match open(network.model.clone(), &device) {
            Err(BackendError::Model { reason, .. } | BackendError::Evaluation { reason, .. }) => {
                refused.get_or_insert(reason);
            }
            made => return Ok(with_refusal(made?, &device, refused)),
        }
    }
    Ok(with_refusal(open(network.model, &last)?, &last, refused))
}

/// Adds a note on the first model refused, if any.
fn with_refusal(backend: OnnxRuntime, device: &DeviceOptions, refused: Option<String>) -> Arc<dyn Backend> {
    let inputs = match device.input {
        InputForm::Packed if device.provider.spec().form == Form::Fused => "plain operations",
        InputForm::Packed => "packed inputs",
        InputForm::Planes => "inputs as planes",
    };
    let note = |reason| {
        if device.needs_cpu {
            let provider = device.provider;
            Note::Error(format!(
                "{provider} cannot compute all of this model. The CPU computes the rest ({reason})"
            ))
        } else {
            format!(
                "the device supports {} with {inputs} only ({reason})",
                device.precision.name()
            )
            .into()
        }
    };
    with_notes(Arc::new(backend), refused.map(note).into_iter().collect())
}
