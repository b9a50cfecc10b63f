//! Measures the native backend by kernel, network size and batch size, in CPU time.
//!
//! `cargo bench --bench native`. The networks have random weights: speed doesn't depend on them. `auto` takes the precision that
//! is fastest, which is bf16 with AMX.

use std::time::Duration;

use zeitnot_engine::chess::History;
use zeitnot_engine::network::backends::native::{Native, available_kernels};
use zeitnot_engine::network::encode::InputFormat;
use zeitnot_engine::network::layers::{
    Activation, AttentionBody, AttentionPolicy, Body, Branch, Convolution, Dense, Embedding, Encoder,
    FeedForward, LayerNorm, Network, PolicyHead, ResidualBlock, ScalarHead, Smolgen, SqueezeExcite, Tower,
};
use zeitnot_engine::network::{Backend, EvalSlot, PLANES, PositionEncoding};
use zeitnot_engine::params::Params;

/// Filters and blocks of towers.
const SIZES: [(usize, usize); 4] = [(32, 4), (64, 6), (128, 10), (256, 10)];
/// Channels and encoders of attention bodies.
const ENCODERS: [(usize, usize); 1] = [(256, 8)];
const BATCHES: [usize; 4] = [1, 4, 8, 32];

/// Shortest time of a measurement; batches take turns.
const ROUND: Duration = Duration::from_millis(20);
const ROUNDS: usize = 25;

/// Returns the CPU time of this thread; on other systems than Unix, time by the clock.
fn now() -> Duration {
    #[cfg(unix)]
    {
        use rustix::time::{ClockId, clock_gettime};
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
    }
    #[cfg(not(unix))]
    {
        use std::sync::OnceLock;
        use std::time::Instant;
        static START: OnceLock<Instant> = OnceLock::new();
        START.get_or_init(Instant::now).elapsed()
    }
}

/// A source of small pseudo-random numbers, which keep activations in range.
struct Weights(u64);

impl Weights {
    fn numbers(&mut self, count: usize, fan_in: usize) -> Vec<f32> {
        let scale = 1.0 / (fan_in as f32).sqrt();
        let next = |_| {
            self.0 = self
                .0
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0) * scale
        };
        (0..count).map(next).collect()
    }

    fn convolution(&mut self, inputs: usize, outputs: usize) -> Convolution {
        let fan_in = 9 * inputs;
        let weights = self.numbers(outputs * fan_in, fan_in);
        Convolution {
            inputs,
            outputs,
            weights,
            bias: self.numbers(outputs, 100),
        }
    }

    fn dense(&mut self, inputs: usize, outputs: usize) -> Dense {
        let weights = self.numbers(inputs * outputs, inputs);
        Dense {
            inputs,
            outputs,
            weights,
            bias: self.numbers(outputs, 100),
        }
    }

    fn head(&mut self, filters: usize, [channels, hidden, outputs]: [usize; 3]) -> ScalarHead {
        ScalarHead {
            squares: self.dense(filters, channels),
            hidden: self.dense(64 * channels, hidden),
            output: self.dense(hidden, outputs),
        }
    }

    /// Returns a tower with squeeze-and-excitation and Lc0's usual heads.
    fn network(&mut self, filters: usize, blocks: usize) -> Network {
        let block = |_| ResidualBlock {
            conv1: self.convolution(filters, filters),
            conv2: self.convolution(filters, filters),
            se: Some(SqueezeExcite {
                squeeze: self.dense(filters, filters / 8),
                excite: self.dense(filters / 8, 2 * filters),
            }),
        };
        let blocks = (0..blocks).map(block).collect();
        Network {
            input_format: InputFormat::Classical,
            activation: Activation::Relu,
            body: Body::Tower(Tower {
                input: self.convolution(PLANES, filters),
                blocks,
            }),
            policy: PolicyHead::Convolution {
                conv1: self.convolution(filters, filters),
                conv2: self.convolution(filters, 80),
            },
            value: self.head(filters, [32, 128, 3]),
            moves_left: None,
        }
    }

    fn norm(&mut self, size: usize) -> LayerNorm {
        LayerNorm {
            gammas: vec![1.0; size],
            betas: self.numbers(size, 100),
            epsilon: 1e-6,
        }
    }

    /// Returns an attention body with smolgen, eight heads and Lc0's usual heads.
    fn attention_network(&mut self, width: usize, encoders: usize) -> Network {
        let factor = (2.0 * encoders as f32).powf(-0.25);
        let encoder = |_| Encoder {
            heads: 8,
            query: self.dense(width, width),
            key: self.dense(width, width),
            value: self.dense(width, width),
            smolgen: Some(Smolgen {
                compress: Dense {
                    bias: vec![0.0; 32],
                    ..self.dense(width, 32)
                },
                hidden: self.dense(64 * 32, 128),
                norm1: self.norm(128),
                output: self.dense(128, 8 * 128),
                norm2: self.norm(8 * 128),
                activation: Activation::Swish,
            }),
            output: Branch {
                layer: self.dense(width, width),
                norm: self.norm(width),
                factor,
            },
            ffn: FeedForward {
                hidden: self.dense(width, 2 * width),
                activation: Activation::Relu2,
                output: Branch {
                    layer: self.dense(2 * width, width),
                    norm: self.norm(width),
                    factor,
                },
            },
        };
        let encoders = (0..encoders).map(encoder).collect();
        let body = AttentionBody {
            embedding: Embedding::Table,
            dense: self.dense(PLANES + 64, width),
            multiply_gate: None,
            add_gate: None,
            encoders,
            smolgen: Some(Dense {
                bias: vec![0.0; 4096],
                ..self.dense(128, 4096)
            }),
        };
        Network {
            input_format: InputFormat::Classical,
            activation: Activation::Mish,
            body: Body::Attention(body),
            policy: PolicyHead::Attention(Box::new(AttentionPolicy {
                embedding: self.dense(width, width),
                activation: Activation::Mish,
                encoders: Vec::new(),
                query: self.dense(width, width),
                key: self.dense(width, width),
                promotion: self.numbers(4 * width, width),
            })),
            value: ScalarHead {
                squares: self.dense(width, 32),
                hidden: self.dense(64 * 32, 128),
                output: self.dense(128, 3),
            },
            moves_left: None,
        }
    }
}

