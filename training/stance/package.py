"""Turns a trained model into a folder the daemon reads: ONNX, int8, calibrated, measured, with its model card.

    python -m stance.package --model TRAINED --build BUILD_FOLDER --out MODEL_FOLDER [--sets SETS_FOLDER]
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import torch
from export import export
from folder import write_manifest, write_tokenizer
from quantise import quantise

from .calibrate import Calibration, expected_calibration_error, fit, weights_of
from .card import card
from .evaluate import all_logits, evaluate
from .heads import classifier
from .model import LONGEST
from .records import LABELS, read

HERE = Path(__file__).resolve().parent


def write_models(trained: Path, out: Path) -> None:
    """`model.onnx` (int8) and `tokenizer.json` in `out`; the f32 export stays in the trained model's folder, for who wants to compare."""
    out.mkdir(parents=True, exist_ok=True)
    twin = trained / "onnx"
    twin.mkdir(parents=True, exist_ok=True)
    # Attention in plain operators, as the exporter wants it.
    model = classifier(trained, dtype=torch.float32, attn_implementation="eager").eval()
    export(model, "classifier", twin / "model.onnx")
    quantise(twin / "model.onnx", out / "model.onnx", table_bits=4)
    for folder in (twin, out):
        write_tokenizer(trained / "tokenizer.json", folder / "tokenizer.json")
    shutil.copyfile(HERE / "LICENSE", out / "LICENSE")


def calibrated(folder: Path, build: Path) -> tuple[Calibration, dict[str, float]]:
    """Temperature and class priors of the int8 model on the held-out pairs, and what they did to the error there."""
    pairs = [pair for pair in read(build / "held_out.jsonl") if pair.label in LABELS]
    truth = torch.tensor([LABELS.index(pair.label) for pair in pairs])
    logits = all_logits(folder, pairs)
    calibration = fit(logits, truth, weights_of(pairs), priors=True)
    errors = {
        "pairs": len(pairs),
        "before": expected_calibration_error(Calibration().probabilities(logits), truth),
        "after": expected_calibration_error(calibration.probabilities(logits), truth),
        "accuracy": (calibration.probabilities(logits).argmax(1) == truth).float().mean().item(),
    }
    return calibration, errors


def manifest(name: str, calibration: Calibration) -> dict:
    return {
        "name": name,
        "task": "stance",
        "model": "model.onnx",
        "tokenizer": "tokenizer.json",
        "max_length": LONGEST,
        "labels": list(LABELS),
        "temperature": calibration.temperature,
        "bias": calibration.bias,
        "languages": ["en"],
        "licence": "CC-BY-SA-4.0",
        "origin": "trained by this project: training/README.md",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder that stance.train wrote")
    parser.add_argument("--build", type=Path, required=True, help="folder that stance.build wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", type=Path, help="labelled sets to measure on; without them the card has no figures")
    arguments = parser.parse_args()
    write_models(arguments.model, arguments.out)
    calibration, errors = calibrated(arguments.out, arguments.build)
    print(f"{calibration}: {errors}", flush=True)
    write_manifest(arguments.out, manifest(arguments.out.name, calibration))
    measured = {}
    if arguments.sets:
        # The trained model itself stands for its f32 export: in batches it is answered many times faster.
        for precision, folder in (("f32", arguments.model), ("int8", arguments.out)):
            print(precision, flush=True)
            measured[precision] = evaluate(folder, arguments.sets, calibration)
    figures = {"calibration": asdict(calibration), "held_out": errors, "sets": measured}
    (arguments.out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    built = arguments.build / "counts.json"
    counts = json.loads(built.read_text()) if built.exists() else {}
    (arguments.out / "MODEL_CARD.md").write_text(card(arguments.out, counts, figures), encoding="utf-8")


if __name__ == "__main__":
    main()
