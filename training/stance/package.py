"""Turns a trained model into a folder the daemon reads: ONNX, int8, calibrated, measured, with its model card.

    python -m stance.package --model TRAINED --build BUILD_FOLDER --out MODEL_FOLDER [--sets SETS_FOLDER] [--pages PAIRS.jsonl]
        [--embedder MODEL_FOLDER]

It is calibrated twice: alone, and with the cosine of claim and passage by the embedder, which counts where the daemon has that one.
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
from folder import read_manifest, write_manifest, write_tokenizer
from quantise import quantise

from .calibrate import Calibration, calibrate
from .card import card
from .evaluate import all_logits, evaluate
from .heads import classifier
from .model import LONGEST
from .nearness import cosines
from .records import LABELS, Pair

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


def manifest(name: str, alone: Calibration, beside: Calibration, embedder: str) -> dict:
    similarity = {"similarity": {"embedder": embedder, "temperature": beside.temperature, "bias": beside.bias, "weights": beside.weights}}
    return {
        "name": name,
        "task": "stance",
        "model": "model.onnx",
        "tokenizer": "tokenizer.json",
        "max_length": LONGEST,
        "labels": list(LABELS),
        "temperature": alone.temperature,
        "bias": alone.bias,
        "languages": ["en"],
        "licence": "CC-BY-SA-4.0",
        "origin": "trained by this project: training/README.md",
        **similarity,
    }


def cache_of(answer):
    """`answer` that remembers what it said of the same pairs."""
    known: dict[tuple[tuple[str, str], ...], torch.Tensor] = {}

    def ask(pairs: list[Pair]) -> torch.Tensor:
        key = tuple((pair.source, pair.id) for pair in pairs)
        if key not in known:
            known[key] = answer(pairs)
        return known[key]

    return ask


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder that stance.train wrote")
    parser.add_argument("--build", type=Path, required=True, help="folder that stance.build wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--sets", type=Path, help="labelled sets to measure on; without them the card has no figures")
    parser.add_argument("--pages", type=Path, help="claims with web pages that no training used, for the temperature")
    parser.add_argument("--counts", type=Path, help="counts.json of the first training's build, where --build is of a later one")
    parser.add_argument("--embedder", type=Path, default=HERE.parents[1] / "models/minilm-en-ru-uk-int8",
                        help="the embedder whose cosine counts beside the model (default: the shipped one)")
    arguments = parser.parse_args()
    embedder_name = read_manifest(arguments.embedder)["name"]
    write_models(arguments.model, arguments.out)
    # The same pairs are asked for once more with the cosines.
    answer = cache_of(partial(all_logits, arguments.out))
    alone, errors_alone = calibrate(answer, arguments.build, arguments.pages)
    beside, errors = calibrate(answer, arguments.build, arguments.pages, nearness=partial(cosines, arguments.embedder))
    print(f"alone {alone}: {errors_alone}\nbeside {beside}: {errors}", flush=True)
    write_manifest(arguments.out, manifest(arguments.out.name, alone, beside, embedder_name))
    calibrations = {"beside": beside, "alone": alone}
    measured = {}
    if arguments.sets:
        # The trained model itself stands for its f32 export: in batches it is answered many times faster.
        for precision, folder in (("f32", arguments.model), ("int8", arguments.out)):
            print(precision, flush=True)
            measured[precision] = evaluate(folder, arguments.sets, calibrations, arguments.embedder)
    figures = {"embedder": embedder_name, "calibration": {kind: asdict(one) for kind, one in calibrations.items()},
               "held_out": {"beside": errors, "alone": errors_alone}, "sets": measured}
    (arguments.out / "figures.json").write_text(json.dumps(figures, indent=1) + "\n")
    built = arguments.counts or arguments.build / "counts.json"
    counts = json.loads(built.read_text()) if built.exists() else {}
    (arguments.out / "MODEL_CARD.md").write_text(card(arguments.out, counts, figures), encoding="utf-8")


if __name__ == "__main__":
    main()
