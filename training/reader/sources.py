"""The labelled pairs that the reader learns from, by source, with the licence of each.

A *pair* is a premise (passage) and a hypothesis (claim) with one of LABELS, or NOT_ENTAIL where people said only that much.
"""

from __future__ import annotations

import importlib.util
import json
import random
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent

#: Order of the model's logits.
LABELS = ("entail", "neutral", "contradict")
NOT_ENTAIL = "not_entail"

#: One line of so many of a written file is kept out of training.
HELD_OUT = 10


@dataclass(frozen=True)
class Pair:
    source: str
    premise: str
    hypothesis: str
    label: str
    #: A teacher's probabilities in the order of LABELS; they count instead of the label.
    soft: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Source:
    """A public data set: its licence, and how many of its pairs one round of training draws at most."""

    title: str
    licence: str
    cap: int


#: Files of the folder of natural language inference data, by name. A file that is not named here is not read.
PUBLIC = {
    "fever": Source("FEVER (Wikipedia)", "CC BY-SA 3.0", 2250),
    "exfever": Source("EX-FEVER, people's explanations", "MIT; texts CC BY-SA", 750),
    "feverous_dev": Source("FEVEROUS development set, sentence evidence (Wikipedia)", "CC BY-SA 3.0", 1000),
    "vitaminc_sample": Source("a sample of VitaminC (Wikipedia)", "CC BY-SA 3.0", 141),
    "check_covid": Source("Check-COVID: claims of the news, sentences of papers", "MIT", 700),
    "mnli": Source("MultiNLI, in part", "OANC, CC BY 3.0, CC BY-SA 3.0, MIT", 2500),
    "snli_devtest": Source("SNLI, development and test sets", "CC BY-SA 4.0", 500),
    "snli_cad": Source("SNLI, counterfactually augmented", "Apache-2.0", 350),
    "negation_nli": Source("negation and NLI", "MIT", 235),
    "conjnli": Source("ConjNLI", "MIT", 94),
    "conjnli_adv15k": Source("ConjNLI, adversarial", "MIT", 188),
    "breaking_nli": Source("Breaking NLI", "CC BY-SA 4.0", 188),
    "med": Source("MED (monotonicity)", "CC BY-SA 4.0", 188),
    "scitail": Source("SciTail", "Apache-2.0", 600),
    "ambient": Source("AmbiEnt", "CC BY 4.0", 140),
    "folio": Source("FOLIO", "CC BY-SA 4.0", 60),
    "tracie": Source("TRACIE", "Apache-2.0", 60),
    "summedits": Source("SummEdits: summaries edited by a language model, checked by people", "Apache-2.0", 350),
}

#: The same for what was written for this project (CC0 1.0), by folder under `training/written`: "" is English.
WRITTEN = {"": 2000, "ru": 1000, "uk": 1000, "plain": 37000, "commitment": 1500}

#: Pairs of the event templates a round, and at most so many that a teacher labelled (reader.teacher).
TEMPLATES = 3000
SOFT = 5000


def held_out_public(source: str, row: dict) -> bool:
    """Which public pairs choose the calibration instead of being learnt; by their texts, so that a claim stands on one side only."""
    if source == "check_covid":
        return row["id"].startswith("dev/")
    if source == "vitaminc_sample":
        return row["id"].startswith("test")
    return zlib.crc32(row["hypothesis"].strip().encode()) % 25 == 0


def read_public(folder: Path) -> tuple[dict[str, list[Pair]], list[Pair]]:
    """Pairs to train on by source, and those held out."""
    kept: dict[str, list[Pair]] = {}
    held: list[Pair] = []
    for name in PUBLIC:
        path = folder / f"{name}.jsonl"
        if not path.exists():
            raise SystemExit(f"{path} is missing: --data names the folder that holds nli_train")
        pairs = kept.setdefault(name, [])
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            # SciTail's second label is neutral in its source.
            label = "neutral" if name == "scitail" and row["label"] == NOT_ENTAIL else row["label"]
            pair = Pair(name, row["premise"].strip(), row["hypothesis"].strip(), label)
            (held if held_out_public(name, row) else pairs).append(pair)
    texts = {text for pair in held for text in (pair.premise, pair.hypothesis)}
    return {name: [pair for pair in pairs if not {pair.premise, pair.hypothesis} & texts] for name, pairs in kept.items()}, held


