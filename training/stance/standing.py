"""What it is worth to a stance model whether the passage has the claim's figures and dates.

    cargo bench --bench stance -- judge --data DATA --set HELD_OUT.jsonl --set PAGES.jsonl --model FOLDER --embedder FOLDER --predictions FILE
    python -m stance.standing --predictions FILE [--model FOLDER]

The first command has the daemon's own rules tell how each claim's figures stand (`all`, `some`, `other`, `absent`) beside what the
model makes of the words; HELD_OUT.jsonl is of `stance.build`, PAGES.jsonl of the pages that calibrate the model (paths from DATA, or
from the root). The second fits one
value a label for each standing, and with --model writes them as `[figures]` into its model.toml.

The model is calibrated on Check-COVID and on the pages, and must stay so. Each other source keeps a temperature and a prior of its
own beside the values, so that they tell what a standing changes within a source and not which labels a source has. Sources weigh alike. How strongly the values are held back is chosen by
ten-fold cross-validation; what they are worth on a source that they were not fitted on is shown beside it.
"""

from __future__ import annotations

import argparse
import json
import zlib
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from folder import read_manifest, write_manifest

from .records import LABELS, NOT_ENTAIL

STANDINGS = ("all", "some", "other", "absent")

#: Sources of one kind, by people's labels; those of Wikipedia have no neutral pairs but those made silent. A file whose lines name no
#: source is one of its own.
KINDS = {
    "check_covid": "check_covid",
    "vitaminc_sample": "vitaminc",
    "fever": "wikipedia",
    "feverous_dev": "wikipedia",
    "silent": "wikipedia",
}

#: Of these the calibration comes, and of the pages, whose lines name no source.
CALIBRATED = {"check_covid"}

#: Ridges that are tried.
RIDGES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.2)

#: Parts of the cross-validation.
FOLDS = 10

#: Holds a source's own prior, which nothing else does where a label is missing.
OWN_RIDGE = 1e-3


@dataclass
class Source:
    name: str
    #: Log-probabilities of the model, float32 [pairs, labels].
    said: torch.Tensor
    #: One of them is 1 where the claim states figures, float32 [pairs, standings].
    standing: torch.Tensor
    #: Index of the label, or for `is_two_way` whether it is entailed.
    truth: torch.Tensor
    is_two_way: bool
    #: The model's calibration comes from it.
    is_calibrated: bool
    #: The part of each pair, 0 to FOLDS - 1; those of one claim are never parted.
    part: torch.Tensor

    def of(self, chosen: torch.Tensor) -> Source:
        return replace(self, said=self.said[chosen], standing=self.standing[chosen], truth=self.truth[chosen], part=self.part[chosen])

    def losses(self, values: torch.Tensor, log_scale: torch.Tensor, prior: torch.Tensor) -> torch.Tensor:
        """Log-loss of each pair, float32 [pairs]."""
        log = torch.log_softmax(self.said * log_scale.exp() + prior + self.standing @ values, dim=1)
        if self.is_two_way:
            of_truth = torch.where(self.truth == 1, log[:, 0], torch.logsumexp(log[:, 1:], dim=1))
        else:
            of_truth = log.gather(1, self.truth[:, None])[:, 0]
        return -of_truth


def read_sources(predictions: Path) -> list[Source]:
    """The sources of `KINDS` and the files that name none, in order of their names."""
    rows = defaultdict(list)
    left_out = Counter()
    for line in predictions.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "model" not in row["judges"]:
            raise SystemExit(f"{predictions} has no answers of a model; make it with --model")
        kind = KINDS.get(row["source"]) if row["source"] else Path(row["set"]).stem
        if kind:
            rows[kind].append(row)
        else:
            left_out[row["source"]] += 1
    if left_out:
        print("left out, as KINDS does not name them:", ", ".join(f"{count} of {name}" for name, count in sorted(left_out.items())))
    sources = []
    for name, found in sorted(rows.items()):
        is_two_way = any(row["label"] == NOT_ENTAIL for row in found)
        truth = [int(row["label"] == LABELS[0]) if is_two_way else LABELS.index(row["label"]) for row in found]
        said = torch.tensor([row["judges"]["model"] for row in found]).clamp_min(1e-9).log()
        standing = torch.tensor([[float(row["standing"] == one) for one in STANDINGS] for row in found])
        is_calibrated = name in CALIBRATED or not found[0]["source"]
        part = torch.tensor([zlib.crc32(row["id"].encode()) % FOLDS for row in found])
        sources.append(Source(name, said, standing, torch.tensor(truth), is_two_way, is_calibrated, part))
    return sources


