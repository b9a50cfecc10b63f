//! Input planes in 896 bytes instead of 28 KB of floats, for devices that expand them.
//!
//! The tensor is `[112, 8]`: a byte per rank of each plane, bit 0 is the a-file. In the fifty-move plane each
//! byte is the counter in plies, 255 at most. A device looks each byte up in a table of rows of 8 numbers:
//! its bits, or further down the counter's value. The result equals [`InputPlanes::write_dense`] to the last
//! bit.

use super::encode::{InputFormat, RULE_50};
use super::planes::{InputPlanes, PLANES};

pub(crate) const PLANE_BYTES: usize = 8;
pub const PACKED_BYTES: usize = PLANES * PLANE_BYTES;
const ROWS: usize = 256;

impl InputPlanes {
    /// Packs planes encoded in `format` as `[112, 8]` into `out`, at least [`PACKED_BYTES`] long.
    pub fn write_packed(&self, format: InputFormat, out: &mut [u8]) {
        let is_plain = |(plane, &value): (usize, &f32)| plane == RULE_50 || value == 1.0;
        debug_assert!(
            self.values.iter().enumerate().all(is_plain),
            "no other plane has a value"
        );
        let (ranks, _) = out.as_chunks_mut::<PLANE_BYTES>();
        for (bytes, mask) in ranks.iter_mut().zip(&self.masks) {
            *bytes = mask.to_le_bytes();
        }
        // Conversion to u8 saturates.
        let plies = (self.values[RULE_50] * format.rule50_unit()).round() as u8;
        ranks[RULE_50] = if self.masks[RULE_50] == 0 {
            [0; _]
        } else {
            [plies; _]
        };
    }
}

/// `[512, 8]`, expands bytes.
pub(super) fn table(format: InputFormat) -> Vec<f32> {
    let bits = (0..ROWS).flat_map(|byte| (0..8).map(move |bit| (byte >> bit & 1) as f32));
    let counters = (0..ROWS).flat_map(|plies| [plies as f32 / format.rule50_unit(); 8]);
    bits.chain(counters).collect()
}

/// Per plane, the table row of byte 0.
pub(super) fn first_rows() -> Vec<i32> {
    (0..PLANES)
        .map(|plane| if plane == RULE_50 { ROWS as i32 } else { 0 })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chess::{History, Variant};
    use crate::network::encode::{HistoryFill, encode};

    fn expand(bytes: &[u8], format: InputFormat) -> Vec<f32> {
        let (table, first_rows) = (table(format), first_rows());
        let row = |(place, &byte): (usize, &u8)| {
            let row = first_rows[place / PLANE_BYTES] as usize + usize::from(byte);
            table[8 * row..8 * row + 8].to_vec()
        };
        bytes.iter().enumerate().flat_map(row).collect()
    }

    #[test]
    fn packed_planes_expand_to_the_dense_tensor_in_every_format() {
        let formats = [1, 2, 3, 4, 132, 5, 133].map(|number| InputFormat::try_from(number).unwrap());
        for text in [
            "startpos moves g1f3 g8f6 f3g1 f6g8 g1f3",
            "fen r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R b KQkq - 37 60",
            "fen 8/2p5/3p4/KP5r/1R3pPk/8/4P3/8 b - g3 0 1",
            "fen 8/8/4k3/8/8/4K3/4P3/8 w - - 149 200",
        ] {
            let game = History::from_uci_position(text, Variant::Standard).unwrap();
            for format in formats {
                let mut planes = InputPlanes::default();
                encode(&game, format, HistoryFill::default(), &mut planes);
                let (mut bytes, mut dense) = ([7; PACKED_BYTES], [7.0; PLANES * 64]);
                planes.write_packed(format, &mut bytes);
                planes.write_dense(&mut dense);
                assert_eq!(expand(&bytes, format), dense, "{text} in {format:?}");
            }
        }
        let mut bytes = [7; PACKED_BYTES];
        InputPlanes::default().write_packed(InputFormat::CanonicalV2, &mut bytes);
        assert_eq!(bytes, [0; PACKED_BYTES], "an empty slot is all zeros, as dense");
    }
}