def pairs_of(line: str, source: str) -> Iterator[Pair]:
    """The pairs of one written line: a passage (`p`) with claims, or a claim (`h`) with passages, under `e`, `n` and `c`."""
    row = json.loads(line)
    for key, label in zip("enc", LABELS, strict=True):
        for text in row.get(key, []):
            premise, hypothesis = (row["p"], text) if "p" in row else (text, row["h"])
            yield Pair(source, premise.strip(), hypothesis.strip(), label)


def read_written(folder: Path) -> tuple[dict[str, list[Pair]], list[Pair]]:
    """The written pairs to train on by folder (`written/ru`), and those held out."""
    kept: dict[str, list[Pair]] = {}
    held: list[Pair] = []
    for part in WRITTEN:
        for path in sorted((folder / part).glob("*.jsonl")):
            source = f"written/{part or 'en'}" + (f"/{path.stem}" if part in ("plain", "commitment") else "")
            for number, line in enumerate(filter(str.strip, path.read_text(encoding="utf-8").splitlines()), 1):
                target = held if number % HELD_OUT == 0 else kept.setdefault(f"written/{part or 'en'}", [])
                target.extend(pairs_of(line, source))
    return kept, held


def templates():
    """The module of the event templates: it stands beside its data."""
    spec = importlib.util.spec_from_file_location("generate", HERE / "templates/generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class EventPairs:
    """Pairs made from the event templates, of the event types that are trained on or of those held out."""

    def __init__(self, held_out: bool) -> None:
        self.module = templates()
        events, self.names = self.module.load(str(HERE / "templates"))
        self.events = [event for event in events if self.module.held_out(event) == held_out]

    def draw(self, count: int, seed: int) -> list[Pair]:
        generator = self.module.Generator(self.events, self.names, seed)
        rows = [generator.pair() for _ in range(count)]
        return [Pair(f"templates/{row['languages']}", row["premise"], row["hypothesis"], row["label"]) for row in rows]


class Curriculum:
    """What is learnt in each round: a part of every source, drawn anew, and new pairs of the templates."""

    def __init__(self, data: Path, written: Path, soft: Path | None = None) -> None:
        self.written = written
        rows = map(json.loads, soft.read_text(encoding="utf-8").splitlines()) if soft else []
        self.soft = [Pair("teacher", row["p"], row["h"], "", tuple(row["t"])) for row in rows]
        self.public, self.held = read_public(data / "nli_train")
        self.events = EventPairs(held_out=False)

    def round(self, number: int, seed: int) -> list[Pair]:
        """The pairs of round `number`. The written files are read again, so that what was added since is learnt."""
        rng = random.Random(f"{seed}/{number}")
        chosen = self.events.draw(TEMPLATES, seed * 1000 + number)
        written, _ = read_written(self.written)
        for name, pairs in {**self.public, **written}.items():
            cap = PUBLIC[name].cap if name in PUBLIC else WRITTEN["" if name == "written/en" else name.removeprefix("written/")]
            chosen += rng.sample(pairs, min(cap, len(pairs)))
        chosen += rng.sample(self.soft, min(SOFT, len(self.soft)))
        rng.shuffle(chosen)
        return chosen

    def held_out(self, most: int) -> list[Pair]:
        """Pairs that are never learnt: event types, written lines and public pairs kept aside; at most so many of a source."""
        events = EventPairs(held_out=True).draw(1200, 77)
        by_source: dict[str, list[Pair]] = {}
        for pair in [*events, *read_written(self.written)[1], *self.held]:
            by_source.setdefault(pair.source, []).append(pair)
        rng = random.Random(77)
        return [pair for pairs in by_source.values() for pair in rng.sample(pairs, min(most, len(pairs)))]