def descend(loss, sought: list[torch.Tensor]) -> None:
    optimiser = torch.optim.LBFGS(sought, max_iter=500, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimiser.zero_grad()
        value = loss()
        value.backward()
        return value

    optimiser.step(closure)


def own(source: Source, values: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The temperature (its logarithm) and prior of a source beside these values; nothing where the model is calibrated on it."""
    scale, prior = torch.zeros(1, requires_grad=True), torch.zeros(len(LABELS), requires_grad=True)
    if not source.is_calibrated:
        descend(lambda: source.losses(values, scale, prior).mean() + OWN_RIDGE * (prior**2).sum(), [scale, prior])
    return scale.detach(), prior.detach()


def fit(sources: list[Source], ridge: float) -> torch.Tensor:
    """One value for each standing and label, float32 [standings, labels]; those of a standing sum to zero."""
    values = torch.zeros(len(STANDINGS), len(LABELS), requires_grad=True)
    scales = [torch.zeros(1, requires_grad=not source.is_calibrated) for source in sources]
    priors = [torch.zeros(len(LABELS), requires_grad=not source.is_calibrated) for source in sources]

    def loss() -> torch.Tensor:
        held_back = ridge * (values**2).sum() + OWN_RIDGE * sum((prior**2).sum() for prior in priors)
        each = zip(sources, scales, priors, strict=True)
        return held_back + sum(source.losses(values, scale, prior).mean() for source, scale, prior in each)

    descend(loss, [values, *(tensor for tensor in (*scales, *priors) if tensor.requires_grad)])
    return (values - values.mean(1, keepdim=True)).detach()


def cross_validated(sources: list[Source], ridge: float | None) -> list[float]:
    """The mean loss of each source, every pair by values fitted on the other parts; None for no values."""
    losses: list[list[torch.Tensor]] = [[] for _ in sources]
    for part in range(FOLDS):
        seen = [source.of(source.part != part) for source in sources]
        values = torch.zeros(len(STANDINGS), len(LABELS)) if ridge is None else fit(seen, ridge)
        for found, source, of_seen in zip(losses, sources, seen, strict=True):
            found.append(source.of(source.part == part).losses(values, *own(of_seen, values)))
    return [torch.cat(found).mean().item() for found in losses]


def left_out(sources: list[Source], ridge: float | None) -> list[float]:
    """The mean loss of each source with values fitted on the others; None for no values."""
    found = []
    for source in sources:
        others = [other for other in sources if other is not source]
        values = torch.zeros(len(STANDINGS), len(LABELS)) if ridge is None else fit(others, ridge)
        found.append(source.losses(values, *own(source, values)).mean().item())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--predictions", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="the model's folder, into whose model.toml the values go")
    arguments = parser.parse_args()
    sources = read_sources(arguments.predictions)
    if len(sources) < 2:
        print(f"{arguments.predictions} holds {len(sources)} known sources, and two are needed: nothing is fitted")
        return
    for source in sources:
        print(f"{source.name}: {len(source.truth)} pairs, {int(source.standing.sum())} with figures")
    losses = {ridge: cross_validated(sources, ridge) for ridge in (None, *RIDGES)}
    for ridge, found in losses.items():
        name = "without them" if ridge is None else f"ridge {ridge}"
        apart = left_out(sources, ridge)
        print(f"{name}: loss by source {[round(one, 4) for one in found]}, together {sum(found):.4f}; "
              f"of a source left out {[round(one, 4) for one in apart]}, together {sum(apart):.4f}")
    ridge = min(RIDGES, key=lambda one: sum(losses[one]))
    values = fit(sources, ridge)
    table = {standing: [round(value, 3) for value in row] for standing, row in zip(STANDINGS, values.tolist(), strict=True)}
    print(f"ridge {ridge}: {table}")
    if arguments.model:
        manifest = read_manifest(arguments.model)
        if manifest["labels"] != list(LABELS):
            raise SystemExit(f"{arguments.model} has its labels in another order than {LABELS}")
        sums = manifest.pop("sha256", {})
        further = set(sums) - {manifest["model"], manifest["tokenizer"]}
        if further:
            raise SystemExit(f"{arguments.model} has checksums of {', '.join(sorted(further))}; put the table above into its model.toml by hand")
        write_manifest(arguments.model, {**manifest, "figures": table})


if __name__ == "__main__":
    main()
