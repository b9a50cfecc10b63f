#!/usr/bin/env python3
"""Makes small networks with seeded random weights, one for each kind of network that Lc0 knows.

    make_networks.py ZEITNOT OUT_FOLDER SEED POSITIONS.tsv [NAME ...]

An evaluation of the positions calibrates each network's heads, so that policies are not flat, values not extreme and moves left
positive. `zeitnot eval` evaluates; the networks of the repository were calibrated with Lc0 itself.

Arrays are in Lc0's order: convolutions [out, in, y, x], dense layers [out, in], `smolgen_w` [4096, gen], gates [embedding, 64].
"""

import gzip
import json
import os
import subprocess
import sys
import zlib

import numpy as np

from messages import LINEAR16, message

#: Calibrated standard deviations: of a position's logits, of log odds of win and loss, of a tanh value's argument, of moves left.
LOGIT_DEVIATION, ODDS_DEVIATION, VALUE_DEVIATION, MOVES_LEFT_DEVIATION = 1.4, 1.1, 0.6, 22
MEAN_MOVES_LEFT = 75.0
#: Least mean standard deviation of a move's logit over the positions: less, and another draw of weights is tried.
MIN_SENSITIVITY, ATTEMPTS = 0.4, 8
#: Lc0's numbers for activations.
ACTIVATIONS = {"mish": 1, "relu": 2, "selu": 6, "swish": 7, "relu_2": 8}
#: Policy and value heads of networks with several, by Lc0's option values; and the name of a policy head in the file.
HEAD_PAIRS = [("vanilla", "winner"), ("optimistic", "q"), ("soft", "st"), ("opponent", "winner")]
POLICY_HEAD_FIELDS = {"vanilla": "vanilla", "optimistic": "optimistic_st", "soft": "soft", "opponent": "opponent"}


class Random:
    """Draws of one network: they depend on its seed and name only."""

    def __init__(self, seed, name):
        self.generator = np.random.default_rng([seed, zlib.crc32(name.encode())])

    def dense(self, outputs, inputs, gain=1.0, density=1.0):
        if density >= 1:
            return (self.generator.standard_normal((outputs, inputs)) * gain / np.sqrt(inputs)).astype(np.float32)
        # Sparse, with few levels: gzip keeps it small although the layer has the size that Lc0 demands.
        mask = self.generator.random((outputs, inputs)) < density
        signs = lambda: np.where(self.generator.random((outputs, inputs)) < 0.5, -1, 1)
        levels = self.generator.integers(1, 8, (outputs, inputs)) * signs()
        return (mask * levels / 4.47 * gain / np.sqrt(inputs * density)).astype(np.float32)

    def conv(self, outputs, inputs, size, gain=1.414, density=1.0):
        return self.dense(outputs, inputs * size * size, gain, density).reshape(outputs, inputs, size, size)

    def bias(self, count, deviation=0.1):
        return (self.generator.standard_normal(count) * deviation).astype(np.float32)

    def gamma(self, count):
        return (1 + 0.25 * self.generator.standard_normal(count)).clip(0.3, 2).astype(np.float32)


def conv_block(random, outputs, inputs, size, norm, gain=1.414):
    """`norm`: None (biases only), "full" (means, variances, gammas, betas) or "old" (biases, means, variances)."""
    block = {"weights": random.conv(outputs, inputs, size, gain)}
    if norm is None:
        return block | {"biases": random.bias(outputs)}
    variances = np.exp(0.4 * random.generator.standard_normal(outputs)).astype(np.float32)
    block |= {"bn_means": random.bias(outputs, 0.2), "bn_stddivs": variances}
    if norm == "full":
        block["bn_gammas"] = (np.sqrt(variances) * random.gamma(outputs)).astype(np.float32)
        block["bn_betas"] = random.bias(outputs)
    else:
        block["biases"] = random.bias(outputs)
    return block


