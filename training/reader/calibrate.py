"""Calibrates a model on pairs that no training saw: probabilities are softmax(logits / temperature + bias + weights · cosine).

The fit gives every group of pairs the same weight, whatever its size: event types and plain pairs by language, the other written pairs by
language, public sets by kind, and WiCE, whose labels say only whether a web page entails the claim. The cosine of claim and passage is
the shipped embedder's.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch

from .model import allowed, losses
from .sources import PUBLIC, Pair


@dataclass
class Calibration:
    temperature: float
    bias: list[float]
    #: None where no cosine counts.
    weights: list[float] | None = None

    def probabilities(self, logits: torch.Tensor, cosines: torch.Tensor | None = None) -> torch.Tensor:
        return torch.softmax(self.scaled(logits, cosines), dim=1)

    def scaled(self, logits: torch.Tensor, cosines: torch.Tensor | None) -> torch.Tensor:
        added = torch.tensor(self.bias)
        if self.weights is not None:
            added = added + cosines[:, None] * torch.tensor(self.weights)
        return logits / self.temperature + added


#: Public sources by kind. The others are sentence pairs of general language: "nli".
KINDS = {"fever": "wikipedia", "feverous_dev": "wikipedia", "exfever": "wikipedia", "vitaminc_sample": "wikipedia",
         "check_covid": "check_covid", "scitail": "scitail"}


def group(pair: Pair) -> str:
    """`written/plain/ru1` → `written/plain/ru`; `templates/en-pt` → `templates/cross`; `mnli` → `nli`."""
    if pair.source.startswith("templates/"):
        return pair.source if "-" not in pair.source and "pt" not in pair.source else "templates/cross"
    return KINDS.get(pair.source, "nli") if pair.source in PUBLIC else pair.source.rstrip("0123456789")


def fit(logits: torch.Tensor, pairs: list[Pair], cosines: torch.Tensor | None) -> Calibration:
    """Least mean log-loss, every group weighing the same and within it the labels as they are."""
    sizes = Counter(map(group, pairs))
    shares = torch.tensor([1 / sizes[group(pair)] / len(sizes) for pair in pairs])
    possible = allowed(pairs)
    log_temperature = torch.zeros(1, requires_grad=True)
    bias, slope = (torch.zeros(3, requires_grad=True) for _ in range(2))
    # Around their middle, so that bias and slope hardly hang on one another.
    middle = 0.0 if cosines is None else cosines.mean()
    optimiser = torch.optim.LBFGS([log_temperature, bias] + ([] if cosines is None else [slope]), max_iter=500, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        added = bias - bias.mean() if cosines is None else bias - bias.mean() + (cosines - middle)[:, None] * (slope - slope.mean())
        loss = (shares * losses(logits / log_temperature.exp() + added, possible, 0.0)).sum() + 1e-3 * slope.square().sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    slopes = (slope - slope.mean()).detach()
    centred = (bias - bias.mean()).detach() - (0.0 if cosines is None else middle) * slopes
    rounded = [[round(value, 4) for value in tensor.tolist()] for tensor in (centred, slopes)]
    return Calibration(round(log_temperature.exp().item(), 4), rounded[0], None if cosines is None else rounded[1])


def log_loss_by_group(calibration: Calibration, logits: torch.Tensor, pairs: list[Pair], cosines: torch.Tensor | None) -> dict[str, float]:
    each = losses(calibration.scaled(logits, cosines), allowed(pairs), 0.0).tolist()
    found: dict[str, list[float]] = {}
    for pair, loss in zip(pairs, each, strict=True):
        found.setdefault(group(pair), []).append(loss)
    return {name: round(sum(values) / len(values), 3) for name, values in sorted(found.items())}
