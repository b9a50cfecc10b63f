//! Memory of the host for the tensors of batches, which a GPU of NVIDIA's reaches itself if it comes from
//! such an allocator.
//!
//! It is described to ONNX Runtime as any memory of the host, so that it copies. As what it is,
//! kernels would read inputs in it over the bus, and outputs in it are refused, since ONNX Runtime 1.23. Only
//! [graphs](super::graphs) want that.

use std::fmt::Debug;

use ort::memory::{AllocationDevice, Allocator, AllocatorType, MemoryInfo, MemoryType};
use ort::value::{PrimitiveTensorElementType, Tensor, TensorRefMut};

/// What ONNX Runtime takes the memory of a tensor for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Described {
    /// Memory of the host, whatever the allocator.
    Host,
    /// What the allocator is for.
    Itself,
    /// Memory of the device that reaches it.
    Device,
}

impl Described {
    fn info(self, allocator: &Allocator) -> ort::Result<MemoryInfo<'static>> {
        let own = allocator.memory_info();
        let is_pinned = own.allocation_device() == AllocationDevice::CUDA_PINNED;
        match self {
            Described::Itself => Ok(own.to_owned()),
            Described::Device if is_pinned => {
                let device = AllocationDevice::CUDA;
                let gpu = own.device_id();
                MemoryInfo::new(device, gpu, AllocatorType::Device, MemoryType::Default)
            }
            _ => Ok(MemoryInfo::default()),
        }
    }
}

/// As large as the largest tensor so far.
#[derive(Debug, Default)]
pub(super) struct HostMemory(Option<Tensor<u8>>);

impl HostMemory {
    /// A tensor of this shape. It holds what the one before held.
    pub(super) fn tensor<T: PrimitiveTensorElementType + Debug>(
        &mut self,
        allocator: &Allocator,
        shape: &[usize],
        described: Described,
    ) -> ort::Result<TensorRefMut<'_, T>> {
        let size = shape.iter().product::<usize>() * size_of::<T>();
        let memory = match self
            .0
            .take()
            .filter(|memory| memory.shape().num_elements() >= size)
        {
            Some(memory) => self.0.insert(memory),
            None => {
                let memory = self.0.insert(Tensor::new(allocator, [size])?);
                memory.extract_tensor_mut().1.fill(0);
                memory
            }
        };
        // SAFETY: the memory has room for the shape, is aligned for any number, as allocators' is, and lives
        // as long as the borrow. It lies on the host, and what is described as a GPU's is reached by that GPU
        // at the same address.
        unsafe { TensorRefMut::from_raw(described.info(allocator)?, memory.data_ptr_mut(), shape.into()) }
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
        let (allocator, mut memory) = (Allocator::default(), HostMemory::default());
        for size in [2, 64, 3, 65] {
            let mut tensor = memory
                .tensor::<f32>(&allocator, &[size, 112], Described::Device)
                .unwrap();
            let (shape, values) = tensor.extract_tensor_mut();
            assert_eq!((shape[0], values.len()), (size as i64, size * 112));
            values.fill(size as f32);
            assert_eq!(
                memory
                    .tensor::<f32>(&allocator, &[1, 112], Described::Host)
                    .unwrap()
                    .extract_tensor()
                    .1,
                [size as f32; 112]
            );
        }
    }
}