def folded(weights):
    """The same weights with batch norm folded as Lc0 does it; `bn_stddivs` holds variances."""
    if isinstance(weights, list):
        return [folded(item) for item in weights]
    if not isinstance(weights, dict):
        return weights
    if "bn_means" not in weights:
        return {name: folded(item) for name, item in weights.items()}
    zeros, ones = np.zeros_like(weights["bn_means"]), np.ones_like(weights["bn_means"])
    scale = weights.get("bn_gammas", ones) / np.sqrt(weights["bn_stddivs"] + np.float32(1e-5))
    means = weights["bn_means"] - weights.get("biases", zeros)
    return {
        "weights": (weights["weights"] * scale[:, None, None, None]).astype(np.float32),
        "biases": (weights.get("bn_betas", zeros) - scale * means).astype(np.float32),
    }


def weigh_planes(weights, rule50):
    """Keeps the rule-50 plane, which may hold 0 to 100 and more, and the plane of ones from drowning the rest."""
    weights[:, 109] *= rule50
    weights[:, 111] *= 0.4
    weights[:, :12] *= 2.0


def rule50_scale(input_format):
    return 0.02 if input_format in (1, 2, 3) else 2.0


def encoder(random, embedding, d_model, d_ff, smolgen=None):
    """An encoder layer; `smolgen`: channels, hidden units, generated numbers, heads."""
    layer = {"mha": {}, "ffn": {}, "ln1_gammas": random.gamma(embedding), "ln1_betas": random.bias(embedding, 0.2),
             "ln2_gammas": random.gamma(embedding), "ln2_betas": random.bias(embedding, 0.2)}
    attention = layer["mha"]
    for name in "qkv":
        attention[f"{name}_w"] = random.dense(d_model, embedding, 1.3)
        attention[f"{name}_b"] = random.bias(d_model, 0.2)
    attention |= {"dense_w": random.dense(embedding, d_model, 1.5), "dense_b": random.bias(embedding)}
    layer["ffn"] = feed_forward(random, embedding, d_ff)
    if smolgen:
        channels, hidden, generated, heads = smolgen
        attention["smolgen"] = {
            "compress": random.dense(channels, embedding),
            "dense1_w": random.dense(hidden, 64 * channels, 1.2), "dense1_b": random.bias(hidden, 0.2),
            "ln1_gammas": random.gamma(hidden), "ln1_betas": random.bias(hidden, 0.2),
            "dense2_w": random.dense(generated * heads, hidden, 1.3), "dense2_b": random.bias(generated * heads, 0.2),
            "ln2_gammas": random.gamma(generated * heads), "ln2_betas": random.bias(generated * heads, 0.2),
        }
    return layer


def feed_forward(random, embedding, d_ff):
    return {"dense1_w": random.dense(d_ff, embedding, 1.4), "dense1_b": random.bias(d_ff, 0.2),
            "dense2_w": random.dense(embedding, d_ff, 1.2), "dense2_b": random.bias(embedding)}


def attention_policy(random, inputs, embedding, d_model, own_embedding=True):
    head = {"ip2_pol_w": random.dense(d_model, embedding, 1.2), "ip2_pol_b": random.bias(d_model, 0.2),
            "ip3_pol_w": random.dense(d_model, embedding, 1.2), "ip3_pol_b": random.bias(d_model, 0.2),
            "ip4_pol_w": random.dense(4, d_model, 1.0)}
    if own_embedding:
        head |= {"ip_pol_w": random.dense(embedding, inputs, 1.3), "ip_pol_b": random.bias(embedding, 0.2)}
    return head


def value_layers(random, channels, hidden, outputs, density):
    return {"ip1_val_w": random.dense(hidden, channels * 64, 1.4, density), "ip1_val_b": random.bias(hidden, 0.2),
            "ip2_val_w": random.dense(outputs, hidden, 0.3), "ip2_val_b": random.bias(outputs, 0.05)}


def moves_left_layers(random, hidden, inputs, density=1.0):
    return {"ip1_mov_w": random.dense(hidden, inputs, 1.4, density), "ip1_mov_b": random.bias(hidden, 0.2),
            "ip2_mov_w": random.dense(1, hidden, 5.0), "ip2_mov_b": np.array([400.0], np.float32)}


