"""Trains the stance model on the built pairs.

    python -m stance.train --build BUILD_FOLDER --base MODEL_FOLDER --out MODEL_FOLDER

Batches hold about equally many tokens and texts of like length. The weights that are kept are a running average, which
generalises better than the last step. With --teacher the model learns its answers too (stance.teach). Prints progress, and
after every epoch the figures on the held-out pairs.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import random
import time
from pathlib import Path

import torch
from torch import nn

from .model import allowed, collate, encode, fresh, logits_of, losses, quick, tokenizer_of
from .records import LABELS, Pair, read
from .targets import taught


def batches(lengths: list[int], budget: int, rng: random.Random) -> list[list[int]]:
    """Row numbers in batches of at most `budget` tokens, padding counted; like lengths together, order shuffled."""
    order = sorted(range(len(lengths)), key=lambda i: lengths[i] + rng.uniform(0, 6))
    made: list[list[int]] = []
    current: list[int] = []
    longest = 0
    for index in order:
        longest_now = max(longest, lengths[index])
        if current and longest_now * (len(current) + 1) > budget:
            made.append(current)
            current, longest_now = [], lengths[index]
        current.append(index)
        longest = longest_now
    made.append(current)
    rng.shuffle(made)
    return made


class Trained:
    """A model whose arithmetic is bfloat16 where that is quick, its weights in float32 beside it, and a running average of those.

    Autocast would bring every weight to bfloat16 again at each step: half as fast for a base of 110 million weights.
    """

    def __init__(self, model: nn.Module, rate: float, decay: float) -> None:
        self.average, self.model, self.decay, self.steps = copy.deepcopy(model), model.to(quick(next(model.parameters()).device.type)), decay, 0
        halves = dict(self.model.named_parameters())
        self.halves = [half for half in halves.values() if half.requires_grad]
        self.kept = [kept for name, kept in self.average.named_parameters() if halves[name].requires_grad]
        self.full = [kept.detach().clone().requires_grad_() for kept in self.kept]
        groups = [{"params": [p for p in self.full if p.ndim >= 2], "weight_decay": 0.01},
                  {"params": [p for p in self.full if p.ndim < 2], "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)

    @torch.no_grad()
    def step(self, rate: float) -> None:
        """One step along the gradients of the bfloat16 weights."""
        for full, half in zip(self.full, self.halves, strict=True):
            full.grad, half.grad = half.grad.float(), None
        nn.utils.clip_grad_norm_(self.full, 1.0)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        self.optimiser.step()
        self.steps += 1
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        for full, half, kept in zip(self.full, self.halves, self.kept, strict=True):
            half.copy_(full)
            kept.lerp_(full, 1 - decay)


def macro_f1(truth: list[int], said: list[int], labels: range) -> float:
    scores = []
    for label in labels:
        hit = sum(t == s == label for t, s in zip(truth, said, strict=True))
        wrong = sum(t == label for t in truth) + sum(s == label for s in said)
        scores.append(2 * hit / wrong if wrong else 0.0)
    return sum(scores) / len(scores)


def held_out_figures(model: nn.Module, rows: list, pairs: list[Pair], device: str) -> str:
    logits = logits_of(model, rows, device)
    loss = losses(logits, allowed(pairs), 0.0).mean().item()
    said = logits.argmax(1).tolist()
    parts = []
    for source in sorted({pair.source for pair in pairs}):
        chosen = [i for i, pair in enumerate(pairs) if pair.source == source and pair.label in LABELS]
        right = sum(LABELS[said[i]] == pairs[i].label for i in chosen)
        parts.append(f"{source} {right / max(len(chosen), 1):.3f}")
    chosen = [i for i, pair in enumerate(pairs) if pair.label in LABELS]
    score = macro_f1([LABELS.index(pairs[i].label) for i in chosen], [said[i] for i in chosen], range(3))
    return f"loss {loss:.4f} macro-F1 {score:.3f} | " + ", ".join(parts)


def save(model: nn.Module, tokenizer, out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="folder that stance.build wrote")
    parser.add_argument("--base", type=Path, required=True, help="encoder to start from (Hugging Face folder)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rate", type=float, default=1.2e-4, help="highest learning rate")
    parser.add_argument("--tokens", type=int, default=2048, help="tokens in a batch")
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--teacher", type=Path, help="folder of stance.teach: its answers are learnt beside the labels")
    parser.add_argument("--weight", type=float, default=0.7, help="of the teacher's answer against the label")
    parser.add_argument("--decay", type=float, default=0.998, help="of the running average")
    parser.add_argument("--seed", type=int, default=20261121)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--epochs", type=int, default=1, help="how often every train_*.jsonl is gone through")
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps; 0 is all epochs")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    rng = random.Random(arguments.seed)
    device = arguments.device
    tokenizer = tokenizer_of(arguments.base)
    model = fresh(arguments.base, arguments.dropout).to(device)
    # Words that no training pair holds must stay where the base put them, beside their synonyms; and it is half the weights.
    model.base_model.embeddings.word_embeddings.weight.requires_grad = False
    trained = Trained(model, arguments.rate, arguments.decay)
    held = read(arguments.build / "held_out.jsonl")
    held_rows = encode(tokenizer, held)
    epochs = []
    for path in sorted(arguments.build.glob("train_*.jsonl")):
        pairs = read(path)
        rows = encode(tokenizer, pairs)
        targets = taught(pairs, arguments.teacher / f"{path.stem}.pt" if arguments.teacher else None, arguments.weight)
        lengths = [len(row["input_ids"]) for row in rows]
        epochs += [(targets, rows, batches(lengths, arguments.tokens, rng)) for _ in range(arguments.epochs)]
    total = arguments.steps or sum(len(plan) for _, _, plan in epochs)
    warm = max(total // 16, 1)
    print(f"{len(epochs)} epochs, {total} steps, {sum(len(r) for _, r, _ in epochs)} pairs on {device}", flush=True)
    step, started, running = 0, time.time(), 0.0
    for epoch, (targets, rows, plan) in enumerate(epochs):
        mean = len(rows) / len(plan)
        for chosen in plan:
            if step >= total:
                break
            factor = (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))
            model.train()
            batch = {name: value.to(device) for name, value in collate([rows[i] for i in chosen], model.config.pad_token_id).items()}
            # Every pair weighs the same, whether its batch holds few long ones or many short ones.
            loss = targets.losses(model(**batch).logits, chosen).sum() / mean
            loss.backward()
            trained.step(arguments.rate * max(factor, 0.01))
            step += 1
            running += (loss.item() * mean / len(chosen) - running) * (0.02 if step > 50 else 1 / step)
            if step % 100 == 0:
                passed = time.time() - started
                print(f"step {step}/{total} loss {running:.4f} {passed:.0f} s, {passed / step * (total - step):.0f} s to go", flush=True)
            if step % 1000 == 0:
                print(f"average at {step}: {held_out_figures(trained.average, held_rows, held, device)}", flush=True)
                save(trained.average, tokenizer, arguments.out)
        print(f"epoch {epoch} last: {held_out_figures(model, held_rows, held, device)}", flush=True)
    print(f"average: {held_out_figures(trained.average, held_rows, held, device)}", flush=True)
    save(trained.average, tokenizer, arguments.out)
    (arguments.out / "training.json").write_text(json.dumps(vars(arguments), default=str, indent=1))


if __name__ == "__main__":
    main()
