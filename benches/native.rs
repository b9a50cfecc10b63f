//! Measures the native backend by kernel, network size and batch size, in CPU time.
//!
//! `cargo bench --bench native`. The networks have random weights: speed doesn't depend on them. Attention bodies are also
//! measured in the precision that `auto` takes.

use std::time::Duration;

use criterion::measurement::{Measurement, ValueFormatter, WallTime};
use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use zeitnot::chess::History;
use zeitnot::network::backends::native::{Native, available_kernels};
use zeitnot::network::encode::InputFormat;
use zeitnot::network::weights::{
    Activation, AttentionBody, AttentionPolicy, Body, Convolution, Dense, Embedding, Encoder, FeedForward,
    HeadInput, LayerNorm, Network, PolicyHead, ResidualBlock, ScalarHead, Smolgen, SmolgenWeights,
    SqueezeExcite, Tower,
};
use zeitnot::network::{Backend, EvalSlot, PLANES, PositionEncoding};
use zeitnot::params::Params;

/// Filters and blocks of towers.
const SIZES: [(usize, usize); 3] = [(64, 6), (128, 10), (256, 20)];
/// Channels and encoders of attention bodies.
const ENCODERS: [(usize, usize); 2] = [(256, 8), (512, 10)];
const BATCHES: [usize; 4] = [1, 4, 8, 32];

/// The CPU time of this thread; on other systems than Unix, time by the clock.
struct CpuTime;

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

impl Measurement for CpuTime {
    type Intermediate = Duration;
    type Value = Duration;

    fn start(&self) -> Duration {
        now()
    }

    fn end(&self, start: Duration) -> Duration {
        now() - start
    }

    fn add(&self, a: &Duration, b: &Duration) -> Duration {
        *a + *b
    }

    fn zero(&self) -> Duration {
        Duration::ZERO
    }

    fn to_f64(&self, value: &Duration) -> f64 {
        WallTime.to_f64(value)
    }

    fn formatter(&self) -> &dyn ValueFormatter {
        WallTime.formatter()
    }
}

/// A source of small pseudo-random numbers, which keep activations in range.
struct Weights(u64);

impl Weights {
    fn numbers(&mut self, count: usize, fan_in: usize) -> Vec<f32> {
        let scale = 1.0 / (fan_in as f32).sqrt();
        let next = |_| {
            self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ((self.0 >> 40) as f32 / (1 << 23) as f32 - 1.0) * scale
        };
        (0..count).map(next).collect()
    }

    fn convolution(&mut self, inputs: usize, outputs: usize, kernel: usize) -> Convolution {
        let fan_in = inputs * kernel * kernel;
        let weights = self.numbers(outputs * fan_in, fan_in);
        Convolution { inputs, outputs, kernel, weights, bias: self.numbers(outputs, 100) }
    }

    fn dense(&mut self, inputs: usize, outputs: usize) -> Dense {
        let weights = self.numbers(inputs * outputs, inputs);
        Dense { inputs, outputs, weights, bias: self.numbers(outputs, 100) }
    }

    fn head(&mut self, filters: usize, [channels, hidden, outputs]: [usize; 3]) -> ScalarHead {
        ScalarHead {
            input: HeadInput::Convolution(self.convolution(filters, channels, 1)),
            hidden: self.dense(64 * channels, hidden),
            output: self.dense(hidden, outputs),
        }
    }

    /// Returns a tower with squeeze-and-excitation and Lc0's usual heads.
    fn network(&mut self, filters: usize, blocks: usize) -> Network {
        let block = |_| ResidualBlock {
            conv1: self.convolution(filters, filters, 3),
            conv2: self.convolution(filters, filters, 3),
            se: Some(SqueezeExcite {
                squeeze: self.dense(filters, filters / 8),
                excite: self.dense(filters / 8, 2 * filters),
            }),
        };
        let blocks = (0..blocks).map(block).collect();
        Network {
            input_format: InputFormat::Classical,
            activation: Activation::Relu,
            body: Body::Tower(Tower { input: self.convolution(PLANES, filters, 3), blocks }),
            policy: PolicyHead::Convolution {
                conv1: self.convolution(filters, filters, 3),
                conv2: self.convolution(filters, 80, 3),
            },
            value: self.head(filters, [32, 128, 3]),
            moves_left: None,
        }
    }

