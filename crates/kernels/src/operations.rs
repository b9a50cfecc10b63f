//! What [`Kernels::run`] runs.

use super::elementwise::{AddScaled, Apply, Dot, Normalize, Residual, Round, Softmax, Stamps};
use super::fixed::FixedProduct;
#[cfg(target_arch = "x86_64")]
use super::fixed_x86;
use super::folded::{ConvolveFolded, FinishStream, Fold, Unfold};
use super::gemm::Product;
use super::kernels::{Kernels, Operation};
use super::winograd::{InputTransform, OutputTransform};

/// Compiles the operations here: code that is generic would be compiled wherever it is called.
macro_rules! operations {
    ($($output:ty: $($operation:ident),*;)*) => {
        $($(impl Operation for $operation<'_> {
            type Output = $output;

            fn run_on(self, kernels: Kernels) -> $output {
                kernels.enter(self)
            }
        })*)*
    };
}

operations! {
    (): AddScaled, ConvolveFolded, FinishStream, Fold, InputTransform, Normalize, OutputTransform,
        Product, Residual, Round, Softmax, Stamps, Unfold;
    f32: Apply, Dot;
}

impl Operation for FixedProduct<'_> {
    type Output = ();

    fn run_on(self, kernels: Kernels) {
        self.check();
        match kernels {
            #[cfg(target_arch = "x86_64")]
            // SAFETY: the value proves that the CPU has AVX2 and its multiplier, and sizes are checked.
            Kernels::Avx2(avx2) => unsafe { fixed_x86::multiply(avx2.0, self) },
            _ => self.define(),
        }
    }
}
