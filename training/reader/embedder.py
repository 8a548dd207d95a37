"""Makes the embedder that the daemon reads from multilingual-e5-small: centred, ONNX, int8; and static vectors of its word pieces.

    python -m reader.embedder --data DATA --base FOLDER --out ../models/multilingual-e5-small-int8

The base is not trained. Its cosines lie between 0.7 and 1, because all vectors share a large common part; the mean of sentences in three
languages is subtracted, and the cosines of unrelated sentences lie around 0. BASE is of reader.base; DATA has parallel text (parallel.py).

The static vector of a text is the sum of its pieces' vectors. These are the base's word vectors, weighted by frequency (smooth inverse
frequency), without their mean and without the directions in which the means of languages differ, in their first principal components
(docs/research/015-multilingual-embedder.md).
"""

from __future__ import annotations

import argparse
import json
import math
import random
from pathlib import Path

import torch
from export import export, write_manifest, write_tokenizer
from parallel import FOLDERS, rows_of
from quantise import quantise
from torch import nn
from transformers import AutoModel

from .model import tokenizer_of

PREFIX = "query: "
#: Sentences of each language in the centre, and its share that is subtracted. The rest keeps the cosines of translations high.
SENTENCES, SHARE = 200, 0.9
#: Languages in which twelve short claims found their English translations (docs/research/015-multilingual-embedder.md).
LANGUAGES = ["en", "ru", "uk", "pt", "es", "fr", "de", "it", "pl", "bg"]
#: Cosines of unrelated and of equivalent texts.
COSINES = [0.05, 0.75]


#: Pieces rarer than this weigh nearly 1, more frequent ones less.
RARE = 1e-4
#: Values of a static vector.
STATIC = 256


def static_vectors(weights: torch.Tensor, tokenizer_file: Path, tokenizer, by_language: dict[str, list[str]]) -> bytes:
    """A row for each word piece: float32 scale, then values from -8 to 7 plus 8, two in a byte, the first in the lower half."""
    pieces = json.loads(tokenizer_file.read_text(encoding="utf-8"))["model"]["vocab"]
    frequency = torch.tensor([math.exp(min(score, -1.0)) for _, score in pieces])
    weight = RARE / (RARE + frequency)

    def mean(texts: list[str]) -> torch.Tensor:
        ids = torch.tensor([piece for text in texts for piece in tokenizer(text, add_special_tokens=False)["input_ids"]])
        return (weights[ids] * weight[ids, None]).sum(0) / weight[ids].sum()

    means = torch.stack([mean(texts) for texts in by_language.values()])
    centre = means.mean(0)
    languages = torch.linalg.svd(means - centre, full_matrices=False).Vh[: len(means) - 1]
    rows = weights - centre
    rows = (rows - rows @ languages.T @ languages) * weight[:, None]
    # Special pieces are first.
    rows[:4] = 0
    common = rows * frequency[:, None].sqrt()
    rows = rows @ torch.linalg.eigh(common.T @ common).eigenvectors.flip(1)[:, :STATIC]
    scale = rows.abs().amax(1, keepdim=True).clamp_min(1e-9) / 7
    values = (rows / scale).round().clamp(-8, 7).to(torch.int16) + 8
    packed = (values[:, 0::2] | (values[:, 1::2] << 4)).to(torch.uint8).numpy()
    return b"".join(a.tobytes() + b.tobytes() for a, b in zip(scale.numpy().astype("<f4"), packed, strict=True))


class Centred(nn.Module):
    """An encoder without the common part of its vectors; pooling is linear, so it is subtracted from each token."""

    def __init__(self, model: nn.Module, centre: torch.Tensor) -> None:
        super().__init__()
        self.model, self.config = model, model.config
        self.register_buffer("centre", centre)

    def forward(self, return_dict: bool = True, **inputs: torch.Tensor):
        given = self.model(**inputs, return_dict=return_dict)
        given.last_hidden_state = given.last_hidden_state - self.centre
        return given


@torch.inference_mode()
def centre_of(model: nn.Module, tokenizer, texts: list[str]) -> torch.Tensor:
    """The mean of the mean-pooled vectors, float32 [hidden]."""
    rows = (tokenizer(PREFIX + text, truncation=True, max_length=128, return_tensors="pt") for text in texts)
    return torch.stack([model(**{key: row[key] for key in ("input_ids", "attention_mask")}).last_hidden_state[0].mean(0) for row in rows]).mean(0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--base", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    out = arguments.out
    out.mkdir(parents=True, exist_ok=True)
    by_language: dict[str, list[str]] = {"en": [], "ru": [], "uk": []}
    for folder in FOLDERS:
        for row in rows_of(arguments.data, folder):
            for language, text in zip(row.languages, (row.first, row.second), strict=True):
                by_language[language].append(text)
    rng = random.Random(9)
    chosen = {language: rng.sample(texts, SENTENCES) for language, texts in by_language.items()}
    model = AutoModel.from_pretrained(arguments.base, local_files_only=True, add_pooling_layer=False, attn_implementation="eager").float().eval()
    tokenizer = tokenizer_of(arguments.base)
    centred = Centred(model, SHARE * centre_of(model, tokenizer, [text for texts in chosen.values() for text in texts]))
    full = arguments.base / "embedder.f32.onnx"
    export(centred, "embedding", full)
    quantise(full, out / "model.onnx", table_bits=4)
    write_tokenizer(arguments.base / "tokenizer.json", out / "tokenizer.json")
    words = model.embeddings.word_embeddings.weight.detach()
    (out / "static.bin").write_bytes(static_vectors(words, out / "tokenizer.json", tokenizer, chosen))
    write_manifest(out, {
        "name": out.name, "task": "embedding", "model": "model.onnx", "tokenizer": "tokenizer.json", "max_length": 256, "pooling": "mean",
        "dimension": model.config.hidden_size, "cosine": COSINES, "query_prefix": PREFIX, "static_vectors": "static.bin", "languages": LANGUAGES, "licence": "MIT",
        "origin": "multilingual-e5-small, centred and quantised by this project: training/README.md"})
    print(f"{out}: {(out / 'model.onnx').stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
