#!/usr/bin/env python3
"""Draws the labelled samples that ship, from the whole sets: tests/data/sample.py DATA (README.md says what and why).

Evenly spaced rows, nothing chosen: run again it writes the same files.
"""

import json
import shutil
import sys
from pathlib import Path

SHIPPED = Path(__file__).parent
PLAIN = ("ru", "uk", "en")


def evenly(rows: list[str], wanted: int) -> list[str]:
    return [rows[len(rows) * i // wanted] for i in range(min(wanted, len(rows)))]


def drawn(data: Path, name: str, wanted: int, label: str | None = None) -> None:
    """So many rows of a file; with a label, as many of each of its values."""
    rows = [row for row in (data / name).read_text(encoding="utf-8").splitlines() if row.strip()]
    groups: dict[str, list[str]] = {}
    for row in rows:
        groups.setdefault(json.loads(row)[label] if label else "", []).append(row)
    chosen = {row for group in groups.values() for row in evenly(group, wanted // len(groups))}
    out = SHIPPED / name
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text("".join(f"{row}\n" for row in rows if row in chosen), encoding="utf-8")


def main() -> None:
    data = Path(sys.argv[1])
    drawn(data, "fm2/pairs.jsonl", 160, "label")
    drawn(data, "wice/pairs_oracle.jsonl", 120, "label")
    drawn(data, "terra_ru/pairs.jsonl", 160, "label")
    drawn(data, "wikidata_names_en_ru/wd_russian_16", 1500)
    drawn(data, "lingua_langid/mixed_ru_en.jsonl", 60)
    for folder in sorted((data / "lingua_langid").iterdir()):
        if (folder / "sentences.txt").exists():
            drawn(data, f"lingua_langid/{folder.name}/sentences.txt", 100 if folder.name in PLAIN else 16)
    documents = sorted((data / "factrueval2016/devset").glob("*.txt"))
    for text in evenly([str(path) for path in documents], 24):
        for ending in (".txt", ".objects", ".spans"):
            out = SHIPPED / "factrueval2016/devset"
            out.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(Path(text).with_suffix(ending), out / Path(text).with_suffix(ending).name)


if __name__ == "__main__":
    main()
