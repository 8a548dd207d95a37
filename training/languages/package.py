"""Turns the trained model of three languages into a folder the daemon reads: ONNX, int8, calibrated.

    python -m languages.package --model TRAINED --build BUILD_FOLDER --out MODEL_FOLDER [--embedder MODEL_FOLDER] [--flatter 1.3]

Temperature and priors come from the written pairs kept from training, labels even. These are of the kind that was learnt, and of
other pages a model looks surer than it is: `--flatter` multiplies the temperature for that. Its default is chosen, not measured, as
there are no labelled Russian or Ukrainian web pages to measure it on.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path

import torch

from folder import read_manifest, write_manifest
from stance.calibrate import Calibration, expected_calibration_error, fit
from stance.evaluate import all_logits
from stance.model import LONGEST
from stance.nearness import cosines
from stance.package import write_models
from stance.records import LABELS, read


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder that languages.train wrote")
    parser.add_argument("--build", type=Path, required=True, help="folder that languages.build wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--embedder", type=Path, help="an embedder whose cosine counts beside the model")
    parser.add_argument("--flatter", type=float, default=1.3, help="factor of the temperature (default 1.3, chosen by hand)")
    arguments = parser.parse_args()
    write_models(arguments.model, arguments.out)
    pairs = read(arguments.build / "held_out.jsonl")
    truth = torch.tensor([LABELS.index(pair.label) for pair in pairs])
    logits = all_logits(arguments.out, pairs)
    sizes = Counter((pair.source, pair.label) for pair in pairs)
    weights = torch.tensor([1 / sizes[pair.source, pair.label] for pair in pairs])

    def fitted(near: torch.Tensor | None) -> Calibration:
        found = fit(logits, truth, weights, True, near)
        error = expected_calibration_error(found.probabilities(logits, near), truth)
        said = found.probabilities(logits, near).argmax(1)
        right = {source: round((said == truth)[[pair.source == source for pair in pairs]].float().mean().item(), 3)
                 for source in sorted({pair.source for pair in pairs})}
        print(found, f"error {error:.3f}", right, flush=True)
        return replace(found, temperature=round(found.temperature * arguments.flatter, 4))

    alone = fitted(None)
    table: dict = {
        "name": arguments.out.name, "task": "stance", "model": "model.onnx", "tokenizer": "tokenizer.json", "max_length": LONGEST,
        "labels": list(LABELS), "temperature": alone.temperature, "bias": alone.bias, "languages": ["ru", "uk", "en"],
        "licence": "CC-BY-SA-4.0", "origin": "trained by this project: training/README.md",
    }
    if arguments.embedder:
        beside = fitted(partial(cosines, arguments.embedder)(pairs))
        table["similarity"] = {"embedder": read_manifest(arguments.embedder)["name"], **asdict(beside)}
    write_manifest(arguments.out, table)
    print(json.dumps({key: value for key, value in table.items() if key in ("temperature", "bias", "similarity")}))


if __name__ == "__main__":
    main()
