//! Measures the memory that a network takes from the file to a finished ONNX model. This is the only test of its process, whose
//! memory it measures; `describenet` shows times.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use prost::encoding::{WireType, encode_key, encode_varint};
use tempfile::TempDir;
use zeitnot_engine::network::layers::Body;
use zeitnot_engine::network::onnx::{self, BuildOptions};
use zeitnot_engine::network::weights::{HeadChoice, Model, NetworkFile};

const FILTERS: usize = 256;
const BLOCKS: usize = 20;
const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

/// A protobuf field that is written without ever being in memory as a whole.
enum Field {
    Message(u32, Vec<Field>),
    Number(u32, u64),
    Float(u32, f32),
    /// Field 3 of a layer: this many random 16-bit weights.
    Weights(usize),
}

impl Field {
    /// Returns the bytes of what a length-delimited field holds.
    fn content_len(&self) -> usize {
        match self {
            Field::Message(_, fields) => fields.iter().map(Field::len).sum(),
            Field::Weights(count) => 2 * count,
            Field::Number(..) | Field::Float(..) => 0,
        }
    }

    fn head(&self) -> Vec<u8> {
        let mut head = Vec::new();
        match *self {
            Field::Number(tag, value) => {
                encode_key(tag, WireType::Varint, &mut head);
                encode_varint(value, &mut head);
            }
            Field::Float(tag, value) => {
                encode_key(tag, WireType::ThirtyTwoBit, &mut head);
                head.extend(value.to_le_bytes());
            }
            Field::Message(tag, _) => {
                encode_key(tag, WireType::LengthDelimited, &mut head);
                encode_varint(self.content_len() as u64, &mut head);
            }
            Field::Weights(_) => {
                encode_key(3, WireType::LengthDelimited, &mut head);
                encode_varint(self.content_len() as u64, &mut head);
            }
        }
        head
    }

    fn len(&self) -> usize {
        self.head().len() + self.content_len()
    }

    fn write(&self, out: &mut impl Write, noise: &mut Noise) {
        out.write_all(&self.head()).unwrap();
        match self {
            Field::Message(_, fields) => fields.iter().for_each(|field| field.write(out, noise)),
            Field::Weights(count) => (0..*count).for_each(|_| out.write_all(&noise.next()).unwrap()),
            Field::Number(..) | Field::Float(..) => {}
        }
    }
}

/// A source of random 16-bit numbers, always the same.
struct Noise(u64);

impl Noise {
    fn next(&mut self) -> [u8; 2] {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        [self.0 as u8, (self.0 >> 8) as u8]
    }
}

/// Returns a layer of `count` weights in `-0.05..0.05`.
fn layer(tag: u32, count: usize) -> Field {
    Field::Message(
        tag,
        vec![
            Field::Float(1, -0.05),
            Field::Float(2, 0.05),
            Field::Weights(count),
        ],
    )
}

fn convolution(tag: u32, inputs: usize, outputs: usize, kernel: usize) -> Field {
    Field::Message(
        tag,
        vec![layer(1, inputs * outputs * kernel * kernel), layer(2, outputs)],
    )
}

/// Writes a tower with convolution policy and WDL head.
fn write_network(path: &Path) {
    let block = || {
        Field::Message(
            2,
            vec![
                convolution(1, FILTERS, FILTERS, 3),
                convolution(2, FILTERS, FILTERS, 3),
            ],
        )
    };
    let mut weights = vec![
        convolution(1, 112, FILTERS, 3),
        convolution(11, FILTERS, FILTERS, 3),
        convolution(3, FILTERS, 80, 3),
        convolution(6, FILTERS, 32, 1),
        layer(7, 32 * 64 * 128),
        layer(8, 128),
        layer(9, 128 * 3),
        layer(10, 3),
    ];
    weights.extend((0..BLOCKS).map(|_| block()));
    let network_format = vec![(1, 1), (3, 4), (4, 2), (5, 2)];
    let network_format = network_format
        .into_iter()
        .map(|(tag, value)| Field::Number(tag, value))
        .collect();
    let format = Field::Message(4, vec![Field::Number(1, 1), Field::Message(2, network_format)]);

    let file = BufWriter::new(File::create(path).unwrap());
    let mut out = BufWriter::new(GzEncoder::new(file, Compression::fast()));
    out.write_all(&[0x0d, 0xc0, 0x01, 0x00, 0x00]).unwrap();
    let mut noise = Noise(SEED);
    format.write(&mut out, &mut noise);
    Field::Message(10, weights).write(&mut out, &mut noise);
    out.into_inner().unwrap().finish().unwrap().flush().unwrap();
}

/// Returns the value of a line of the system's account of this process, in bytes.
fn memory(key: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    1024 * line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
}

#[test]
fn a_network_is_never_held_twice() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("large.pb.gz");
    write_network(&path);
    let before = memory("VmRSS");

    let file = NetworkFile::load(&path, HeadChoice::default()).unwrap();
    let size = file.size;
    let Model::Layers(network) = file.model else {
        panic!("no layers")
    };
    let parameters = network.cost().parameters as usize;
    assert!(parameters > 2 * BLOCKS * FILTERS * FILTERS * 9);
    let Body::Tower(tower) = &network.body else {
        panic!("no tower")
    };
    let mut noise = Noise(SEED);
    for &weight in &tower.input.weights[..64] {
        let written = -0.05 + 0.1 * f32::from(u16::from_le_bytes(noise.next())) / 65535.0;
        assert!((weight - written).abs() < 1e-6, "{weight}, {written}");
    }

    let model = onnx::build(network, &BuildOptions::default());
    assert!(model.bytes.len() > 4 * parameters);
    let taken = memory("VmHWM") - before;
    println!("{} MB taken for a file of {} MB", taken >> 20, size >> 20);
    assert!(taken < 3 * size, "{taken} bytes for a file of {size}");
}
