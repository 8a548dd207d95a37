"""Measures a reader on labelled sets that it was never trained on, and on what was held out.

    python -m reader.measure --data DATA --model FOLDER [--embedder FOLDER] [--json OUT]
    python -m reader.measure --data DATA --translations --embedder FOLDER

FOLDER is one that the daemon reads, measured with its calibration, or one that reader.train wrote, measured by its logits. With
--embedder the cosine of its manifest counts. The daemon's rules do not: `cargo bench --bench stance` measures both together. With
--translations it tells how often an embedder finds a sentence's translation among a thousand.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

import numpy as np
from export import read_manifest
from parallel import Translation, read_held

from .calibrate import Calibration, group
from .sets import PLAIN, PUBLIC, cosines, figures, model_of, read_set, vectors
from .sources import HERE, Curriculum, Pair


def calibration_of(folder: Path, embedder: Path | None) -> Calibration:
    """As its manifest says; none where there is no manifest."""
    if not (folder / "model.toml").exists():
        return Calibration(1.0, [0.0, 0.0, 0.0])
    stated = read_manifest(folder)
    if embedder:
        beside = stated["similarity"]
        return Calibration(beside["temperature"], beside["bias"], beside["weights"])
    return Calibration(stated["temperature"], stated["bias"])


def measured_sets(data: Path, written: Path, most: int) -> dict[str, list[Pair]]:
    """Pairs by the name that figures are told under."""
    sets = {name.split("/")[0]: read_set(data, name) for name in PUBLIC}
    sets |= {name: read_set(data, name) for name in PLAIN}
    for pair in Curriculum(data, written).held_out(most):
        if pair.source.startswith(("written/", "templates/")):
            sets.setdefault(group(pair), []).append(pair)
    return {name: pairs[:: max(1, len(pairs) // most)] for name, pairs in sets.items() if pairs}


def translations_found(data: Path, embedder: Path, count: int = 1000) -> dict[str, float]:
    """Of sentences kept from every training, the share whose nearest text among all translations is their own, by languages."""
    by_languages: dict[str, list[Translation]] = {}
    for row in read_held(data):
        by_languages.setdefault("-".join(row.languages), []).append(row)
    found = {}
    for languages, rows in by_languages.items():
        rows = random.Random(7).sample(rows, min(count, len(rows)))
        first, second = vectors(embedder, [row.first for row in rows]), vectors(embedder, [row.second for row in rows])
        found[languages] = float((np.argmax(first @ second.T, axis=1) == np.arange(len(rows))).mean())
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--written", type=Path, default=HERE / "written")
    parser.add_argument("--model", type=Path)
    parser.add_argument("--translations", action="store_true", help="measure the embedder alone")
    parser.add_argument("--embedder", type=Path)
    parser.add_argument("--most", type=int, default=100_000, help="pairs of a set, evenly taken (default: all)")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    if arguments.translations:
        print(json.dumps(translations_found(arguments.data, arguments.embedder)))
        return
    if arguments.model is None:
        parser.error("--model or --translations is needed")
    calibration = calibration_of(arguments.model, arguments.embedder)
    model, told = model_of(arguments.model), {}
    for name, pairs in measured_sets(arguments.data, arguments.written, arguments.most).items():
        near = cosines(arguments.embedder, pairs) if arguments.embedder else None
        told[name] = figures(pairs, calibration.probabilities(model.logits(pairs), near))
        print(f"{name:22}" + "  ".join(f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value:5}" for key, value in told[name].items()), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
