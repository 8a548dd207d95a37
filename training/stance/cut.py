"""Cuts a trained teacher down to the size of the small model, which is then taught by it.

    python -m stance.cut --model TEACHER --build BUILD_FOLDER --out MODEL_FOLDER

Keeps of every layer the attention heads and the inner values that matter most to the answers, and rounds the word vectors as
the int8 file will hold them (four bits): training goes on from what the daemon will read. What matters is the first-order
change of the loss without a value (Molchanov and others, 2019), summed over pairs that people labelled.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

import torch
from quantise import rounded_rows
from torch import nn

from .heads import classifier, keep_heads
from .model import allowed, collate, encode, losses, quick, tokenizer_of
from .records import LABELS, Pair, read

SEED = 20261121
BATCH = 16


class Importance:
    """How much each value that goes into a linear layer moves the loss, [values]."""

    def __init__(self, linear: nn.Linear) -> None:
        self.sums, self.seen = torch.zeros(linear.in_features), torch.empty(0)
        self.hook = linear.register_forward_pre_hook(self._keep)

    def _keep(self, _module: nn.Module, inputs: tuple[torch.Tensor]) -> None:
        inputs[0].retain_grad()
        self.seen = inputs[0]

    def add(self, together: int = 1) -> None:
        """Count the batch whose gradients have just been computed; `together` values are kept or left as one."""
        moved = (self.seen.float() * self.seen.grad.float()).sum(1).detach()
        moved = moved.unflatten(1, (-1, together)).sum(2).abs().sum(0)
        self.sums[: len(moved)] += moved


def importance(model: nn.Module, rows: list, pairs: list[Pair]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
    """Scores of every layer's attention heads and of its inner values."""
    layers, possible = model.base_model.encoder.layer, allowed(pairs)
    size = layers[0].attention.attn.attention_head_size
    heads = [Importance(layer.attention.attn.o) for layer in layers]
    inner = [Importance(layer.output.dense) for layer in layers]
    order = sorted(range(len(rows)), key=lambda i: len(rows[i]["input_ids"]))
    for start in range(0, len(order), BATCH):
        chosen = order[start : start + BATCH]
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=quick() == torch.bfloat16):
            logits = model(**collate([rows[i] for i in chosen], model.config.pad_token_id)).logits
        model.zero_grad()
        losses(logits, possible[chosen], 0.1).sum().backward()
        for found in heads:
            found.add(size)
        for found in inner:
            found.add()
        print(f"{min(start + BATCH, len(order))} of {len(order)} pairs", end="\r", flush=True)
    for found in heads + inner:
        found.hook.remove()
    return [found.sums[: found.sums.numel() // size] for found in heads], [found.sums for found in inner]


def narrow(layer: nn.Module, scores: torch.Tensor, inner: int) -> None:
    """Keep the `inner` values of a layer's feed-forward part with the highest scores."""
    kept = scores.topk(inner).indices.sort().values
    into, out = layer.intermediate.dense, layer.output.dense
    layer.intermediate.dense = nn.Linear(into.in_features, inner)
    layer.output.dense = nn.Linear(inner, out.out_features)
    layer.intermediate.dense.weight.data = into.weight.data[kept].clone()
    layer.intermediate.dense.bias.data = into.bias.data[kept].clone()
    layer.output.dense.weight.data = out.weight.data[:, kept].clone()
    layer.output.dense.bias.data = out.bias.data


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder of the teacher that stance.train wrote")
    parser.add_argument("--build", type=Path, required=True, help="folder that stance.build wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--heads", type=int, default=6, help="attention heads of a layer to keep")
    parser.add_argument("--inner", type=int, default=432, help="inner values of a layer's feed-forward part to keep")
    parser.add_argument("--pairs", type=int, default=400, help="labelled pairs to judge importance by")
    arguments = parser.parse_args()
    tokenizer, model = tokenizer_of(arguments.model), classifier(arguments.model).eval()
    pairs = [pair for path in sorted(arguments.build.glob("train_*.jsonl")) for pair in read(path) if pair.label in LABELS]
    pairs = random.Random(SEED).sample(pairs, min(arguments.pairs, len(pairs)))
    head_scores, inner_scores = importance(model, encode(tokenizer, pairs), pairs)
    layers = model.base_model.encoder.layer
    for layer, scores in zip(layers, inner_scores, strict=True):
        narrow(layer, scores, arguments.inner)
    model.config.intermediate_size = arguments.inner
    model.config.kept_heads = [
        keep_heads(layer, scores, arguments.heads, model.config) for layer, scores in zip(layers, head_scores, strict=True)
    ]
    words = model.base_model.embeddings.word_embeddings.weight
    words.data = torch.from_numpy(rounded_rows(words.data.numpy()))
    model.save_pretrained(arguments.out)
    tokenizer.save_pretrained(arguments.out)
    print(f"{arguments.out}: {sum(weight.numel() for weight in model.parameters()) / 1e6:.1f} million weights")


if __name__ == "__main__":
    main()
