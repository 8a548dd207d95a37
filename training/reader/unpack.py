"""Makes a model that can be trained on from a folder that the daemon reads, for who has only that.

    python -m reader.unpack --model work/mpnet-stance-int8 --out FOLDER

The weights come back as the int8 file holds them: on the pairs it is measured on, the model answers as the file does to within
the rounding of its activations. Reads what `reader.package` writes of an MPNet whose layers keep some of their heads.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import onnx
import torch
from folder import read_manifest
from onnx import ModelProto, numpy_helper
from quantise import ACTIVATION_STEP, NIBBLE_CENTRE
from transformers import MPNetConfig, PreTrainedTokenizerFast

from .model import FewHeadsClassifier
from .sources import LABELS

WRAPPER = "model."


def constants(model: ModelProto) -> dict[str, np.ndarray]:
    """Every initializer and constant of the graph by name."""
    found = {tensor.name: numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    for node in model.graph.node:
        if node.op_type == "Constant":
            found |= {node.output[0]: numpy_helper.to_array(given.t) for given in node.attribute if given.name == "value"}
    return found


def product(name: str, found: dict[str, np.ndarray]) -> np.ndarray:
    """The weight [outputs, inputs] of an integer product, as a linear layer holds it."""
    scale = found[f"{name}_scale"] / np.float32(ACTIVATION_STEP)
    return (found[f"{name}_integers"].astype(np.float32) * scale).T


def table(name: str, found: dict[str, np.ndarray]) -> np.ndarray:
    """The rows [count, hidden] of an embedding table, of a byte or half a byte a value."""
    if f"{name}_integers" in found:
        return found[f"{name}_integers"].astype(np.float32) * found[f"{name}_scale"]
    both = found[f"{name}_nibbles"]
    values = np.concatenate([both & 15, both >> 4], axis=1).astype(np.float32) - NIBBLE_CENTRE
    return values * found[f"{name}_scale"]


def module_of(output: str) -> str:
    """`/model/mpnet/encoder/layer.0/output/dense/MatMul_output_0_product` → `mpnet.encoder.layer.0.output.dense`."""
    return ".".join(output.split("/")[2:-1])


def weights(model: ModelProto, found: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The weights by the names that the classifier has for them."""
    state = {name.removeprefix(WRAPPER): value for name, value in found.items() if name.startswith(WRAPPER)}
    packed = {name for name in state if name.endswith(("_nibbles", "_integers", "_scale", "_zero"))}
    tables = {name.rsplit("_", 1)[0] for name in packed if ".embeddings." in name}
    state = {name: value for name, value in state.items() if name not in packed}
    state |= {name: table(WRAPPER + name, found) for name in tables}
    for node in model.graph.node:
        if node.op_type == "MatMulInteger":
            state[f"{module_of(node.output[0])}.weight"] = product(node.input[1].removesuffix("_integers"), found)
    return state


def kept_heads(model: ModelProto, found: dict[str, np.ndarray], layers: int) -> list[list[int]]:
    """The heads of each layer: what its share of the common position bias is picked by."""
    picks = {node.name: node.input[1] for node in model.graph.node if node.op_type == "Gather"}
    return [found[picks[f"/model/mpnet/encoder/layer.{layer}/attention/attn/Gather"]].tolist() for layer in range(layers)]


def epsilon(model: ModelProto) -> float:
    """What the normalisations add under the root."""
    return next(given.f for node in model.graph.node if node.op_type == "LayerNormalization"
                for given in node.attribute if given.name == "epsilon")


def unpack(folder: Path) -> FewHeadsClassifier:
    model = onnx.load(folder / read_manifest(folder)["model"])
    found = constants(model)
    state = weights(model, found)
    layers = 1 + max(int(name.split(".")[3]) for name in state if ".layer." in name)
    words = state["mpnet.embeddings.word_embeddings.weight"]
    buckets, heads = state["mpnet.encoder.relative_attention_bias.weight"].shape
    config = MPNetConfig(
        vocab_size=words.shape[0], hidden_size=words.shape[1], num_hidden_layers=layers, num_attention_heads=heads,
        intermediate_size=state["mpnet.encoder.layer.0.intermediate.dense.bias"].shape[0],
        max_position_embeddings=state["mpnet.embeddings.position_embeddings.weight"].shape[0],
        relative_attention_num_buckets=buckets, layer_norm_eps=epsilon(model),
        id2label=dict(enumerate(LABELS)), label2id={label: index for index, label in enumerate(LABELS)},
    )
    config.kept_heads = kept_heads(model, found, layers)
    made = FewHeadsClassifier(config)
    missing, surplus = made.load_state_dict({name: torch.from_numpy(value.copy()) for name, value in state.items()}, strict=False)
    if surplus or any(not name.endswith("position_ids") for name in missing):
        raise SystemExit(f"{folder} is not a model of this shape: missing {missing}, not known {surplus}")
    return made.eval()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder with model.onnx, model.toml, tokenizer.json")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    unpack(arguments.model).save_pretrained(arguments.out)
    names = ["input_ids", "attention_mask"]
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_file=str(arguments.model / "tokenizer.json"), model_input_names=names, pad_token="<pad>",
        cls_token="<s>", sep_token="</s>", bos_token="<s>", eos_token="</s>", unk_token="[UNK]", mask_token="<mask>",
    )
    tokenizer.save_pretrained(arguments.out)


if __name__ == "__main__":
    main()
