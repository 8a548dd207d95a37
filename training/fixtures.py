#!/usr/bin/env python3
"""Rebuilds the fixtures of the architecture tests: small random encoders and their expected outputs.

    venv/bin/python fixtures.py ../tests/fixtures/models

Architectures: BERT and XLM-RoBERTa. The script reads ARCHITECTURE-embedding-f32/tokenizer.json and the texts of ARCHITECTURE.json, which
stay as they are. It writes:

* folders ARCHITECTURE-TASK-PRECISION: `f32`, `int8` (quantise.py) and, for the classifier, `dynamic` (ONNX Runtime's own quantisation)
* in ARCHITECTURE.json, for each text, token ids and the outputs of transformers (`f32`) or of ONNX Runtime on the folder's file
* `unsupported-operator`: a classifier whose graph has an operator that no runtime knows

Two runs on one machine write the same bytes. On another processor the outputs of PyTorch (`f32`) differ by up to 6e-6.

The script stops at a text whose quantised output depends on the last bit of the weights: two runtimes add in different orders, so such a text
cannot compare them. Add a word to the text and run again.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
import transformers
from onnx import ModelProto, TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Tokenizer
from transformers import PreTrainedModel

from export import export, input_names, write_manifest
from quantise import quantise

HIDDEN = 32
MAX_LENGTH = 512
# Matrices keep the size of their input at a gain of one; a little more gives attention distinct weights.
GAIN = 1.3
DIGITS = 6
# Relative change of a weight, about two times the last bit of a 32-bit float.
LAST_BIT = 2e-7
VARIANTS = 16
# Half of the tests' tolerance between runtimes.
MAX_VARIATION = 5e-4
PRECISIONS = {"embedding": ("f32", "int8"), "stance": ("f32", "int8", "dynamic")}

Arrays = dict[str, np.ndarray]
Runner = Callable[[Arrays], np.ndarray]


@dataclass(frozen=True)
class Architecture:
    """A small encoder of one kind: the prefix of its classes in transformers, and the settings of its configuration."""

    name: str
    classes: str
    seed: int
    # Gain of the last matrix: the logits of different inputs are about one apart.
    head_gain: float
    settings: dict[str, object]

    def classifier(self, tokenizer: Tokenizer) -> PreTrainedModel:
        """The encoder with its classification head, weights drawn from the seed."""
        pad = tokenizer.token_to_id("<pad>" if tokenizer.token_to_id("[PAD]") is None else "[PAD]")
        config = getattr(transformers, f"{self.classes}Config")(
            vocab_size=tokenizer.get_vocab_size(), hidden_size=HIDDEN, num_attention_heads=4, intermediate_size=64, num_labels=3,
            num_hidden_layers=3, pad_token_id=pad, attn_implementation="eager", **{"max_position_embeddings": MAX_LENGTH} | self.settings)
        model = getattr(transformers, f"{self.classes}ForSequenceClassification")(config).eval()
        generator = torch.Generator().manual_seed(self.seed)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                values = torch.randn(parameter.shape, generator=generator)
                if parameter.ndim < 2:
                    values = values * 0.1 + (1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0)
                elif "embedding" not in name:
                    is_head = name.startswith(("classifier.weight", "classifier.out_proj.weight"))
                    values = values * (self.head_gain if is_head else GAIN) / parameter.shape[1] ** 0.5
                parameter.copy_(values)
        return model


# XLM-RoBERTa counts positions from behind the padding's id.
ARCHITECTURES = [
    Architecture("bert", "Bert", 11, 6.0, {}),
    Architecture("xlm-roberta", "XLMRoberta", 12, 8.0,
                 {"max_position_embeddings": MAX_LENGTH + 2, "type_vocab_size": 1, "layer_norm_eps": 1e-5}),
]


def shorten(path: Path) -> None:
    """Give values and constants short names: in encoders this small, the exporter's names are half of the file."""
    model = onnx.load(path)
    short = {node.name: node.name for node in [*model.graph.input, *model.graph.output]}
    for node in model.graph.node:
        node.name = ""
        for names in (node.input, node.output):
            names[:] = [name and short.setdefault(name, f"v{len(short)}") for name in names]
    for tensor in model.graph.initializer:
        tensor.name = short[tensor.name]
    onnx.checker.check_model(model)
    onnx.save(model, path)


def quantise_dynamically(source: Path, target: Path) -> None:
    """ONNX Runtime's dynamic quantisation with the settings of most public int8 models."""
    logging.disable(logging.WARNING)
    quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    logging.disable(logging.NOTSET)


def write_model_toml(folder: Path, task: str) -> None:
    """`model.toml` of a fixture."""
    manifest = {"name": folder.name, "task": task, "model": "model.onnx", "tokenizer": "tokenizer.json", "max_length": MAX_LENGTH}
    if task == "embedding":
        manifest |= {"pooling": "mean", "dimension": HIDDEN}
    else:
        manifest |= {"labels": ["entail", "neutral", "contradict"]}
    write_manifest(folder, manifest | {"languages": ["*"], "licence": "CC0-1.0", "origin": "random weights of training/fixtures.py"})