/// Returns positions of a game with their legal moves.
fn positions(count: usize) -> Vec<EvalSlot> {
    let mut history = History::start();
    let mut slots = Vec::new();
    for ply in 0..count {
        slots.push(EvalSlot::of(&history, PositionEncoding::default()));
        let legal = history.legal_moves();
        history.push(legal[ply * 7 % legal.len()]);
    }
    slots
}

/// Prints a row of the table: the best round of each batch size.
fn measure(name: &str, network: &Network, kernel: &str, precision: &str) {
    let options = Params::parse(&format!("kernel={kernel},precision={precision}")).unwrap();
    let native = Native::new(network, "random", &options).unwrap();
    let mut evaluator = native.evaluator().unwrap();
    let mut best = [0.0f64; BATCHES.len()];
    for _ in 0..ROUNDS {
        for (best, batch) in best.iter_mut().zip(BATCHES) {
            let mut slots = positions(batch);
            let (start, mut count) = (now(), 0);
            let mut time = Duration::ZERO;
            while time < ROUND {
                evaluator.evaluate(&mut slots).unwrap();
                count += batch;
                time = now() - start;
            }
            *best = best.max(count as f64 / time.as_secs_f64());
        }
    }
    let rates: String = best.iter().map(|rate| format!("{rate:>9.0}")).collect();
    println!("{name:<7} {kernel:<9} {precision:<6}{rates}");
}

fn main() {
    let batches: String = BATCHES
        .iter()
        .map(|batch| format!("{:>9}", format!("batch {batch}")))
        .collect();
    println!("Evaluations a second of CPU time, one thread");
    println!("{:<7} {:<9} {:<6}{batches}", "network", "kernel", "");
    let measure_all = |name: &str, network: &Network, portable: bool| {
        for kernel in available_kernels() {
            // The portable kernels would take minutes for large networks.
            if kernel != "portable" || portable {
                measure(name, network, kernel, "fp32");
            }
        }
        measure(name, network, "auto", "auto");
    };
    for (filters, blocks) in SIZES {
        let network = Weights(1).network(filters, blocks);
        measure_all(&format!("{filters}x{blocks}"), &network, filters == SIZES[0].0);
    }
    for (width, encoders) in ENCODERS {
        let network = Weights(1).attention_network(width, encoders);
        measure_all(&format!("t{width}x{encoders}"), &network, false);
    }
}
