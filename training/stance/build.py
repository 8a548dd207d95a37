"""Builds the training and held-out pairs.

    python -m stance.build --data PAIRS_FOLDER --embedder MODEL_FOLDER --out BUILD_FOLDER
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from .embedding import embedder
from .neighbours import Neighbourhood, window
from .records import LABELS, NOT_ENTAIL, Pair, one_epoch, read_all, split, write
from .swaps import bound, direction_swap, name_swap, negation_swap, number_swap, word_swap

#: Sources whose hypothesis is a claim of the world and whose premise is a passage of a text.
CLAIM_LIKE = ("fever", "exfever", "feverous_dev", "check_covid", "vitaminc_sample", "fever_symmetric_dev")

#: Made pairs of one epoch, by kind.
MADE_CAPS = {"silent": 12000, "around": 6000, "number": 3500, "bound": 2500, "unit": 600, "direction": 3500,
             "negation": 3500, "name": 3500}
LONGEST_PREMISE = 130


def made_from(people: list[Pair], near: Neighbourhood, rng: random.Random) -> list[Pair]:
    """Everything built from labelled pairs; the label follows from the change."""
    made = near.silent(rng, per_claim=1) + near.around(9000, rng)
    for pair in people:
        if len(pair.premise.split()) > LONGEST_PREMISE or pair.source in ("breaking_nli", "conjnli_adv15k", "tracie", "folio"):
            continue
        for change in (number_swap, bound, word_swap, direction_swap, negation_swap):
            made += change(pair, rng)
    for index, pair in enumerate(near.pairs):
        if rng.random() < 0.7:
            made += name_swap(pair, rng, near.names_near(index, rng))
    return made


def capped(made: list[Pair], rng: random.Random) -> list[Pair]:
    by_kind: dict[str, list[Pair]] = {}
    for pair in made:
        by_kind.setdefault(pair.source, []).append(pair)
    return [pair for kind, pairs in sorted(by_kind.items())
            for pair in rng.sample(pairs, min(len(pairs), MADE_CAPS[kind]))]


def counts(pairs: list[Pair]) -> dict[str, dict[str, int]]:
    """Pairs by source and label."""
    table: dict[str, dict[str, int]] = {}
    for (source, label), count in sorted(Counter((pair.source, pair.label) for pair in pairs).items()):
        table.setdefault(source, {})[label] = count
    return table


def shown(pairs: list[Pair]) -> str:
    labels = (*LABELS, NOT_ENTAIL)
    table = counts(pairs).items()
    return "\n".join(f"  {source:22}" + "".join(f"{row.get(label, 0):8}" for label in labels) for source, row in table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of .jsonl files of labelled pairs")
    parser.add_argument("--embedder", type=Path, required=True, help="sentence embedding model (Hugging Face folder)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3, help="each epoch is another draw of the sources")
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    sources, held = split(read_all(arguments.data), arguments.seed)
    embed = embedder(arguments.embedder)
    near = Neighbourhood.of([pair for name in CLAIM_LIKE for pair in sources[name]], embed)
    for epoch in range(arguments.epochs):
        rng = random.Random(arguments.seed + 1 + epoch)
        people = one_epoch(sources, rng)
        pairs = [window(pair, LONGEST_PREMISE) for pair in people + capped(made_from(people, near, rng), rng)]
        rng.shuffle(pairs)
        write(arguments.out / f"train_{epoch}.jsonl", pairs)
        print(f"epoch {epoch}: {len(pairs)} pairs (entail, neutral, contradict, not entailed)\n{shown(pairs)}", flush=True)
        if epoch == 0:
            (arguments.out / "counts.json").write_text(json.dumps(counts(pairs), indent=1))
    rng = random.Random(arguments.seed)
    held_near = Neighbourhood.of([pair for pair in held if pair.source in CLAIM_LIKE], embed)
    held = [window(pair, LONGEST_PREMISE) for pair in held + held_near.silent(rng, per_claim=1)]
    write(arguments.out / "held_out.jsonl", held)
    print(f"held out: {len(held)} pairs\n{shown(held)}")


if __name__ == "__main__":
    main()
