//! The input planes of a network.

/// Input planes of a network.
pub const PLANES: usize = 112;

/// A network's input tensor `[112, 8, 8]`, compact: plane `p` has `values[p]` on the squares of `masks[p]`,
/// else 0.
///
/// Bit 0 is a1, bit 7 h1, bit 63 h8, as seen by the side to move.
#[derive(Clone, Debug, PartialEq)]
pub struct InputPlanes {
    pub masks: [u64; PLANES],
    pub values: [f32; PLANES],
}

impl Default for InputPlanes {
    fn default() -> Self {
        InputPlanes {
            masks: [0; PLANES],
            values: [1.0; PLANES],
        }
    }
}

impl InputPlanes {
    /// Fills `out`, at least `112 * 64` numbers, with `[112, 8, 8]`.
    pub fn write_dense(&self, out: &mut [f32]) {
        for ((plane, &mask), &value) in out.chunks_exact_mut(64).zip(&self.masks).zip(&self.values) {
            for (square, cell) in plane.iter_mut().enumerate() {
                *cell = if mask >> square & 1 == 1 { value } else { 0.0 };
            }
        }
    }
}