def residual_tower(random, filters, blocks, se, norm, rule50):
    weights = {"input": conv_block(random, filters, 112, 3, norm, 1.8), "residual": []}
    weigh_planes(weights["input"]["weights"], rule50)
    for _ in range(blocks):
        block = {"conv1": conv_block(random, filters, filters, 3, norm), "conv2": conv_block(random, filters, filters, 3, norm, 1.0)}
        if se:
            block["se"] = {"w1": random.dense(se, filters, 1.4), "b1": random.bias(se),
                           "w2": random.dense(2 * filters, se, 1.0), "b2": random.bias(2 * filters, 0.3)}
        weights["residual"].append(block)
    return weights


def tower(random, filters=16, blocks=2, se=8, policy="conv", wdl=True, mlh=True, norm="full", act="relu", input=1,
          value_channels=32, value_hidden=128, policy_encoders=0, network=None, value_density=None):
    """A residual tower. Returns its weights and its network format."""
    weights = residual_tower(random, filters, blocks, se, norm, rule50_scale(input))
    if policy == "conv":
        weights["policy1"] = conv_block(random, filters, filters, 3, norm)
        weights["policy"] = {"weights": random.conv(80, filters, 3, 1.0), "biases": random.bias(80, 0.1)}
    elif policy == "classical":
        weights["policy"] = conv_block(random, 4, filters, 1, norm)
        weights |= {"ip_pol_w": random.dense(1858, 256, 1.0, 0.03), "ip_pol_b": random.bias(1858, 0.15)}
    else:
        weights |= attention_policy(random, filters, 24, 20)
        weights["pol_encoder"] = [encoder(random, 24, 16, 32) for _ in range(policy_encoders)]
        if policy_encoders:
            weights["pol_headcount"] = 4
    weights["value"] = conv_block(random, value_channels, filters, 1, norm)
    density = value_density or (0.02 if value_channels == 32 else 0.3)
    weights |= value_layers(random, value_channels, value_hidden, 3 if wdl else 1, density)
    if mlh:
        weights["moves_left"] = conv_block(random, 8, filters, 1, norm)
        weights |= moves_left_layers(random, 32, 512, 0.15)
    network_format = {"input": input, "output": 2 if wdl else 1, "network": network or (4 if se else 3),
                      "policy": {"classical": 1, "conv": 2, "attention": 3}[policy], "value": 2 if wdl else 1, "moves_left": int(mlh)}
    if act == "mish":
        network_format["default_activation"] = ACTIVATIONS[act]
    return weights, network_format


