"""Labels English pairs with a model that the daemon reads, for another model to learn from (knowledge distillation).

    python -m reader.teacher --data DATA --teacher MODEL_FOLDER --out SOFT.jsonl [--count 30000]

Half of the pairs combine a claim with a passage of another claim that shares its rare words, so they are new to both models; the other half
are training pairs with their own passage. Each line of OUT is `{"p": passage, "h": claim, "t": [entail, neutral, contradict]}` with
the teacher's calibrated probabilities; where people labelled the pair, the mean of label and probabilities. Held-out pairs are not used.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import re
from collections import Counter, defaultdict
from pathlib import Path

from export import read_manifest

from .calibrate import Calibration
from .sets import Int8
from .sources import HERE, LABELS, Pair, read_public, read_written

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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--written", type=Path, default=HERE / "written")
    parser.add_argument("--teacher", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--count", type=int, default=30_000)
    arguments = parser.parse_args()
    rng = random.Random(20261130)
    public, _ = read_public(arguments.data / "nli_train")
    written, _ = read_written(arguments.written)
    labelled = [pair for name in SOURCES for pair in public[name]] + written["written/en"]
    pairs = combined(labelled, arguments.count // 2, rng) + rng.sample(labelled, min(len(labelled), arguments.count // 2))
    rng.shuffle(pairs)
    stated = read_manifest(arguments.teacher)
    calibration, model = Calibration(stated["temperature"], stated["bias"]), Int8(arguments.teacher)
    kept = 0
    with arguments.out.open("w", encoding="utf-8") as out:
        for start in range(0, len(pairs), 500):
            part = pairs[start : start + 500]
            for pair, said in zip(part, calibration.probabilities(model.logits(part)).tolist(), strict=True):
                if not pair.label and said[1] > 0.8 and rng.random() > NEUTRAL_KEPT:
                    continue
                if pair.label in LABELS:
                    said = [(value + (pair.label == label)) / 2 for value, label in zip(said, LABELS, strict=True)]
                out.write(json.dumps({"p": pair.premise, "h": pair.hypothesis, "t": [round(value, 4) for value in said]}) + "\n")
                kept += 1
            out.flush()
            print(f"{start + len(part)} of {len(pairs)} pairs read, {kept} kept", flush=True)


if __name__ == "__main__":
    main()
