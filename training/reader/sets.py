"""The labelled sets that the reader is measured on and never trained on, and its answers to their pairs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from export import read_manifest

from .model import classifier, encode, logits_of, tokenizer_of
from .sources import LABELS, NOT_ENTAIL, Pair

#: Files under DATA. terra_ru and lidirus tell only entailed from not entailed.
PUBLIC = ("healthver/pairs", "scifact_rte/pairs", "fm2/pairs", "climate_fever/pairs", "terra_ru/pairs", "rcb_ru/norm_pairs",
          "lidirus/norm_pairs")
#: Claims with one passage in the format of `corroborate eval`: the claim's label is the pair's.
PLAIN = ("plain_claims/en", "plain_claims/ru", "plain_claims/uk", "plain_claims/cross")
STANCES = {"supported": "entail", "refuted": "contradict", "not_enough_evidence": "neutral"}
#: Calibration beside what is held out: claims with pages of the web, entailed or not.
WICE = "wice/pairs_oracle"


def rows_of(path: Path) -> list[dict]:
    if not path.exists():
        print(f"skipped: {path} is not there")
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def read_set(data: Path, name: str) -> list[Pair]:
    rows, source = rows_of(data / f"{name}.jsonl"), name.removesuffix("/norm_pairs").removesuffix("/pairs")
    if name in PLAIN:
        return [Pair(source, row["evidence"][0]["text"], row["claim"], STANCES[row["label"]]) for row in rows if len(row["evidence"]) == 1]
    return [Pair(source, row["evidence"], row["claim"], row["label"]) for row in rows]


@dataclass
class Int8:
    """A model folder as the daemon reads it, by ONNX Runtime, one pair at a time: an answer may not depend on a batch."""

    folder: Path

    def logits(self, pairs: list[Pair]) -> torch.Tensor:
        from onnxruntime import InferenceSession, SessionOptions
        from transformers import PreTrainedTokenizerFast

        names = ["input_ids", "attention_mask"]
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(self.folder / "tokenizer.json"), model_input_names=names)
        options = SessionOptions()
        options.intra_op_num_threads = 2
        session = InferenceSession(self.folder / "model.onnx", options, providers=["CPUExecutionProvider"])
        out = np.zeros((len(pairs), len(LABELS)), dtype=np.float32)
        for index, row in enumerate(encode(tokenizer, pairs)):
            given = {"input_ids": np.array([row]), "attention_mask": np.ones((1, len(row)), dtype=np.int64)}
            out[index] = session.run(None, given)[0][0]
        return torch.from_numpy(out)


@dataclass
class Trained:
    """A folder that reader.train or reader.delta wrote."""

    folder: Path

    def logits(self, pairs: list[Pair]) -> torch.Tensor:
        return logits_of(classifier(self.folder), encode(tokenizer_of(self.folder), pairs))


def model_of(folder: Path) -> Int8 | Trained:
    return Int8(folder) if (folder / "model.onnx").exists() else Trained(folder)


def vectors(folder: Path, texts: list[str]) -> np.ndarray:
    """Unit rows, float32 [texts, dimension], of an embedder that takes the mean of its words, as the daemon's."""
    from onnxruntime import InferenceSession
    from tokenizers import Tokenizer

    stated = read_manifest(folder)
    tokenizer = Tokenizer.from_file(str(folder / stated["tokenizer"]))
    tokenizer.enable_truncation(stated["max_length"])
    session = InferenceSession(folder / stated["model"], providers=["CPUExecutionProvider"])
    wanted = [given.name for given in session.get_inputs()]
    rows = np.zeros((len(texts), stated["dimension"]), dtype=np.float32)
    for index, text in enumerate(texts):
        encoded = tokenizer.encode(stated.get("query_prefix", "") + text)
        given = {"input_ids": encoded.ids, "token_type_ids": encoded.type_ids, "attention_mask": encoded.attention_mask}
        hidden = session.run(None, {name: np.array([given[name]], dtype=np.int64) for name in wanted})[0][0]
        mean = hidden.mean(0) if hidden.ndim == 2 else hidden
        rows[index] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return rows


def cosines(folder: Path, pairs: list[Pair]) -> torch.Tensor:
    """The cosine of each pair's two texts, float32 [pairs], -1 to 1."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.premise, pair.hypothesis)))
    row = {text: index for index, text in enumerate(texts)}
    made = vectors(folder, texts)
    return torch.tensor([float(made[row[pair.premise]] @ made[row[pair.hypothesis]]) for pair in pairs])


def macro_f1(truth: list[int], said: list[int], labels: list[int]) -> float:
    scores = []
    for label in labels:
        hit = sum(t == s == label for t, s in zip(truth, said, strict=True))
        wrong = sum(t == label for t in truth) + sum(s == label for s in said)
        scores.append(2 * hit / wrong if wrong else 0.0)
    return sum(scores) / len(scores)


def figures(pairs: list[Pair], probabilities: torch.Tensor) -> dict[str, float]:
    """Accuracy and, over the labels that occur, macro-F1; of pairs above .9 the share, and how many of those are right."""
    said = probabilities.argmax(1).tolist()
    if any(pair.label == NOT_ENTAIL for pair in pairs):
        truth, said = [int(pair.label == "entail") for pair in pairs], [int(label == 0) for label in said]
    else:
        truth = [LABELS.index(pair.label) for pair in pairs]
    right = [t == s for t, s in zip(truth, said, strict=True)]
    sure = [hit for hit, top in zip(right, probabilities.max(1).values.tolist(), strict=True) if top > 0.9]
    return {"pairs": len(pairs), "accuracy": sum(right) / len(right), "macro_f1": macro_f1(truth, said, sorted(set(truth))),
            "sure": len(sure) / len(pairs), "sure_right": sum(sure) / max(len(sure), 1)}
