"""What the model is to answer for each pair: the people's label, and where a teacher has answered, that beside it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from .model import allowed, losses
from .records import Pair

#: Softens the teacher's answer, so that what it holds for second likeliest is learnt too.
TEMPERATURE = 2.0
SMOOTHING = 0.03


@dataclass
class Targets:
    """Of one file of pairs: possible labels [pairs, 3] and, with a teacher, its softened answers [pairs, 3]."""

    possible: torch.Tensor
    answers: torch.Tensor | None
    weight: float

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
        return self.weight * apart + (1 - self.weight) * plain


def taught(pairs: list[Pair], logits: Path | None, weight: float) -> Targets:
    possible = allowed(pairs)
    if logits is None:
        return Targets(possible, None, 0.0)
    answers = torch.softmax(torch.load(logits, weights_only=True) / TEMPERATURE, dim=1)
    if len(answers) != len(pairs):
        raise SystemExit(f"{logits} holds {len(answers)} answers for {len(pairs)} pairs: run stance.teach again")
    return Targets(possible, answers, weight)