    fn norm(&mut self, size: usize) -> LayerNorm {
        LayerNorm { gammas: vec![1.0; size], betas: self.numbers(size, 100) }
    }

    /// Returns an attention body with smolgen, eight heads and Lc0's usual heads.
    fn attention_network(&mut self, width: usize, encoders: usize) -> Network {
        let alpha = (2.0 * encoders as f32).powf(-0.25);
        let encoder = |_| Encoder {
            heads: 8,
            query: self.dense(width, width),
            key: self.dense(width, width),
            value: self.dense(width, width),
            output: self.dense(width, width),
            smolgen: Some(Smolgen {
                compress: self.numbers(32 * width, width),
                channels: 32,
                hidden: self.dense(64 * 32, 128),
                norm1: self.norm(128),
                output: self.dense(128, 8 * 128),
                norm2: self.norm(8 * 128),
                activation: Activation::Swish,
            }),
            norm1: self.norm(width),
            ffn: FeedForward {
                hidden: self.dense(width, 2 * width),
                output: self.dense(2 * width, width),
                activation: Activation::Relu2,
            },
            norm2: self.norm(width),
            alpha,
            epsilon: 1e-6,
        };
        let encoders = (0..encoders).map(encoder).collect();
        let body = AttentionBody {
            embedding: Embedding::Table,
            dense: self.dense(PLANES + 64, width),
            multiply_gate: None,
            add_gate: None,
            encoders,
            smolgen: Some(SmolgenWeights { generated: 128, weights: self.numbers(4096 * 128, 128) }),
            alpha,
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
                input: HeadInput::PerSquare(self.dense(width, 32)),
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

/// Measures a network by batch size.
fn measure(criterion: &mut Criterion<CpuTime>, name: &str, network: &Network, kernel: &str, precision: &str) {
    let options = Params::parse(&format!("kernel={kernel},precision={precision}")).unwrap();
    let mut evaluator = Native::new(network, "random", &options).unwrap().evaluator().unwrap();
    let mut group = criterion.benchmark_group(format!("native/{name}/{kernel}/{precision}"));
    for batch in BATCHES {
        let slots = positions(batch);
        group.throughput(Throughput::Elements(batch as u64));
        group.bench_function(BenchmarkId::from_parameter(batch), |bencher| {
            bencher.iter_batched_ref(
                || slots.clone(),
                |slots| evaluator.evaluate(slots).unwrap(),
                BatchSize::SmallInput,
            );
        });
    }
    group.finish();
}

fn evaluate(criterion: &mut Criterion<CpuTime>) {
    for (width, encoders) in ENCODERS {
        let (name, network) = (format!("{width}x{encoders}"), Weights(1).attention_network(width, encoders));
        for kernel in available_kernels().into_iter().filter(|&kernel| kernel != "portable") {
            measure(criterion, &name, &network, kernel, "fp32");
        }
        measure(criterion, &name, &network, available_kernels()[0], "auto");
    }
    for (filters, blocks) in SIZES {
        let (name, network) = (format!("{filters}x{blocks}"), Weights(1).network(filters, blocks));
        for kernel in available_kernels() {
            // The portable kernels would take minutes for large networks.
            if kernel != "portable" || filters == SIZES[0].0 {
                measure(criterion, &name, &network, kernel, "fp32");
            }
        }
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .with_measurement(CpuTime)
        .sample_size(20)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600));
    targets = evaluate
}
criterion_main!(benches);
