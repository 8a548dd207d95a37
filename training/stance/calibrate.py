"""Temperature and class priors of a trained model, from held-out pairs of other sets than it is measured on.

    python -m stance.calibrate --model FOLDER --build BUILD_FOLDER --out calibration.json

Only claims count to which people gave all three labels, the labels even: where neutral pairs are sentences of another
subject, as in the others, a model looks surer than it is.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch

from .records import LABELS, Pair, read

#: Sources of claims with passages that speak of them without settling them.
THREE_WAY = ("check_covid", "vitaminc_sample")


@dataclass
class Calibration:
    """Probabilities are softmax(logits / temperature + bias)."""

    temperature: float = 1.0
    bias: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])

    def probabilities(self, logits: torch.Tensor) -> torch.Tensor:
        return torch.softmax(logits / self.temperature + torch.tensor(self.bias), dim=1)

    @classmethod
    def read(cls, path: Path) -> Calibration:
        return cls(**json.loads(path.read_text()))


def expected_calibration_error(probabilities: torch.Tensor, truth: torch.Tensor, bins: int = 15) -> float:
    """Mean distance between the top label's probability and how often it is right, over equal-width bins."""
    confidence, said = probabilities.max(1)
    right = (said == truth).float()
    error = 0.0
    for low in range(bins):
        chosen = (confidence > low / bins) & (confidence <= (low + 1) / bins)
        if chosen.any():
            error += chosen.float().mean().item() * abs(confidence[chosen].mean().item() - right[chosen].mean().item())
    return error


def weights_of(pairs: list[Pair]) -> torch.Tensor:
    """One weight a pair: labels even among the claims that people gave all three; nothing for the others."""
    sizes = Counter(pair.label for pair in pairs if pair.source in THREE_WAY)
    return torch.tensor([1 / 3 / sizes[pair.label] if pair.source in THREE_WAY else 0.0 for pair in pairs])


def fit(logits: torch.Tensor, truth: torch.Tensor, weights: torch.Tensor, priors: bool) -> Calibration:
    """Least weighted log-loss over a temperature and, if wanted, a bias per label (they sum to zero)."""
    log_temperature = torch.zeros(1, requires_grad=True)
    bias = torch.zeros(len(LABELS), requires_grad=priors)
    optimiser = torch.optim.LBFGS([log_temperature, bias] if priors else [log_temperature], max_iter=200)

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        log = torch.log_softmax(logits / log_temperature.exp() + bias - bias.mean(), dim=1)
        loss = -(weights * log.gather(1, truth[:, None])[:, 0]).sum() / weights.sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    centred = (bias - bias.mean()).detach()
    return Calibration(round(log_temperature.exp().item(), 4), [round(value, 4) for value in centred.tolist()])


def main() -> None:
    from .evaluate import all_logits

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--no-priors", action="store_true", help="fit the temperature alone")
    arguments = parser.parse_args()
    pairs = [pair for pair in read(arguments.build / "held_out.jsonl") if pair.label in LABELS]
    truth = torch.tensor([LABELS.index(pair.label) for pair in pairs])
    logits = all_logits(arguments.model, pairs)
    calibration = fit(logits, truth, weights_of(pairs), not arguments.no_priors)
    arguments.out.write_text(json.dumps(asdict(calibration), indent=1))
    before, after = Calibration().probabilities(logits), calibration.probabilities(logits)
    print(f"{calibration}: error {expected_calibration_error(before, truth):.3f} -> {expected_calibration_error(after, truth):.3f} on {len(pairs)} held-out pairs")


if __name__ == "__main__":
    main()
