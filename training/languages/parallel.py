"""Sentences with their translations: which sources training reads, and which of them it keeps apart."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

#: Folders of parallel text, each with the languages of its two columns.
FOLDERS = {"parallel_en_ru": ("en", "ru"), "parallel_en_uk": ("en", "uk"), "parallel_ru_uk": ("ru", "uk")}
#: Sources with a stated licence. Rows of any other source are not read: training/README.md names them and says why.
LICENCES = {
    "ntrex": "CC-BY-SA-4.0",
    "flores": "CC-BY-SA-4.0",
    "tatoeba": "CC-BY-2.0-FR",
    "tico19": "CC0-1.0",
    "gnome": "CC-BY-SA-3.0",
    "python_docs": "CC0-1.0; English text PSF-2.0",
    "machine_coop": "MIT",
}
#: Kept from training whole: the embedder is measured on it.
HELD = {"flores"}
#: One sentence in so many of these is kept from training, too.
HELD_SHARE = {"tatoeba": 4}
#: Text of manuals: little of it is like news.
UNLIKE = {"python_docs": 6_000, "gnome": 2_000, "machine_coop": 3_000}


@dataclass(frozen=True)
class Translation:
    source: str
    languages: tuple[str, str]
    first: str
    second: str

    def texts(self) -> tuple[str, str]:
        """Both, so that they can be compared with others."""
        return self.first.strip().lower(), self.second.strip().lower()


def is_held(source: str, first: str) -> bool:
    """By the hash of the first column's text: an English sentence is kept from both folders that begin with English."""
    if source in HELD:
        return True
    share = HELD_SHARE.get(source)
    return share is not None and hashlib.sha256(first.strip().lower().encode()).digest()[0] % share == 0


def rows_of(data: Path, folder: str) -> Iterator[Translation]:
    with gzip.open(data / folder / "pairs.tsv.gz", "rt", encoding="utf-8") as lines:
        next(lines)
        for line in lines:
            source, first, second = line.rstrip("\n").split("\t")
            if source in LICENCES:
                yield Translation(source, FOLDERS[folder], first, second)


def read(data: Path, caps: dict[str, int] | None = None) -> list[Translation]:
    """All translations for training; `caps` bounds how many of a source there are."""
    caps = UNLIKE if caps is None else caps
    found: list[Translation] = []
    for folder in FOLDERS:
        taken: dict[str, int] = {}
        for row in rows_of(data, folder):
            if not is_held(row.source, row.first) and taken.get(row.source, 0) < caps.get(row.source, 10**9):
                taken[row.source] = taken.get(row.source, 0) + 1
                found.append(row)
    return found


def read_held(data: Path) -> list[Translation]:
    """Translations kept from training. One of which a sentence stands in another translation that may be trained on is left out:
    the Russian and the Ukrainian of a pair may each have been learnt beside their English."""
    learnt = {text for row in read(data, {}) if row.languages[0] == "en" for text in row.texts()}
    rows = (row for folder in FOLDERS for row in rows_of(data, folder))
    return [row for row in rows if is_held(row.source, row.first) and not learnt.intersection(row.texts())]
