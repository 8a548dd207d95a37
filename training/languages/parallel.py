"""Sentences with their translations, and which of them no training sees."""

from __future__ import annotations

import gzip
import hashlib
from dataclasses import dataclass
from pathlib import Path

#: Folders of parallel text, each with the languages of its two columns.
FOLDERS = {"parallel_en_ru": ("en", "ru"), "parallel_en_uk": ("en", "uk"), "parallel_ru_uk": ("ru", "uk")}
#: Kept from training whole: the embedder is measured on it.
HELD = {"flores"}
#: One sentence in so many of these is kept from training, too.
HELD_SHARE = {"tatoeba": 4}
#: Lower-cased and tokenised, or text of manuals: little of it is like news.
UNLIKE = {"hotels": 0, "python_docs": 6_000, "gnome": 2_000, "machine_coop": 3_000}


@dataclass(frozen=True)
class Translation:
    source: str
    languages: tuple[str, str]
    first: str
    second: str


def is_held(source: str, first: str) -> bool:
    """By the text's hash, so that a sentence of several folders is kept from all of them."""
    if source in HELD:
        return True
    share = HELD_SHARE.get(source)
    return share is not None and hashlib.sha256(first.strip().lower().encode()).digest()[0] % share == 0


def read(data: Path, *, held: bool = False, unlike: dict[str, int] | None = None) -> list[Translation]:
    """All translations for training, or those kept from it. `unlike` caps sources."""
    caps = UNLIKE if unlike is None else unlike
    found: list[Translation] = []
    for folder, languages in FOLDERS.items():
        seen: dict[str, int] = {}
        with gzip.open(data / folder / "pairs.tsv.gz", "rt", encoding="utf-8") as lines:
            next(lines)
            for line in lines:
                source, first, second = line.rstrip("\n").split("\t")
                seen[source] = seen.get(source, 0) + 1
                if is_held(source, first) != held or seen[source] > caps.get(source, 10**9):
                    continue
                found.append(Translation(source, languages, first, second))
    return found
