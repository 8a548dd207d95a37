"""Builds the training and held-out pairs.

    python -m stance.build --data PAIRS_FOLDER --embedder MODEL_FOLDER --out BUILD_FOLDER

Writes BUILD_FOLDER/teacher (labelled pairs) and BUILD_FOLDER/student (some of them, and pairs that only the teacher answers),
each with `train_0.jsonl` and `held_out.jsonl`.
"""

from __future__ import annotations

import argparse
import json
import random
from collections import Counter
from pathlib import Path

from .balance import balanced
from .embedding import embedder
from .neighbours import Neighbourhood, window
from .perturb import crossed, perturbed
from .records import Pair, counts, one_epoch, read_all, shown, split, write
from .swaps import bound, direction_swap, name_swap, negation_swap, number_swap, word_swap
from .written import read_written

#: Sources whose hypothesis is a claim of the world and whose premise is a passage of a text.
CLAIM_LIKE = ("fever", "exfever", "feverous_dev", "check_covid", "vitaminc_sample", "fever_symmetric_dev")

#: Sources whose pairs are changed at random for the teacher to answer, and most pairs of one.
CHANGED_FROM, CHANGED_CAP = (*CLAIM_LIKE, "mnli", "scitail", "snli_cad"), 12000

#: Sources whose every claim stands with many passages of its subject, for the teacher to answer: nearest to a claim and a page of
#: science, and small enough for that; and how many passages.
CROSSED = {"check_covid": 24, "scitail": 3}

#: Made pairs of one epoch, by kind.
MADE_CAPS = {"silent": 12000, "around": 6000, "number": 3500, "bound": 2500, "unit": 600, "direction": 3500,
             "negation": 3500, "name": 3500}
LONGEST_PREMISE = 130
#: Words of passage and claim together; longer ones cost most and are few.
LONGEST_PAIR = 125

#: Pairs taken beside the balanced ones, most of a source.
MORE = {"mnli": 9000, "snli_devtest": 5000, "fever": 3500, "scitail": 2000, "silent": 2000, "check_covid": 2000,
        "snli_cad": 1500, "number": 1500, "negation_nli": 1200, "exfever": 1000, "folio": 900, "feverous_dev": 800,
        "ambient": 800, "med": 800, "breaking_nli": 400, "conjnli": 300, "vitaminc_sample": 300}


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


def once(pairs: list[Pair], known: Counter[tuple[str, str]]) -> list[Pair]:
    """Each pair of texts once, Check-COVID's twice since it is nearest to a claim and a page; `known` counts them."""
    kept = []
    for pair in pairs:
        texts = (pair.premise, pair.hypothesis)
        if known[texts] < (2 if pair.source == "check_covid" else 1) and len(" ".join(texts).split()) <= LONGEST_PAIR:
            kept.append(pair)
            known[texts] += 1
    return kept


def mixed(drawn: list[Pair], rng: random.Random) -> list[Pair]:
    """Pairs whose labels are even at every degree of shared words, and some more of what that leaves few of."""
    known: Counter[tuple[str, str]] = Counter()
    chosen = once(balanced(drawn, rng), known)
    taken: Counter[str] = Counter()
    for pair in rng.sample(drawn, len(drawn)):
        if taken[pair.source] < MORE.get(pair.source, 0) and once([pair], known):
            chosen.append(pair)
            taken[pair.source] += 1
    return chosen


def draw(sources: dict[str, list[Pair]], near: Neighbourhood, seed: int) -> list[Pair]:
    rng = random.Random(seed)
    people = one_epoch(sources, rng)
    return [window(pair, LONGEST_PREMISE) for pair in people + capped(made_from(people, near, rng), rng)]


def at_random(sources: dict[str, list[Pair]], embed, count: int, rng: random.Random) -> list[Pair]:
    """`count` pairs of changed claims; the sources are gone through again, and changed otherwise, until there are so many."""
    pool = [pair for name in CHANGED_FROM for pair in rng.sample(sources[name], min(len(sources[name]), CHANGED_CAP))]
    near, made = Neighbourhood.of(pool, embed), []
    while len(made) < count:
        more = perturbed(near, count - len(made), rng)
        if not more:
            raise SystemExit(f"only {len(made)} claims could be changed: give --perturbed fewer than {count}")
        made += more
    return made


def all_crossed(sources: dict[str, list[Pair]], embed, rng: random.Random) -> list[Pair]:
    made: list[Pair] = []
    for name, per_claim in CROSSED.items():
        pool = [pair for pair in sources[name] if len(pair.premise.split()) <= LONGEST_PREMISE]
        made += crossed(Neighbourhood.of(pool, embed), per_claim, rng)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder of .jsonl files of labelled pairs")
    parser.add_argument("--written", type=Path, help="folder of the pairs written for this project: training/written")
    parser.add_argument("--embedder", type=Path, required=True, help="sentence embedding model (Hugging Face folder)")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--draws", type=int, default=2, help="how often the sources are drawn from and changed")
    parser.add_argument("--open", type=int, default=30000, help="pairs that only the teacher answers")
    parser.add_argument("--perturbed", type=int, default=50000, help="changed claims that only the teacher answers")
    parser.add_argument("--labelled", type=int, default=55000, help="labelled pairs that the student learns beside those")
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    sources, held = split(read_all(arguments.data), arguments.seed)
    embed = embedder(arguments.embedder)
    near = Neighbourhood.of([pair for name in CLAIM_LIKE for pair in sources[name]], embed)
    drawn = [pair for number in range(arguments.draws) for pair in draw(sources, near, arguments.seed + 1 + number)]
    labelled = mixed(drawn, rng)
    unlabelled = near.open(arguments.open, rng) + all_crossed(sources, embed, rng)
    unlabelled += at_random(sources, embed, arguments.perturbed, rng)
    unlabelled = once([window(pair, LONGEST_PREMISE) for pair in unlabelled], Counter())
    held_near = Neighbourhood.of([pair for pair in held if pair.source in CLAIM_LIKE], embed)
    held = [window(pair, LONGEST_PREMISE) for pair in held + held_near.silent(rng, per_claim=1)]
    written, held_written = read_written(arguments.written) if arguments.written else ([], [])
    held += held_written
    rng.shuffle(labelled)
    student = labelled[: arguments.labelled] + written + unlabelled
    labelled += written
    rng.shuffle(labelled)
    rng.shuffle(student)
    for name, pairs in (("teacher", labelled), ("student", student)):
        write(arguments.out / name / "train_0.jsonl", pairs)
        write(arguments.out / name / "held_out.jsonl", held)
        (arguments.out / name / "counts.json").write_text(json.dumps(counts(pairs), indent=1))
        print(f"{name}: {len(pairs)} pairs (entail, neutral, contradict, not entailed, unknown)\n{shown(pairs)}", flush=True)
    print(f"held out: {len(held)} pairs\n{shown(held)}")


if __name__ == "__main__":
    main()
