//! Tests every kernel against plain loops or definitions in f64, on random numbers and sizes.

use proptest::prelude::*;
use zeitnot_kernels::*;

/// Per property: Miri is a thousand times slower.
const MOST_CASES: u32 = if cfg!(miri) { 4 } else { 64 };

/// `PROPTEST_CASES` may ask for fewer, as under emulation.
fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    ProptestConfig {
        cases: default.cases.min(MOST_CASES),
        failure_persistence: None,
        ..default
    }
}

fn numbers(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let next = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 40) as f32 / (1 << 23) as f32 - 1.0
    };
    (0..count).map(next).collect()
}

fn assert_close(found: &[f32], expected: &[f32], tolerance: f32, what: &str) -> Result<(), TestCaseError> {
    prop_assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let close = (found - expected).abs() <= tolerance * expected.abs().max(1.0);
        prop_assert!(close, "{}: number {} is {}, not {}", what, i, found, expected);
    }
    Ok(())
}

/// Within a few hundredths of their size, as fixed point computes them.
fn assert_near(found: &[f32], expected: &[f32], what: &str) -> Result<(), TestCaseError> {
    let squares: f32 = expected.iter().map(|x| x * x).sum();
    let errors: f32 = found.iter().zip(expected).map(|(a, b)| (a - b).powi(2)).sum();
    let error = (errors / squares).sqrt();
    prop_assert!(error < 0.03, "{}: a relative error of {}", what, error);
    Ok(())
}

fn single(bits: u16) -> f32 {
    half::bf16::from_bits(bits).to_f32()
}

fn board(seed: u64, channels: usize) -> Vec<f32> {
    let mut board = vec![0.0; BOARD_SQUARES * channels];
    for (square, values) in numbers(seed, 64 * channels).chunks_exact(channels).enumerate() {
        board[board_offset(square, channels)..][..channels].copy_from_slice(values);
    }
    board
}

/// Folds a board by the definition: half `h` are the six bordered ranks from `4 h` on.
fn folded(board: &[f32], channels: usize) -> Vec<u16> {
    let number = |i: usize| {
        let (channel, half, file) = (i % 32 + i / 3840 * 32, i / 32 % 2, i / 64 % 10);
        let rank = half * 4 + i / 640 % 6;
        if channel < channels {
            board[(rank * BOARD_STRIDE + file) * channels + channel]
        } else {
            0.0
        }
    };
    (0..folded_length(channels))
        .map(|i| half::bf16::from_f32(number(i)).to_bits())
        .collect()
}

fn pairs() -> Vec<(Kernels, Tiles)> {
    let all = Kernels::available();
    let fastest = all[0];
    let with_definition = all.into_iter().map(|kernels| (kernels, Tiles::Definition));
    with_definition
        .chain(Tiles::available().into_iter().map(|tiles| (fastest, tiles)))
        .collect()
}

fn pack(panel: usize, inner: usize, width: usize, b: &[f32]) -> Vec<f32> {
    let mut packed = Vec::new();
    for first in (0..width).step_by(panel) {
        for k in 0..inner {
            packed.extend_from_slice(&b[k * width + first..k * width + (first + panel).min(width)]);
        }
    }
    packed
}

fn product(a: &[f32], b: &[f32], (rows, inner, width): (usize, usize, usize)) -> Vec<f32> {
    let cell = |i: usize| -> f32 {
        (0..inner)
            .map(|k| a[i / width * inner + k] * b[k * width + i % width])
            .sum()
    };
    (0..rows * width).map(cell).collect()
}

/// A 3×3 convolution by its definition, `filters[output][input][3][3]` to `[64][outputs]`.
fn convolution(board: &[f32], filters: &[f32], (inputs, outputs): (usize, usize)) -> Vec<f32> {
    let mut result = vec![0.0; 64 * outputs];
    for (i, result) in result.iter_mut().enumerate() {
        let (square, output) = (i / outputs, i % outputs);
        for tap in 0..9 {
            let at = (square / 8 + tap / 3) * BOARD_STRIDE + square % 8 + tap % 3;
            for input in 0..inputs {
                *result += board[at * inputs + input] * filters[(output * inputs + input) * 9 + tap];
            }
        }
    }
    result
}

const EPILOGUES: [Epilogue; 5] = [
    Epilogue::Store,
    Epilogue::Relu,
    Epilogue::Add,
    Epilogue::AddRelu,
    Epilogue::Pool,
];

