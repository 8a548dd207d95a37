#!/usr/bin/env python3
"""Make the fixtures of the architecture tests: small random encoders as ONNX, and what they should answer.

For each of BERT, XLM-RoBERTa, DeBERTa-v3 and ModernBERT, folders `<architecture>-<task>-<precision>` with
`model.onnx`, `tokenizer.json` and `model.toml`, and `<architecture>.json` with texts, token ids and answers:
`f32` from transformers, `int8` and `dynamic` from ONNX Runtime on the very file in the folder.
`int8` is what quantise.py makes; `dynamic` is ONNX Runtime's own dynamic quantisation, as hubs offer it.
Texts are drawn until the quantised reference keeps its answer where weights differ in their last bit.
Every run gives the same files.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import torch
from onnx import ModelProto, helper
from onnxruntime.quantization import QuantType, quantize_dynamic
from tokenizers import Encoding, Tokenizer
from transformers import PreTrainedModel

from export import export
from fixture_parts.encoders import ARCHITECTURES, HIDDEN, MAX_LENGTH, Architecture, classifier, encoder
from fixture_parts.steady import Steadiness
from fixture_parts.texts import AWKWARD, text_of
from fixture_parts.tokenizers import describe, pad_token
from folder import write_manifest
from quantise import quantise

SINGLE_LENGTHS = [8, 21, 64, 130, 257, 400, 530]
# Tokens of claim and passage. The last passage is cut to what the claim leaves of the model's length.
PAIR_LENGTHS = [(4, 4), (9, 20), (14, 60), (20, 110), (25, 220), (30, 380), (30, 520)]
AWKWARD_PAIRS = [(AWKWARD[2], AWKWARD[0]), (AWKWARD[3], AWKWARD[1])]
# Inputs are drawn anew until the quantised reference answers them steadily: seeds lie so far apart.
SEED_STEP = 1000
DRAWS = 4000
# Tokens put behind an awkward input that is not answered steadily.
MOST_BEHIND = 8
DIGITS = 6
# Padding changes an answer by rounding only.
PADDING_TOLERANCE = 2e-5

Case = dict[str, object]


def drawn(task: str, tokenizer: Tokenizer) -> Iterator[Iterator[Case]]:
    """For each place in the fixtures the inputs to choose from: of one length, or an awkward one with words behind it."""

    def count(text: str) -> int:
        return len(tokenizer.encode(text, add_special_tokens=False).ids)

    def behind(text: str, seed: int) -> str:
        return text if seed < SEED_STEP else f"{text} {text_of(seed, 1 + seed // SEED_STEP % MOST_BEHIND, count)}"

    def single(seed: int, length: int) -> Case:
        return {"text": text_of(seed, length - 2, count)}

    def pair(seed: int, length: tuple[int, int]) -> Case:
        claim, passage = length
        return {"claim": text_of(100 + seed, claim, count), "passage": text_of(200 + seed, passage, count)}

    def awkward_single(seed: int, text: str) -> Case:
        return {"text": behind(text, seed)}

    def awkward_pair(seed: int, texts: tuple[str, str]) -> Case:
        return {"claim": behind(texts[0], seed), "passage": behind(texts[1], seed)}

    is_single = task == "embedding"
    places = [
        *((single if is_single else pair, length) for length in (SINGLE_LENGTHS if is_single else PAIR_LENGTHS)),
        *((awkward_single if is_single else awkward_pair, text) for text in (AWKWARD if is_single else AWKWARD_PAIRS)),
    ]
    lengths = len(SINGLE_LENGTHS if is_single else PAIR_LENGTHS)
    for place, (draw, of) in enumerate(places):
        seeds = range(place % lengths, DRAWS * SEED_STEP, SEED_STEP)
        yield map(draw, seeds, repeat(of))


def cases(task: str, tokenizer: Tokenizer, keeps: Callable[[Case], bool]) -> list[Case]:
    """Of each place's inputs the first that `keeps`: from a few tokens to more than the model takes, and awkward ones."""
    asked = 0
    made = []
    for place, inputs_of_place in enumerate(drawn(task, tokenizer)):
        for case in inputs_of_place:
            asked += 1
            if keeps(case):
                made.append(case)
                break
        else:
            raise SystemExit(f"fixtures.py: none of {DRAWS} inputs for place {place} of {task} is answered steadily")
    print(f"{'':12} {task:9} {len(made)} inputs are steady, of {asked} drawn")
    return made


def encode(tokenizer: Tokenizer, case: Case) -> Encoding:
    """Tokens as the models were trained on: passage before claim, the passage cut where it is too long."""
    tokenizer.enable_truncation(MAX_LENGTH, strategy="only_first")
    encoding = tokenizer.encode(case["text"]) if "text" in case else tokenizer.encode(case["passage"], case["claim"])
    tokenizer.no_truncation()
    return encoding