def attention_body(random, embedding=32, heads=4, d_model=24, d_ff=40, layers=2, smolgen=(4, 16, 8), gates=True, position="map",
                   act="mish", ffn_act=None, smolgen_act=None, wdl=True, mlh=True, input=1, policy_encoders=0, several_heads=False,
                   network=6, policy_embedding=24, policy_d=20, value_channels=8, tower_filters=0, se=0, names_position=True,
                   head_policy_encoders=0, value_density=0.08):
    """An attention body; `position` is how squares are told apart: a constant "map" or a "dense" layer. As `tower`."""
    rule50 = rule50_scale(input)
    weights = {}
    inputs = 176
    if tower_filters:
        weights |= residual_tower(random, tower_filters, 1, se, None, rule50)
        inputs = tower_filters
    if position == "dense":
        added = 4
        weights |= {"ip_emb_preproc_w": random.dense(64 * added, 768, 3.0, 0.03), "ip_emb_preproc_b": random.bias(64 * added, 0.2)}
        if not tower_filters:
            inputs = 112 + added
        weights |= {"ip_emb_ln_gammas": random.gamma(embedding), "ip_emb_ln_betas": random.bias(embedding, 0.2)}
        weights["ip_emb_ffn"] = feed_forward(random, embedding, d_ff)
        weights |= {"ip_emb_ffn_ln_gammas": random.gamma(embedding), "ip_emb_ffn_ln_betas": random.bias(embedding, 0.2)}
    weights["ip_emb_w"] = random.dense(embedding, inputs, 3.0)
    if not tower_filters:
        weigh_planes(weights["ip_emb_w"], rule50)
    weights["ip_emb_b"] = random.bias(embedding, 0.2)
    if gates:
        weights["ip_mult_gate"] = (1 + 0.3 * random.generator.standard_normal((embedding, 64))).astype(np.float32)
        weights["ip_add_gate"] = (0.3 * random.generator.standard_normal((embedding, 64))).astype(np.float32)
    of_layer = (*smolgen, heads) if smolgen else None
    weights["encoder"] = [encoder(random, embedding, d_model, d_ff, of_layer) for _ in range(layers)]
    weights["headcount"] = heads
    if smolgen:
        # Few levels, for gzip's sake.
        levels = np.rint(random.generator.standard_normal((4096, smolgen[2])) * 8).clip(-24, 24) / 8
        weights["smolgen_w"] = (levels / np.sqrt(smolgen[2])).astype(np.float32)

    def value_head(channels, has_errors=False):
        head = {"ip_val_w": random.dense(channels, embedding, 1.4), "ip_val_b": random.bias(channels, 0.2)}
        head |= value_layers(random, channels, 128, 3 if wdl else 1, value_density)
        if has_errors:
            head |= {"ip_val_err_w": random.dense(1, 128), "ip_val_err_b": random.bias(1),
                     "ip_val_cat_w": random.dense(32, 128), "ip_val_cat_b": random.bias(32)}
        return head

    if several_heads:
        policies = {"ip_pol_w": random.dense(policy_embedding, embedding, 1.3), "ip_pol_b": random.bias(policy_embedding, 0.2)}
        policies["vanilla"] = attention_policy(random, embedding, policy_embedding, policy_d, False)
        policies["optimistic_st"] = attention_policy(random, embedding, policy_embedding, policy_d, False)
        policies["soft"] = attention_policy(random, embedding, 28, 16, True)
        policies["opponent"] = attention_policy(random, embedding, policy_embedding, 12, False)
        if head_policy_encoders:
            policies["vanilla"]["pol_encoder"] = [encoder(random, policy_embedding, 16, 32) for _ in range(head_policy_encoders)]
            policies["vanilla"]["pol_headcount"] = 2
        weights["policy_heads"] = policies
        weights["value_heads"] = {"winner": value_head(value_channels), "q": value_head(value_channels, True), "st": value_head(4, True)}
    else:
        weights |= attention_policy(random, embedding, policy_embedding, policy_d)
        weights |= value_head(value_channels)
        if policy_encoders:
            weights["pol_encoder"] = [encoder(random, policy_embedding, 16, 32) for _ in range(policy_encoders)]
            weights["pol_headcount"] = 2
    if mlh:
        weights |= {"ip_mov_w": random.dense(4, embedding, 1.4), "ip_mov_b": random.bias(4, 0.2)}
        weights |= moves_left_layers(random, 16, 256)
    network_format = {"input": input, "output": 2 if wdl else 1, "network": network, "policy": 3, "value": 2 if wdl else 1,
                      "moves_left": int(mlh)}
    if act == "mish":
        network_format["default_activation"] = ACTIVATIONS[act]
    if ffn_act:
        network_format["ffn_activation"] = ACTIVATIONS[ffn_act]
    if smolgen_act:
        network_format["smolgen_activation"] = ACTIVATIONS[smolgen_act]
    if names_position:
        network_format["input_embedding"] = 2 if position == "dense" else 1
    return weights, network_format


def variant(build, file=None, **arguments):
    """`file`: encoding, fields of the format to leave out, and so on."""
    return build, arguments, file or {}


