//! The instruction sets of this CPU, and how an operation is compiled for each.

#[cfg(target_arch = "aarch64")]
use super::simd::Neon;
#[cfg(target_arch = "x86_64")]
use super::simd::{Avx2, Avx512, Multiplier};
use super::simd::{Fused, Portable, Simd};

/// An operation with its operands. [`Kernels::run`] runs it.
pub trait Operation {
    type Output;

    /// Panics if a size is wrong.
    fn run_on(self, kernels: Kernels) -> Self::Output;
}

/// An operation as it is written, for any instruction set.
pub(crate) trait Job: Operation {
    /// Panics unless all operands fit vectors of `lanes` numbers.
    fn check(&self, lanes: usize);

    /// # Safety
    /// It must have passed its check.
    unsafe fn run<S: Simd>(self, simd: S) -> Self::Output;
}

/// Instruction sets, fastest first: the name as in the option `kernel=`, and what the compiler must enable.
macro_rules! kernels {
    ($($(#[$cfg:meta])? $set:ident $name:literal [$($attribute:tt)*];)*) => {
        #[derive(Clone, Copy, Debug)]
        pub enum Kernels {
            $($(#[$cfg])? $set($set),)*
        }

        impl Kernels {
            fn detect() -> impl Iterator<Item = Kernels> {
                [$($(#[$cfg])? $set::detect().map(Kernels::$set),)*].into_iter().flatten()
            }

            fn lanes(self) -> usize {
                match self {
                    $($(#[$cfg])? Kernels::$set(_) => $set::LANES,)*
                }
            }

            pub fn name(self) -> &'static str {
                #[cfg(target_arch = "x86_64")]
                if let Kernels::Avx2(avx2) = self {
                    return avx2.0.name();
                }
                match self {
                    $($(#[$cfg])? Kernels::$set(_) => $name,)*
                }
            }

            /// See [`Product`](super::Product).
            pub fn panel(self) -> usize {
                match self {
                    $($(#[$cfg])? Kernels::$set(_) => $set::LANES * $set::COLUMNS,)*
                }
            }

            pub fn run<O: Operation>(self, operation: O) -> O::Output {
                operation.run_on(self)
            }

            pub(super) fn enter<J: Job>(self, job: J) -> J::Output {
                match self {
                    $($(#[$cfg])? Kernels::$set(simd) => {
                        /// # Safety
                        /// The CPU must have the instruction set, and the job must have passed its check.
                        $($attribute)*
                        unsafe fn enter<J: Job>(simd: $set, job: J) -> J::Output {
                            // SAFETY: the caller checked the job.
                            unsafe { job.run(simd) }
                        }
                        job.check($set::LANES);
                        // SAFETY: `simd` proves that the CPU has the instruction set, and `check` what the
                        // job promises.
                        unsafe { enter(simd, job) }
                    })*
                }
            }
        }
    };
}

kernels! {
    #[cfg(target_arch = "x86_64")] Avx512 "avx512" [#[target_feature(enable = "avx512f")]];
    #[cfg(target_arch = "x86_64")] Avx2 "avx2" [#[target_feature(enable = "avx2,fma")]];
    #[cfg(target_arch = "aarch64")] Neon "neon" [#[target_feature(enable = "neon")]];
    Portable "portable" [];
    Fused "portable" [];
}

/// Results depend on how many lanes are added up together.
const FIXED_LANES: usize = 8;

impl Kernels {
    /// Those of this CPU for single precision and bf16, fastest first.
    pub fn available() -> Vec<Kernels> {
        Kernels::detect()
            .filter(|kernels| !matches!(kernels, Kernels::Fused(_)))
            .collect()
    }

    /// Those of this CPU for fixed point, fastest first. All compute the same bits.
    pub fn fixed() -> Vec<Kernels> {
        let detected = Kernels::detect().filter(|kernels| kernels.lanes() == FIXED_LANES);
        #[cfg(target_arch = "x86_64")]
        let detected = detected.flat_map(|kernels| match kernels {
            Kernels::Avx2(_) => Multiplier::available()
                .map(|multiplier| Kernels::Avx2(Avx2(multiplier)))
                .collect(),
            other => vec![other],
        });
        detected.collect()
    }
}
