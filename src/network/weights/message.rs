//! The protobuf messages of Lc0's network files, by hand: only the fields that Zeitnot reads.
//!
//! Field numbers and meanings are those of Lc0's `net.proto`; unknown fields are skipped by prost. Every message
//! is optional in the file, so that [`super::read`] can say which part is missing. Enumerations stay plain numbers
//! here and are checked in [`super::format`], because a damaged file may hold any number.

use prost::Message;

/// A whole file.
#[derive(Clone, PartialEq, Message)]
pub struct Net {
    // Field 1, the magic number, is checked when the file is opened.
    #[prost(string, optional, tag = "2")]
    pub license: Option<String>,
    /// The oldest Lc0 that can read the file.
    #[prost(message, optional, tag = "3")]
    pub min_version: Option<EngineVersion>,
    #[prost(message, optional, tag = "4")]
    pub format: Option<Format>,
    #[prost(message, optional, tag = "5")]
    pub training_params: Option<TrainingParams>,
    /// The layers; absent where `onnx_model` is set.
    #[prost(message, optional, tag = "10")]
    pub weights: Option<Weights>,
    #[prost(message, optional, tag = "11")]
    pub onnx_model: Option<OnnxModel>,
}

#[derive(Clone, PartialEq, Message)]
pub struct EngineVersion {
    #[prost(uint32, optional, tag = "1")]
    pub major: Option<u32>,
    #[prost(uint32, optional, tag = "2")]
    pub minor: Option<u32>,
    #[prost(uint32, optional, tag = "3")]
    pub patch: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TrainingParams {
    #[prost(uint32, optional, tag = "1")]
    pub training_steps: Option<u32>,
    #[prost(float, optional, tag = "2")]
    pub learning_rate: Option<f32>,
    #[prost(float, optional, tag = "3")]
    pub mse_loss: Option<f32>,
    #[prost(float, optional, tag = "4")]
    pub policy_loss: Option<f32>,
    #[prost(float, optional, tag = "5")]
    pub accuracy: Option<f32>,
    #[prost(string, optional, tag = "6")]
    pub lc0_params: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Format {
    /// 1 = LINEAR16. Older than the encodings of single layers, which win.
    #[prost(int32, optional, tag = "1")]
    pub weights_encoding: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub network_format: Option<NetworkFormat>,
}

/// The format of the network; the numbers are listed in [`super::format`].
#[derive(Clone, PartialEq, Message)]
pub struct NetworkFormat {
    #[prost(int32, optional, tag = "1")]
    pub input: Option<i32>,
    #[prost(int32, optional, tag = "2")]
    pub output: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub network: Option<i32>,
    #[prost(int32, optional, tag = "4")]
    pub policy: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub value: Option<i32>,
    #[prost(int32, optional, tag = "6")]
    pub moves_left: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    pub default_activation: Option<i32>,
    #[prost(int32, optional, tag = "8")]
    pub smolgen_activation: Option<i32>,
    #[prost(int32, optional, tag = "9")]
    pub ffn_activation: Option<i32>,
    #[prost(int32, optional, tag = "10")]
    pub input_embedding: Option<i32>,
}

/// An ONNX model with the names of its tensors.
#[derive(Clone, PartialEq, Message)]
pub struct OnnxModel {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub model: Option<bytes::Bytes>,
    /// ONNX numbers: 1 float32, 10 float16, 16 bfloat16.
    #[prost(int32, optional, tag = "2")]
    pub data_type: Option<i32>,
    #[prost(string, optional, tag = "3")]
    pub input_planes: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub output_value: Option<String>,
    #[prost(string, optional, tag = "5")]
    pub output_wdl: Option<String>,
    #[prost(string, optional, tag = "6")]
    pub output_policy: Option<String>,
    #[prost(string, optional, tag = "7")]
    pub output_mlh: Option<String>,
}

/// The numbers of one tensor, encoded. Field 5 (`dims`) is never read: it is wrong in many files.
#[derive(Clone, PartialEq, Message)]
pub struct Layer {
    #[prost(float, optional, tag = "1")]
    pub min_val: Option<f32>,
    #[prost(float, optional, tag = "2")]
    pub max_val: Option<f32>,
    #[prost(bytes = "vec", optional, tag = "3")]
    pub params: Option<Vec<u8>>,
    #[prost(int32, optional, tag = "4")]
    pub encoding: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ConvBlock {
    #[prost(message, optional, tag = "1")]
    pub weights: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub biases: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub bn_means: Option<Layer>,
    /// Variances, in spite of the name in Lc0's proto (`bn_stddivs`).
    #[prost(message, optional, tag = "4")]
    pub bn_variances: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub bn_gammas: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub bn_betas: Option<Layer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SeUnit {
    #[prost(message, optional, tag = "1")]
    pub w1: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub b1: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub w2: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub b2: Option<Layer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Residual {
    #[prost(message, optional, tag = "1")]
    pub conv1: Option<ConvBlock>,
    #[prost(message, optional, tag = "2")]
    pub conv2: Option<ConvBlock>,
    #[prost(message, optional, tag = "3")]
    pub se: Option<SeUnit>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Smolgen {
    #[prost(message, optional, tag = "1")]
    pub compress: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub dense1_w: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub dense1_b: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub ln1_gammas: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub ln1_betas: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub dense2_w: Option<Layer>,
    #[prost(message, optional, tag = "7")]
    pub dense2_b: Option<Layer>,
    #[prost(message, optional, tag = "8")]
    pub ln2_gammas: Option<Layer>,
    #[prost(message, optional, tag = "9")]
    pub ln2_betas: Option<Layer>,
}

/// Multi-head attention.
#[derive(Clone, PartialEq, Message)]
pub struct Mha {
    #[prost(message, optional, tag = "1")]
    pub q_w: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub q_b: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub k_w: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub k_b: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub v_w: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub v_b: Option<Layer>,
    #[prost(message, optional, tag = "7")]
    pub dense_w: Option<Layer>,
    #[prost(message, optional, tag = "8")]
    pub dense_b: Option<Layer>,
    #[prost(message, optional, tag = "9")]
    pub smolgen: Option<Smolgen>,
    #[prost(message, optional, tag = "10")]
    pub rpe_q: Option<Layer>,
    #[prost(message, optional, tag = "11")]
    pub rpe_k: Option<Layer>,
    #[prost(message, optional, tag = "12")]
    pub rpe_v: Option<Layer>,
}

/// Feed-forward part of an encoder.
#[derive(Clone, PartialEq, Message)]
pub struct Ffn {
    #[prost(message, optional, tag = "1")]
    pub dense1_w: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub dense1_b: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub dense2_w: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub dense2_b: Option<Layer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct EncoderLayer {
    #[prost(message, optional, tag = "1")]
    pub mha: Option<Mha>,
    #[prost(message, optional, tag = "2")]
    pub ln1_gammas: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub ln1_betas: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub ffn: Option<Ffn>,
    #[prost(message, optional, tag = "5")]
    pub ln2_gammas: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub ln2_betas: Option<Layer>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PolicyHead {
    #[prost(message, optional, tag = "1")]
    pub ip_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub ip_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub ip2_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub ip2_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub ip3_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub ip3_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "7")]
    pub ip4_pol_w: Option<Layer>,
    #[prost(message, repeated, tag = "8")]
    pub pol_encoder: Vec<EncoderLayer>,
    #[prost(uint32, optional, tag = "9")]
    pub pol_headcount: Option<u32>,
    #[prost(message, optional, tag = "10")]
    pub policy1: Option<ConvBlock>,
    #[prost(message, optional, tag = "11")]
    pub policy: Option<ConvBlock>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ValueHead {
    #[prost(message, optional, tag = "1")]
    pub ip_val_w: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub ip_val_b: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub ip1_val_w: Option<Layer>,
    #[prost(message, optional, tag = "4")]
    pub ip1_val_b: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub ip2_val_w: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub ip2_val_b: Option<Layer>,
    #[prost(message, optional, tag = "11")]
    pub value: Option<ConvBlock>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PolicyHeads {
    /// Shared by the heads that have no `ip_pol_w` of their own.
    #[prost(message, optional, tag = "1")]
    pub ip_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "2")]
    pub ip_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "3")]
    pub vanilla: Option<PolicyHead>,
    #[prost(message, optional, tag = "4")]
    pub optimistic_st: Option<PolicyHead>,
    #[prost(message, optional, tag = "5")]
    pub soft: Option<PolicyHead>,
    #[prost(message, optional, tag = "6")]
    pub opponent: Option<PolicyHead>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ValueHeads {
    #[prost(message, optional, tag = "1")]
    pub winner: Option<ValueHead>,
    #[prost(message, optional, tag = "2")]
    pub q: Option<ValueHead>,
    #[prost(message, optional, tag = "3")]
    pub st: Option<ValueHead>,
}

/// All layers of a network. Names are Lc0's.
#[derive(Clone, PartialEq, Message)]
pub struct Weights {
    #[prost(message, optional, tag = "1")]
    pub input: Option<ConvBlock>,
    #[prost(message, repeated, tag = "2")]
    pub residual: Vec<Residual>,
    #[prost(message, optional, tag = "3")]
    pub policy: Option<ConvBlock>,
    #[prost(message, optional, tag = "4")]
    pub ip_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "5")]
    pub ip_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "6")]
    pub value: Option<ConvBlock>,
    #[prost(message, optional, tag = "7")]
    pub ip1_val_w: Option<Layer>,
    #[prost(message, optional, tag = "8")]
    pub ip1_val_b: Option<Layer>,
    #[prost(message, optional, tag = "9")]
    pub ip2_val_w: Option<Layer>,
    #[prost(message, optional, tag = "10")]
    pub ip2_val_b: Option<Layer>,
    #[prost(message, optional, tag = "11")]
    pub policy1: Option<ConvBlock>,
    #[prost(message, optional, tag = "12")]
    pub moves_left: Option<ConvBlock>,
    #[prost(message, optional, tag = "13")]
    pub ip1_mov_w: Option<Layer>,
    #[prost(message, optional, tag = "14")]
    pub ip1_mov_b: Option<Layer>,
    #[prost(message, optional, tag = "15")]
    pub ip2_mov_w: Option<Layer>,
    #[prost(message, optional, tag = "16")]
    pub ip2_mov_b: Option<Layer>,
    #[prost(message, optional, tag = "17")]
    pub ip2_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "18")]
    pub ip2_pol_b: Option<Layer>,
    #[prost(message, optional, tag = "19")]
    pub ip3_pol_w: Option<Layer>,
    #[prost(message, optional, tag = "20")]
    pub ip3_pol_b: Option<Layer>,
    #[prost(message, repeated, tag = "21")]
    pub pol_encoder: Vec<EncoderLayer>,
    #[prost(message, optional, tag = "22")]
    pub ip4_pol_w: Option<Layer>,
    #[prost(uint32, optional, tag = "24")]
    pub pol_headcount: Option<u32>,
    #[prost(message, optional, tag = "25")]
    pub ip_emb_w: Option<Layer>,
    #[prost(message, optional, tag = "26")]
    pub ip_emb_b: Option<Layer>,
    #[prost(message, repeated, tag = "27")]
    pub encoder: Vec<EncoderLayer>,
    #[prost(uint32, optional, tag = "28")]
    pub headcount: Option<u32>,
    #[prost(message, optional, tag = "29")]
    pub ip_val_w: Option<Layer>,
    #[prost(message, optional, tag = "30")]
    pub ip_val_b: Option<Layer>,
    #[prost(message, optional, tag = "31")]
    pub ip_mov_w: Option<Layer>,
    #[prost(message, optional, tag = "32")]
    pub ip_mov_b: Option<Layer>,
    #[prost(message, optional, tag = "33")]
    pub ip_mult_gate: Option<Layer>,
    #[prost(message, optional, tag = "34")]
    pub ip_add_gate: Option<Layer>,
    #[prost(message, optional, tag = "35")]
    pub smolgen_w: Option<Layer>,
    #[prost(message, optional, tag = "37")]
    pub ip_emb_preproc_w: Option<Layer>,
    #[prost(message, optional, tag = "38")]
    pub ip_emb_preproc_b: Option<Layer>,
    #[prost(message, optional, tag = "39")]
    pub ip_emb_ln_gammas: Option<Layer>,
    #[prost(message, optional, tag = "40")]
    pub ip_emb_ln_betas: Option<Layer>,
    #[prost(message, optional, tag = "41")]
    pub ip_emb_ffn: Option<Ffn>,
    #[prost(message, optional, tag = "42")]
    pub ip_emb_ffn_ln_gammas: Option<Layer>,
    #[prost(message, optional, tag = "43")]
    pub ip_emb_ffn_ln_betas: Option<Layer>,
    #[prost(message, optional, tag = "44")]
    pub value_heads: Option<ValueHeads>,
    #[prost(message, optional, tag = "45")]
    pub policy_heads: Option<PolicyHeads>,
}
