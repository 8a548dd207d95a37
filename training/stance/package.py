"""Turns a trained model into a folder the daemon reads: ONNX, int8, calibrated, measured, with its model card.

    python -m stance.package --model TRAINED --build BUILD_FOLDER --out MODEL_FOLDER [--sets SETS_FOLDER] [--pages PAIRS.jsonl]
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
from export import export
from folder import write_manifest, write_tokenizer
from quantise import quantise

from .calibrate import Calibration, calibrate
from .card import card
from .evaluate import all_logits, evaluate
from .heads import classifier
from .model import LONGEST
from .records import LABELS

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
    parser.add_argument("--pages", type=Path, help="claims with web pages that no training used, for the temperature")
    arguments = parser.parse_args()
    write_models(arguments.model, arguments.out)
    calibration, errors = calibrate(partial(all_logits, arguments.out), arguments.build, arguments.pages)
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