def inputs(encodings: list[Encoding], pad: int) -> dict[str, np.ndarray]:
    """Arrays [batch, longest], padded on the right."""
    shape = (len(encodings), max(len(encoding.ids) for encoding in encodings))
    arrays = {
        "input_ids": np.full(shape, pad, dtype=np.int64),
        "attention_mask": np.zeros(shape, dtype=np.int64),
        "token_type_ids": np.zeros(shape, dtype=np.int64),
    }
    for row, encoding in enumerate(encodings):
        length = len(encoding.ids)
        arrays["input_ids"][row, :length] = encoding.ids
        arrays["attention_mask"][row, :length] = 1
        arrays["token_type_ids"][row, :length] = encoding.type_ids
    return arrays


def pool(hidden: np.ndarray, mask: np.ndarray, pooling: str) -> np.ndarray:
    """Vectors [batch, hidden] of length one."""
    if pooling == "cls":
        pooled = hidden[:, 0]
    else:
        pooled = (hidden * mask[..., None]).sum(axis=1) / mask.sum(axis=1, keepdims=True)
    return pooled / np.linalg.norm(pooled, axis=1, keepdims=True)


def reference(model: PreTrainedModel, arrays: dict[str, np.ndarray]) -> np.ndarray:
    """What transformers answers: hidden states or logits."""
    segments = getattr(model.config, "type_vocab_size", 0) > 1
    named = {name: torch.from_numpy(array) for name, array in arrays.items() if segments or name != "token_type_ids"}
    with torch.no_grad():
        return model(**named, return_dict=True)[0].numpy()


def runtime(model: ModelProto) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
    """What ONNX Runtime answers for the graph as it is written, without rearranging it."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [node.name for node in session.get_inputs()]
    return lambda arrays: session.run(None, {name: arrays[name] for name in names})[0]


def finish(output: np.ndarray, arrays: dict[str, np.ndarray], task: str, pooling: str) -> np.ndarray:
    """Vectors from hidden states; logits as they are."""
    return pool(output, arrays["attention_mask"], pooling) if task == "embedding" else output


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
    """ONNX Runtime's dynamic quantisation with the settings that public int8 models are made with."""
    logging.disable(logging.WARNING)
    quantize_dynamic(source, target, weight_type=QuantType.QInt8, per_channel=True, reduce_range=True)
    logging.disable(logging.NOTSET)


def write_models(
    architecture: Architecture, model: PreTrainedModel, task: str, tokenizer: Tokenizer, root: Path
) -> dict[str, Path]:
    """A model folder for each precision; gives the ONNX files."""
    precisions = ["f32", "int8"] if task == "embedding" else ["f32", "int8", "dynamic"]
    paths = {precision: root / f"{architecture.name}-{task}-{precision}" / "model.onnx" for precision in precisions}
    for path in paths.values():
        path.parent.mkdir(parents=True)
    export(model, "embedding" if task == "embedding" else "classifier", paths["f32"])
    shorten(paths["f32"])
    quantise(paths["f32"], paths["int8"])
    if "dynamic" in paths:
        quantise_dynamically(paths["f32"], paths["dynamic"])
    for path in paths.values():
        (path.parent / "tokenizer.json").write_text(describe(tokenizer), encoding="utf-8")
        write_manifest(path.parent, manifest(path.parent.name, task, architecture.pooling))
    return paths


def manifest(name: str, task: str, pooling: str) -> dict[str, object]:
    """The keys of `model.toml`."""
    about = {
        "name": name,
        "task": task,
        "model": "model.onnx",
        "tokenizer": "tokenizer.json",
        "max_length": MAX_LENGTH,
    }
    if task == "embedding":
        about |= {"pooling": pooling, "normalize": True, "dimension": HIDDEN}
    else:
        about |= {"labels": ["entail", "neutral", "contradict"]}
    return about | {"languages": ["*"], "licence": "CC0-1.0", "origin": "random weights of training/fixtures.py"}


def answers(
    model: PreTrainedModel, paths: dict[str, Path], task: str, pooling: str, encodings: list[Encoding], pad: int
) -> dict[str, np.ndarray]:
    """For each precision, what each input gives alone. Fails where padding changes what transformers answers."""
    given: dict[str, list[np.ndarray]] = {precision: [] for precision in paths}
    quantised = {precision: runtime(onnx.load(path)) for precision, path in paths.items() if precision != "f32"}
    for encoding in encodings:
        arrays = inputs([encoding], pad)
        for precision in paths:
            output = reference(model, arrays) if precision == "f32" else quantised[precision](arrays)
            given[precision].append(finish(output, arrays, task, pooling)[0])
    arrays = inputs(encodings, pad)
    together = finish(reference(model, arrays), arrays, task, pooling)
    padding = float(np.abs(together - np.stack(given["f32"])).max())
    if padding > PADDING_TOLERANCE:
        raise SystemExit(f"fixtures.py: padding changes the reference of {paths['f32'].parent.name} by {padding:.1e}")
    return {precision: np.stack(rows) for precision, rows in given.items()}


