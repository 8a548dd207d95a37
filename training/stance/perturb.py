"""Claims changed at random, and passages cut: what they say of each other is left to the teacher.

A change by rule gives a sure label and always looks alike. Here a claim loses its end, takes over the end of another claim, is
changed twice, or stands beside a part of its passage; nobody knows the label beforehand.
"""

from __future__ import annotations

import random
import re

from .neighbours import Neighbourhood, sentences
from .records import UNKNOWN, Pair
from .swaps import AUXILIARY, OPPOSITE, NAME, NUMBER, denied, other_number

#: Words at which a claim can be parted without breaking its grammar too often.
SEAM = re.compile(r" (?=(?:in|on|at|by|with|for|after|before|during|because|while|where|when|who|which|that|and|but|from|to)\b)")


#: Cosine from which a passage is of a claim's subject.
CROSSED_FROM = 0.25


def parted(text: str) -> list[str]:
    """The text up to each seam behind its third word, without its last sign."""
    bare = text.rstrip(" .!?")
    return [bare[: seam.start()] for seam in SEAM.finditer(bare) if len(bare[: seam.start()].split()) >= 4]


def ended(text: str, like: str) -> str:
    return text + "." if like.rstrip().endswith(".") else text


def shortened(claim: str, rng: random.Random) -> str | None:
    heads = parted(claim)
    return ended(rng.choice(heads), claim) if heads else None


def grafted(claim: str, other: str, rng: random.Random) -> str | None:
    """The beginning of one claim with the end of another."""
    heads = parted(claim)
    bare = other.rstrip(" .!?")
    tails = [bare[seam.start() :] for seam in SEAM.finditer(bare)]
    return ended(rng.choice(heads) + rng.choice(tails), claim) if heads and tails else None


def changed(claim: str, names: list[str], rng: random.Random) -> str | None:
    """One number, name, direction or denial changed."""
    ways = []
    numbers = list(NUMBER.finditer(claim))
    if numbers:
        at = rng.choice(numbers)
        ways.append(claim[: at.start()] + other_number(at.group(), rng) + claim[at.end() :])
    own = list(NAME.finditer(claim))
    others = [name for name in names if name not in claim]
    if own and others:
        at = rng.choice(own)
        ways.append(claim[: at.start()] + rng.choice(others) + claim[at.end() :])
    turned = [word for word in re.findall(r"[a-z]+", claim) if word in OPPOSITE]
    if turned:
        word = rng.choice(turned)
        ways.append(re.sub(rf"\b{word}\b", OPPOSITE[word], claim, count=1))
    if AUXILIARY.search(claim) and (denial := denied(claim)):
        ways.append(denial)
    return rng.choice(ways) if ways else None


def cut(passage: str, rng: random.Random) -> str | None:
    """One to three sentences of a passage that has more, in their order."""
    parts = sentences(passage)
    if len(parts) < 2:
        return None
    start = rng.randrange(len(parts))
    kept = parts[start : start + rng.randint(1, min(3, len(parts) - 1))]
    return " ".join(kept)


def perturbed(near: Neighbourhood, count: int, rng: random.Random) -> list[Pair]:
    """`count` pairs of changed claims and passages, fewer where there are not so many claims."""
    made: list[Pair] = []
    for index in rng.sample(range(len(near.pairs)), len(near.pairs)):
        pair = near.pairs[index]
        others = [near.pairs[place] for place, _ in near.near_claim[index][:12]]
        other = rng.choice(others).hypothesis if others else pair.hypothesis
        names = near.names_near(index, rng)
        claim = pair.hypothesis
        once = changed(claim, names, rng)
        claims = [shortened(claim, rng), grafted(claim, other, rng), once, changed(once, names, rng) if once else None]
        for text in rng.sample(claims, 2):
            passage = (rng.random() < 0.3 and cut(pair.premise, rng)) or pair.premise
            if text and text != claim:
                made.append(pair.but(source="perturbed", id=f"{pair.source}/{pair.id}", premise=passage, hypothesis=text, label=UNKNOWN))
        if other != claim and rng.random() < 0.5:
            made.append(pair.but(source="perturbed", id=f"{pair.source}/{pair.id}", hypothesis=other, label=UNKNOWN))
        if len(made) >= count:
            break
    return made


def crossed(near: Neighbourhood, per_claim: int, rng: random.Random) -> list[Pair]:
    """Every claim with `per_claim` passages of its subject, and three changes of it with a third as many each."""
    made: list[Pair] = []
    first = {pair.hypothesis: index for index, pair in reversed(list(enumerate(near.pairs)))}
    for claim, index in first.items():
        pair = near.pairs[index]
        places = [place for place, cosine in near.near_claim[index] if cosine >= CROSSED_FROM]
        for turn in range(4):
            text = changed(claim, near.names_near(index, rng), rng) if turn else claim
            if text is None:
                break
            for place in rng.sample(places, min(max(per_claim // 3, 2) if turn else per_claim, len(places))):
                other = near.pairs[place].premise
                if not turn and other == pair.premise:
                    continue  # labelled by people
                made.append(pair.but(source="open", id=f"{pair.source}/{pair.id}", premise=other, hypothesis=text, label=UNKNOWN))
    return made
