//! What products in bf16 mean, by loops on any CPU: what the units of CPUs and whole networks are tested
//! against.

use half::bf16;

use super::elementwise::Apply;
use super::kernels::Kernels;
use super::operands::{BLOCK_ROWS, Layout, MATRIX, TILE_DEPTH, UNIT_ROWS};
use super::rows::{Attend, Dense, DenseOutput};

fn single(bits: u16) -> f32 {
    bf16::from_bits(bits).to_f32()
}

pub(crate) fn dense(mut job: Dense<'_>) {
    let steps = job.inputs / TILE_DEPTH;
    let output = |row: usize, column: usize| {
        let (block, side, within) = (column / TILE_DEPTH, column / 16 % 2, column % 16);
        let product = |input: usize| {
            let (step, pair, second) = (input / TILE_DEPTH, input / 2 % 16, input % 2);
            let weight = (block * steps + step) * MATRIX + side * 512 + pair * 32 + within * 2 + second;
            single(job.a.numbers[job.a.layout.place(row, input)]) * single(job.weights[weight])
        };
        (0..job.inputs).map(product).sum::<f32>() + job.bias[column]
    };
    for row in 0..job.rows {
        let mut results: Vec<f32> = (0..job.outputs).map(|column| output(row, column)).collect();
        if let Some(kernels) = Kernels::available().pop() {
            kernels.run(Apply {
                function: job.function,
                values: &mut results,
            });
        }
        for (column, &result) in results.iter().enumerate() {
            match &mut job.output {
                DenseOutput::Half(to, layout) => {
                    to[layout.place(row, column)] = bf16::from_f32(result).to_bits();
                }
                DenseOutput::Single(to) => to[row * job.outputs + column] = result,
                DenseOutput::Added { to, factor } => to[row * job.outputs + column] += *factor * result,
            }
        }
    }
}

pub(crate) fn attend(job: Attend<'_>) {
    let (heads, depth) = (job.heads, job.depth);
    let layout = Layout::blocks(depth);
    for (head, attended) in job
        .attended
        .chunks_exact_mut(BLOCK_ROWS * depth)
        .enumerate()
        .take(job.positions * heads)
    {
        let part = |part: usize| {
            let first = (head / heads * 3 + part) * heads + head % heads;
            let numbers = &job.projected[first * BLOCK_ROWS * depth..];
            move |square: usize, k: usize| single(numbers[layout.place(square, k)])
        };
        let (query, key, value) = (part(0), part(1), part(2));
        for square in 0..BLOCK_ROWS {
            let logit = |other: usize| {
                let product = (0..depth).map(|k| query(square, k) * key(other, k)).sum::<f32>();
                let added = job.additions.map_or(0.0, |added| {
                    single(added.numbers[added.layout.place(head, square * BLOCK_ROWS + other)])
                });
                job.scale * product + added
            };
            let logits: Vec<f32> = (0..BLOCK_ROWS).map(logit).collect();
            let largest = logits.iter().copied().fold(f32::MIN, f32::max);
            let powers: Vec<f32> = logits.iter().map(|logit| libm::expf(logit - largest)).collect();
            let sum: f32 = powers.iter().sum();
            for k in 0..depth {
                let result: f32 = powers
                    .iter()
                    .enumerate()
                    .map(|(other, power)| power * value(other, k))
                    .sum();
                attended[layout.place(square, k)] = bf16::from_f32(result / sum).to_bits();
            }
        }
    }
}

/// # Safety
/// As [`Tiles::multiply_rows`].
pub(crate) unsafe fn multiply_rows(offsets: &[u32], a: *const u16, b: *const u16, c: *mut f32) {
    for i in 0..UNIT_ROWS * TILE_DEPTH {
        let (row, column) = (i / TILE_DEPTH, i % TILE_DEPTH);
        // SAFETY: the caller's.
        let number = |from: *const u16, at: usize| single(unsafe { *from.add(at) });
        let mut sum = 0.0;
        for (step, &offset) in offsets.iter().enumerate() {
            let b_step = step * MATRIX + column / 16 * 512 + column % 16 * 2;
            for k in 0..TILE_DEPTH {
                sum += number(a, offset as usize + row * TILE_DEPTH + k)
                    * number(b, b_step + k / 2 * 32 + k % 2);
            }
        }
        // SAFETY: the caller's.
        unsafe { *c.add(i) = sum };
    }
}
