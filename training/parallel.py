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


@dataclass(frozen=True)
class Translation:
    source: str
    languages: tuple[str, str]
    first: str
    second: str


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


def read_held(data: Path) -> list[Translation]:
    """Translations that no training reads."""
    return [row for folder in FOLDERS for row in rows_of(data, folder) if is_held(row.source, row.first)]
