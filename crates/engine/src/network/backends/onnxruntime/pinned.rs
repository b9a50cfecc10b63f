//! Memory of the host that a GPU of NVIDIA's reaches itself, for the tensors of batches.
//!
//! It is described to ONNX Runtime as any memory of the host. As what it is, ONNX Runtime 1.23 and newer
//! count it as the device's: kernels would read inputs in it over the bus, and outputs in it are refused.

use ort::memory::{Allocator, MemoryInfo};
use ort::value::{Tensor, TensorRefMut};

use super::tensors::TensorElement;

/// As large as the largest tensor so far.
#[derive(Debug)]
pub(super) struct PinnedMemory<T: TensorElement>(Option<Tensor<T>>);

impl<T: TensorElement> Default for PinnedMemory<T> {
    fn default() -> PinnedMemory<T> {
        PinnedMemory(None)
    }
}

impl<T: TensorElement> PinnedMemory<T> {
    /// Returns a tensor of this shape. What it holds is what the one before held.
    pub(super) fn tensor(
        &mut self,
        allocator: &Allocator,
        shape: Vec<usize>,
    ) -> ort::Result<TensorRefMut<'_, T>> {
        let size = shape.iter().product::<usize>();
        let memory = match self.0.take().filter(|memory| memory.shape().num_elements() >= size) {
            Some(memory) => self.0.insert(memory),
            None => self.0.insert(Tensor::new(allocator, [size])?),
        };
        // SAFETY: the memory has room for the shape, lies on the host, and lives as long as the borrow.
        unsafe { TensorRefMut::from_raw(MemoryInfo::default(), memory.data_ptr_mut(), shape.into()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::backends::onnxruntime::{Provider, runtime::Runtime};

    #[test]
    #[ignore = "needs ONNX Runtime in the cache, where `zeitnot setup` puts it"]
    fn one_memory_holds_tensors_of_every_size() {
        if let Err(reason) = Runtime::get(Provider::Cpu) {
            return eprintln!("SKIPPED: {reason}");
        }
        let (allocator, mut memory) = (Allocator::default(), PinnedMemory::<f32>::default());
        for size in [2, 64, 3, 65] {
            let mut tensor = memory.tensor(&allocator, vec![size, 112]).unwrap();
            let (shape, values) = tensor.extract_tensor_mut();
            assert_eq!((shape[0], values.len()), (size as i64, size * 112));
            values.fill(size as f32);
            assert_eq!(
                memory.tensor(&allocator, vec![1, 112]).unwrap().extract_tensor().1,
                [size as f32; 112]
            );
        }
    }
}
