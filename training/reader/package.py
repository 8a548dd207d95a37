"""Turns a trained reader into the folder that the daemon reads: ONNX, int8, calibrated.

    python -m reader.package --data DATA --model TRAINED --out MODEL_FOLDER [--embedder MODEL_FOLDER]
    python -m reader.package --data DATA --out MODEL_FOLDER [--embedder MODEL_FOLDER]    # calibrates a finished folder again

The manifest's calibration is fitted twice, alone and with the cosine of claim and passage by the embedder, on what was held out and
on WiCE.
"""

from __future__ import annotations

import argparse
import json
import shutil
from dataclasses import asdict
from pathlib import Path

import torch
from export import export, read_manifest, write_manifest, write_tokenizer
from quantise import quantise

from .calibrate import Calibration, fit, log_loss_by_group
from .model import LONGEST, classifier
from .sets import WICE, Int8, cosines, read_set
from .sources import HERE, LABELS, Curriculum


def write_model(trained: Path, out: Path) -> None:
    """`model.onnx` (int8, words in four bits) and `tokenizer.json`."""
    out.mkdir(parents=True, exist_ok=True)
    model = classifier(trained, dtype=torch.float32).eval()
    export(model, "classifier", trained / "model.f32.onnx")
    quantise(trained / "model.f32.onnx", out / "model.onnx", table_bits=4)
    write_tokenizer(trained / "tokenizer.json", out / "tokenizer.json")
    shutil.copyfile(HERE / "reader/LICENSE", out / "LICENSE")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--written", type=Path, default=HERE / "written")
    parser.add_argument("--model", type=Path, help="folder that reader.train wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--embedder", type=Path, default=HERE.parent / "models/multilingual-e5-small-int8")
    parser.add_argument("--most", type=int, default=150, help="held-out pairs of a source (default %(default)s)")
    arguments = parser.parse_args()
    out = arguments.out
    if arguments.model:
        write_model(arguments.model, out)
    pairs = Curriculum(arguments.data, arguments.written).held_out(arguments.most) + read_set(arguments.data, WICE)
    logits, near = Int8(out).logits(pairs), cosines(arguments.embedder, pairs)
    alone, beside = fit(logits, pairs, None), fit(logits, pairs, near)
    plain = Calibration(1.0, [0.0, 0.0, 0.0])
    for name, calibration, given in (("logits", plain, None), ("alone", alone, None), ("beside", beside, near)):
        print(f"{name}: {asdict(calibration)}\n  log-loss {log_loss_by_group(calibration, logits, pairs, given)}", flush=True)
    stated = read_manifest(out) if (out / "model.toml").exists() else {}
    stated.pop("sha256", None)
    manifest = {
        "name": out.name, "task": "stance", "model": "model.onnx", "tokenizer": "tokenizer.json", "max_length": LONGEST,
        "labels": list(LABELS), "temperature": alone.temperature, "bias": alone.bias, "languages": ["en", "ru", "uk", "pt"],
        "licence": "CC-BY-SA-4.0", "origin": "trained by this project: training/README.md",
        **stated,
        "temperature": alone.temperature, "bias": alone.bias, "similarity": {"embedder": read_manifest(arguments.embedder)["name"], **asdict(beside)},
    }
    write_manifest(out, manifest)
    print(json.dumps({"pairs": len(pairs), "manifest": str(out / "model.toml")}))


if __name__ == "__main__":
    main()
