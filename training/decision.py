"""Writes the labelled claims that the decision model is fitted to, one JSON line each, as `corroborate eval` reads them.

    python decision.py --data DATA > claims.jsonl
    corroborate eval claims.jsonl --decision ../config/decision/model.json

DATA holds `news_claims/*.jsonl` and `plain_claims/*.jsonl`; the script names a file that is missing and skips it. Of `written`,
`written/ru`, `written/uk` and `written/plain` it takes every tenth line, which training never reads. It composes claims of them: each
gets the passages that entail it, or those that contradict it, or neutral ones, or both sides, with neutral passages added.
Standard library only.
"""

import argparse
import json
import random
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
# A claim of which both sides are told is rare in the news; one in four of those that have both.
BOTH_SIDES = 0.25
# One line of so many is held out (reader/sources.py).
HELD_OUT = 10
# What a search brings for one claim.
MOST = 5


def lines(path):
    if not path.exists():
        print(f"skipped: {path} is not there", file=sys.stderr)
        return
    with path.open(encoding="utf-8") as rows:
        for row in rows:
            if row.strip():
                yield json.loads(row)


def composed(path, name):
    """Claims from written ones with their passages by label; the same ones at every run."""
    chance = random.Random(7)
    for number, row in enumerate(lines(path), 1):
        if "h" not in row or number % HELD_OUT:
            continue
        bearing, silent, against = row.get("e", []), row.get("n", []), row.get("c", [])

        def some(texts, most, chance=chance):
            return chance.sample(texts, min(len(texts), chance.randint(0, most)))

        kinds = []
        if bearing:
            kinds.append(("supported", bearing[: chance.choice([1, 2, 2, 3])] + some(silent, 3)))
        if against:
            kinds.append(("refuted", against[: chance.choice([1, 2, 2, 3])] + some(silent, 3)))
        if silent:
            kinds.append(("not_enough_evidence", silent[: chance.choice([1, 2, 3])]))
        if bearing and against and chance.random() < BOTH_SIDES:
            kinds.append(("contested", [bearing[0], against[0], *some(silent, 1)]))
        for label, texts in kinds:
            chance.shuffle(texts)
            evidence = [{"text": text, "url": f"https://paper{number}-{place}.example/{label}"} for place, text in enumerate(texts[:MOST])]
            yield {"set": name, "id": f"{name}/{path.stem}/{number}/{label}", "claim": row["h"], "label": label, "evidence": evidence}


def ready(path, name):
    """A file that is in the format of `eval` already."""
    for row in lines(path):
        yield {"set": name, **row, "id": f"{name}/{row['id']}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, required=True, help="folder of the labelled sets")
    parser.add_argument("--languages", nargs="+", default=["en", "ru", "uk"], choices=["en", "ru", "uk"], help="of the claims (default all)")
    parser.add_argument("--most", type=int, help="claims of a set at most, drawn at random (default all)")
    arguments = parser.parse_args()
    tests = HERE.parent / "tests" / "data"
    rows = []
    for language in arguments.languages:
        folder = HERE / "written" if language == "en" else HERE / "written" / language
        for path in sorted(folder.glob("*.jsonl")):
            rows += composed(path, f"written_{language}")
        for path in sorted((HERE / "written/plain").glob(f"{language}*.jsonl")):
            rows += composed(path, f"plain_{language}")
        rows += ready(arguments.data / "news_claims" / f"{language}.jsonl", f"news_{language}")
        rows += ready(arguments.data / "plain_claims" / f"{language}.jsonl", "claims")
    for path in sorted((HERE / "written/plain").glob("cross*.jsonl")):
        rows += composed(path, "plain_cross")
    rows += ready(arguments.data / "plain_claims" / "cross.jsonl", "claims")
    rows += ready(tests / "verdicts.jsonl", "verdicts")
    by_set = {}
    for row in rows:
        by_set.setdefault(row["set"], []).append(row)
    chance = random.Random(11)
    for members in by_set.values():
        most = min(len(members), arguments.most or len(members))
        for row in chance.sample(members, most):
            print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main()
