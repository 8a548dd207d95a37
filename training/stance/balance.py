"""Pairs whose labels are even at every degree of shared words, so that shared words alone say nothing of the label."""

from __future__ import annotations

import random
from collections import defaultdict

from .neighbours import content
from .records import LABELS, NOT_ENTAIL, Pair

BINS = 10

#: Pairs of which only "not entailed" is known, for each label's pairs of their bin.
NOT_ENTAIL_SHARE = 0.5


def shared(pair: Pair) -> float:
    """Share of the claim's words that stand in the passage, 0 to 1."""
    words = content(pair.hypothesis)
    return len(words & content(pair.premise)) / len(words) if words else 0.0


def balanced(pairs: list[Pair], rng: random.Random) -> list[Pair]:
    """As many pairs of each label in every tenth of `shared` as the rarest label there has, in random order."""
    bins: dict[int, dict[str, list[Pair]]] = defaultdict(lambda: defaultdict(list))
    for pair in pairs:
        bins[min(int(shared(pair) * BINS), BINS - 1)][pair.label].append(pair)
    chosen: list[Pair] = []
    for _, by_label in sorted(bins.items()):
        most = min(len(by_label[label]) for label in LABELS)
        for label in LABELS:
            chosen += rng.sample(by_label[label], most)
        chosen += rng.sample(by_label[NOT_ENTAIL], min(len(by_label[NOT_ENTAIL]), int(most * NOT_ENTAIL_SHARE)))
    rng.shuffle(chosen)
    return chosen
