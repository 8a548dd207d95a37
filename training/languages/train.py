"""Trains the grafted model on pairs of three languages.

    python -m languages.train --build FOLDER --base FOLDER --out FOLDER --kinds translated switched english [--english FOLDER]

Kinds are those of languages.build; a kind may be given with how often it is gone through (`written=2`). What is translated learns
the answers of the English model (`--english`) to the English texts, everything else its labels. Batches mix all kinds. The word
pieces learn faster than the layers: new ones stand only near their place.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import time
from pathlib import Path

import torch

from stance.heads import classifier
from stance.model import allowed, collate, encode, fresh, logits_of, quick, tokenizer_of
from stance.records import UNKNOWN, read
from stance.targets import TEMPERATURE, Targets
from stance.train import Trained, batches, held_out_figures, save

#: Of the word pieces, against the layers.
FASTER = 4.0


def answers(english: Path, build: Path) -> torch.Tensor:
    """What the English model says of the English texts of what is translated, [pairs, 3]; kept beside them."""
    kept = build / "translated_answers.pt"
    if not kept.exists():
        model = classifier(english).to(quick())
        pairs = read(build / "translated_english.jsonl")
        torch.save(logits_of(model, encode(tokenizer_of(english), pairs)), kept)
    return torch.load(kept, weights_only=True)


class Pieces(torch.nn.Module):
    """The table of word pieces in float32, of which a step touches only the rows that its batch holds."""

    def __init__(self, table: torch.nn.Embedding) -> None:
        super().__init__()
        self.table = torch.nn.Embedding.from_pretrained(table.weight.detach().float().clone(), freeze=False, sparse=True)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.table(ids).to(quick())


class WithPieces(Trained):
    """The same, and the word pieces learn too, by steps of their own."""

    def __init__(self, model: torch.nn.Module, rate: float, decay: float) -> None:
        model.base_model.embeddings.word_embeddings.weight.requires_grad = False
        super().__init__(model, rate, decay)
        embeddings = self.model.base_model.embeddings
        # From the average, which keeps the numbers that bfloat16 has rounded.
        self.pieces = Pieces(self.average.base_model.embeddings.word_embeddings)
        embeddings.word_embeddings = self.pieces
        self.of_pieces = torch.optim.SparseAdam([self.pieces.table.weight], lr=rate * FASTER, betas=(0.9, 0.98))

    def step(self, rate: float) -> None:
        super().step(rate)
        self.of_pieces.param_groups[0]["lr"] = rate * FASTER
        self.of_pieces.step()
        self.pieces.table.weight.grad = None

    def finished(self) -> torch.nn.Module:
        """The running average of the layers, with the pieces as they are."""
        with torch.no_grad():
            self.average.base_model.embeddings.word_embeddings.weight.copy_(self.pieces.table.weight)
        return self.average


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=Path, required=True, help="folder that languages.build wrote")
    parser.add_argument("--base", type=Path, required=True, help="model to begin with")
    parser.add_argument("--english", type=Path, help="the English model, whose answers are learnt")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--kinds", nargs="+", required=True)
    parser.add_argument("--rate", type=float, default=1.2e-4, help="highest learning rate of the layers")
    parser.add_argument("--tokens", type=int, default=2048, help="tokens in a batch")
    parser.add_argument("--decay", type=float, default=0.995, help="of the running average")
    parser.add_argument("--seed", type=int, default=20261126)
    parser.add_argument("--steps", type=int, default=0, help="stop after so many steps; 0 is all")
    parser.add_argument("--seconds", type=float, default=0, help="plan as many steps as fit into so many seconds; 0 is all")
    arguments = parser.parse_args()
    torch.manual_seed(arguments.seed)
    rng = random.Random(arguments.seed)
    tokenizer = tokenizer_of(arguments.base)
    trained = WithPieces(fresh(arguments.base, 0.0), arguments.rate, arguments.decay)
    pairs, taught = [], []
    for kind, _, times in (given.partition("=") for given in arguments.kinds):
        rows = read(arguments.build / f"{kind}.jsonl")
        told = answers(arguments.english, arguments.build) if kind == "translated" else torch.zeros(len(rows), 3)
        for _ in range(int(times or 1)):
            pairs += rows
            taught.append(told)
    targets = Targets(
        allowed(pairs), torch.softmax(torch.cat(taught) / TEMPERATURE, dim=1),
        torch.tensor([float(pair.label == UNKNOWN) for pair in pairs]),
    )
    held = read(arguments.build / "held_out.jsonl")
    held_rows = encode(tokenizer, held)
    rows = encode(tokenizer, pairs)
    plan = batches([len(row["input_ids"]) for row in rows], arguments.tokens, rng)
    total = min(arguments.steps or len(plan), len(plan))
    mean = len(rows) / len(plan)
    print(f"{len(rows)} pairs, {total} of {len(plan)} steps", flush=True)
    model = trained.model
    running, started, planned = 0.0, time.time(), not arguments.seconds
    for step, chosen in enumerate(plan):
        if step == 50 and not planned:
            total, planned = min(total, round(arguments.seconds / ((time.time() - started) / 50))), True
            print(f"{total} steps fit into the time", flush=True)
        if step >= total:
            break
        warm = max(total // 16, 1)
        factor = (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))
        model.train()
        batch = collate([rows[i] for i in chosen], model.config.pad_token_id)
        loss = targets.losses(model(**batch).logits, chosen).sum() / mean
        loss.backward()
        trained.step(arguments.rate * max(factor, 0.01))
        running += (loss.item() * mean / len(chosen) - running) * (0.02 if step > 50 else 1 / (step + 1))
        if (step + 1) % 100 == 0:
            passed = time.time() - started
            print(f"step {step + 1}/{total} loss {running:.4f} {passed:.0f} s, {passed / (step + 1) * (total - step - 1):.0f} s to go", flush=True)
        if (step + 1) % 500 == 0:
            print(f"average at {step + 1}: {held_out_figures(trained.finished(), held_rows, held, 'cpu')}", flush=True)
            save(trained.finished(), tokenizer, arguments.out)
    print(f"average: {held_out_figures(trained.finished(), held_rows, held, 'cpu')}", flush=True)
    save(trained.finished(), tokenizer, arguments.out)
    (arguments.out / "training.json").write_text(json.dumps(vars(arguments), default=str, indent=1))


if __name__ == "__main__":
    main()
