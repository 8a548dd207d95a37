#!/usr/bin/env python3
"""Fits the weights of crates/reading/src/barrier.rs, which finds consent requests and offers among pages.

    CORROBORATE_MEASURE_ALL=1 CORROBORATE_BARRIER_FEATURES=/tmp/features.tsv \\
        cargo nextest run -p corroborate-reading features_of_pages
    python3 walls.py /tmp/features.tsv

Input: a header, then one page a line with tab-separated columns kind (consent, offer, article), part (train, test, even,
odd) and the features. Pages of `train` and `test` are those of tests/data/walls.jsonl. `even` and `odd` are pages of
public sets of articles. A logistic regression with an L2 penalty learns from `train` and `even`; the pages of `odd` and
`test` are only counted. An article of the public sets weighs 0.3 of a written page.

Output: the constants, and for several thresholds the pages found in each part. Recall of `train` is that of ten-fold
cross-validation. The threshold is the lowest at which at most 0.3 % of the public pages are called barriers.
"""

import sys
from pathlib import Path

import numpy as np

PENALTY = 1.0
WEIGHT_OF_PUBLIC = 0.3
FOLDS = 10
MAX_PUBLIC = 0.003


def read(path: str) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    header, *lines = Path(path).read_text(encoding="utf-8").splitlines()
    rows = [line.split("\t") for line in lines]
    values = np.array([[float(cell) for cell in row[2:]] for row in rows])
    is_barrier = np.array([row[0] != "article" for row in rows])
    return header.split("\t")[2:], values, is_barrier, np.array([row[1] for row in rows])


def fit(values: np.ndarray, is_barrier: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Bias and weights, by Newton's method."""
    with_bias = np.c_[np.ones(len(values)), values]
    penalties = np.r_[1e-6, np.full(values.shape[1], PENALTY)]
    found = np.zeros(with_bias.shape[1])
    for _ in range(60):
        likely = 1 / (1 + np.exp(-np.clip(with_bias @ found, -30, 30)))
        slope = with_bias.T @ (weights * (likely - is_barrier)) + penalties * np.r_[0, found[1:]]
        curve = (with_bias * (weights * likely * (1 - likely))[:, None]).T @ with_bias + np.diag(penalties)
        found -= np.clip(np.linalg.solve(curve, slope), -3, 3)
    return found


def main() -> None:
    names, values, is_barrier, part = read(sys.argv[1])
    is_learned = (part == "train") | (part == "even")
    spread = values[is_learned].std(0)
    spread[spread == 0] = 1
    scaled = values / spread
    weights = np.where(part == "train", 1.0, WEIGHT_OF_PUBLIC)
    learned = np.flatnonzero(is_learned)

    def sums(of: np.ndarray, rows: np.ndarray) -> np.ndarray:
        return np.c_[np.ones(len(rows)), scaled[rows]] @ of

    whole = fit(scaled[learned], is_barrier[learned], weights[learned])
    found = sums(whole, np.arange(len(values)))
    for fold in range(FOLDS):
        is_out = np.arange(len(learned)) % FOLDS == fold
        kept, out = learned[~is_out], learned[is_out]
        found[out] = sums(fit(scaled[kept], is_barrier[kept], weights[kept]), out)

    print(f"const BIAS: f64 = {whole[0]:.2f};")
    for name, weight in zip(names, whole[1:] / spread):
        print(f"    {weight:.2f}, // {name}")
    is_public = (part == "even") | (part == "odd")
    for limit in sorted(set(found[is_public].round(2)), reverse=True)[:12]:
        above = found > limit
        counts = [f"{name} {(above & mask).sum()} of {mask.sum()}" for name, mask in (
            ("public", is_public), ("odd", part == "odd"),
            ("train", (part == "train") & is_barrier), ("train articles", (part == "train") & ~is_barrier),
            ("test", (part == "test") & is_barrier), ("test articles", (part == "test") & ~is_barrier))]
        mark = "*" if (above & is_public).sum() <= MAX_PUBLIC * is_public.sum() else " "
        print(f"{mark} above {limit:5.2f}: {', '.join(counts)}")


if __name__ == "__main__":
    main()
