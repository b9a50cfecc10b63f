//! The backend `auto`: the rule that chooses for the user.
//!
//! 1. The first of [`GPUS`] whose library is at hand, loads and finds a GPU. A renderer in software is no
//!    GPU.
//! 2. `native`, where the network is no ONNX model.
//! 3. OpenVINO where that is at hand and computes on this processor, else ONNX Runtime on the CPU.
//!
//! With other options than `gpu` and `threads`, as one of several devices, and in the place of a device that
//! is not available, [`make`] takes `native`, or else ONNX Runtime on the CPU.

use std::borrow::Cow;

use super::aliases::{self, Resolved};
use super::config::{BackendConfig, Fallback};
use super::native;
use super::onnxruntime::{self, LibraryError, Provider, Runtime, finder};
use super::registry::AUTO;
use crate::network::backend::Made;
use crate::network::backend_error::BackendError;
use crate::network::instrumented::with_notes;
use crate::network::weights::{Model, NetworkFile};
use crate::options::OptionChoice;
use crate::params::Params;

/// Best first.
pub const GPUS: [Provider; 3] = [Provider::TensorRtRtx, Provider::Cuda, Provider::WebGpu];

/// Lc0's users set them without a backend. They leave the choice to the rule.
const OF_A_GPU: [&str; 2] = ["gpu", "threads"];

pub(super) fn resolve<'a>(
    config: &'a BackendConfig,
    network: Option<&NetworkFile>,
) -> Result<Cow<'a, BackendConfig>, BackendError> {
    let is_open = config.name == AUTO && config.options.names().all(|name| OF_A_GPU.contains(&name));
    let Some(network) = network.filter(|_| is_open) else {
        return Ok(Cow::Borrowed(config));
    };
    let found = |provider| finder::is_at_hand(provider).then(|| Runtime::check_device(provider));
    let (name, why) = choose(is_for_native(network), found);
    // Nobody asked for a GPU: if it opens no session, the CPU will do.
    let mut chosen = BackendConfig::parse(name, &config.options.to_string())?.with_fallback(Fallback::Cpu);
    chosen.notes.extend(config.notes.iter().cloned());
    chosen
        .notes
        .extend(why.map(|why| format!("backend auto selects {name}: {why}").into()));
    Ok(Cow::Owned(chosen))
}

/// The chosen name, and the reason where people may expect another. `found` says of a provider
/// with a library whether that works.
fn choose(
    is_for_native: bool,
    found: impl Fn(Provider) -> Option<Result<(), LibraryError>>,
) -> (&'static str, Option<String>) {
    let mut refused = Vec::new();
    let usual = if is_for_native {
        native::NAME
    } else {
        onnxruntime::NAME
    };
    let works = |provider: &Provider| {
        found(*provider).is_some_and(|found| found.map_err(|reason| refused.push(reason.to_string())).is_ok())
    };
    let chosen = GPUS
        .into_iter()
        .chain((!is_for_native).then_some(Provider::OpenVino))
        .find(works);
    (
        chosen.map_or(usual, Provider::name),
        (!refused.is_empty()).then(|| refused.join(", ")),
    )
}

pub(super) fn make(network: NetworkFile, options: &Params) -> Made {
    if !is_for_native(&network) || options.get("provider").is_some() {
        return onnxruntime::open(network, options);
    }
    let Resolved { options, notes, .. } = aliases::resolve(native::NAME, options.clone());
    Ok(with_notes(native::open(&network, &options)?, notes))
}

fn is_for_native(network: &NetworkFile) -> bool {
    matches!(network.model, Model::Layers(..))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::network::weights::HeadChoice;

    /// The choice if the libraries of `at_hand` load, and those of `broken` find no device.
    fn taken(
        is_for_native: bool,
        at_hand: &[Provider],
        broken: &[Provider],
    ) -> (&'static str, Option<String>) {
        choose(is_for_native, |provider| match provider {
            _ if broken.contains(&provider) => Some(Err(LibraryError::NoHardware(provider))),
            _ => at_hand.contains(&provider).then_some(Ok(())),
        })
    }

    #[test]
    fn the_best_gpu_is_taken_and_else_the_cpu() {
        use Provider::{Cuda, OpenVino, TensorRtRtx, WebGpu};
        let taken = |is_for_native, at_hand: &[Provider]| taken(is_for_native, at_hand, &[]).0;
        assert_eq!(taken(true, &[]), "native");
        assert_eq!(taken(true, &[OpenVino]), "native", "only a GPU is better");
        assert_eq!(taken(true, &[WebGpu, Cuda, TensorRtRtx]), "tensorrt-rtx");
        assert_eq!(taken(true, &[WebGpu, Cuda]), "cuda");
        assert_eq!(taken(false, &[OpenVino, WebGpu]), "webgpu");
        assert_eq!(taken(false, &[OpenVino]), "openvino");
        assert_eq!(taken(false, &[]), "onnxruntime");
        assert_eq!(taken(true, &[Provider::Cpu]), "native");
    }

    #[test]
    fn a_renderer_in_software_and_a_library_that_does_not_load_are_named_and_passed_over() {
        let (name, why) = taken(true, &[], &[Provider::WebGpu]);
        assert_eq!(name, "native");
        assert!(
            why.as_ref()
                .is_some_and(|why| why.starts_with("webgpu finds no device")),
            "{why:?}"
        );
        let (name, why) = taken(true, &[Provider::WebGpu], &[Provider::Cuda]);
        assert_eq!(name, "webgpu");
        assert!(
            why.as_ref()
                .is_some_and(|why| why.starts_with("cuda finds no device")),
            "{why:?}"
        );
        assert_eq!(
            taken(true, &[Provider::WebGpu], &[]).1,
            None,
            "nothing is to be explained"
        );
        assert_eq!(taken(false, &[], &[Provider::OpenVino]).0, "onnxruntime");
    }

    #[test]
    fn options_and_a_missing_network_leave_nothing_to_choose() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/goldens/nets/tiny.pb.gz");
        let tower = NetworkFile::load(&path, HeadChoice::default()).unwrap();
        let with_options = BackendConfig::parse(AUTO, "precision=fp32").unwrap();
        assert_eq!(*resolve(&with_options, Some(&tower)).unwrap(), with_options);
        let auto = BackendConfig::parse(AUTO, "").unwrap();
        assert_eq!(*resolve(&auto, None).unwrap(), auto);
    }

    #[test]
    fn options_of_onnx_runtime_are_no_obstacle_where_the_native_backend_is_chosen() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/goldens/nets/tiny.pb.gz");
        let network = NetworkFile::load(&path, HeadChoice::default()).unwrap();
        let backend = make(network, &Params::parse("threads=2").unwrap()).unwrap();
        assert_eq!(
            (backend.facts().name.as_str(), backend.take_notes().len()),
            (native::NAME, 1)
        );
    }
}
