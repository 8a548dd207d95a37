"""Writes the pairs that the model of three languages is trained on.

    python -m languages.build --data DATA --written written --out FOLDER

Kinds, a file each: `translated` (parts of parallel text, whose English the English model answers), `switched` (English pairs that
people labelled or wrote, with words of another language), `written` (Russian and Ukrainian pairs written for this project),
`english` (so that it stays known), and `held_out` (every tenth line of the written ones).
"""

from __future__ import annotations

import argparse
import json
import random
import re
from pathlib import Path

from stance.records import UNKNOWN, Pair, read_all, write
from stance.written import read_written
from .parallel import Translation, read
from .switch import Dictionary

SWITCHED, ENGLISH, TRANSLATED = 30_000, 5_000, 16_000
#: Share of the switched pairs that were written for this project; people labelled the others.
SWITCHED_WRITTEN = 8 / 15
#: Sources of people's labels that are claims beside passages, or sentences of many kinds.
PEOPLE = ("mnli", "fever", "check_covid", "scitail", "vitaminc_sample", "snli_cad", "feverous_dev")
CLAUSE = re.compile(r"[,;:—–]\s")
DIGITS = re.compile(r"\d+")


def clauses(row: Translation) -> list[tuple[str, str]]:
    """Parts between commas with their translations; none where the two texts have other counts of them."""
    first, second = CLAUSE.split(row.first), CLAUSE.split(row.second)
    if len(first) != len(second) or len(first) < 2:
        return []
    long = [(a.strip(), b.strip()) for a, b in zip(first, second, strict=True)]
    return [(a, b) for a, b in long if len(a.split()) >= 4 and len(b.split()) >= 3]


def other_figure(first: str, second: str, rng: random.Random) -> tuple[str, str] | None:
    """Both texts with the same figure changed, where it is in both."""
    shared = [digits for digits in DIGITS.findall(first) if digits in DIGITS.findall(second)]
    if not shared:
        return None
    old = rng.choice(shared)
    new = str(max(1, round(int(old[:12]) * rng.choice((0.5, 0.7, 1.3, 2, 3)))))
    if len(old) == 4 and old[:2] in ("19", "20"):
        new = str(int(old) + rng.choice((-3, -2, -1, 1, 2)))
    if new == old:
        return None
    return tuple(re.sub(rf"(?<!\d){old}(?!\d)", new, text, count=1) for text in (first, second))


def translated(rows: list[Translation], rng: random.Random, count: int) -> tuple[list[Pair], list[Pair]]:
    """Pairs of parallel text, and the same pairs in English for the teacher: in the same order."""
    rows = [row for row in rows if row.languages[0] == "en" and 8 <= len(row.first.split()) <= 60]
    made: list[tuple[tuple[str, str], tuple[str, str], str]] = []
    while len(made) < count:
        at = rng.randrange(len(rows) - 1)
        row, after = rows[at], rows[at + 1]
        whole, parts = (row.first, row.second), clauses(row)
        kind = rng.random()
        if kind < 0.35 and parts:
            hypothesis = rng.choice(parts)
        elif kind < 0.45:
            hypothesis = whole
        elif kind < 0.7:
            hypothesis = other_figure(*(rng.choice(parts) if parts else whole), rng)
        elif row.source == after.source and row.languages == after.languages:
            hypothesis = (after.first, after.second)
        else:
            continue
        if hypothesis:
            made.append((whole, hypothesis, row.languages[1]))
    pairs, english = [], []
    for number, (premise, hypothesis, language) in enumerate(made):
        sides = rng.choice(((1, 1), (1, 1), (1, 0), (0, 1)))
        name = f"{language}/{number}"
        pairs.append(Pair("translated", name, premise[sides[0]], hypothesis[sides[1]], UNKNOWN))
        english.append(Pair("translated", name, premise[0], hypothesis[0], UNKNOWN))
    return pairs, english


def switched(pairs: list[Pair], dictionaries: dict[str, Dictionary], rng: random.Random) -> list[Pair]:
    found = []
    for pair in pairs:
        dictionary = dictionaries[rng.choice(sorted(dictionaries))]
        sides = rng.choice(((1, 1), (1, 1), (1, 1), (1, 0), (0, 1)))
        premise, hypothesis = (
            dictionary.switched(text, rng) if is_switched else text
            for text, is_switched in zip((pair.premise, pair.hypothesis), sides, strict=True)
        )
        found.append(pair.but(source="switched", premise=premise, hypothesis=hypothesis))
    return found


def written(folder: Path) -> tuple[list[Pair], list[Pair]]:
    """The pairs of each language's folder, and those held out, which name their language as their source."""
    kept: list[Pair] = []
    held: list[Pair] = []
    for language in ("ru", "uk"):
        train, out = read_written(folder / language)
        kept += train
        held += [pair.but(source=f"written_{language}") for pair in out]
    return kept, held


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with parallel_* and nli_train")
    parser.add_argument("--written", type=Path, required=True, help="folder of written pairs, English; ru/ and uk/ in it")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--seed", type=int, default=20261126, help="another one draws other pairs, for a second round")
    parser.add_argument("--switched", type=int, default=SWITCHED, help=f"how many pairs with words of another language (default {SWITCHED:,})")
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    arguments.out.mkdir(parents=True, exist_ok=True)
    english_written, _ = read_written(arguments.written)
    by_people = [pair for name, pairs in read_all(arguments.data / "nli_train").items() if name in PEOPLE for pair in pairs]
    rng.shuffle(english_written)
    rng.shuffle(by_people)
    dictionaries = {language: Dictionary(arguments.data, language) for language in ("ru", "uk")}
    pairs, english = translated(read(arguments.data), rng, TRANSLATED)
    own, held = written(arguments.written)
    own_switched = round(arguments.switched * SWITCHED_WRITTEN)
    to_switch = english_written[:own_switched] + by_people[: arguments.switched - own_switched]
    kinds = {
        "translated": pairs,
        "translated_english": english,
        "switched": switched(to_switch, dictionaries, rng),
        "written": own,
        "english": english_written[-ENGLISH // 2 :] + by_people[-ENGLISH // 2 :],
        "held_out": held,
    }
    for name, rows in kinds.items():
        write(arguments.out / f"{name}.jsonl", rows)
        print(name, len(rows), json.dumps(vars(rows[len(rows) // 2]), ensure_ascii=False)[:400])


if __name__ == "__main__":
    main()
