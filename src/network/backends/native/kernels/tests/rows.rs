//! Tests the operations of encoders on rows against their definitions in f64.

use super::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: CASES, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn rows_are_normalized(
        seed: u64, rows in 0..4usize, size in 1..70usize, factor in -2.0f32..2.0, shift in -5.0f32..5.0, branched: bool,
    ) {
        let stride = size.next_multiple_of(CHANNEL_STEP);
        let padded = |numbers: Vec<f32>| -> Vec<f32> {
            numbers.chunks(size).flat_map(|row| (0..stride).map(|i| row.get(i).copied().unwrap_or(0.0))).collect()
        };
        let x: Vec<f32> = numbers(seed, rows * size).iter().map(|x| x + shift).collect();
        let branch = numbers(seed ^ 1, rows * size);
        let (gammas, betas) = (numbers(seed ^ 2, size), numbers(seed ^ 3, size));
        let mut expected = Vec::new();
        for (x, branch) in x.chunks(size).zip(branch.chunks(size)) {
            let sum = |(x, b): (&f32, &f32)| f64::from(*x) + if branched { f64::from(factor * b) } else { 0.0 };
            let row: Vec<f64> = x.iter().zip(branch).map(sum).collect();
            let mean = row.iter().sum::<f64>() / size as f64;
            let variance = row.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / size as f64;
            let scale = 1.0 / (variance + 1e-3).sqrt();
            expected.extend(row.iter().enumerate().map(|(i, x)| ((x - mean) * scale) as f32 * gammas[i] + betas[i]));
        }
        let (branch, gammas, betas) = (padded(branch), padded(gammas), padded(betas));
        for kernels in available() {
            let mut found = padded(x.clone());
            kernels.normalize(Normalize {
                rows, size, stride, x: &mut found, branch: branched.then_some(&branch), factor,
                gammas: &gammas, betas: &betas, epsilon: 1e-3,
            });
            assert_close(&found, &padded(expected.clone()), 1e-4, kernels.name())?;
        }
    }

    #[test]
    fn rows_become_probabilities(
        seed: u64, rows in 0..4usize, blocks in 1..5usize, scale in 0.01f32..50.0, with_more: bool,
    ) {
        let width = blocks * CHANNEL_STEP;
        let (x, added) = (numbers(seed, rows * width), numbers(!seed, rows * width));
        let mut expected = Vec::new();
        for (x, added) in x.chunks(width).zip(added.chunks(width)) {
            let logit = |(x, a): (&f32, &f32)| f64::from(x * scale) + if with_more { f64::from(*a) } else { 0.0 };
            let powers: Vec<f64> = x.iter().zip(added).map(|pair| logit(pair).exp()).collect();
            expected.extend(powers.iter().map(|power| (power / powers.iter().sum::<f64>()) as f32));
        }
        for kernels in available() {
            let mut found = x.clone();
            kernels.softmax(Softmax { rows, width, x: &mut found, scale, added: with_more.then_some(&added) });
            assert_close(&found, &expected, 1e-5, kernels.name())?;
        }
    }

    #[test]
    fn rows_are_rounded_in_blocks(seed: u64, rows in 1..150usize, blocks in 1..4usize) {
        let width = blocks * TILE_DEPTH;
        let from = numbers(seed, rows * width);
        let mut expected = vec![7; rows.next_multiple_of(BLOCK_ROWS) * width];
        for (i, &number) in from.iter().enumerate() {
            let (row, column) = (i / width, i % width);
            let (block, row) = (row / BLOCK_ROWS * blocks + column / TILE_DEPTH, row % BLOCK_ROWS);
            expected[(block * BLOCK_ROWS + row) * TILE_DEPTH + column % TILE_DEPTH] =
                half::bf16::from_f32(number).to_bits();
        }
        for kernels in available() {
            let mut to = vec![7; expected.len()];
            kernels.round(Round { rows, width, from: &from, to: &mut to });
            prop_assert_eq!(&to, &expected, "{}", kernels.name());
        }
    }
}
