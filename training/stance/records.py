"""Labelled pairs of passage and claim, and the sources they are read from."""

from __future__ import annotations

import json
import random
import sys
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from .card import SOURCES

ENTAIL, NEUTRAL, CONTRADICT, NOT_ENTAIL = "entail", "neutral", "contradict", "not_entail"

#: No person has said; only a teacher's answer is learnt.
UNKNOWN = "unknown"

#: Source of the pairs written for this project (stance.written); only their labels are learnt, whatever a teacher says.
WRITTEN = "written"

#: Order of the model's logits.
LABELS = (ENTAIL, NEUTRAL, CONTRADICT)


@dataclass(frozen=True)
class Pair:
    """One example. ``label`` is one of LABELS, NOT_ENTAIL where only that much is known, or UNKNOWN."""

    source: str
    id: str
    premise: str
    hypothesis: str
    label: str

    def but(self, **changes: str) -> Pair:
        return replace(self, **changes)


#: Rows of a source in one epoch; a source that is not named is used whole. Captions (SNLI) and sentences made by program
#: are many and unlike news, so they are cut; what is nearest to a claim and a web paragraph is repeated.
CAPS = {
    "snli_devtest": 9000,
    "snli_cad": 7500,
    "conjnli_adv15k": 5000,
    "breaking_nli": 2200,
    "med": 2500,
    "tracie": 400,
    "summedits": 2600,
}
REPEATS = {"check_covid": 3, "vitaminc_sample": 3, "fever_symmetric_dev": 2}

#: Kept out of training to choose the schedule, the temperature and the class priors.
HELD_OUT_SHARE = {"fever": 0.04, "feverous_dev": 0.08, "exfever": 0.04, "mnli": 0.02, "scitail": 0.05}


def read_source(path: Path) -> list[Pair]:
    """The pairs of one file. SciTail's second label is neutral in its source."""
    pairs = []
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        label = row["label"]
        if row["source"] == "scitail" and label == NOT_ENTAIL:
            label = NEUTRAL
        pairs.append(Pair(row["source"], row["id"], row["premise"].strip(), row["hypothesis"].strip(), label))
    return pairs


def read_all(folder: Path) -> dict[str, list[Pair]]:
    """The sources of the folder by name; those whose licence the card does not state are left out and named."""
    paths = sorted(folder.glob("*.jsonl"))
    if not paths:
        raise SystemExit(f"no .jsonl files in {folder}: pass the folder of training pairs with --data")
    licensed = {name for names, _, licence in SOURCES for name in names.split(", ") if licence}
    for path in paths:
        if path.stem not in licensed:
            print(f"left out: {path.name}: stance/card.py states no licence for it", file=sys.stderr)
    return {path.stem: read_source(path) for path in paths if path.stem in licensed}


def is_held_out(pair: Pair, rng: random.Random) -> bool:
    if pair.source == "check_covid":
        return pair.id.startswith("dev/")
    if pair.source == "vitaminc_sample":
        return pair.id.startswith("test")
    return rng.random() < HELD_OUT_SHARE.get(pair.source, 0.0)


def split(sources: dict[str, list[Pair]], seed: int) -> tuple[dict[str, list[Pair]], list[Pair]]:
    """Training rows by source and the held-out rows. A claim or passage never stands on both sides."""
    rng = random.Random(seed)
    held = [pair for pairs in sources.values() for pair in pairs if is_held_out(pair, rng)]
    texts = {pair.hypothesis for pair in held} | {pair.premise for pair in held}
    kept = {
        name: [pair for pair in pairs if pair.hypothesis not in texts and pair.premise not in texts]
        for name, pairs in sources.items()
    }
    return kept, held


def sample(pairs: list[Pair], most: int, rng: random.Random) -> list[Pair]:
    """At most that many, labels as even as the source allows."""
    if len(pairs) <= most:
        return list(pairs)
    by_label: dict[str, list[Pair]] = {}
    for pair in pairs:
        by_label.setdefault(pair.label, []).append(pair)
    chosen: list[Pair] = []
    rest = sorted(by_label.values(), key=len)
    for position, group in enumerate(rest):
        share = (most - len(chosen)) // (len(rest) - position)
        chosen += rng.sample(group, min(share, len(group)))
    return chosen


def one_epoch(sources: dict[str, list[Pair]], rng: random.Random) -> list[Pair]:
    """The people's labels of one epoch, capped and repeated."""
    chosen: list[Pair] = []
    for name, pairs in sources.items():
        chosen += sample(pairs, CAPS.get(name, len(pairs)), rng) * REPEATS.get(name, 1)
    return chosen


def counts(pairs: list[Pair]) -> dict[str, dict[str, int]]:
    """Pairs by source and label."""
    table: dict[str, dict[str, int]] = {}
    for (source, label), count in sorted(Counter((pair.source, pair.label) for pair in pairs).items()):
        table.setdefault(source, {})[label] = count
    return table


def shown(pairs: list[Pair]) -> str:
    """The same as lines of text."""
    labels = (*LABELS, NOT_ENTAIL, UNKNOWN)
    table = counts(pairs).items()
    return "\n".join(f"  {source:22}" + "".join(f"{row.get(label, 0):8}" for label in labels) for source, row in table)


def write(path: Path, pairs: Iterable[Pair]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as out:
        for pair in pairs:
            out.write(json.dumps(pair.__dict__, ensure_ascii=False) + "\n")


def read(path: Path) -> list[Pair]:
    return [Pair(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