@dataclass
class Task:
    """One task of one model: the files of its precisions, and who tells whether they answer steadily."""

    name: str
    model: PreTrainedModel
    architecture: Architecture
    tokenizer: Tokenizer
    paths: dict[str, Path]
    quantised: list[Steadiness]

    @classmethod
    def write(
        cls, name: str, model: PreTrainedModel, architecture: Architecture, tokenizer: Tokenizer, root: Path
    ) -> Task:
        """Writes the folders."""
        paths = write_models(architecture, model, name, tokenizer, root)

        def finished(graph: ModelProto) -> Callable[[dict[str, np.ndarray]], np.ndarray]:
            answer = runtime(graph)
            return lambda arrays: finish(answer(arrays), arrays, name, architecture.pooling)

        quantised = [Steadiness(path, finished) for precision, path in paths.items() if precision != "f32"]
        return cls(name, model, architecture, tokenizer, paths, quantised)

    @property
    def pad(self) -> int:
        """The id that fills a batch."""
        return self.tokenizer.token_to_id(pad_token(self.tokenizer))

    def keeps(self, case: Case) -> bool:
        """Whether every quantised model answers this input steadily."""
        arrays = inputs([encode(self.tokenizer, case)], self.pad)
        return all(steadiness.keeps(arrays) for steadiness in self.quantised)

    def answered(self) -> list[Case]:
        """The cases with ids and answers."""
        made = cases(self.name, self.tokenizer, self.keeps)
        encodings = [encode(self.tokenizer, case) for case in made]
        given = answers(self.model, self.paths, self.name, self.architecture.pooling, encodings, self.pad)
        for index, (case, encoding) in enumerate(zip(made, encodings, strict=True)):
            case["ids"] = encoding.ids
            case["second_segment"] = sum(encoding.type_ids)
            case["answers"] = {
                precision: [round(float(value), DIGITS) for value in rows[index]] for precision, rows in given.items()
            }
        report(self.architecture.name, self.name, given)
        return made


def report(name: str, task: str, given: dict[str, np.ndarray]) -> None:
    """Print how far apart the answers of different inputs are, and how far quantisation moves them."""
    spread = float(given["f32"].std(axis=0).mean())
    moved = {key: float(np.abs(rows - given["f32"]).max()) for key, rows in given.items() if key != "f32"}
    print(f"{name:12} {task:9} spread {spread:.3f}  moved " + "  ".join(f"{k} {v:.3f}" for k, v in moved.items()))


def lines(document: dict[str, list[Case]]) -> str:
    """JSON with a case on each line."""

    def rows(items: Iterable[Case]) -> str:
        return ",\n".join(json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in items)

    return "{\n" + ",\n".join(f'"{task}": [\n{rows(items)}\n]' for task, items in document.items()) + "\n}\n"


def write_unsupported(template: Path, root: Path) -> None:
    """A copy of a model folder whose graph has an operator that no runtime knows."""
    target = root / "unsupported-operator"
    shutil.copytree(template, target)
    graph = onnx.load(target / "model.onnx")
    output = graph.graph.output[0].name
    for node in graph.graph.node:
        node.output[:] = [f"{name}_before" if name == output else name for name in node.output]
    graph.graph.node.append(helper.make_node("FoldTimeline", [f"{output}_before"], [output], domain="org.example"))
    graph.opset_import.append(helper.make_opsetid("org.example", 1))
    onnx.save(graph, target / "model.onnx")
    write_manifest(target, manifest(target.name, "stance", ""))


def make(root: Path) -> None:
    """All folders and answers under `root`."""
    for architecture in ARCHITECTURES:
        tokenizer = architecture.tokenizer()
        model = classifier(architecture, tokenizer)
        tasks = [
            Task.write("embedding", encoder(model), architecture, tokenizer, root),
            Task.write("stance", model, architecture, tokenizer, root),
        ]
        document = {task.name: task.answered() for task in tasks}
        (root / f"{architecture.name}.json").write_text(lines(document), encoding="utf-8")
    write_unsupported(root / "bert-stance-int8", root)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, help="folder to write; replaced if it is there")
    arguments = parser.parse_args()
    if os.environ.get("PYTHONHASHSEED") != "0":
        # The exporter walks through sets of strings: their order, and with it the graph, hangs on the hash seed.
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | {"PYTHONHASHSEED": "0"})
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "models")
        root.mkdir()
        make(root)
        shutil.rmtree(arguments.target, ignore_errors=True)
        shutil.copytree(root, arguments.target)
    size = sum(path.stat().st_size for path in arguments.target.rglob("*") if path.is_file())
    print(f"{arguments.target}: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
