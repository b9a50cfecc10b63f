"""Writes Lc0's network files: protobuf messages from nested dictionaries, by the field numbers of Lc0's `net.proto`.

A message is a dictionary of its fields by name; a NumPy array is a `Layer`, in the order in which Lc0 stores it; a list is a repeated field.
"""

import struct

import numpy as np

#: Message: {field: (number, type)}. "layer", "uint", "text" and "fixed32" are not messages.
SCHEMA = {
    "Net": {"magic": (1, "fixed32"), "license": (2, "text"), "min_version": (3, "Version"), "format": (4, "Format"),
            "training_params": (5, "TrainingParams"), "weights": (10, "Weights")},
    "Version": {"major": (1, "uint"), "minor": (2, "uint"), "patch": (3, "uint")},
    "TrainingParams": {"training_steps": (1, "uint"), "lc0_params": (6, "text")},
    "Format": {"weights_encoding": (1, "uint"), "network_format": (2, "NetworkFormat")},
    "NetworkFormat": {name: (number, "uint") for number, name in enumerate(
        ["input", "output", "network", "policy", "value", "moves_left", "default_activation", "smolgen_activation",
         "ffn_activation", "input_embedding"], 1)},
    "ConvBlock": {name: (number, "layer") for number, name in enumerate(
        ["weights", "biases", "bn_means", "bn_stddivs", "bn_gammas", "bn_betas"], 1)},
    "SeUnit": {name: (number, "layer") for number, name in enumerate(["w1", "b1", "w2", "b2"], 1)},
    "Residual": {"conv1": (1, "ConvBlock"), "conv2": (2, "ConvBlock"), "se": (3, "SeUnit")},
    "Smolgen": {name: (number, "layer") for number, name in enumerate(
        ["compress", "dense1_w", "dense1_b", "ln1_gammas", "ln1_betas", "dense2_w", "dense2_b", "ln2_gammas", "ln2_betas"], 1)},
    "Mha": {name: (number, "layer") for number, name in enumerate(
        ["q_w", "q_b", "k_w", "k_b", "v_w", "v_b", "dense_w", "dense_b"], 1)} | {"smolgen": (9, "Smolgen")},
    "Ffn": {name: (number, "layer") for number, name in enumerate(["dense1_w", "dense1_b", "dense2_w", "dense2_b"], 1)},
    "EncoderLayer": {"mha": (1, "Mha"), "ln1_gammas": (2, "layer"), "ln1_betas": (3, "layer"), "ffn": (4, "Ffn"),
                     "ln2_gammas": (5, "layer"), "ln2_betas": (6, "layer")},
    "PolicyHead": {name: (number, "layer") for number, name in enumerate(
        ["ip_pol_w", "ip_pol_b", "ip2_pol_w", "ip2_pol_b", "ip3_pol_w", "ip3_pol_b", "ip4_pol_w"], 1)}
    | {"pol_encoder": (8, "EncoderLayer"), "pol_headcount": (9, "uint")},
    "PolicyHeads": {"ip_pol_w": (1, "layer"), "ip_pol_b": (2, "layer"), "vanilla": (3, "PolicyHead"),
                    "optimistic_st": (4, "PolicyHead"), "soft": (5, "PolicyHead"), "opponent": (6, "PolicyHead")},
    "ValueHead": {name: (number, "layer") for number, name in enumerate(
        ["ip_val_w", "ip_val_b", "ip1_val_w", "ip1_val_b", "ip2_val_w", "ip2_val_b", "ip_val_err_w", "ip_val_err_b",
         "ip_val_cat_w", "ip_val_cat_b"], 1)},
    "ValueHeads": {"winner": (1, "ValueHead"), "q": (2, "ValueHead"), "st": (3, "ValueHead")},
    "Weights": {"input": (1, "ConvBlock"), "residual": (2, "Residual"), "policy": (3, "ConvBlock"), "ip_pol_w": (4, "layer"),
                "ip_pol_b": (5, "layer"), "value": (6, "ConvBlock"), "ip1_val_w": (7, "layer"), "ip1_val_b": (8, "layer"),
                "ip2_val_w": (9, "layer"), "ip2_val_b": (10, "layer"), "policy1": (11, "ConvBlock"),
                "moves_left": (12, "ConvBlock"), "ip1_mov_w": (13, "layer"), "ip1_mov_b": (14, "layer"),
                "ip2_mov_w": (15, "layer"), "ip2_mov_b": (16, "layer"), "ip2_pol_w": (17, "layer"), "ip2_pol_b": (18, "layer"),
                "ip3_pol_w": (19, "layer"), "ip3_pol_b": (20, "layer"), "pol_encoder": (21, "EncoderLayer"),
                "ip4_pol_w": (22, "layer"), "pol_headcount": (24, "uint"), "ip_emb_w": (25, "layer"), "ip_emb_b": (26, "layer"),
                "encoder": (27, "EncoderLayer"), "headcount": (28, "uint"), "ip_val_w": (29, "layer"), "ip_val_b": (30, "layer"),
                "ip_mov_w": (31, "layer"), "ip_mov_b": (32, "layer"), "ip_mult_gate": (33, "layer"), "ip_add_gate": (34, "layer"),
                "smolgen_w": (35, "layer"), "ip_emb_preproc_w": (37, "layer"), "ip_emb_preproc_b": (38, "layer"),
                "ip_emb_ln_gammas": (39, "layer"), "ip_emb_ln_betas": (40, "layer"), "ip_emb_ffn": (41, "Ffn"),
                "ip_emb_ffn_ln_gammas": (42, "layer"), "ip_emb_ffn_ln_betas": (43, "layer"), "value_heads": (44, "ValueHeads"),
                "policy_heads": (45, "PolicyHeads")},
}
LINEAR16, FLOAT16, BFLOAT16, FLOAT32 = 1, 2, 3, 4


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def delimited(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def bfloat16(values: np.ndarray) -> np.ndarray:
    """The upper halves of float32, rounded to nearest, halves to even."""
    bits = values.view(np.uint32).astype(np.uint64)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype("<u2")


def layer(values: np.ndarray, encoding: str) -> bytes:
    """A Layer message. LINEAR16 is what a layer without `encoding` is, so it is not named."""
    flat = np.ascontiguousarray(values, np.float32).ravel()
    if encoding == "linear16":
        low, high = float(flat.min()), float(flat.max())
        span = high - low
        steps = np.zeros(flat.size) if span == 0 else np.clip(np.rint((flat.astype(np.float64) - low) / span * 65535), 0, 65535)
        limits = b"".join(varint(number << 3 | 5) + struct.pack("<f", value) for number, value in ((1, low), (2, high)))
        return limits + delimited(3, steps.astype("<u2").tobytes())
    code, data = {
        "float16": lambda: (FLOAT16, flat.astype("<f2")),
        "bfloat16": lambda: (BFLOAT16, bfloat16(flat)),
        "float32": lambda: (FLOAT32, flat.astype("<f4")),
    }[encoding]()
    return delimited(3, data.tobytes()) + varint(4 << 3) + varint(code)


def message(kind: str, fields: dict, encoding_of=lambda path: "linear16", path: str = "") -> bytes:
    """A message of type `kind`; `encoding_of` tells a layer's encoding by its path from the weights, such as `.input.biases`."""
    out = b""
    for name, (number, field_kind) in sorted(SCHEMA[kind].items(), key=lambda field: field[1][0]):
        if name not in fields:
            continue
        value = fields[name]
        values = value if isinstance(value, list) else [value]
        for index, item in enumerate(values):
            place = f"{path}.{name}[{index}]" if isinstance(value, list) else f"{path}.{name}"
            if field_kind == "uint":
                out += varint(number << 3) + varint(item)
            elif field_kind == "fixed32":
                out += varint(number << 3 | 5) + struct.pack("<I", item)
            elif field_kind == "text":
                out += delimited(number, item.encode())
            elif field_kind == "layer":
                out += delimited(number, layer(item, encoding_of(place)))
            else:
                below = "" if kind == "Net" else place
                out += delimited(number, message(field_kind, item, encoding_of, below))
    return out
