"""Labels pairs with models that the daemon reads, for another model to learn from (knowledge distillation).

    python -m reader.teacher --data DATA --teacher MODEL_FOLDER... --out SOFT.jsonl [--count 30000]

Half of the pairs combine an English claim with a passage of another claim that shares its rare words, so they are new to the models; the
other half are training pairs with their own passage. A teacher labels the pairs in the languages of its manifest. Several teachers label by
the normalised geometric mean of their probabilities. Each line of OUT is `{"i": number of the pair, "p": passage, "h": claim,
"t": [entail, neutral, contradict]}` with calibrated probabilities; if the pair has a label, the mean of label and probabilities. Held-out
pairs are not used. The same command resumes after the last line of OUT.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections import Counter, defaultdict
from pathlib import Path

import torch
from export import read_manifest

from .calibrate import Calibration
from .sets import Int8
from .sources import HERE, LABELS, Pair, read_public, read_written

#: Written pairs, by source, with the languages that a teacher must read.
WRITTEN_LANGUAGES = {"written/en": ["en"], "written/ru": ["ru"], "written/uk": ["uk"], "written/plain": ["en", "ru", "uk"],
                     "written/commitment": ["en", "ru", "uk"]}
#: Claims of evidence tasks; general sentence pairs (MNLI, SNLI) rarely have passages.
SOURCES = ("fever", "exfever", "feverous_dev", "vitaminc_sample", "check_covid", "scitail")
#: A foreign passage is drawn from so many that share the most.
NEAREST = 3
#: Share of the combined pairs with neutral above 0.8 that are kept.
NEUTRAL_KEPT = 0.3


def words(text: str) -> set[str]:
    return {word for word in re.findall(r"[a-z0-9]+", text.lower()) if len(word) > 3 or word.isdigit()}


def combined(pairs: list[Pair], count: int, rng: random.Random) -> list[Pair]:
    """Claims with near passages of other claims."""
    passages = list(dict.fromkeys(pair.premise for pair in pairs))
    holders: dict[str, list[int]] = defaultdict(list)
    for index, passage in enumerate(passages):
        for word in words(passage):
            holders[word].append(index)
    own: dict[str, set[str]] = defaultdict(set)
    for pair in pairs:
        own[pair.hypothesis].add(pair.premise)
    made = []
    claims = list(own)
    for claim in rng.sample(claims, min(count, len(claims))):
        shared: Counter[int] = Counter()
        for word in words(claim):
            if len(holders[word]) <= len(passages) // 50:
                for index in holders[word]:
                    shared[index] += math.log(len(passages) / len(holders[word]))
        near = [passages[index] for index, _ in shared.most_common(NEAREST + len(own[claim])) if passages[index] not in own[claim]]
        made += [Pair("combined", passage, claim, "") for passage in rng.sample(near, min(2, len(near)))]
    rng.shuffle(made)
    return made[:count]


class Teacher:
    """A model folder with its calibration."""

    def __init__(self, folder: Path) -> None:
        self.stated, self.model = read_manifest(folder), Int8(folder)
        self.calibration = Calibration(self.stated["temperature"], self.stated["bias"])

    def reads(self, languages: list[str]) -> bool:
        return all(language in self.stated["languages"] for language in languages)

    def log_probabilities(self, pairs: list[Pair]) -> torch.Tensor:
        return self.calibration.probabilities(self.model.logits(pairs)).log()


def probabilities(teachers: list[Teacher], pairs: list[Pair]) -> torch.Tensor:
    """Float32 [pairs, 3]."""
    return torch.softmax(torch.stack([teacher.log_probabilities(pairs) for teacher in teachers]).mean(0), dim=1)


def whole_lines(out: Path) -> int:
    """Removes a line that was cut off. Returns the number of pairs that were read; lines that were skipped last are read again."""
    if not out.exists():
        return 0
    text = out.read_text(encoding="utf-8")
    text = text[: text.rfind("\n") + 1]
    out.write_text(text, encoding="utf-8")
    return json.loads(text.splitlines()[-1])["i"] + 1 if text else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--written", type=Path, default=HERE / "written")
    parser.add_argument("--teacher", type=Path, nargs="+", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=30_000)
    arguments = parser.parse_args()
    rng = random.Random(20261130)
    public, _ = read_public(arguments.data / "nli_train")
    written, _ = read_written(arguments.written)
    teachers = [Teacher(folder) for folder in arguments.teacher]
    english = [pair for name in SOURCES for pair in public[name]] + written["written/en"]
    readable = [name for name, languages in WRITTEN_LANGUAGES.items() if all(teacher.reads(languages) for teacher in teachers)]
    labelled = [pair for name in SOURCES for pair in public[name]] + [pair for name in readable for pair in written[name]]
    pairs = combined(english, arguments.count // 2, rng) + rng.sample(labelled, min(len(labelled), arguments.count // 2))
    rng.shuffle(pairs)
    done = whole_lines(arguments.out)
    with arguments.out.open("a", encoding="utf-8") as out:
        for start in range(done, len(pairs), 500):
            part = pairs[start : start + 500]
            for index, (pair, shares) in enumerate(zip(part, probabilities(teachers, part).tolist(), strict=True), start):
                if not pair.label and shares[1] > 0.8 and random.Random(index).random() > NEUTRAL_KEPT:
                    continue
                if pair.label in LABELS:
                    shares = [(value + (pair.label == label)) / 2 for value, label in zip(shares, LABELS, strict=True)]
                row = {"i": index, "p": pair.premise, "h": pair.hypothesis, "t": [round(value, 4) for value in shares]}
                out.write(json.dumps(row) + "\n")
            out.flush()
            print(f"{start + len(part)} of {len(pairs)} pairs read", flush=True)


if __name__ == "__main__":
    main()
