//! The sizes in which batches come to a device.
//!
//! Where a size that was not there before costs a device time, batches have few sizes: each is filled up to
//! the next of them, and one above the largest is divided. They are all run once before the first move.

use std::slice;

use super::provider::Provider;
use crate::network::onnx::OnnxModel;

/// Far beyond the size at which throughput stops growing.
pub(super) const MAX_BATCH: usize = 1024;
/// Two such batches fill a GPU with most networks, and no larger one is prepared by default.
pub(super) const PREFERRED_GPU_BATCH: usize = 256;
/// CUDA plans each convolution anew when the size changes, and keeps one plan a session:
/// microsoft/onnxruntime#23006.
const CONVOLVED: [usize; 4] = [4, 32, 128, 256];
/// TensorRT RTX compiles kernels for each size beside the search.
const COMPILED: [usize; 8] = [1, 4, 16, 32, 64, 128, 192, 256];
/// What WebGPU compiles for two positions does for any larger number. The last takes the memory that a search
/// needs.
const ANY: [usize; 3] = [1, 3, PREFERRED_GPU_BATCH];
/// The most bytes of weights in all sessions of one evaluator, which are by one for each size.
const MOST_WEIGHTS: usize = 1 << 30;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BatchSizes {
    /// The sizes that are run before the first move, ascending.
    pub(super) known: Vec<usize>,
    /// Whether no others are run.
    are_all: bool,
    /// Whether each has a session of its own.
    has_session_each: bool,
}

impl BatchSizes {
    pub(super) fn of(provider: Provider, model: &OnnxModel) -> BatchSizes {
        let has_session_each =
            provider == Provider::Cuda && model.fixed_batch.is_none() && model.has_node("Conv");
        let sessions = MOST_WEIGHTS / model.bytes.len().max(1);
        let sizes: &[usize] = match (&model.fixed_batch, provider) {
            (Some(fixed), _) => slice::from_ref(fixed),
            // A small batch that is filled up only takes longer, so the largest size is kept.
            (None, Provider::Cuda) if has_session_each => {
                &CONVOLVED[CONVOLVED.len() - sessions.clamp(1, CONVOLVED.len())..]
            }
            (None, Provider::TensorRtRtx) => &COMPILED,
            (None, _) => &ANY,
        };
        let are_all = sizes != ANY;
        BatchSizes {
            known: sizes.into(),
            are_all,
            has_session_each,
        }
    }

    /// These, or a few where any size is run: a graph has one.
    pub(super) fn for_graphs(self) -> BatchSizes {
        if self.are_all {
            return self;
        }
        BatchSizes {
            known: COMPILED.into(),
            are_all: true,
            ..self
        }
    }

    /// Sessions of one evaluator.
    pub(super) fn sessions(&self) -> usize {
        if self.has_session_each {
            self.known.len()
        } else {
            1
        }
    }

    /// The sizes up to which batches are filled, none if they are run as they are.
    pub(super) fn padded_to(&self) -> Vec<usize> {
        if self.are_all {
            self.known.clone()
        } else {
            Vec::new()
        }
    }

    /// The largest batch that is run as one.
    pub(super) fn largest(&self) -> usize {
        self.known
            .last()
            .copied()
            .filter(|_| self.are_all)
            .unwrap_or(MAX_BATCH)
    }

    /// For a batch that is run as one, the number of its session and the size to which it is filled
    /// up.
    pub(super) fn place(&self, positions: usize) -> (usize, usize) {
        let index = self.known.partition_point(|&size| size < positions);
        let filled = self
            .known
            .get(index)
            .copied()
            .filter(|_| self.are_all)
            .unwrap_or(positions);
        (if self.has_session_each { index } else { 0 }, filled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::onnx::{self, BuildOptions};
    use crate::network::weights::{HeadChoice, Model, NetworkFile};

    fn sizes(provider: Provider, network: &str, fixed_batch: Option<usize>) -> BatchSizes {
        let path = format!(
            "{}/../../tests/data/goldens/nets/{network}",
            env!("CARGO_MANIFEST_DIR")
        );
        let Model::Layers(layers) = NetworkFile::load(path.as_ref(), HeadChoice::default())
            .unwrap()
            .model
        else {
            panic!("no layers")
        };
        BatchSizes::of(
            provider,
            &onnx::build(
                layers,
                &BuildOptions {
                    fixed_batch,
                    ..BuildOptions::default()
                },
            ),
        )
    }

    const TOWER: &str = "tiny.pb.gz";
    const TRANSFORMER: &str = "ab_tiny.pb.gz";

    #[test]
    fn a_tower_on_cuda_has_a_session_for_each_of_a_few_sizes() {
        let tower = sizes(Provider::Cuda, TOWER, None);
        assert_eq!((tower.sessions(), tower.largest()), (4, 256));
        assert_eq!(
            [1, 4, 5, 129, 256].map(|positions| tower.place(positions)),
            [(0, 4), (0, 4), (1, 32), (3, 256), (3, 256)]
        );
        let transformer = sizes(Provider::Cuda, TRANSFORMER, None);
        assert_eq!((transformer.sessions(), transformer.largest()), (1, MAX_BATCH));
        assert_eq!(transformer.place(129), (0, 129));
        assert_eq!(tower.clone().for_graphs(), tower);
        let captured = transformer.for_graphs();
        assert_eq!((captured.place(129), captured.largest()), ((0, 192), 256));
    }

    #[test]
    fn a_device_that_compiles_for_each_size_meets_few() {
        let rtx = sizes(Provider::TensorRtRtx, TOWER, None);
        let met: std::collections::BTreeSet<_> = (1..=rtx.largest())
            .map(|positions| rtx.place(positions))
            .collect();
        assert_eq!((met.len(), rtx.sessions()), (8, 1));
        assert!(
            met.iter()
                .all(|(session, size)| *session == 0 && rtx.known.contains(size))
        );
    }

    #[test]
    fn others_take_any_size_unless_the_model_has_one() {
        for provider in [Provider::Cpu, Provider::OpenVino, Provider::WebGpu] {
            assert_eq!(sizes(provider, TOWER, None).place(37), (0, 37));
        }
        let fixed = sizes(Provider::Cuda, TOWER, Some(16));
        assert_eq!(
            (fixed.place(3), fixed.largest(), fixed.sessions()),
            ((0, 16), 16, 1)
        );
    }
}
