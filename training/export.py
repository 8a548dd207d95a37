#!/usr/bin/env python3
"""Exports a Hugging Face encoder folder to ONNX, and writes the model folders that the daemon reads.

An embedding model gives `last_hidden_state` [batch, sequence, hidden]; pooling stays outside, in the
runtime. A sequence classifier gives `logits` [batch, labels]. Batch and sequence are dynamic axes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import tomllib
import warnings
from collections.abc import Mapping
from pathlib import Path

import onnx
import torch
from transformers import AutoConfig, AutoModel, AutoModelForSequenceClassification, PreTrainedModel

OPSET = 17
# More than one text and more than a handful of tokens, so that the tracer sees no axis of length one.
EXAMPLE_SHAPE = (2, 12)
OUTPUT_NAMES = {"embedding": "last_hidden_state", "classifier": "logits"}

Scalar = str | int | float | bool | list[str] | list[float]
Table = dict[str, Scalar]


class Plain(torch.nn.Module):
    """The encoder with positional tensors in and one tensor out, as the ONNX exporter wants it."""

    def __init__(self, model: PreTrainedModel, output: str, inputs: list[str]) -> None:
        super().__init__()
        self.model, self.output, self.inputs = model, output, inputs

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        """One tensor per name in `inputs`, each [batch, sequence]."""
        named = dict(zip(self.inputs, tensors, strict=True))
        return getattr(self.model(**named, return_dict=True), self.output)


def load(folder: Path, kind: str) -> PreTrainedModel:
    """The model in `folder`, in f32, with attention written out in plain operators."""
    config = AutoConfig.from_pretrained(folder, local_files_only=True)
    loader = AutoModel if kind == "embedding" else AutoModelForSequenceClassification
    options = {"local_files_only": True, "dtype": torch.float32, "attn_implementation": "eager"}
    return loader.from_pretrained(folder, config=config, **options).eval()


def input_names(model: PreTrainedModel) -> list[str]:
    """The inputs the model really reads: token types only where it tells segments apart."""
    names = ["input_ids", "attention_mask"]
    if getattr(model.config, "type_vocab_size", 0) > 1:
        names.append("token_type_ids")
    return names


def example_inputs(model: PreTrainedModel, names: list[str]) -> tuple[torch.Tensor, ...]:
    """Inputs to trace with: arbitrary tokens, the second text shorter than the first."""
    generator = torch.Generator().manual_seed(1)
    ids = torch.randint(3, model.config.vocab_size, EXAMPLE_SHAPE, generator=generator)
    mask = torch.ones(EXAMPLE_SHAPE, dtype=torch.int64)
    mask[1, EXAMPLE_SHAPE[1] * 2 // 3 :] = 0
    tensors = {"input_ids": ids, "attention_mask": mask, "token_type_ids": torch.zeros_like(ids)}
    return tuple(tensors[name] for name in names)


def export(model: PreTrainedModel, kind: str, target: Path) -> None:
    """Write `model` to `target` as ONNX, checked."""
    names = input_names(model)
    output = OUTPUT_NAMES[kind]
    axes = {name: {0: "batch", 1: "sequence"} for name in names}
    axes[output] = {0: "batch", 1: "sequence"} if kind == "embedding" else {0: "batch"}
    target.parent.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            # The exporter puts back the mode it finds: a wrapper in training mode would switch the model's dropout on.
            Plain(model, output, names).eval(), example_inputs(model, names), str(target), input_names=names, output_names=[output],
            dynamic_axes=axes, opset_version=OPSET, do_constant_folding=True, dynamo=False)
    graph = onnx.load(target)
    onnx.checker.check_model(graph)
    graph.producer_version = ""
    onnx.save(graph, target)


def write_manifest(folder: Path, manifest: Mapping[str, Scalar | Table]) -> None:
    """Write `model.toml` into `folder`: the given keys in their order, tables behind them, then the files' checksums."""

    def line(key: str, value: Scalar) -> str:
        # JSON's strings, numbers, booleans and flat lists are TOML's too.
        return f"{key} = {json.dumps(value, ensure_ascii=False)}"

    lines = [line(key, value) for key, value in manifest.items() if not isinstance(value, dict)]
    for name, table in manifest.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]", *(line(key, value) for key, value in table.items())]
    lines += ["", "[sha256]"]
    files = [str(manifest[key]) for key in ("model", "tokenizer", "static_vectors") if key in manifest]
    lines += [f'"{file}" = "{hashlib.sha256((folder / file).read_bytes()).hexdigest()}"' for file in files]
    (folder / "model.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict:
    """What `model.toml` of `folder` says."""
    return tomllib.loads((folder / "model.toml").read_text(encoding="utf-8"))


def write_tokenizer(source: Path, target: Path) -> None:
    """Copy a `tokenizer.json` without its truncation and padding: those are the runtime's to choose."""
    tokenizer = json.loads(source.read_text(encoding="utf-8"))
    tokenizer["truncation"] = tokenizer["padding"] = None
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    target.write_text(text + "\n", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="folder with config.json and model.safetensors")
    parser.add_argument("target", type=Path, help="ONNX file to write")
    parser.add_argument("--kind", choices=sorted(OUTPUT_NAMES), default="embedding")
    arguments = parser.parse_args()
    export(load(arguments.folder, arguments.kind), arguments.kind, arguments.target)
    print(f"{arguments.target}: {arguments.target.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
