//! The end of a convolution, whichever way it was computed: the last operation on each output on its way to the board.

use super::simd::Simd;

/// The operation on the outputs of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Epilogue {
    /// They are stored.
    Store,
    /// They are stored after ReLU.
    Relu,
    /// They are added to what the board holds.
    Add,
    /// They are added to what the board holds, then ReLU.
    AddRelu,
    /// They are stored, and their sums over the board go to `pool`.
    Pool,
}

/// Calls `$function::<S, ADD, RELU, POOL>` as an [`Epilogue`] says: each has a loop of its own, without a branch.
macro_rules! with_flags {
    ($epilogue:expr, $function:ident::<$simd:ident>($($argument:expr),*)) => {
        match $epilogue {
            Epilogue::Store => $function::<$simd, false, false, false>($($argument),*),
            Epilogue::Relu => $function::<$simd, false, true, false>($($argument),*),
            Epilogue::Add => $function::<$simd, true, false, false>($($argument),*),
            Epilogue::AddRelu => $function::<$simd, true, true, false>($($argument),*),
            Epilogue::Pool => $function::<$simd, false, false, true>($($argument),*),
        }
    };
}
pub(super) use with_flags;

/// Finishes a vector of outputs and adds it to `pool` if there is one.
///
/// # Safety
/// `to` must be valid for a vector.
#[inline(always)]
pub(super) unsafe fn finish<S: Simd, const ADD: bool, const RELU: bool, const POOL: bool>(
    simd: S,
    mut v: S::Vector,
    to: *mut f32,
    pool: &mut S::Vector,
) {
    // SAFETY: the caller's.
    unsafe {
        if ADD {
            v = simd.add(v, simd.load(to));
        }
        if RELU {
            v = simd.max(v, simd.zero());
        }
        if POOL {
            *pool = simd.add(*pool, v);
        }
        simd.store(to, v);
    }
}
