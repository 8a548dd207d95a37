"""The stance model: a small encoder that reads passage and claim together, and three logits."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn
from transformers import AutoTokenizer

from .heads import classifier
from .records import CONTRADICT, ENTAIL, LABELS, NEUTRAL, NOT_ENTAIL, UNKNOWN, Pair

#: Passage and claim together, in word pieces.
LONGEST = 256


def quick(device: str = "cpu") -> torch.dtype:
    """What to multiply in: bfloat16, except on processors without instructions for it: fifty times slower than float32 there."""
    able = device != "cpu" or torch.ops.mkldnn._is_mkldnn_bf16_supported()
    return torch.bfloat16 if able else torch.float32


def fresh(base: Path, dropout: float = 0.1) -> nn.Module:
    """The base encoder with a new head of three labels in the order of LABELS; a base that has such a head keeps it."""
    return classifier(
        base,
        num_labels=len(LABELS),
        id2label=dict(enumerate(LABELS)),
        label2id={label: index for index, label in enumerate(LABELS)},
        hidden_dropout_prob=dropout,
        attention_probs_dropout_prob=dropout / 2,
    )


def tokenizer_of(folder: Path):
    return AutoTokenizer.from_pretrained(folder)


def encode(tokenizer, pairs: list[Pair], longest: int = LONGEST) -> list[dict[str, list[int]]]:
    """Token ids of every pair; a passage that is too long loses its end, a claim never."""
    rows: list[dict[str, list[int]]] = []
    for start in range(0, len(pairs), 4096):
        part = pairs[start : start + 4096]
        batch = tokenizer(
            [pair.premise for pair in part], [pair.hypothesis for pair in part],
            truncation="only_first", max_length=longest, return_attention_mask=False,
        )
        names = [name for name in ("input_ids", "token_type_ids") if name in batch]
        rows += [dict(zip(names, row, strict=True)) for row in zip(*(batch[name] for name in names), strict=True)]
    return rows


def collate(rows: list[dict[str, list[int]]], padding: int) -> dict[str, torch.Tensor]:
    """Padded tensors [rows, longest row]. `padding` is the model's own: some count positions by it."""
    longest = max(len(row["input_ids"]) for row in rows)

    def padded(values: list[int], filler: int) -> list[int]:
        return values + [filler] * (longest - len(values))

    batch = {name: torch.tensor([padded(row[name], padding if name == "input_ids" else 0) for row in rows]) for name in rows[0]}
    batch["attention_mask"] = torch.tensor([padded([1] * len(row["input_ids"]), 0) for row in rows])
    return batch


TARGETS = {ENTAIL: [1, 0, 0], NEUTRAL: [0, 1, 0], CONTRADICT: [0, 0, 1], NOT_ENTAIL: [0, 1, 1],
           UNKNOWN: [1, 1, 1]}


def allowed(pairs: list[Pair]) -> torch.Tensor:
    """1 where a label is possible, [pairs, 3]. "Not entailed" allows two, "unknown" all."""
    return torch.tensor([TARGETS[pair.label] for pair in pairs], dtype=torch.float32)


def losses(logits: torch.Tensor, possible: torch.Tensor, smoothing: float) -> torch.Tensor:
    """Minus the log-probability of the possible labels together, smoothed towards all three, per row."""
    log = torch.log_softmax(logits.float(), dim=1)
    right = torch.logsumexp(log + torch.log(possible.clamp_min(1e-9)), dim=1)
    return -(1 - smoothing) * right - smoothing * log.mean(dim=1)


@torch.inference_mode()
def logits_of(model: nn.Module, rows: list[dict[str, list[int]]], device: str = "cpu", budget: int = 8192) -> torch.Tensor:
    """Logits of every row, [rows, 3], float32."""
    model.eval()
    out = torch.zeros(len(rows), len(LABELS))
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]["input_ids"]))
    start = 0
    while start < len(order):
        end = start + 1
        while end < len(order) and len(rows[order[end]]["input_ids"]) * (end + 1 - start) <= budget:
            end += 1
        chosen = order[start:end]
        batch = {name: value.to(device) for name, value in collate([rows[i] for i in chosen], model.config.pad_token_id).items()}
        with torch.autocast(device, dtype=torch.bfloat16, enabled=quick(device) == torch.bfloat16):
            out[chosen] = model(**batch).logits.float().cpu()
        start = end
    return out
