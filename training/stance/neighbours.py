"""Passages of the same subject: for claims nobody answers, and for sentences that stand around an answer."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass

import numpy as np

from .records import NEUTRAL, UNKNOWN, Pair
from .swaps import NAME

STOP = set(
    "a an the of in on at to for and or but is are was were be been being by with from as that this it its his her their "
    "he she they has have had not no did do does which who whom into than then also only there".split()
)
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(])")

#: Cosine between a claim and a passage that is about the same subject and, most likely, silent on the claim.
NEAR, NEARLY_SAME = 0.30, 0.80
#: Share of the claim's content words above which the passage may well answer it.
MOST_COVERED = 0.55


def content(text: str) -> set[str]:
    return {word[:6] for word in re.findall(r"[a-z0-9]+", text.lower()) if word not in STOP}


def sentences(text: str) -> list[str]:
    return [part for part in SENTENCE.split(text) if part.strip()]


def nearest(rows: np.ndarray, columns: np.ndarray, count: int) -> list[list[tuple[int, float]]]:
    """For every row the columns of highest cosine, best first, with the cosine."""
    found: list[list[tuple[int, float]]] = []
    count = min(count, len(columns))
    for start in range(0, len(rows), 256):
        cosines = rows[start : start + 256] @ columns.T
        best = np.argpartition(-cosines, count - 1, axis=1)[:, :count]
        for row, chosen in enumerate(best):
            ranked = sorted(((int(i), float(cosines[row, i])) for i in chosen), key=lambda pair: -pair[1])
            found.append(ranked)
    return found


@dataclass
class Neighbourhood:
    """Claims and passages of the claim-like sources, and which passages are near each."""

    pairs: list[Pair]
    near_claim: list[list[tuple[int, float]]]
    near_passage: list[list[tuple[int, float]]]

    @classmethod
    def of(cls, pairs: list[Pair], embed) -> Neighbourhood:
        passages = embed([pair.premise for pair in pairs])
        claims = embed([pair.hypothesis for pair in pairs])
        return cls(pairs, nearest(claims, passages, 40), nearest(passages, passages, 14))

    def silent(self, rng: random.Random, per_claim: int) -> list[Pair]:
        """Claims with passages of the same subject that do not share the claim's words: not enough evidence."""
        return [made for index in range(len(self.pairs)) for made in self._silent_for(index, rng, per_claim)]

    def _silent_for(self, index: int, rng: random.Random, per_claim: int) -> list[Pair]:
        pair = self.pairs[index]
        words = content(pair.hypothesis)
        fit: list[Pair] = []
        for position, cosine in self.near_claim[index]:
            other = self.pairs[position]
            if other.premise == pair.premise or not NEAR <= cosine <= NEARLY_SAME:
                continue
            if len(words & content(other.premise)) > MOST_COVERED * max(len(words), 1):
                continue
            if set(sentences(other.premise)) & set(sentences(pair.premise)):
                continue
            fit.append(other)
            if len(fit) >= 6:
                break
        chosen = rng.sample(fit, min(per_claim, len(fit)))
        return [pair.but(source="silent", id=f"{pair.source}/{pair.id}", premise=c.premise, label=NEUTRAL) for c in chosen]

    def open(self, count: int, rng: random.Random) -> list[Pair]:
        """Claims with any other passage of the same subject, and sentences of one passage with another, to be answered by a
        teacher: what a search brings for a claim, where nobody has said what each passage says of it."""
        made: list[Pair] = []
        for index in rng.sample(range(len(self.pairs)), len(self.pairs)):
            pair = self.pairs[index]
            near = [self.pairs[place] for place, cosine in self.near_claim[index] if NEAR <= cosine <= NEARLY_SAME]
            others = [other for other in near if other.premise != pair.premise]
            for other in rng.sample(others, min(2, len(others))):
                made.append(pair.but(source="open", id=f"{pair.source}/{pair.id}", premise=other.premise, label=UNKNOWN))
            beside = [self.pairs[place].premise for place, cosine in self.near_passage[index] if 0.5 <= cosine <= 0.95]
            said = [part for part in sentences(pair.premise) if 6 <= len(part.split()) <= 35]
            if beside and said:
                made.append(Pair("open", f"{pair.source}/{pair.id}", rng.choice(beside), rng.choice(said), UNKNOWN))
            if len(made) >= count:
                break
        return made

    def around(self, count: int, rng: random.Random) -> list[Pair]:
        """The same answers with sentences of neighbouring passages before or behind them."""
        made: list[Pair] = []
        for index in rng.sample(range(len(self.pairs)), min(count, len(self.pairs))):
            pair = self.pairs[index]
            spare: list[str] = []
            words = content(pair.hypothesis)
            for position, cosine in self.near_passage[index]:
                if cosine > 0.9:
                    continue
                for part in sentences(self.pairs[position].premise):
                    if part not in pair.premise and len(words & content(part)) <= 0.5 * len(words):
                        spare.append(part)
            if not spare:
                continue
            before = rng.sample(spare, min(len(spare), rng.choice([0, 1, 1, 2])))
            behind = rng.sample(spare, min(len(spare), rng.choice([0, 0, 1, 1, 2])))
            text = " ".join([*before, pair.premise, *[part for part in behind if part not in before]])
            if len(text.split()) <= 150 and text != pair.premise:
                made.append(pair.but(source="around", premise=text))
        return made

    def names_near(self, index: int, rng: random.Random) -> list[str]:
        """Names of passages near the pair's own."""
        near = rng.sample(range(len(self.pairs)), 3)
        near += [position for position, cosine in self.near_passage[index][1:8] if cosine < 0.95]
        return [name for position in near for name in NAME.findall(self.pairs[position].premise)]


def window(pair: Pair, most_words: int) -> Pair:
    """A long passage cut to the sentences nearest to the claim by shared words, in their order."""
    if len(pair.premise.split()) <= most_words:
        return pair
    words = content(pair.hypothesis)
    parts = sentences(pair.premise)
    ranked = sorted(range(len(parts)), key=lambda i: -len(words & content(parts[i])))
    chosen: list[int] = []
    length = 0
    for position in ranked:
        length += len(parts[position].split())
        if length > most_words and chosen:
            break
        chosen.append(position)
    return pair.but(premise=" ".join(parts[position] for position in sorted(chosen)))