BT2 = {"act": "mish", "ffn_act": "relu_2", "smolgen_act": "swish"}
NO_HEAD_FORMAT = {"strip": ["policy", "value", "moves_left"]}
VARIANTS = {
    # Classical towers.
    "classical": variant(tower, se=0, policy="classical", wdl=False, mlh=False),
    "classical_noformat": variant(tower, {"noformat": True}, se=0, policy="classical", wdl=False, mlh=False, norm="old", filters=8),
    "classical_enum1": variant(tower, NO_HEAD_FORMAT, se=0, policy="classical", wdl=False, mlh=False, network=1, filters=8),
    "se_enum2": variant(tower, NO_HEAD_FORMAT, policy="classical", wdl=False, mlh=False, network=2, filters=8),
    "classical_conv_wdl": variant(tower, se=0, mlh=False, filters=8),
    "se_classicalpol_wdl_mlh": variant(tower, policy="classical", filters=8),
    # As Maia's.
    "maia_like": variant(tower, mlh=False),
    # Input formats.
    "se_mlh": variant(tower),
    "input_2_castling": variant(tower, input=2, filters=8),
    "input_3_canonical": variant(tower, input=3, filters=8),
    "input_4_hectoplies": variant(tower, input=4, filters=8),
    "input_132_hecto_armageddon": variant(tower, input=132, filters=8),
    "input_5_canonical_v2": variant(tower, input=5, filters=8),
    "input_133_v2_armageddon": variant(tower, input=133, filters=8),
    # Attention policies on towers.
    "se_attpol_relu": variant(tower, policy="attention"),
    "se_attpol_enc_mish": variant(tower, policy="attention", policy_encoders=2, act="mish", filters=12),
    "se_attpol_enc_relu": variant(tower, policy="attention", policy_encoders=1, filters=8),
    "se_mish": variant(tower, act="mish", filters=8),
    # Attention bodies.
    "ab_plain_relu": variant(attention_body, smolgen=None, gates=False, act="relu", layers=3),
    "ab_gates_mish": variant(attention_body, smolgen=None, input=2, layers=1),
    "ab_smol_bt2": variant(attention_body, **BT2),
    "ab_smol_default": variant(attention_body),
    "ab_smol_swish_relu2": variant(attention_body, act="relu", ffn_act="swish", smolgen_act="relu_2"),
    "ab_smol_mish_mish": variant(attention_body, act="relu", ffn_act="mish", smolgen_act="mish", heads=2),
    "ab_smol_relu_selu": variant(attention_body, ffn_act="selu", smolgen_act="relu"),
    "ab_polenc": variant(attention_body, **BT2, policy_encoders=1),
    "ab_classicvalue_nomlh": variant(attention_body, smolgen=None, wdl=False, mlh=False),
    "ab_oldproto_enum4": variant(attention_body, network=4, names_position=False),
    "ab_noembflag": variant(attention_body, smolgen=None, names_position=False),
    "ab_canonical_v2": variant(attention_body, **BT2, input=5),
    # Several heads.
    "mh_bt4": variant(attention_body, position="dense", several_heads=True, network=7, smolgen_act="swish"),
    "mh_legacy134": variant(attention_body, position="dense", several_heads=True, network=134, ffn_act="relu_2", smolgen_act="swish"),
    "mh_as_enum6": variant(attention_body, position="dense", several_heads=True, smolgen=None, names_position=False),
    "mh_map": variant(attention_body, several_heads=True, network=7, act="relu"),
    "mh_polenc": variant(attention_body, position="dense", several_heads=True, network=7, smolgen_act="swish", head_policy_encoders=1),
    # Encodings of layers.
    "enc_linear16": variant(tower, filters=8),
    "enc_float16": variant(tower, {"encoding": "float16"}, filters=8),
    "enc_bfloat16": variant(tower, {"encoding": "bfloat16"}, filters=8),
    "enc_float32": variant(tower, {"encoding": "float32"}, filters=8, norm=None),
    "enc_mixed": variant(tower, {"encoding": "mixed"}, filters=8),
    "enc_ab_float16": variant(attention_body, {"encoding": "float16"}, **BT2),
    # Batch norm: the same network twice, in float32 so that folding is the only difference; and the old form.
    "bn_full": variant(tower, {"encoding": "float32", "draws": "bn"}, filters=8),
    "bn_folded": variant(tower, {"encoding": "float32", "draws": "bn", "fold": True}, filters=8),
    "bn_old": variant(tower, filters=8, norm="old"),
    # The smallest of each kind, and what Lc0's own converters cannot do.
    "tiny": variant(tower, filters=4, se=4, value_density=0.008),
    "ab_tiny": variant(attention_body, **BT2, embedding=16, d_model=12, d_ff=20, layers=1, smolgen=(2, 8, 2), value_channels=4,
                       policy_embedding=16, policy_d=12, value_density=0.04),
    "small_heads": variant(tower, filters=8, value_channels=6, value_hidden=20),
    "hybrid_resnet_ab": variant(attention_body, tower_filters=16, se=8, smolgen=None),
}


