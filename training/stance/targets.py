"""What the model is to answer for each pair: the people's label, and where a teacher has answered, that beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from .model import allowed, losses
from .records import WRITTEN, Pair

#: Softens the teacher's answer, so that what it holds for second likeliest is learnt too.
TEMPERATURE = 2.0
SMOOTHING = 0.03


@dataclass
class Targets:
    """Of one file of pairs: possible labels [pairs, 3] and, with a teacher, its softened answers [pairs, 3] and their weights."""

    possible: torch.Tensor
    answers: torch.Tensor | None
    weights: torch.Tensor

    def losses(self, logits: torch.Tensor, chosen: list[int]) -> torch.Tensor:
        """One loss a row of `chosen`."""
        logits = logits.float()
        plain = losses(logits, self.possible[chosen].to(logits.device), SMOOTHING)
        if self.answers is None:
            return plain
        answers = self.answers[chosen].to(logits.device)
        log = torch.log_softmax(logits / TEMPERATURE, dim=1)
        # The square keeps the gradient's size whatever the temperature (Hinton and others, 2015).
        apart = (answers * (answers.clamp_min(1e-9).log() - log)).sum(1) * TEMPERATURE**2
        weights = self.weights[chosen].to(logits.device)
        return weights * apart + (1 - weights) * plain


def taught(pairs: list[Pair], logits: Path | None, weight: float) -> Targets:
    possible = allowed(pairs)
    weights = torch.tensor([0.0 if pair.source == WRITTEN else weight for pair in pairs])
    if logits is None:
        return Targets(possible, None, weights)
    answers = torch.softmax(torch.load(logits, weights_only=True) / TEMPERATURE, dim=1)
    if len(answers) != len(pairs):
        raise SystemExit(f"{logits} holds {len(answers)} answers for {len(pairs)} pairs: run stance.teach again")
    return Targets(possible, answers, weights)
