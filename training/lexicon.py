"""Which word, or word piece, of one language stands for which of another: IBM's first model on parallel text (Brown and
others, 1993), by expectation and maximisation, without word order."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix

#: Sentences longer than this are left out: the number of cells grows with the square.
LONGEST = 70


def lexicon(
    sources: list[list[int]], targets: list[list[int]], source_size: int, target_size: int, rounds: int = 5
) -> csr_matrix:
    """The probability of each target for a source, [source_size, target_size]; what is left to none is missing in a row's sum.

    Source 0 stands for no word and is part of every sentence; it must be no number of `sources`.
    """
    cells, sentence_targets = [], []
    offset = 0
    for source, target in zip(sources, targets, strict=True):
        if not source or not target or len(source) > LONGEST or len(target) > LONGEST:
            continue
        with_none = np.array([0, *source], dtype=np.int64)
        aimed = np.array(target, dtype=np.int64)
        cells.append((with_none[:, None] * target_size + aimed[None, :]).ravel())
        sentence_targets.append(np.tile(np.arange(offset, offset + len(aimed), dtype=np.int32), len(with_none)))
        offset += len(aimed)
    keys, where = np.unique(np.concatenate(cells), return_inverse=True)
    where = where.astype(np.int32)
    position = np.concatenate(sentence_targets)
    source_of = (keys // target_size).astype(np.int64)
    chance = np.ones(len(keys), dtype=np.float64)
    for _ in range(rounds):
        given = chance[where]
        total = np.bincount(position, weights=given, minlength=offset)
        counts = np.bincount(where, weights=given / total[position], minlength=len(keys))
        per_source = np.bincount(source_of, weights=counts, minlength=source_size)
        chance = counts / np.maximum(per_source[source_of], 1e-12)
    kept = chance > 0.01
    return csr_matrix((chance[kept], (source_of[kept], keys[kept] % target_size)), shape=(source_size, target_size))