def serialized(weights, network_format, file, name, seed):
    """The network file's bytes, before gzip."""
    encoding = file.get("encoding", "linear16")
    every = ["linear16", "float16", "bfloat16", "float32"]
    encoding_of = (lambda path: every[zlib.crc32(path.encode()) % 4]) if encoding == "mixed" else (lambda _: encoding)
    # Lc0 demands 0.33 where `weights_encoding` is not LINEAR16.
    is_old = encoding in ("linear16", "mixed")
    minor = {1: 7, 2: 7}.get(network_format["network"], 27) if is_old else 33
    kept = {key: value for key, value in network_format.items() if key not in file.get("strip", [])}
    net = {
        "magic": 0x1C0,
        "license": f"CC0; random weights made for tests ({name}, seed {seed})",
        "min_version": {"major": 0, "minor": minor, "patch": 0},
        "format": {"weights_encoding": LINEAR16 if is_old else 0} | ({} if file.get("noformat") else {"network_format": kept}),
        "training_params": {"training_steps": 1234, "lc0_params": "random"},
        "weights": folded(weights) if file.get("fold") else weights,
    }
    return message("Net", net, encoding_of)


def write_gzip(path, data):
    with open(path, "wb") as handle, gzip.GzipFile(filename="", mode="wb", fileobj=handle, mtime=0, compresslevel=9) as compressed:
        compressed.write(data)


def read_positions(path):
    """Lines `fen … moves …` of a file with name, FEN, moves and Chess960 flag in columns."""
    with open(path) as lines:
        rows = [line.rstrip("\n").split("\t") for line in lines]
    return "".join(f"fen {fen} moves {moves}\n" if moves else f"fen {fen}\n" for _, fen, moves, _ in rows)


class Evaluator:
    """Evaluates the calibration's positions with `zeitnot eval`."""

    def __init__(self, zeitnot, positions):
        self.zeitnot, self.positions = zeitnot, read_positions(positions)

    def evaluate(self, path, heads, fill):
        command = [self.zeitnot, "eval", "--json", "--weights", path, "--backend", "native", "--history-fill", fill]
        if heads:
            command += ["--policy-head", heads[0], "--value-head", heads[1]]
        run = subprocess.run(command, input=self.positions, capture_output=True, text=True)
        rows = [json.loads(line) for line in run.stdout.splitlines()]
        rows = [row for row in rows if "q" in row]
        if not rows:
            raise RuntimeError(f"{path}: {run.stderr.strip()}")
        return rows


def calibrate_policy(head, kind, rows):
    logits = [[move["logit"] for move in row["policy"]] for row in rows]
    deviation = np.mean([np.std(of_position) for of_position in logits if len(of_position) > 3])
    scale = LOGIT_DEVIATION / max(deviation, 1e-6)
    fields = {1: ("ip_pol_w", "ip_pol_b"), 3: ("ip2_pol_w", "ip2_pol_b")}
    tensors = (head["policy"]["weights"], head["policy"]["biases"]) if kind == 2 else (head[name] for name in fields[kind])
    for tensor in tensors:
        tensor *= np.float32(scale)


