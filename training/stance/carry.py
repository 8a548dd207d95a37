"""Carries what the cosine is worth to a stance model from one embedder over to another that stands in its place.

    python -m stance.carry --model MODEL_FOLDER --old EMBEDDER --new EMBEDDER --pairs PAIRS.jsonl [--most 1000]

The new embedder's cosines of the pairs (claim, evidence) are drawn on the old one's by a straight line, and `[similarity]` of the
model's `model.toml` is written anew with it. That is right where the two tell much the same, so the correlation and what is left
are printed; where they do not, fit the calibration afresh (`stance.calibrate --embedder`).
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from folder import read_manifest, write_manifest

from .nearness import cosines
from .records import Pair


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="the stance model's folder, changed in place")
    parser.add_argument("--old", type=Path, required=True, help="the embedder it was calibrated with")
    parser.add_argument("--new", type=Path, required=True, help="the embedder that takes its place")
    parser.add_argument("--pairs", type=Path, required=True, help="lines with claim and evidence, in the model's languages")
    parser.add_argument("--most", type=int, default=1000)
    arguments = parser.parse_args()
    manifest = read_manifest(arguments.model)
    fitted = manifest.get("similarity")
    if not fitted or fitted["embedder"] != read_manifest(arguments.old)["name"]:
        raise SystemExit(f"{arguments.model} was not calibrated with {arguments.old}")
    rows = [json.loads(line) for line in arguments.pairs.read_text(encoding="utf-8").splitlines()]
    step = max(1, len(rows) // arguments.most)
    pairs = [Pair("carry", str(number), row["evidence"], row["claim"], "neutral") for number, row in enumerate(rows[::step])]
    old, new = (cosines(folder, pairs).numpy() for folder in (arguments.old, arguments.new))
    slope, start = np.polyfit(new, old, 1)
    left = old - (start + slope * new)
    print(f"{len(pairs)} pairs: old = {start:.3f} + {slope:.3f} · new, correlation {np.corrcoef(old, new)[0, 1]:.3f}, left {left.std():.3f}")
    weights = fitted["weights"]
    fitted["embedder"] = read_manifest(arguments.new)["name"]
    fitted["bias"] = [round(bias + weight * float(start), 4) for bias, weight in zip(fitted["bias"], weights, strict=True)]
    fitted["weights"] = [round(weight * float(slope), 4) for weight in weights]
    # The checksums are made anew.
    write_manifest(arguments.model, {key: value for key, value in manifest.items() if key != "sha256"})
    print(json.dumps(fitted))


if __name__ == "__main__":
    main()
