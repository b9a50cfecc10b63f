//! The protobuf messages of Lc0's network files: only the fields that Zeitnot reads or writes, with the
//! numbers of `net.proto`.
//!
//! Every message is optional, so that [`super::read`] can say which part is missing. Enumerations stay plain
//! numbers, checked in [`super::format`], because a damaged file may hold any number.

use prost::Message;

use crate::network::protobuf::messages;

messages! {
    Net {
        // Field 1, the magic number, is checked when the file is opened.
        license: Option<String> [string, optional] = 2,
        {
            min_version: EngineVersion = 3,
            format: Format = 4,
            training_params: TrainingParams = 5,
            /// The layers. Absent where `onnx_model` is set.
            weights: Weights = 10,
            onnx_model: OnnxModel = 11,
        }
    }

    EngineVersion {
        major: Option<u32> [uint32, optional] = 1,
        minor: Option<u32> [uint32, optional] = 2,
        patch: Option<u32> [uint32, optional] = 3,
    }

    TrainingParams {
        training_steps: Option<u32> [uint32, optional] = 1,
        learning_rate: Option<f32> [float, optional] = 2,
        mse_loss: Option<f32> [float, optional] = 3,
        policy_loss: Option<f32> [float, optional] = 4,
        accuracy: Option<f32> [float, optional] = 5,
        lc0_params: Option<String> [string, optional] = 6,
    }

    Format {
        /// 1 = LINEAR16. Older than the encodings of single layers, which win.
        weights_encoding: Option<i32> [int32, optional] = 1,
        {
            network_format: NetworkFormat = 2,
        }
    }

    /// The numbers are listed in [`super::format`].
    NetworkFormat {
        input: Option<i32> [int32, optional] = 1,
        output: Option<i32> [int32, optional] = 2,
        network: Option<i32> [int32, optional] = 3,
        policy: Option<i32> [int32, optional] = 4,
        value: Option<i32> [int32, optional] = 5,
        moves_left: Option<i32> [int32, optional] = 6,
        default_activation: Option<i32> [int32, optional] = 7,
        smolgen_activation: Option<i32> [int32, optional] = 8,
        ffn_activation: Option<i32> [int32, optional] = 9,
        input_embedding: Option<i32> [int32, optional] = 10,
    }

    OnnxModel {
        model: Option<bytes::Bytes> [bytes = "bytes", optional] = 1,
        /// ONNX numbers: 1 float32, 10 float16, 16 bfloat16.
        data_type: Option<i32> [int32, optional] = 2,
        input_planes: Option<String> [string, optional] = 3,
        output_value: Option<String> [string, optional] = 4,
        output_wdl: Option<String> [string, optional] = 5,
        output_policy: Option<String> [string, optional] = 6,
        output_mlh: Option<String> [string, optional] = 7,
    }

    /// The numbers of one tensor, encoded. Field 5 (`dims`) is never read: it is wrong in many files.
    Layer {
        min_val: Option<f32> [float, optional] = 1,
        max_val: Option<f32> [float, optional] = 2,
        params: Option<Vec<u8>> [bytes = "vec", optional] = 3,
        encoding: Option<i32> [int32, optional] = 4,
    }

    /// Field 4 holds variances, in spite of its name in Lc0's proto (`bn_stddivs`).
    ConvBlock { { weights = 1, biases = 2, bn_means = 3, bn_variances = 4, bn_gammas = 5, bn_betas = 6, } }

    SeUnit { { w1 = 1, b1 = 2, w2 = 3, b2 = 4, } }

    Residual {
        {
            conv1: ConvBlock = 1,
            conv2: ConvBlock = 2,
            se: SeUnit = 3,
        }
    }

    Smolgen {
        {
            compress = 1, dense1_w = 2, dense1_b = 3, ln1_gammas = 4, ln1_betas = 5, dense2_w = 6, dense2_b = 7,
            ln2_gammas = 8, ln2_betas = 9,
        }
    }

    /// Multi-head attention.
    Mha {
        {
            smolgen: Smolgen = 9,
            q_w = 1, q_b = 2, k_w = 3, k_b = 4, v_w = 5, v_b = 6, dense_w = 7, dense_b = 8, rpe_q = 10,
            rpe_k = 11, rpe_v = 12,
        }
    }

    /// Feed-forward part of an encoder.
    Ffn { { dense1_w = 1, dense1_b = 2, dense2_w = 3, dense2_b = 4, } }

    EncoderLayer {
        {
            mha: Mha = 1,
            ffn: Ffn = 4,
            ln1_gammas = 2, ln1_betas = 3, ln2_gammas = 5, ln2_betas = 6,
        }
    }

    PolicyHead {
        pol_encoder: Vec<EncoderLayer> [message, repeated] = 8,
        pol_headcount: Option<u32> [uint32, optional] = 9,
        {
            policy1: ConvBlock = 10,
            policy: ConvBlock = 11,
            ip_pol_w = 1, ip_pol_b = 2, ip2_pol_w = 3, ip2_pol_b = 4, ip3_pol_w = 5, ip3_pol_b = 6,
            ip4_pol_w = 7,
        }
    }

    ValueHead {
        {
            value: ConvBlock = 11,
            ip_val_w = 1, ip_val_b = 2, ip1_val_w = 3, ip1_val_b = 4, ip2_val_w = 5, ip2_val_b = 6,
        }
    }

    PolicyHeads {
        {
            /// Shared by the heads that have no `ip_pol_w` of their own.
            ip_pol_w = 1,
            ip_pol_b = 2,
            vanilla: PolicyHead = 3,
            optimistic_st: PolicyHead = 4,
            soft: PolicyHead = 5,
            opponent: PolicyHead = 6,
        }
    }

    ValueHeads {
        {
            winner: ValueHead = 1,
            q: ValueHead = 2,
            st: ValueHead = 3,
        }
    }

    /// All layers. Names are Lc0's.
    Weights {
        residual: Vec<Residual> [message, repeated] = 2,
        pol_encoder: Vec<EncoderLayer> [message, repeated] = 21,
        pol_headcount: Option<u32> [uint32, optional] = 24,
        encoder: Vec<EncoderLayer> [message, repeated] = 27,
        headcount: Option<u32> [uint32, optional] = 28,
        {
            input: ConvBlock = 1,
            policy: ConvBlock = 3,
            value: ConvBlock = 6,
            policy1: ConvBlock = 11,
            moves_left: ConvBlock = 12,
            ip_emb_ffn: Ffn = 41,
            value_heads: ValueHeads = 44,
            policy_heads: PolicyHeads = 45,
            ip_pol_w = 4, ip_pol_b = 5, ip1_val_w = 7, ip1_val_b = 8, ip2_val_w = 9, ip2_val_b = 10,
            ip1_mov_w = 13, ip1_mov_b = 14, ip2_mov_w = 15, ip2_mov_b = 16, ip2_pol_w = 17, ip2_pol_b = 18,
            ip3_pol_w = 19, ip3_pol_b = 20, ip4_pol_w = 22, ip_emb_w = 25, ip_emb_b = 26, ip_val_w = 29,
            ip_val_b = 30, ip_mov_w = 31, ip_mov_b = 32, ip_mult_gate = 33, ip_add_gate = 34, smolgen_w = 35,
            ip_emb_preproc_w = 37, ip_emb_preproc_b = 38, ip_emb_ln_gammas = 39, ip_emb_ln_betas = 40,
            ip_emb_ffn_ln_gammas = 42, ip_emb_ffn_ln_betas = 43,
        }
    }
}
