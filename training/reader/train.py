"""Trains the reader, in rounds of newly drawn pairs, for a given time. The same command goes on after an interruption.

    python -m reader.train --data DATA --base FOLDER --out FOLDER --minutes 105

DATA holds `nli_train`. The learning rate rises for a sixteenth of the time and then falls to nothing, so a run that is stopped
early is not what a shorter run would have given. A checkpoint is written every `--save` minutes; `OUT/final` is the result, a running
average of the weights. Word pieces and the lowest layers stay as the base has them.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import time
from pathlib import Path

import torch
from torch import nn

from .model import allowed, batches, classifier, collate, encode, logits_of, losses, precision, tokenizer_of
from .sources import HERE, LABELS, Curriculum, Pair

SMOOTHING = 0.02
#: Of the running average, a step.
DECAY = 0.998


class Trained:
    """The model in bfloat16 where that is quick, its weights in float32 beside it, and their running average."""

    def __init__(self, base: Path, rate: float, frozen: int) -> None:
        self.average = classifier(base).float().to("cuda" if torch.cuda.is_available() else "cpu")
        self.model = copy.deepcopy(self.average).to(precision())
        # Of a language that few pairs are in, the lowest layers know more than the pairs could teach.
        for part in [self.model.base_model.embeddings, *self.model.base_model.encoder.layer[:frozen]]:
            part.requires_grad_(False)
        learnt = {name: half for name, half in self.model.named_parameters() if half.requires_grad}
        self.halves = list(learnt.values())
        self.kept = [kept for name, kept in self.average.named_parameters() if name in learnt]
        self.full = [kept.detach().clone().requires_grad_() for kept in self.kept]
        groups = [{"params": [p for p in self.full if p.ndim >= 2], "weight_decay": 0.01},
                  {"params": [p for p in self.full if p.ndim < 2], "weight_decay": 0.0}]
        self.optimiser = torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.98), fused=True)
        self.steps = 0

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
        decay = min(DECAY, (1 + self.steps) / (10 + self.steps))
        for full, half, kept in zip(self.full, self.halves, self.kept, strict=True):
            half.copy_(full)
            kept.lerp_(full, 1 - decay)

    def state(self) -> dict:
        return {"full": self.full, "kept": self.kept, "steps": self.steps, "optimiser": self.optimiser.state_dict()}

    @torch.no_grad()
    def restore(self, state: dict) -> None:
        for name in ("full", "kept"):
            for ours, theirs in zip(getattr(self, name), state[name], strict=True):
                ours.copy_(theirs)
        for full, half in zip(self.full, self.halves, strict=True):
            half.copy_(full)
        self.optimiser.load_state_dict(state["optimiser"])
        self.steps = state["steps"]


def accuracy_by_source(model: nn.Module, tokenizer, pairs: list[Pair]) -> str:
    """How many of the pairs the model reads as they are labelled, source by source, and their loss."""
    logits = logits_of(model, encode(tokenizer, pairs))
    right: dict[str, list[bool]] = {}
    for pair, said in zip(pairs, logits.argmax(1).tolist(), strict=True):
        if pair.label in LABELS:
            right.setdefault(pair.source, []).append(LABELS[said] == pair.label)
    shown = ", ".join(f"{source} {sum(each) / len(each):.3f} of {len(each)}" for source, each in sorted(right.items()))
    return f"loss {losses(logits, allowed(pairs), 0.0).mean():.4f} | {shown}"


def save(model: nn.Module, tokenizer, out: Path) -> None:
    model.save_pretrained(out)
    tokenizer.save_pretrained(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--written", type=Path, default=HERE / "written")
    parser.add_argument("--soft", type=Path, help="pairs that a teacher labelled (reader.teacher)")
    parser.add_argument("--base", type=Path, required=True, help="folder of the classifier to begin with (reader.base or reader.delta)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--minutes", type=float, required=True)
    parser.add_argument("--rate", type=float, default=1e-4, help="highest learning rate of the layers (default %(default)s)")
    parser.add_argument("--frozen", type=int, default=3, help="lowest layers that are not trained (default %(default)s)")
    parser.add_argument("--tokens", type=int, default=2048, help="tokens in a batch (default %(default)s)")
    parser.add_argument("--save", type=float, default=8, help="minutes between checkpoints (default %(default)s)")
    parser.add_argument("--seed", type=int, default=20261129)
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    tokenizer = tokenizer_of(arguments.base)
    curriculum = Curriculum(arguments.data, arguments.written, arguments.soft)
    trained = Trained(arguments.base, arguments.rate, arguments.frozen)
    checkpoint, before, number = arguments.out / "checkpoint.pt", 0.0, 0
    if checkpoint.exists():
        saved = torch.load(checkpoint, weights_only=True)
        trained.restore(saved["trained"])
        before, number = saved["seconds"], saved["round"]
        print(f"going on after {before / 60:.0f} minutes, with round {number}", flush=True)
    held = curriculum.held_out(most=150)
    whole, started, last_saved = arguments.minutes * 60, time.time(), time.time()

    def seconds() -> float:
        return before + time.time() - started

    def keep() -> None:
        arguments.out.mkdir(parents=True, exist_ok=True)
        torch.save({"trained": trained.state(), "seconds": seconds(), "round": number}, checkpoint.with_suffix(".new"))
        checkpoint.with_suffix(".new").replace(checkpoint)

    while seconds() < whole:
        pairs = curriculum.round(number, arguments.seed)
        rng = random.Random(f"{arguments.seed}/{number}/order")
        rows, possible = encode(tokenizer, pairs), allowed(pairs)
        lengths = [len(row) for row in rows]
        plan = batches(lengths, arguments.tokens, sorted(range(len(rows)), key=lambda i: lengths[i] + rng.uniform(0, 6)))
        rng.shuffle(plan)
        mean, running = len(rows) / len(plan), 0.0
        print(f"round {number}: {len(pairs)} pairs, {len(plan)} steps, {sum(lengths) / len(lengths):.0f} pieces a pair", flush=True)
        for step, chosen in enumerate(plan, 1):
            passed = seconds() / whole
            if passed >= 1:
                break
            trained.model.train()
            # Every pair weighs the same, whether its batch holds few long ones or many short ones.
            logits = trained.model(**collate([rows[i] for i in chosen], trained.model)).logits
            loss = losses(logits, possible[chosen].to(logits.device), SMOOTHING).sum() / mean
            loss.backward()
            trained.step(arguments.rate * max(0.01, passed * 16 if passed < 1 / 16 else (1 - passed) * 16 / 15))
            running += (loss.item() * mean / len(chosen) - running) * max(0.01, 1 / step)
            if step % 100 == 0:
                print(f"  {seconds() / 60:.1f} min, step {step}/{len(plan)}, loss {running:.4f}", flush=True)
            if time.time() - last_saved > arguments.save * 60:
                last_saved = time.time()
                keep()
        number += 1
        print(f"after {seconds() / 60:.0f} min: {accuracy_by_source(trained.average, tokenizer, held)}", flush=True)
        save(trained.average, tokenizer, arguments.out / "final")
        keep()
    (arguments.out / "final/training.json").write_text(json.dumps(vars(arguments), default=str, indent=1))


if __name__ == "__main__":
    main()