def calibrate_value(head, has_wdl, rows):
    q = np.array([row["q"] for row in rows])
    bias = head["ip2_val_b"]
    if not has_wdl:
        value = np.arctanh(np.clip(q, -0.999999, 0.999999))
        scale = VALUE_DEVIATION / max(value.std(), 1e-6)
        from_weights = value.mean() - bias[0]
        head["ip2_val_w"] *= np.float32(scale)
        head["ip2_val_b"] = np.array([0.05 - from_weights * scale], np.float32)
        return
    d = np.maximum([row["d"] for row in rows], 1e-6)
    win, loss = np.maximum((1 + q - d) / 2, 1e-6), np.maximum((1 - q - d) / 2, 1e-6)
    odds = np.stack([np.log(win / d), np.log(loss / d)])
    scale = ODDS_DEVIATION / max(odds.std(axis=1).mean(), 1e-6)
    from_weights = odds.mean(axis=1) - np.array([bias[0] - bias[1], bias[2] - bias[1]])
    head["ip2_val_w"] *= np.float32(scale)
    head["ip2_val_b"] = np.array([0.1 - from_weights[0] * scale, 0.0, -0.1 - from_weights[1] * scale], np.float32)


def calibrate_moves_left(weights, rows):
    m = np.array([row["m"] for row in rows])
    scale = min(MOVES_LEFT_DEVIATION / max(m.std(), 1e-6), 200)
    from_weights = m.mean() - weights["ip2_mov_b"][0]
    weights["ip2_mov_w"] *= np.float32(scale)
    weights["ip2_mov_b"] = np.array([MEAN_MOVES_LEFT - from_weights * scale], np.float32)


def calibrate(weights, network_format, write, evaluate):
    """Calibrates all heads; returns how much the policy reacts to the position."""
    has_several = "policy_heads" in weights
    pairs = HEAD_PAIRS if has_several else [None]
    for _ in range(3):
        write()
        done = set()
        for pair in pairs:
            rows = evaluate(pair)
            policy = weights["policy_heads"][POLICY_HEAD_FIELDS[pair[0]]] if has_several else weights
            value = weights["value_heads"][pair[1]] if has_several else weights
            if id(policy) not in done:
                calibrate_policy(policy, network_format["policy"], rows)
            if ("value", id(value)) not in done:
                calibrate_value(value, network_format["value"] == 2, rows)
            done |= {id(policy), ("value", id(value))}
            if network_format["moves_left"] and pair is pairs[0]:
                calibrate_moves_left(weights, rows)
    write()
    logits = {}
    for move in (move for row in rows for move in row["policy"]):
        logits.setdefault(move["index"], []).append(move["logit"])
    return float(np.mean([np.std(of_move) for of_move in logits.values() if len(of_move) >= 8]))


def make(name, seed, path, evaluator):
    """Writes one network. Draws again, the same way each time, until its policy reacts enough; keeps the best of all draws."""
    build, arguments, file = VARIANTS[name]

    def attempt(number):
        draws = file.get("draws", name) + (f"#{number}" if number else "")
        weights, network_format = build(Random(seed, draws), **arguments)
        fill = "no" if network_format["input"] in (5, 133) else "fen_only"
        write = lambda: write_gzip(path, serialized(weights, network_format, file, name, seed))
        return calibrate(weights, network_format, write, lambda pair: evaluator.evaluate(path, pair, fill))

    sensitivities = []
    while len(sensitivities) < ATTEMPTS:
        sensitivities.append(attempt(len(sensitivities)))
        if sensitivities[-1] >= MIN_SENSITIVITY:
            break
    else:
        attempt(int(np.argmax(sensitivities)))
    print(f"{name}: {os.path.getsize(path)} bytes, draw {len(sensitivities)}, sensitivity {max(sensitivities):.2f}", flush=True)


def main():
    zeitnot, folder, seed, positions, *names = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    evaluator = Evaluator(zeitnot, positions)
    for name in names or VARIANTS:
        make(name, int(seed), os.path.join(folder, f"{name}.pb.gz"), evaluator)


if __name__ == "__main__":
    main()
