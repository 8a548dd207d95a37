#!/usr/bin/env python3
"""Time a model folder in Python, to be read beside `cargo bench --bench inference` on the same folder and texts.

Texts: one a line; for a stance model `claim<TAB>passage`. Measured: ONNX Runtime on the folder's file with one
and with two threads, and with --original the f32 weights it was made from, in sentence-transformers (embedding)
or transformers (stance) on PyTorch. Tokenising is part of every figure. Each row is the best of --repeat runs.
"""

from __future__ import annotations

import argparse
import json
import time
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnxruntime
from tokenizers import Encoding, Tokenizer

Row = dict[str, object]
Inputs = list[tuple[str, ...]]


def read_inputs(path: Path, task: str) -> Inputs:
    """The lines of the file; pairs as the model takes them, passage first."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if task == "embedding":
        return [(line,) for line in lines]
    pairs = [line.split("\t", 1) for line in lines]
    if any(len(pair) != 2 for pair in pairs):
        raise SystemExit(f"bench.py: {path} needs claim<TAB>passage on every line")
    return [(passage, claim) for claim, passage in pairs]


def batches(encodings: list[Encoding], size: int) -> Iterator[list[Encoding]]:
    """Batches of similar lengths."""
    ordered = sorted(encodings, key=lambda encoding: len(encoding.ids))
    for start in range(0, len(ordered), size):
        yield ordered[start : start + size]


def feed(batch: list[Encoding], names: set[str]) -> dict[str, np.ndarray]:
    """Arrays [batch, longest] for the inputs the graph has."""
    shape = (len(batch), len(batch[-1].ids))
    arrays = {name: np.zeros(shape, dtype=np.int64) for name in names}
    for row, encoding in enumerate(batch):
        length = len(encoding.ids)
        values = {"input_ids": encoding.ids, "attention_mask": 1, "token_type_ids": encoding.type_ids}
        for name in names:
            arrays[name][row, :length] = values[name]
    return arrays


def onnx_runtime(folder: Path, manifest: dict[str, object], threads: int, size: int) -> Callable[[Inputs], object]:
    """ONNX Runtime on the folder's own file."""
    tokenizer = Tokenizer.from_file(str(folder / str(manifest["tokenizer"])))
    single = manifest["task"] == "embedding"
    tokenizer.enable_truncation(int(manifest["max_length"]), strategy="longest_first" if single else "only_first")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    path = folder / str(manifest["model"])
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    names = {node.name for node in session.get_inputs()}

    def run(inputs: Inputs) -> None:
        encodings = tokenizer.encode_batch([text[0] if single else text for text in inputs])
        for batch in batches(encodings, size):
            session.run(None, feed(batch, names))

    return run


def pytorch(original: Path, manifest: dict[str, object], threads: int, size: int) -> Callable[[Inputs], object]:
    """The original weights in f32, as their own library runs them."""
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer

    torch.set_num_threads(threads)
    if manifest["task"] == "embedding":
        embedder = SentenceTransformer(str(original), device="cpu")
        return lambda inputs: embedder.encode([text for (text,) in inputs], batch_size=size)
    classifier = CrossEncoder(str(original), device="cpu", max_length=int(manifest["max_length"]))
    return lambda inputs: classifier.predict(inputs, batch_size=size)


def best_time(run: Callable[[Inputs], object], inputs: Inputs, repeat: int) -> float:
    """Seconds of the fastest of `repeat` runs, after a warm-up."""
    run(inputs[: max(1, len(inputs) // 10)])
    seconds = []
    for _ in range(repeat):
        start = time.perf_counter()
        run(inputs)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def measure(arguments: argparse.Namespace) -> list[Row]:
    """One row per runtime and number of threads."""
    manifest = tomllib.loads((arguments.folder / "model.toml").read_text(encoding="utf-8"))
    inputs = read_inputs(arguments.texts, str(manifest["task"]))
    runners = [("onnxruntime", "as in the folder", onnx_runtime, arguments.folder)]
    if arguments.original:
        runners.append(("sentence-transformers", "f32", pytorch, arguments.original))
    rows: list[Row] = []
    for name, precision, make, source in runners:
        for threads in arguments.threads:
            run = make(source, manifest, threads, arguments.batch)
            seconds = best_time(run, inputs, arguments.repeat)
            rows.append(
                {
                    "runtime": name,
                    "weights": precision,
                    "model": manifest["name"],
                    "threads": threads,
                    "inputs": len(inputs),
                    "per_second": round(len(inputs) / seconds, 1),
                    "milliseconds_each": round(seconds / len(inputs) * 1e3, 3),
                }
            )
    return rows


def table(rows: list[Row]) -> str:
    """The rows for a person."""
    lines = [f"{'runtime':24}{'weights':18}{'threads':>8}{'per second':>12}{'ms each':>10}"]
    for row in rows:
        lines.append(
            f"{row['runtime']:24}{row['weights']:18}{row['threads']:>8}"
            f"{row['per_second']:>12.1f}{row['milliseconds_each']:>10.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="model folder with model.toml")
    parser.add_argument("texts", type=Path, help="one text a line, or claim<TAB>passage")
    parser.add_argument("--original", type=Path, help="folder of the f32 weights, to time PyTorch too")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, help="write the rows here as well")
    arguments = parser.parse_args()
    rows = measure(arguments)
    print(table(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
