"""Sentences with their translations: the two sources that scripts read, and the sentences that no training reads."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

#: Folders of parallel text, each with the languages of its two columns.
FOLDERS = {"parallel_en_ru": ("en", "ru"), "parallel_en_uk": ("en", "uk"), "parallel_ru_uk": ("ru", "uk")}
#: Sources with a stated licence; of each, one sentence of so many is held out. training/README.md names the sources without a licence.
HELD_SHARE = {
    "flores": 1,  # CC-BY-SA-4.0
    "tatoeba": 4,  # CC-BY-2.0-FR
}


class Translation(NamedTuple):
    source: str
    languages: tuple[str, str]
    first: str
    second: str


def is_held(source: str, first: str) -> bool:
    """By the hash of the first column's text: an English sentence is kept from both folders that begin with English."""
    return hashlib.sha256(first.strip().lower().encode()).digest()[0] % HELD_SHARE[source] == 0


def rows_of(data: Path, folder: str) -> Iterator[Translation]:
    with gzip.open(data / folder / "pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            source, first, second = line.rstrip("\n").split("\t")
            if source in HELD_SHARE:
                yield Translation(source, FOLDERS[folder], first, second)


def read_held(data: Path) -> list[Translation]:
    """Translations that no training reads."""
    return [row for folder in FOLDERS for row in rows_of(data, folder) if is_held(row.source, row.first)]
