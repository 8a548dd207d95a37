"""The classifier: an encoder that reads passage and claim together, with three logits. Also how pairs become its input."""

from __future__ import annotations

import time
from functools import cache
from pathlib import Path

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification, AutoTokenizer, PreTrainedModel

from .sources import LABELS, NOT_ENTAIL, Pair

#: Passage and claim together, in word pieces; a passage that is too long loses its end, a claim never.
LONGEST = 256

#: Which labels a pair allows.
TARGETS = {"entail": [1, 0, 0], "neutral": [0, 1, 0], "contradict": [0, 0, 1], NOT_ENTAIL: [0, 1, 1]}


def classifier(folder: Path, **loading) -> PreTrainedModel:
    # Nearly every pair is seen once: there is nothing to know by heart, and drawing the noise costs a seventh of a step.
    config = AutoConfig.from_pretrained(folder, local_files_only=True, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
    # PyTorch's fused attention takes twice as long on processors when it goes backward over short rows.
    return AutoModelForSequenceClassification.from_pretrained(
        folder, config=config, local_files_only=True, attn_implementation="eager", **loading)


def tokenizer_of(folder: Path):
    return AutoTokenizer.from_pretrained(folder, local_files_only=True)


@cache
def precision() -> torch.dtype:
    """bfloat16 or float32, whichever this machine multiplies faster: some processors are slower in the shorter format."""
    if torch.cuda.is_available():
        return torch.bfloat16

    def seconds(kind: torch.dtype) -> float:
        factors = torch.randn(2048, 768).to(kind), torch.randn(768, 768).to(kind)
        measured = []
        for _ in range(8):
            started = time.perf_counter()
            torch.mm(*factors)
            measured.append(time.perf_counter() - started)
        return min(measured)

    return min((torch.float32, torch.bfloat16), key=seconds)


def encode(tokenizer, pairs: list[Pair]) -> list[list[int]]:
    """Token ids of every pair."""
    rows: list[list[int]] = []
    for start in range(0, len(pairs), 4096):
        part = pairs[start : start + 4096]
        rows += tokenizer([pair.premise for pair in part], [pair.hypothesis for pair in part], truncation="only_first",
                          max_length=LONGEST, return_attention_mask=False)["input_ids"]
    return rows


def collate(rows: list[list[int]], model: nn.Module) -> dict[str, torch.Tensor]:
    """Padded tensors [rows, longest row], on the model's device."""
    longest = max(map(len, rows))
    padded = torch.tensor([row + [model.config.pad_token_id] * (longest - len(row)) for row in rows])
    mask = torch.tensor([[1] * len(row) + [0] * (longest - len(row)) for row in rows])
    return {"input_ids": padded.to(model.device), "attention_mask": mask.to(model.device)}


def allowed(pairs: list[Pair]) -> torch.Tensor:
    """1 where a label is possible, or the probabilities of a teacher, [pairs, 3]."""
    return torch.tensor([pair.soft or TARGETS[pair.label] for pair in pairs], dtype=torch.float32)


def losses(logits: torch.Tensor, possible: torch.Tensor, smoothing: float) -> torch.Tensor:
    """Minus the log-probability of the possible labels together, smoothed towards all three, one a row; cross-entropy with a teacher."""
    log = torch.log_softmax(logits.float(), dim=1)
    right = torch.logsumexp(log + torch.log(possible.clamp_min(1e-9)), dim=1)
    taught = ((possible > 0) & (possible < 1)).any(dim=1)
    right = torch.where(taught, (possible * log).sum(dim=1), right)
    return -(1 - smoothing) * right - smoothing * log.mean(dim=1)


def batches(lengths: list[int], budget: int, order: list[int]) -> list[list[int]]:
    """Row numbers in batches of at most `budget` tokens, padding counted; `order` is sorted by length."""
    made: list[list[int]] = [[]]
    for index in order:
        if made[-1] and lengths[index] * (len(made[-1]) + 1) > budget:
            made.append([])
        made[-1].append(index)
    return made


@torch.inference_mode()
def logits_of(model: nn.Module, rows: list[list[int]], budget: int = 8192) -> torch.Tensor:
    """Logits of every row, [rows, 3], float32."""
    model.eval()
    out = torch.zeros(len(rows), len(LABELS))
    lengths = [len(row) for row in rows]
    with torch.autocast(model.device.type, dtype=torch.bfloat16, enabled=precision() == torch.bfloat16):
        for chosen in batches(lengths, budget, sorted(range(len(rows)), key=lengths.__getitem__)):
            out[chosen] = model(**collate([rows[i] for i in chosen], model)).logits.float().cpu()
    return out