fn finished(epilogue: Epilogue, v: f32, before: f32) -> f32 {
    let v = if matches!(epilogue, Epilogue::Add | Epilogue::AddRelu) {
        v + before
    } else {
        v
    };
    if matches!(epilogue, Epilogue::Relu | Epilogue::AddRelu) {
        v.max(0.0)
    } else {
        v
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn products_are_those_of_the_definition(
        seed: u64, count in 1..4usize, rows in 0..20usize, inner in prop_oneof![1..40usize, 250..280usize],
        blocks in 1..9usize, biased: bool,
    ) {
        let width = blocks * CHANNEL_STEP;
        let a = numbers(seed, count * rows * inner);
        let b = numbers(seed ^ 1, count * inner * width);
        let bias = numbers(seed ^ 2, width);
        for kernels in Kernels::available() {
            let packed: Vec<f32> =
                b.chunks(inner * width).flat_map(|b| pack(kernels.panel(), inner, width, b)).collect();
            let mut c = vec![0.0; count * rows * width];
            kernels.run(Product {
                count, rows, inner, width,
                a: &a, a_row: inner, a_step: rows * inner,
                b: &packed, b_step: inner * width,
                bias: biased.then_some(&bias),
                c: &mut c, c_row: width, c_step: rows * width,
            });
            let mut expected = Vec::new();
            for i in 0..count {
                let (a, b) = (&a[i * rows * inner..][..rows * inner], &b[i * inner * width..][..inner * width]);
                expected.extend(product(a, b, (rows, inner, width)));
            }
            if biased {
                expected.iter_mut().zip(bias.iter().cycle()).for_each(|(c, bias)| *c += bias);
            }
            let tolerance = if inner < 40 { 1e-5 } else { 1e-4 };
            assert_close(&c, &expected, tolerance, kernels.name())?;
        }
    }

    #[test]
    fn winograd_convolves(
        seed: u64, positions in 1..4usize, in_blocks in 1..4usize, out_blocks in 1..5usize, epilogue in 0..5usize,
    ) {
        let (inputs, outputs) = (in_blocks * CHANNEL_STEP, out_blocks * CHANNEL_STEP);
        let epilogue = EPILOGUES[epilogue];
        let boards: Vec<f32> = (0..positions).flat_map(|i| board(seed ^ i as u64, inputs)).collect();
        let before: Vec<f32> = (0..positions).flat_map(|i| board(!seed ^ i as u64, outputs)).collect();
        let filters = numbers(seed ^ 77, outputs * inputs * 9);
        let bias = numbers(seed ^ 78, outputs);
        let transformed: Vec<_> = filters.as_chunks::<9>().0.iter().map(transform_filter).collect();
        let rows = positions * TILES;
        let (tiles_step, products_step) = (rows * inputs + 3, rows * outputs + 5);
        let magnitudes = |boards: &[f32], channels: usize| -> Vec<f32> {
            let largest = |board: &[f32]| board.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            boards.chunks(BOARD_SQUARES * channels).map(largest).collect()
        };
        let largest = magnitudes(&boards, inputs);
        let mut integers = vec![0; POINTS * inputs * outputs];
        let filter = |input: usize, output: usize| transformed[output * inputs + input];
        let scales = pack_fixed_filters((inputs, outputs), true, filter, &mut integers);
        let factors = point_factors(true);
        let single = Kernels::available().into_iter().map(|kernels| (kernels, false));
        let all = single.chain(Kernels::fixed().into_iter().map(|kernels| (kernels, true)));
        let mut of_fixed = Vec::new();
        for (kernels, is_fixed) in all {
            let mut tiles = vec![0.0; POINTS * tiles_step];
            let mut fixed_tiles = vec![0; POINTS * tiles_step];
            let to = if is_fixed {
                Transformed::Fixed { tiles: &mut fixed_tiles, factors: &factors, largest: &largest }
            } else {
                Transformed::Single(&mut tiles)
            };
            kernels.run(InputTransform {
                positions, channels: inputs, boards: &boards, tiles: to, step: tiles_step,
            });
            let mut products = vec![0.0; POINTS * products_step];
            if is_fixed {
                kernels.run(FixedProduct {
                    count: POINTS, rows, inner: inputs, width: outputs,
                    a: &fixed_tiles, a_row: inputs, a_step: tiles_step, b: &integers, b_step: inputs * outputs,
                    c: FixedSums::Parts(&mut products), c_row: outputs, c_step: products_step,
                });
            } else {
                let mut weights = Vec::new();
                let at_point = |point: usize| move |filter: &[f32; POINTS]| filter[point];
                for at_point in (0..POINTS).map(at_point) {
                    let b: Vec<f32> = (0..inputs * outputs)
                        .map(|i| at_point(&transformed[i % outputs * inputs + i / outputs]))
                        .collect();
                    weights.extend(pack(kernels.panel(), inputs, outputs, &b));
                }
                kernels.run(Product {
                    count: POINTS, rows, inner: inputs, width: outputs,
                    a: &tiles, a_row: inputs, a_step: tiles_step,
                    b: &weights, b_step: inputs * outputs, bias: None,
                    c: &mut products, c_row: outputs, c_step: products_step,
                });
            }
            let (mut after, mut pool) = (before.clone(), vec![0.0; positions * outputs]);
            let mut reached = vec![0.0; positions];
            kernels.run(OutputTransform {
                positions, width: outputs, products: &products, step: products_step,
                fixed: is_fixed.then_some(FixedScales { channels: &scales, boards: &largest }),
                bias: &bias, epilogue, boards: &mut after, channels: outputs, first: 0, pool: &mut pool,
                reached: &mut reached,
            });
            prop_assert_eq!(&reached, &magnitudes(&after, outputs), "{}", kernels.name());
            if is_fixed {
                of_fixed.push((after.clone(), pool.clone()));
                prop_assert_eq!(of_fixed.last(), of_fixed.first(), "{}: other bits", kernels.name());
            }
            for position in 0..positions {
                let size = BOARD_SQUARES * outputs;
                let (before, after) = (&before[position * size..][..size], &after[position * size..][..size]);
                let input = &boards[position * BOARD_SQUARES * inputs..][..BOARD_SQUARES * inputs];
                let mut expected = vec![0.0; size];
                let mut sums = vec![0.0; outputs];
                for (i, &v) in convolution(input, &filters, (inputs, outputs)).iter().enumerate() {
                    let (square, output) = (i / outputs, i % outputs);
                    let at = board_offset(square, outputs) + output;
                    let v = v + bias[output];
                    sums[output] += v;
                    expected[at] = finished(epilogue, v, before[at]);
                }
                let pool = &pool[position * outputs..][..outputs];
                if is_fixed {
                    assert_near(after, &expected, kernels.name())?;
                } else {
                    assert_close(after, &expected, 5e-4, kernels.name())?;
                }
                if epilogue == Epilogue::Pool && is_fixed {
                    assert_near(pool, &sums, kernels.name())?;
                } else if epilogue == Epilogue::Pool {
                    assert_close(pool, &sums, 1e-3, kernels.name())?;
                }
            }
        }
    }

    #[test]
    fn functions_are_those_of_the_library(seed: u64, length in 0..70usize, scale in 0.1f32..30.0) {
        type Reference = fn(f64) -> f64;
        const FUNCTIONS: [(Activation, Reference); 7] = [
            (Activation::Relu, |x| x.max(0.0)),
            (Activation::Relu2, |x| x.max(0.0).powi(2)),
            (Activation::Mish, |x| x * x.exp().ln_1p().tanh()),
            (Activation::Tanh, f64::tanh),
            (Activation::Sigmoid, |x| 1.0 / (1.0 + (-x).exp())),
            (Activation::Selu, |x| 1.0507009873554805 * if x > 0.0 { x } else { 1.6732632423543772 * x.exp_m1() }),
            (Activation::Swish, |x| x / (1.0 + (-x).exp())),
        ];
        let values: Vec<f32> = numbers(seed, length).iter().map(|x| x * scale).collect();
        for kernels in Kernels::available() {
            for (function, reference) in FUNCTIONS {
                let mut found = values.clone();
                let largest = kernels.run(Apply { function, values: &mut found });
                prop_assert_eq!(largest, found.iter().fold(0.0, |most, x| x.abs().max(most)));
                let expected: Vec<f32> = values.iter().map(|&x| reference(f64::from(x)) as f32).collect();
                assert_close(&found, &expected, 2e-6, &format!("{} {function:?}", kernels.name()))?;
            }
        }
    }

    #[test]
    fn residuals_are_scaled_and_added(seed: u64, positions in 1..4usize, blocks in 1..5usize, relu: bool) {
        let channels = blocks * CHANNEL_STEP;
        let boards: Vec<f32> = (0..positions).flat_map(|i| board(seed ^ i as u64, channels)).collect();
        let update: Vec<f32> = (0..positions).flat_map(|i| board(!seed ^ i as u64, channels)).collect();
        let scale_shift = numbers(seed ^ 99, positions * 2 * channels);
        for kernels in Kernels::available() {
            let (mut found, mut largest) = (boards.clone(), vec![0.0; positions]);
            kernels.run(Residual {
                positions, channels, update: &update, scale_shift: &scale_shift, boards: &mut found, relu,
                largest: &mut largest,
            });
            for (board, &largest) in found.chunks(BOARD_SQUARES * channels).zip(&largest) {
                prop_assert_eq!(largest, board.iter().fold(0.0, |most, x| x.abs().max(most)));
            }
            let mut expected = boards.clone();
            for position in 0..positions {
                for (square, channel) in (0..64).flat_map(|square| (0..channels).map(move |channel| (square, channel))) {
                    let at = position * BOARD_SQUARES * channels + board_offset(square, channels) + channel;
                    let scales = &scale_shift[position * 2 * channels..];
                    let v = boards[at] + scales[channel] * update[at] + scales[channels + channel];
                    expected[at] = if relu { v.max(0.0) } else { v };
                }
            }
            assert_close(&found, &expected, 1e-6, kernels.name())?;
        }
    }

    #[test]
    fn stamps_are_added_around_their_squares(
        seed: u64, blocks in 1..4usize, stamps in proptest::collection::vec((0..64u8, 0..5u16, -2.0f32..2.0), 0..20),
    ) {
        let channels = blocks * CHANNEL_STEP;
        let table = numbers(seed, 5 * 9 * channels);
        let stamps: Vec<_> =
            stamps.into_iter().map(|(square, entry, factor)| Stamp { square, entry, factor }).collect();
        let before = board(seed, channels);
        let mut expected = before.clone();
        for stamp in &stamps {
            for i in 0..9 * channels {
                let (tap, channel) = (i / channels, i % channels);
                let square = usize::from(stamp.square);
                let at = (square / 8 + tap / 3) * BOARD_STRIDE + square % 8 + tap % 3;
                expected[at * channels + channel] +=
                    stamp.factor * table[(usize::from(stamp.entry) * 9 + tap) * channels + channel];
            }
        }
        for kernels in Kernels::available() {
            let mut found = before.clone();
            kernels.run(Stamps { channels, stamps: &stamps, table: &table, board: &mut found });
            assert_close(&found, &expected, 1e-5, kernels.name())?;
        }
    }

    #[test]
    fn single_outputs_and_sums_are_those_of_the_definition(
        seed: u64, blocks in 1..5usize, length in 0..100usize, factor in -2.0f32..2.0,
    ) {
        let channels = blocks * CHANNEL_STEP;
        let board = board(seed, channels);
        let (a, b) = (numbers(seed ^ 5, length), numbers(seed ^ 6, length));
        let dot: f32 = a.iter().zip(&b).map(|(a, b)| a * b).sum();
        let added: Vec<f32> = board.iter().zip(numbers(seed, board.len())).map(|(a, b)| a + factor * b).collect();
        for kernels in Kernels::available() {
            assert_close(&[kernels.run(Dot { a: &a, b: &b })], &[dot], 1e-5, kernels.name())?;
            let mut sums = board.clone();
            kernels.run(AddScaled { to: &mut sums, from: &numbers(seed, board.len()), factor });
            assert_close(&sums, &added, 1e-6, kernels.name())?;
        }
    }

    #[test]
    fn boards_are_folded_and_unfolded(seed: u64, positions in 1..4usize, blocks in 1..6usize) {
        let channels = blocks * CHANNEL_STEP;
        let boards: Vec<f32> = (0..positions).flat_map(|i| board(seed ^ i as u64, channels)).collect();
        let expected: Vec<u16> = boards.chunks(BOARD_SQUARES * channels).flat_map(|b| folded(b, channels)).collect();
        for kernels in Kernels::available() {
            let mut stream = vec![0.0; positions * stream_length(channels)];
            let mut found = vec![0; positions * folded_length(channels)];
            kernels.run(Fold { positions, channels, boards: &boards, stream: &mut stream, folded: &mut found });
            prop_assert_eq!(&found, &expected, "{}", kernels.name());
            let mut unfolded = vec![0.0; boards.len()];
            kernels.run(Unfold { positions, channels, stream: &stream, boards: &mut unfolded });
            prop_assert_eq!(&unfolded, &boards, "{}", kernels.name());
        }
    }

    #[test]
    fn folded_boards_convolve(
        seed: u64, positions in 1..4usize, in_blocks in 1..5usize, out_blocks in 1..5usize, relu: bool,
    ) {
        check_folded(seed, positions, (in_blocks * CHANNEL_STEP, out_blocks * CHANNEL_STEP), relu)?;
    }

    #[test]
    fn streams_are_finished(
        seed: u64, positions in 1..4usize, blocks in 1..3usize, function in 0..4usize, with_residual: bool,
    ) {
        let channels = blocks * TILE_DEPTH;
        let function = [Activation::None, Activation::Relu, Activation::Relu2, Activation::Tanh][function];
        let boards = |seed: u64| -> Vec<f32> {
            (0..positions).flat_map(|i| board(seed ^ i as u64, channels)).collect()
        };
        let (before, changes) = (boards(seed), boards(!seed));
        let scale_shift = numbers(seed ^ 99, positions * 2 * channels);
        let mut expected = vec![0.0; before.len()];
        for i in 0..positions * 64 * channels {
            let (position, square, channel) = (i / channels / 64, i / channels % 64, i % channels);
            let at = position * BOARD_SQUARES * channels + board_offset(square, channels) + channel;
            let scales = &scale_shift[position * 2 * channels..];
            let sum = before[at] + scales[channel] * changes[at] + scales[channels + channel];
            let v = if with_residual { sum } else { changes[at] };
            expected[at] = match function {
                Activation::Relu => v.max(0.0),
                Activation::Relu2 => v.max(0.0).powi(2),
                Activation::Tanh => v.tanh(),
                _ => v,
            };
        }
        for kernels in Kernels::available() {
            let mut bits = vec![0; positions * folded_length(channels)];
            let [mut stream, mut update] = [(); 2].map(|()| vec![0.0; positions * stream_length(channels)]);
            kernels.run(Fold { positions, channels, boards: &changes, stream: &mut update, folded: &mut bits });
            kernels.run(Fold { positions, channels, boards: &before, stream: &mut stream, folded: &mut bits });
            let residual =
                with_residual.then_some(ScaledResidual { scale_shift: &scale_shift, stream: &mut stream });
            kernels.run(FinishStream { positions, channels, function, update: &update, residual, folded: &mut bits });
            let mut found = vec![0.0; expected.len()];
            if with_residual {
                kernels.run(Unfold { positions, channels, stream: &stream, boards: &mut found });
                assert_close(&found, &expected, 1e-5, kernels.name())?;
                let folded: Vec<u16> = found.chunks(BOARD_SQUARES * channels).flat_map(|b| folded(b, channels)).collect();
                prop_assert_eq!(&bits, &folded, "{}", kernels.name());
            } else {
                for (bits, expected) in bits.chunks(folded_length(channels)).zip(expected.chunks(BOARD_SQUARES * channels)) {
                    for (&bits, expected) in bits.iter().zip(folded(expected, channels)) {
                        let [found, expected] = [bits, expected].map(|bits| half::bf16::from_bits(bits).to_f32());
                        prop_assert!((found - expected).abs() <= 1e-2, "{}: {} {}", kernels.name(), found, expected);
                    }
                }
            }
        }
    }

    #[test]
    fn rows_are_normalized(
        seed: u64, rows in 0..4usize, size in 1..70usize, factor in -2.0f32..2.0, shift in -5.0f32..5.0, branched: bool,
    ) {
        let stride = size.next_multiple_of(CHANNEL_STEP);
        let is_rounded = stride.is_multiple_of(TILE_DEPTH);
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
        for kernels in Kernels::available() {
            let mut found = padded(x.clone());
            let (layout, mut half) = (Layout::blocks(stride), vec![0; rows.next_multiple_of(64) * stride]);
            kernels.run(Normalize {
                rows, size, stride, x: &mut found, branch: branched.then_some(&branch), factor,
                gammas: &gammas, betas: &betas, epsilon: 1e-3,
                rounded: is_rounded.then_some(Rounded::Half(&mut half, layout)),
            });
            assert_close(&found, &padded(expected.clone()), 1e-4, kernels.name())?;
            for (i, &number) in found.iter().enumerate().filter(|_| is_rounded) {
                let rounded = half[layout.place(i / stride, i % stride)];
                prop_assert_eq!(rounded, half::bf16::from_f32(number).to_bits(), "{}", kernels.name());
            }
            let (mut integers, mut scales) = (vec![0; rows * stride], vec![0.0; rows]);
            let mut again = padded(x.clone());
            kernels.run(Normalize {
                rows, size, stride, x: &mut again, branch: branched.then_some(&branch), factor,
                gammas: &gammas, betas: &betas, epsilon: 1e-3,
                rounded: Some(Rounded::Fixed(&mut integers, &mut scales)),
            });
            check_integers(&again, stride, (&integers, &scales))?;
        }
    }

    #[test]
    fn rows_are_rounded_to_integers(seed: u64, rows in 1..20usize, blocks in 1..70usize, exponent in -44..36i32) {
        let width = blocks * CHANNEL_STEP;
        let mut from = numbers(seed, rows * width);
        from.iter_mut().for_each(|x| *x *= 10f32.powi(exponent));
        from[..width].fill(0.0);
        let all = Kernels::available().into_iter().chain(Kernels::fixed());
        let results = all.map(|kernels| {
            let (mut integers, mut scales) = (vec![7; rows * width], vec![7.0; rows]);
            let to = Rounded::Fixed(&mut integers, &mut scales);
            kernels.run(Round { rows, width, function: Activation::None, x: &mut from.clone(), to });
            (integers, scales)
        });
        let results: Vec<_> = results.collect();
        if exponent > -28 {
            check_integers(&from, width, (&results[0].0, &results[0].1))?;
        }
        prop_assert!(results.iter().all(|result| *result == results[0]));
    }

    #[test]
    fn rounding_after_a_function_is_both_in_turn(seed: u64, rows in 1..9usize, blocks in 1..9usize, function in 0..4usize) {
        let function = [Activation::Relu, Activation::Mish, Activation::Selu, Activation::Relu2][function];
        let width = blocks * CHANNEL_STEP;
        let x = numbers(seed, rows * width);
        for kernels in Kernels::fixed() {
            let round = |function: Activation, mut x: Vec<f32>| {
                let (mut integers, mut scales) = (vec![7; rows * width], vec![7.0; rows]);
                let to = Rounded::Fixed(&mut integers, &mut scales);
                kernels.run(Round { rows, width, function, x: &mut x, to });
                (x, integers, scales)
            };
            let mut applied = x.clone();
            kernels.run(Apply { function, values: &mut applied });
            prop_assert_eq!(round(function, x.clone()), round(Activation::None, applied), "{}", kernels.name());
        }
    }

    #[test]
    fn fixed_products_are_exact(
        seed: u64, count in 1..3usize, rows in 0..30usize, in_blocks in 1..20usize, out_blocks in 1..5usize, scaled: bool,
    ) {
        let (inner, width) = (in_blocks * CHANNEL_STEP, out_blocks * CHANNEL_STEP);
        let count = if scaled { 1 } else { count };
        let integers = |seed: u64, length: usize, largest: f32| -> Vec<i16> {
            numbers(seed, length).iter().map(|x| (x * largest) as i16).collect()
        };
        let a = integers(seed, count * rows * inner, 8191.0);
        let b = integers(seed ^ 1, count * inner * width, 2.0 * 8191.0 / in_blocks as f32);
        let (row_scales, scales, bias) = (numbers(seed ^ 2, rows), numbers(seed ^ 3, width), numbers(seed ^ 4, width));
        let mut expected = Vec::new();
        for i in 0..count * rows * width {
            let (matrix, row, column) = (i / width / rows, i / width % rows, i % width);
            let product = |k: usize| {
                let at = ((column / 16 * (inner / 2) + k / 2) * 16 + column % 16) * 2 + k % 2;
                i64::from(a[(matrix * rows + row) * inner + k]) * i64::from(b[matrix * inner * width + at])
            };
            let sum_of = |part: std::ops::Range<usize>| part.map(product).sum::<i64>();
            expected.push(if scaled {
                let sum = i32::try_from(sum_of(0..inner)).unwrap() as f32;
                sum.mul_add(row_scales[row] * scales[column], bias[column])
            } else {
                (0..inner).step_by(128).fold(0.0, |sum, k| sum + sum_of(k..inner.min(k + 128)) as f32)
            });
        }
        for kernels in Kernels::fixed() {
            let mut c = vec![0.0; count * rows * width];
            let sums = if scaled {
                FixedSums::Scaled { to: &mut c, row_scales: &row_scales, scales: &scales, bias: &bias }
            } else {
                FixedSums::Parts(&mut c)
            };
            kernels.run(FixedProduct {
                count, rows, inner, width, a: &a, a_row: inner, a_step: rows * inner, b: &b, b_step: inner * width,
                c: sums, c_row: width, c_step: rows * width,
            });
            prop_assert_eq!(&c, &expected, "{}", kernels.name());
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
        for kernels in Kernels::available() {
            let mut found = x.clone();
            kernels.run(Softmax { rows, width, x: &mut found, scale, added: with_more.then_some(&added) });
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
        for kernels in Kernels::available() {
            let mut to = vec![7; expected.len()];
            let rounded = Rounded::Half(&mut to, Layout::blocks(width));
            kernels.run(Round { rows, width, function: Activation::None, x: &mut from.clone(), to: rounded });
            prop_assert_eq!(&to, &expected, "{}", kernels.name());
        }
    }

    #[test]
    fn dense_layers_are_those_of_the_definition(
        seed: u64, rows in 1..150usize, steps in 1..6usize, blocks in 1..6usize, function in 0..8usize, target in 0..3usize,
        in_rows: bool, out_rows: bool,
    ) {
        check_dense(DenseCase { seed, rows, steps, blocks, function, target, in_rows, out_rows })?;
    }

    #[test]
    fn attention_is_that_of_the_definition(
        seed: u64, positions in 1..3usize, heads in 1..4usize, blocks in 1..4usize, scale in 0.05f32..2.0, with_more: bool,
    ) {
        let depth = blocks * TILE_DEPTH;
        let size = 64 * depth;
        let projected = half_numbers(seed, positions * 3 * heads * size, 1.0);
        let layout = Layout::rows(64 * 64 + 96);
        let added = half_numbers(!seed, layout.length(positions * heads, 64 * 64), 4.0);
        let number = |head: usize, part: usize, square: usize, k: usize| {
            let first = ((head / heads * 3 + part) * heads + head % heads) * size;
            f64::from(single(projected[first + k / 32 * 64 * 32 + square * 32 + k % 32]))
        };
        let mut expected = vec![0.0; positions * heads * size];
        for (head, square) in (0..positions * heads).flat_map(|head| (0..64).map(move |square| (head, square))) {
            let logit = |other: usize| {
                let product: f64 = (0..depth).map(|k| number(head, 0, square, k) * number(head, 1, other, k)).sum();
                let more = single(added[head * (64 * 64 + 96) + square * 64 + other]);
                product * f64::from(scale) + if with_more { f64::from(more) } else { 0.0 }
            };
            let powers: Vec<f64> = (0..64).map(|other| logit(other).exp()).collect();
            for k in 0..depth {
                let sum: f64 = (0..64).map(|other| powers[other] * number(head, 2, other, k)).sum();
                expected[head * size + k / 32 * 64 * 32 + square * 32 + k % 32] =
                    (sum / powers.iter().sum::<f64>()) as f32;
            }
        }
        for tiles in all_tiles() {
            let (mut attended, mut scratch) = (vec![7; expected.len()], vec![7; 2 * size]);
            tiles.attend(Attend {
                positions, heads, depth, projected: &projected, scale,
                additions: with_more.then_some(HalfRows { numbers: &added, layout }),
                attended: &mut attended, scratch: &mut scratch, next: &projected,
            });
            let attended: Vec<f32> = attended.into_iter().map(single).collect();
            assert_close(&attended, &expected, 1e-2, tiles.name())?;
        }
    }

    #[test]
    fn layers_of_wrong_sizes_panic(
        sizes in proptest::collection::vec(
            prop_oneof![1..6usize, Just(usize::MAX / TILE_DEPTH), Just(usize::MAX / 7)], 4),
        row in prop_oneof![1..200usize, Just(usize::MAX / 70)],
        length in 0..30_000usize, single: bool, in_blocks: bool, with_more: bool,
    ) {
        let half = half_numbers(1, length, 1.0);
        let bias = numbers(2, length);
        let [rows, steps, blocks, heads] = sizes[..] else { unreachable!() };
        let (inputs, outputs) = (steps.wrapping_mul(TILE_DEPTH), blocks.wrapping_mul(TILE_DEPTH));
        let fits = |needed: u128| needed <= length as u128;
        for tiles in all_tiles() {
            let (mut to, mut single_to) = (half.clone(), bias.clone());
            let ran = returns(|| {
                let layout = if in_blocks { Layout::blocks(inputs) } else { Layout::rows(row) };
                let output = if single {
                    DenseOutput::Single(&mut single_to)
                } else {
                    DenseOutput::Half(&mut to, Layout::rows(row))
                };
                let a = HalfRows { numbers: &half, layout };
                tiles.dense(Dense {
                    rows, inputs, outputs, a, weights: &half, bias: &bias, function: Activation::None, output, next: &half,
                });
            });
            if ran {
                let (read, inputs, outputs) = (rows.next_multiple_of(16) as u128, inputs as u128, outputs as u128);
                let furthest = if in_blocks { (steps as u128 - 1) * 64 * 32 + read * 32 } else {
                    (read - 1) * row as u128 + inputs
                };
                prop_assert!(fits(furthest) && fits(inputs * outputs) && fits(outputs));
                let results = if single { rows as u128 * outputs } else { (rows as u128 - 1) * row as u128 + outputs };
                prop_assert!(fits(results));
            }
            let (mut attended, mut scratch) = (half.clone(), half.clone());
            let ran = returns(|| tiles.attend(Attend {
                positions: rows, heads, depth: inputs, projected: &half, scale: 1.0,
                additions: with_more.then_some(HalfRows { numbers: &half, layout: Layout::rows(row) }),
                attended: &mut attended, scratch: &mut scratch, next: &[],
            }));
            if ran {
                prop_assert!(fits((3 * 64 * rows * heads) as u128 * inputs as u128));
                prop_assert!(!with_more || fits((rows * heads - 1) as u128 * row as u128 + 64 * 64));
            }
        }
    }

    #[test]
    fn wrong_sizes_panic(
        sizes in proptest::collection::vec(
            prop_oneof![1..12usize, Just(usize::MAX / CHANNEL_STEP), Just(usize::MAX / 7)], 7),
        length in 0..20_000usize,
    ) {
        let numbers = numbers(1, length);
        let mut results = numbers.clone();
        let [count, rows, inner, blocks, row, step, board_blocks] = sizes[..] else { unreachable!() };
        let (width, channels) = (blocks.wrapping_mul(CHANNEL_STEP), board_blocks.wrapping_mul(CHANNEL_STEP));
        let end = |count: usize, step: usize, size: u128| (count as u128 - 1) * step as u128 + size;
        let fits = |needed: u128| needed <= length as u128;
        for kernels in Kernels::available() {
            let product = Product {
                count, rows, inner, width,
                a: &numbers, a_row: row, a_step: step, b: &numbers, b_step: step, bias: None,
                c: &mut results, c_row: row, c_step: step,
            };
            if returns(|| kernels.run(product)) {
                prop_assert!(fits(end(count, step, end(rows, row, inner as u128))));
                prop_assert!(fits(end(count, step, end(rows, row, width as u128))));
                prop_assert!(fits(end(count, step, inner as u128 * width as u128)));
            }
            let board = (BOARD_SQUARES * CHANNEL_STEP) as u128 * board_blocks as u128;
            let mut integers = vec![0; length];
            let factors = point_factors(false);
            let tiles = if row % 2 == 0 {
                Transformed::Single(&mut results)
            } else {
                Transformed::Fixed { tiles: &mut integers, factors: &factors, largest: &numbers }
            };
            let transform = InputTransform { positions: count, channels, boards: &numbers, tiles, step };
            if channels > 0 && returns(|| kernels.run(transform)) {
                prop_assert!(fits(count as u128 * board));
                prop_assert!(fits(end(POINTS, step, (count * TILES * channels) as u128)));
            }
            let (mut pool, mut reached) = (numbers.clone(), numbers.clone());
            let transform = OutputTransform {
                positions: count, width, products: &numbers, step, bias: &numbers, epilogue: Epilogue::Pool,
                fixed: (row % 2 == 0).then_some(FixedScales { channels: &numbers, boards: &numbers }),
                boards: &mut results, channels, first: row, pool: &mut pool, reached: &mut reached,
            };
            if channels > 0 && returns(|| kernels.run(transform)) {
                prop_assert!(fits(count as u128 * board));
                prop_assert!(fits(end(POINTS, step, (count * TILES * width) as u128)));
                prop_assert!(row + width <= channels);
            }
            let inputs = inner.wrapping_mul(CHANNEL_STEP);
            let product = FixedProduct {
                count, rows, inner: inputs, width, a: &integers, a_row: row, a_step: step, b: &integers, b_step: step,
                c: FixedSums::Parts(&mut results), c_row: row, c_step: step,
            };
            if returns(|| kernels.run(product)) {
                prop_assert!(fits(end(count, step, end(rows, row, inputs as u128))));
                prop_assert!(fits(end(count, step, end(rows, row, width as u128))));
                prop_assert!(fits(end(count, step, inputs as u128 * width as u128)));
            }
            let offsets = folded_offsets(TILE_DEPTH);
            let half = vec![0; length];
            let outputs = blocks.wrapping_mul(TILE_DEPTH);
            let convolution = ConvolveFolded {
                tiles: Tiles::Definition, positions: count, outputs, offsets: &offsets, input: &half, weights: &half,
                bias: &numbers, output: FoldedOutput::Sums { update: &mut results, pool: &mut pool },
            };
            if count < 9 && blocks < 9 && returns(|| kernels.run(convolution)) {
                prop_assert!(fits((count * folded_length(TILE_DEPTH)) as u128));
                prop_assert!(fits((count * stream_length(outputs)) as u128));
                prop_assert!(fits((outputs * TILE_DEPTH * 9) as u128));
            }
        }
    }
}

/// That integers times their row's scale are the numbers, within half an integer and what fp32 loses of 8191.
fn check_integers(
    numbers: &[f32],
    width: usize,
    (integers, scales): (&[i16], &[f32]),
) -> Result<(), TestCaseError> {
    for (i, &number) in numbers.iter().enumerate() {
        let (integer, scale) = (f32::from(integers[i]), scales[i / width]);
        prop_assert!(integer.abs() <= 8191.0);
        let distance = (number - integer * scale).abs();
        prop_assert!(
            distance <= 0.502 * scale,
            "{integer} of scale {scale} is not {number}"
        );
    }
    Ok(())
}

/// With the largest activations, whose signs are those of the weights.
#[test]
fn sums_of_the_worst_weights_do_not_overflow() {
    const OUTPUTS: usize = CHANNEL_STEP;
    const ROWS: usize = 16;
    for inputs in [16, 128, 256, 1024, 2048, 8192] {
        let weights = numbers(inputs as u64, inputs * OUTPUTS);
        // The first output has equal weights, the second one large weight.
        let weight = |input: usize, output: usize| match output {
            0 => 1.0,
            1 => {
                if input == 0 {
                    1.0
                } else {
                    1e-9
                }
            }
            _ => weights[input * OUTPUTS + output],
        };
        let filter = |input: usize, output: usize| [weight(input, output); POINTS];
        let (mut dense, mut filters) = (vec![0; inputs * OUTPUTS], vec![0; POINTS * inputs * OUTPUTS]);
        pack_fixed_dense((inputs, OUTPUTS), weight, &mut dense);
        pack_fixed_filters((inputs, OUTPUTS), false, filter, &mut filters);
        let largest = if inputs < 1024 { 8191 } else { 4095 };
        for output in 0..OUTPUTS {
            let at = |input: usize| (input / 2 * 16 + output) * 2 + input % 2;
            let sum: i64 = (0..inputs).map(|input| i64::from(dense[at(input)]).abs()).sum();
            assert!(sum * (largest + 1) < 1 << 31, "{inputs} inputs, output {output}");
            assert!(
                sum * (largest + 1) > 1 << 29 || output == 1 || inputs == 16,
                "bits are wasted"
            );
            for point in filters.chunks(inputs * OUTPUTS) {
                for first in (0..inputs).step_by(128) {
                    let part = first..inputs.min(first + 128);
                    let sum: i64 = part.map(|input| i64::from(point[at(input)]).abs()).sum();
                    assert!(sum * (16383 + 1) < 1 << 31, "{inputs} inputs, output {output}");
                }
            }
        }
        let row = vec![-largest as i16; inputs];
        let negative: Vec<i16> = dense.iter().map(|weight| -weight.abs()).collect();
        for kernels in Kernels::fixed() {
            let mut c = [0.0; ROWS * OUTPUTS];
            let ones = [1.0; OUTPUTS];
            kernels.run(FixedProduct {
                count: 1,
                rows: ROWS,
                inner: inputs,
                width: OUTPUTS,
                a: &row,
                a_row: 0,
                a_step: 0,
                b: &negative,
                b_step: 0,
                c: FixedSums::Scaled {
                    to: &mut c,
                    row_scales: &[1.0; ROWS],
                    scales: &ones,
                    bias: &[0.0; OUTPUTS],
                },
                c_row: OUTPUTS,
                c_step: 0,
            });
            assert!(c.iter().all(|&sum| sum > 0.0), "{inputs} inputs: {c:?}");
        }
    }
}

#[test]
fn slow_arithmetic_is_not_preferred() {
    let fastest = Kernels::available()[0];
    assert!(!Tiles::Definition.outruns_products(fastest));
    let slowest = *Kernels::fixed().last().unwrap();
    assert_eq!(slowest.name(), "portable");
    assert!(!slowest.fixed_outruns(fastest));
}

fn half_numbers(seed: u64, count: usize, scale: f32) -> Vec<u16> {
    numbers(seed, count)
        .iter()
        .map(|v| half::bf16::from_f32(v * scale).to_bits())
        .collect()
}

fn all_tiles() -> Vec<Tiles> {
    Tiles::available()
        .into_iter()
        .chain([Tiles::Definition])
        .collect()
}

fn check_folded(
    seed: u64,
    positions: usize,
    (inputs, outputs): (usize, usize),
    relu: bool,
) -> Result<(), TestCaseError> {
    let width = outputs.next_multiple_of(TILE_DEPTH);
    let rounded =
        |values: Vec<f32>| -> Vec<f32> { values.iter().map(|&v| half::bf16::from_f32(v).to_f32()).collect() };
    let boards: Vec<f32> = (0..positions)
        .flat_map(|i| rounded(board(seed ^ i as u64, inputs)))
        .collect();
    let input: Vec<u16> = boards
        .chunks(BOARD_SQUARES * inputs)
        .flat_map(|b| folded(b, inputs))
        .collect();
    let filters = rounded(numbers(seed ^ 77, outputs * inputs * 9));
    let mut bias = numbers(seed ^ 78, outputs);
    let (mut expected, mut sums) = (Vec::new(), Vec::new());
    for input in boards.chunks(BOARD_SQUARES * inputs) {
        let (mut output, mut sum) = (vec![0.0; BOARD_SQUARES * outputs], vec![0.0; width]);
        for (i, &v) in convolution(input, &filters, (inputs, outputs)).iter().enumerate() {
            let (square, channel) = (i / outputs, i % outputs);
            let v = v + bias[channel];
            sum[channel] += v;
            output[board_offset(square, outputs) + channel] = if relu { v.max(0.0) } else { v };
        }
        expected.extend(output);
        sums.extend(sum);
    }
    bias.resize(width, 0.0);
    let offsets = folded_offsets(inputs);
    let mut weights = vec![0; offsets.len() * TILE_DEPTH * width];
    pack_right(&mut weights, offsets.len(), |step, k, output| {
        let input = step / 9 * TILE_DEPTH + k;
        let inside = input < inputs && output < outputs;
        if inside {
            filters[(output * inputs + input) * 9 + step % 9]
        } else {
            0.0
        }
    });
    for (kernels, tiles) in pairs() {
        let what = format!("{} {}", kernels.name(), tiles.name());
        let job = |output| ConvolveFolded {
            tiles,
            positions,
            outputs: width,
            offsets: &offsets,
            input: &input,
            weights: &weights,
            bias: &bias,
            output,
        };
        if relu {
            let mut found = vec![0; positions * folded_length(outputs)];
            kernels.run(job(FoldedOutput::Relu(&mut found)));
            let expected: Vec<u16> = expected
                .chunks(BOARD_SQUARES * outputs)
                .flat_map(|board| folded(board, outputs))
                .collect();
            let numbers = |bits: &[u16]| -> Vec<f32> {
                bits.iter()
                    .map(|&bits| half::bf16::from_bits(bits).to_f32())
                    .collect()
            };
            assert_close(&numbers(&found), &numbers(&expected), 1e-2, &what)?;
        } else {
            let mut update = vec![0.0; positions * stream_length(outputs)];
            let (mut pool, mut found) = (vec![7.0; positions * width], vec![0.0; expected.len()]);
            kernels.run(job(FoldedOutput::Sums {
                update: &mut update,
                pool: &mut pool,
            }));
            kernels.run(Unfold {
                positions,
                channels: outputs,
                stream: &update,
                boards: &mut found,
            });
            assert_close(&found, &expected, 1e-3, &what)?;
            assert_close(&pool, &sums, 1e-2, &what)?;
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn large_convolutions_are_those_of_the_definition() {
    for relu in [false, true] {
        check_folded(7, 2, (256, 256), relu).unwrap();
    }
}

#[derive(Clone, Copy)]
struct DenseCase {
    seed: u64,
    rows: usize,
    steps: usize,
    blocks: usize,
    function: usize,
    target: usize,
    in_rows: bool,
    out_rows: bool,
}

/// What lies beside the results must stay as it is.
fn check_dense(case: DenseCase) -> Result<(), TestCaseError> {
    const FUNCTIONS: [Activation; 8] = [
        Activation::None,
        Activation::Relu,
        Activation::Relu2,
        Activation::Mish,
        Activation::Tanh,
        Activation::Sigmoid,
        Activation::Selu,
        Activation::Swish,
    ];
    let DenseCase {
        seed,
        rows,
        steps,
        blocks,
        ..
    } = case;
    let (inputs, outputs, function) = (steps * TILE_DEPTH, blocks * TILE_DEPTH, FUNCTIONS[case.function]);
    let layout = |in_rows: bool, width: usize| {
        if in_rows {
            Layout::rows(width + 32)
        } else {
            Layout::blocks(width)
        }
    };
    let (from, to) = (layout(case.in_rows, inputs), layout(case.out_rows, outputs));
    let rounded = |seed: u64, count: usize, scale: f32| -> Vec<f32> {
        half_numbers(seed, count, scale).into_iter().map(single).collect()
    };
    let (x, w) = (
        rounded(seed, rows * inputs, 2.0),
        rounded(seed ^ 1, inputs * outputs, 1.0),
    );
    let bias = numbers(seed ^ 2, outputs);
    let mut a = vec![7; from.length(rows.next_multiple_of(TILE_ROWS), inputs)];
    for (i, &x) in x.iter().enumerate() {
        a[from.place(i / inputs, i % inputs)] = half::bf16::from_f32(x).to_bits();
    }
    let mut weights = vec![0; inputs * outputs];
    pack_right(&mut weights, steps, |step, k, output| {
        w[(step * TILE_DEPTH + k) * outputs + output]
    });
    let mut expected = product(&x, &w, (rows, inputs, outputs));
    expected
        .iter_mut()
        .zip(bias.iter().cycle())
        .for_each(|(v, bias)| *v += bias);
    if let Some(portable) = Kernels::available().pop() {
        portable.run(Apply {
            function,
            values: &mut expected,
        });
    }
    let before = numbers(seed ^ 3, rows * outputs);
    for tiles in all_tiles() {
        let (mut half, mut single_to) = (vec![0x4000; to.length(rows, outputs)], before.clone());
        let output = match case.target {
            0 => DenseOutput::Half(&mut half, to),
            1 => DenseOutput::Single(&mut single_to),
            _ => DenseOutput::Added {
                to: &mut single_to,
                factor: -0.5,
            },
        };
        let a = HalfRows {
            numbers: &a,
            layout: from,
        };
        let (weights, next) = (&weights, &weights[..outputs]);
        tiles.dense(Dense {
            rows,
            inputs,
            outputs,
            a,
            weights,
            bias: &bias,
            function,
            output,
            next,
        });
        if case.target == 0 {
            let mut all = vec![2.0; half.len()];
            expected
                .iter()
                .enumerate()
                .for_each(|(i, &v)| all[to.place(i / outputs, i % outputs)] = v);
            let half: Vec<f32> = half.into_iter().map(single).collect();
            assert_close(&half, &all, 1e-2, tiles.name())?;
        } else {
            let result = |(&v, before): (&f32, &f32)| if case.target == 1 { v } else { before - 0.5 * v };
            let expected: Vec<f32> = expected.iter().zip(&before).map(result).collect();
            assert_close(&single_to, &expected, 1e-3, tiles.name())?;
        }
    }
    Ok(())
}

#[test]
#[cfg_attr(miri, ignore = "takes hours")]
fn large_dense_layers_are_those_of_the_definition() {
    for target in 0..3 {
        let case = DenseCase {
            seed: 5,
            rows: 70,
            steps: 16,
            blocks: 18,
            function: 3,
            target,
            in_rows: false,
            out_rows: false,
        };
        check_dense(case).unwrap();
    }
}

fn returns(job: impl FnOnce()) -> bool {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)).is_ok()
}
