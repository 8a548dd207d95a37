"""Temperature and class priors of a trained model, from other pairs than it is measured on.

    python -m stance.calibrate --model FOLDER --build BUILD_FOLDER --out calibration.json [--pages PAIRS.jsonl] [--embedder FOLDER]

The priors come from held-out claims to which people gave all three labels, the labels even. Where neutral pairs are sentences of
another subject, as in the other sources, a model looks surer than it is. And it is surer of any source it has learnt from than
of a page it has never seen: with --pages the temperature comes from claims and web pages of a set that no training used
(labels entail and not_entail). With --embedder the cosine of claim and passage has a weight for each label beside the priors, and
is fitted with them: among passages that a search finds, those near a claim settle it more often.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

import torch

from .nearness import cosines
from .records import LABELS, Pair, read

#: Sources of claims with passages that speak of them without settling them, of each label enough to count.
THREE_WAY = ("check_covid",)

#: Temperatures that are tried on pages.
TEMPERATURES = [step / 20 for step in range(10, 81)]


@dataclass
class Calibration:
    """Probabilities are softmax(logits / temperature + bias + weights · cosine)."""

    temperature: float = 1.0
    bias: list[float] = field(default_factory=lambda: [0.0, 0.0, 0.0])
    #: None for a calibration that knows no cosine.
    weights: list[float] | None = None

    def probabilities(self, logits: torch.Tensor, cosines: torch.Tensor | None = None) -> torch.Tensor:
        scaled = logits / self.temperature + torch.tensor(self.bias)
        if self.weights is not None:
            if cosines is None:
                raise ValueError("this calibration wants the cosine of each pair")
            scaled = scaled + cosines[:, None] * torch.tensor(self.weights)
        return torch.softmax(scaled, dim=1)

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


def fit(logits: torch.Tensor, truth: torch.Tensor, weights: torch.Tensor, priors: bool, cosines: torch.Tensor | None = None) -> Calibration:
    """Least weighted log-loss over a temperature and, if wanted, a bias per label and a weight of the cosine per label (both sum to zero)."""
    log_temperature = torch.zeros(1, requires_grad=True)
    bias = torch.zeros(len(LABELS), requires_grad=priors)
    slope = torch.zeros(len(LABELS), requires_grad=cosines is not None)
    near = torch.zeros(len(logits)) if cosines is None else cosines
    sought = [tensor for tensor in (log_temperature, bias, slope) if tensor.requires_grad]
    optimiser = torch.optim.LBFGS(sought, max_iter=500, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        # Around their middle, so that bias and slope hardly hang on one another.
        added = bias - bias.mean() + (near - near.mean())[:, None] * (slope - slope.mean())
        log = torch.log_softmax(logits / log_temperature.exp() + added, dim=1)
        loss = -(weights * log.gather(1, truth[:, None])[:, 0]).sum() / weights.sum()
        loss.backward()
        return loss

    optimiser.step(closure)
    slopes = (slope - slope.mean()).detach()
    centred = (bias - bias.mean()).detach() - near.mean() * slopes
    shown = [[round(value, 4) for value in tensor.tolist()] for tensor in (centred, slopes)]
    return Calibration(round(log_temperature.exp().item(), 4), shown[0], None if cosines is None else shown[1])


def on_pages(calibration: Calibration, logits: torch.Tensor, entailed: torch.Tensor, cosines: torch.Tensor | None = None) -> Calibration:
    """The same with the temperature of the least log-loss on pages that entail their claim or do not."""

    def loss(temperature: float) -> float:
        said = replace(calibration, temperature=temperature).probabilities(logits, cosines)[:, 0].clamp(1e-6, 1 - 1e-6)
        return torch.nn.functional.binary_cross_entropy(said, entailed).item()

    return replace(calibration, temperature=min(TEMPERATURES, key=loss))


def read_pages(path: Path) -> list[Pair]:
    """Lines with claim, evidence and label (entail or not_entail)."""
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Pair("pages", str(row["id"]), row["evidence"], row["claim"], row["label"]) for row in rows]


def calibrate(answer, build: Path, pages: Path | None, priors: bool = True, nearness=None) -> tuple[Calibration, dict[str, float]]:
    """The calibration of the model that `answer` asks for logits of pairs, and its error on the held-out pairs.

    `nearness` gives the cosines of pairs where they are to count.
    """
    pairs = [pair for pair in read(build / "held_out.jsonl") if pair.label in LABELS]
    truth = torch.tensor([LABELS.index(pair.label) for pair in pairs])
    logits = answer(pairs).clone()
    near = nearness(pairs) if nearness else None
    weights = weights_of(pairs)
    # The others have no weight, and would move the middle of the cosines.
    counted = weights > 0
    of_counted = None if near is None else near[counted]
    calibration = fit(logits[counted], truth[counted], weights[counted], priors, of_counted)
    figures: dict[str, float] = {"pairs": len(pairs), "fitted": int(counted.sum()), "pages": 0}
    if pages:
        rows = read_pages(pages)
        entailed = torch.tensor([float(pair.label == "entail") for pair in rows])
        calibration = on_pages(calibration, answer(rows), entailed, nearness(rows) if nearness else None)
        figures["pages"] = len(rows)
    after = calibration.probabilities(logits, near)
    figures["before"] = expected_calibration_error(Calibration().probabilities(logits), truth)
    figures["after"] = expected_calibration_error(after, truth)
    figures["accuracy"] = (after.argmax(1) == truth).float().mean().item()
    return calibration, figures


def main() -> None:
    from .evaluate import all_logits

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--build", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--pages", type=Path, help="claims with web pages that no training used")
    parser.add_argument("--embedder", type=Path, help="the embedder's folder, whose cosine is to count")
    parser.add_argument("--no-priors", action="store_true", help="fit the temperature alone")
    arguments = parser.parse_args()
    answer = partial(all_logits, arguments.model)
    nearness = partial(cosines, arguments.embedder) if arguments.embedder else None
    calibration, figures = calibrate(answer, arguments.build, arguments.pages, not arguments.no_priors, nearness)
    arguments.out.write_text(json.dumps(asdict(calibration), indent=1))
    print(f"{calibration}: error {figures['before']:.3f} -> {figures['after']:.3f} on {figures['pairs']} held-out pairs")


if __name__ == "__main__":
    main()
