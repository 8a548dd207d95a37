#!/usr/bin/env python3
"""Times a model folder in Python; `cargo bench --bench inference -- --python` compares `rten` with the figures.

Texts: one a line, or `claim<TAB>passage` for a model that reads pairs. Rows: ONNX Runtime on the folder's file, and with --original
sentence-transformers on the float32 weights. Tokenising is part of every figure. A figure is the best of --repeat runs.
"""

import argparse
import json
import time
import tomllib
from pathlib import Path

import numpy as np
from onnxruntime import InferenceSession, SessionOptions
from tokenizers import Tokenizer

BATCH = 16
# Inputs of the graph, and the attribute of an encoding that each has.
INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


def onnx_runtime(folder, manifest, threads):
    """A function that runs ONNX Runtime on texts, or on (passage, claim) pairs, in batches of similar lengths."""
    tokenizer = Tokenizer.from_file(str(folder / manifest["tokenizer"]))
    tokenizer.enable_truncation(manifest["max_length"], strategy="longest_first" if manifest["task"] == "embedding" else "only_first")
    options = SessionOptions()
    options.intra_op_num_threads = threads
    session = InferenceSession(folder / manifest["model"], options, providers=["CPUExecutionProvider"])
    names = [node.name for node in session.get_inputs()]

    def run(inputs):
        encodings = sorted(tokenizer.encode_batch(inputs), key=lambda encoding: len(encoding.ids))
        for start in range(0, len(encodings), BATCH):
            batch = encodings[start : start + BATCH]
            for encoding in batch:
                encoding.pad(len(batch[-1].ids))
            session.run(None, {name: np.array([getattr(encoding, INPUTS[name]) for encoding in batch]) for name in names})

    return run


def pytorch(original, manifest, threads):
    """A function that runs the float32 weights in sentence-transformers."""
    import torch
    from sentence_transformers import CrossEncoder, SentenceTransformer

    torch.set_num_threads(threads)
    if manifest["task"] == "embedding":
        embedder = SentenceTransformer(str(original), device="cpu")
        return lambda inputs: embedder.encode(inputs, batch_size=BATCH)
    classifier = CrossEncoder(str(original), device="cpu", max_length=manifest["max_length"])
    return lambda inputs: classifier.predict(inputs, batch_size=BATCH)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="model folder with model.toml")
    parser.add_argument("texts", type=Path)
    parser.add_argument("--original", type=Path, help="folder of the float32 weights")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", type=Path, required=True, help="file to write the rows to")
    arguments = parser.parse_args()
    manifest = tomllib.loads((arguments.folder / "model.toml").read_text(encoding="utf-8"))
    inputs = [line for line in arguments.texts.read_text(encoding="utf-8").splitlines() if line.strip()]
    if manifest["task"] != "embedding":
        inputs = [tuple(reversed(line.split("\t", 1))) for line in inputs]
    runs = [("onnxruntime", "as in the folder", onnx_runtime(arguments.folder, manifest, arguments.threads))]
    if arguments.original:
        runs.append(("sentence-transformers", "f32", pytorch(arguments.original, manifest, arguments.threads)))
    rows = []
    for runtime, weights, run in runs:
        run(inputs[: len(inputs) // 10 + 1])
        seconds = []
        for _ in range(arguments.repeat):
            start = time.perf_counter()
            run(inputs)
            seconds.append(time.perf_counter() - start)
        rows.append({"runtime": runtime, "weights": weights, "threads": arguments.threads, "per_second": round(len(inputs) / min(seconds), 1)})
    arguments.json.write_text(json.dumps(rows) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