def write_models(architecture: Architecture, model: PreTrainedModel, task: str, tokenizer: Path, root: Path) -> dict[str, Path]:
    """Write a model folder for each precision; returns the ONNX files."""
    paths = {precision: root / f"{architecture.name}-{task}-{precision}/model.onnx" for precision in PRECISIONS[task]}
    export(model, "embedding" if task == "embedding" else "classifier", paths["f32"])
    shorten(paths["f32"])
    quantise(paths["f32"], paths["int8"])
    for precision, path in paths.items():
        path.parent.mkdir(exist_ok=True)
        if precision == "dynamic":
            quantise_dynamically(paths["f32"], path)
        if path.parent != tokenizer.parent:
            shutil.copyfile(tokenizer, path.parent / "tokenizer.json")
        write_model_toml(path.parent, task)
    return paths


def reference(model: PreTrainedModel) -> Runner:
    """Runs transformers: hidden states or logits."""

    def run(arrays: Arrays) -> np.ndarray:
        with torch.no_grad():
            return model(**{name: torch.from_numpy(arrays[name]) for name in input_names(model)}, return_dict=True)[0].numpy()

    return run


def runtime(model: ModelProto) -> Runner:
    """Runs ONNX Runtime on the graph as the file has it, without optimisation."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [node.name for node in session.get_inputs()]
    return lambda arrays: session.run(None, {name: arrays[name] for name in names})[0]


def varied(model: ModelProto, seed: int) -> ModelProto:
    """A copy whose float tensors are changed at random in their last bit; single numbers, which are constants of the graph, stay."""
    generator = np.random.default_rng(seed)
    copy = ModelProto()
    copy.CopyFrom(model)
    for tensor in copy.graph.initializer:
        values = numpy_helper.to_array(tensor)
        if tensor.data_type == TensorProto.FLOAT and values.size > 1:
            moved = values * (1 + LAST_BIT * generator.uniform(-1, 1, values.shape))
            tensor.CopyFrom(numpy_helper.from_array(moved.astype(np.float32), tensor.name))
    return copy


def finish(output: np.ndarray, task: str) -> np.ndarray:
    """The unit vector of one text's hidden states [1, tokens, hidden]; logits as they are."""
    if task != "embedding":
        return output[0]
    pooled = output[0].mean(axis=0, dtype=np.float64)
    return pooled / np.linalg.norm(pooled)


def answer(cases: list[dict], tokenizer: Tokenizer, task: str, reference: Runner, paths: dict[str, Path]) -> None:
    """Set each case's token ids and outputs by precision; exits at an unsteady text."""
    runners = {"f32": [reference]}
    for precision, path in paths.items():
        if precision != "f32":
            model = onnx.load(path)
            runners[precision] = [runtime(model), *(runtime(varied(model, seed)) for seed in range(VARIANTS))]
    for case in cases:
        # Passage before claim, as in training; a passage that is too long loses its end.
        encoding = tokenizer.encode(case["text"]) if "text" in case else tokenizer.encode(case["passage"], case["claim"])
        columns = {"input_ids": encoding.ids, "attention_mask": encoding.attention_mask, "token_type_ids": encoding.type_ids}
        arrays = {name: np.array([column], dtype=np.int64) for name, column in columns.items()}
        case |= {"ids": encoding.ids, "second_segment": sum(encoding.type_ids), "answers": {}}
        for precision, each in runners.items():
            output, *others = (finish(run(arrays), task) for run in each)
            variation = max((float(np.abs(other - output).max()) for other in others), default=0.0)
            if variation > MAX_VARIATION:
                raise SystemExit(f"fixtures.py: {paths[precision].parent.name} varies by {variation:.1e} on {case}; add a word to the text")
            case["answers"][precision] = [round(float(value), DIGITS) for value in output]


def write_unsupported(template: Path, target: Path) -> None:
    """A copy of a model folder whose graph has an operator that no runtime knows."""
    shutil.copytree(template, target, dirs_exist_ok=True)
    graph = onnx.load(target / "model.onnx")
    output = graph.graph.output[0].name
    for node in graph.graph.node:
        node.output[:] = [f"{name}_before" if name == output else name for name in node.output]
    graph.graph.node.append(helper.make_node("FoldTimeline", [f"{output}_before"], [output], domain="org.example"))
    graph.opset_import.append(helper.make_opsetid("org.example", 1))
    onnx.save(graph, target / "model.onnx")
    write_model_toml(target, "stance")


def lines(items: list[dict]) -> str:
    """A JSON array with an item a line."""
    return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in items) + "\n]"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="tests/fixtures/models")
    root = parser.parse_args().folder
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The exporter iterates over sets of strings, so the graph depends on the hash seed.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    torch.set_num_threads(1)
    for architecture in ARCHITECTURES:
        answers = root / f"{architecture.name}.json"
        document = json.loads(answers.read_text(encoding="utf-8"))
        source = root / f"{architecture.name}-embedding-f32/tokenizer.json"
        tokenizer = Tokenizer.from_file(str(source))
        tokenizer.enable_truncation(MAX_LENGTH, strategy="only_first")
        classifier = architecture.classifier(tokenizer)
        for task, model in (("embedding", classifier.base_model), ("stance", classifier)):
            paths = write_models(architecture, model, task, source, root)
            answer(document[task], tokenizer, task, reference(model), paths)
        text = ",\n".join(f'"{task}": {lines(cases)}' for task, cases in document.items())
        answers.write_text("{\n" + text + "\n}\n", encoding="utf-8")
    write_unsupported(root / "bert-stance-int8", root / "unsupported-operator")


if __name__ == "__main__":
    main()
