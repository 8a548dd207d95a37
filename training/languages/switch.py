"""English pairs with many words in Russian or Ukrainian, as the parallel text translates them word for word: the grammar stays
English, and what a person labelled is learnt on words of another language (Qin and others, 2020)."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

from .lexicon import lexicon
from .parallel import read

WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
#: A word that is seen less often has no translation one could trust.
FEWEST = 3
#: A translation less likely than this is none.
LEAST = 0.12
#: Share of the words that are translated, drawn anew for each text.
SHARE = (0.6, 1.0)


def words(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]


class Dictionary:
    """Translations of English words into one language, with their weights."""

    def __init__(self, data: Path, language: str) -> None:
        rows = [row for row in read(data) if row.languages == ("en", language)]
        english, other = [words(row.first) for row in rows], [words(row.second) for row in rows]
        numbers, names = self.numbered(english), self.numbered(other)
        of = [[numbers[word] for word in text if word in numbers] for text in english]
        to = [[names[word] for word in text if word in names] for text in other]
        forwards = lexicon(of, to, len(numbers) + 1, len(names) + 1)
        backwards = lexicon(to, of, len(names) + 1, len(numbers) + 1)
        both = forwards.multiply(backwards.T).sqrt().tocsr()
        told = {number: name for name, number in names.items()}
        self.found: dict[str, tuple[list[str], list[float]]] = {}
        for word, number in numbers.items():
            row = both.getrow(number)
            chosen = [(told[at], chance) for at, chance in zip(row.indices, row.data, strict=True) if chance >= LEAST]
            if chosen:
                self.found[word] = ([name for name, _ in chosen], [chance for _, chance in chosen])

    @staticmethod
    def numbered(texts: list[list[str]]) -> dict[str, int]:
        """Numbers from 1 on; 0 stands for no word."""
        counts = Counter(word for text in texts for word in text)
        return {word: number for number, word in enumerate((w for w, count in counts.items() if count >= FEWEST), 1)}

    def switched(self, text: str, rng: random.Random) -> str:
        share = rng.uniform(*SHARE)

        def one(match: re.Match[str]) -> str:
            word = match.group()
            known = self.found.get(word.lower())
            if known is None or rng.random() > share:
                return word
            translation = rng.choices(*known)[0]
            return translation.capitalize() if word[0].isupper() else translation

        return WORD.sub(one, text)
