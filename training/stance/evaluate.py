"""Measures a stance model on labelled sets it was never trained on.

    python -m stance.evaluate --model FOLDER --sets SETS_FOLDER [--calibration FILE [--embedder FOLDER]] [--json OUT]

FOLDER holds either a Hugging Face model or `model.onnx` with `model.toml`. SETS_FOLDER holds `<set>/pairs.jsonl` with claim,
evidence and label. Sets with two of the three labels are scored over those two, the model still choosing among three.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
import torch

from .calibrate import Calibration, expected_calibration_error
from .heads import classifier
from .model import encode, logits_of, tokenizer_of
from .nearness import cosines
from .records import ENTAIL, LABELS, NOT_ENTAIL, Pair
from .train import macro_f1

SETS = ("healthver", "scifact_rte", "fm2", "climate_fever", "terra_ru")


def read_set(path: Path) -> list[Pair]:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return [Pair(path.parent.name, str(row["id"]), row["evidence"], row["claim"], row["label"]) for row in rows]


def onnx_logits(folder: Path, rows: list[dict[str, list[int]]], threads: int = 2) -> torch.Tensor:
    """Logits of an exported model by ONNX Runtime, one pair at a time as the daemon's answer must not depend on a batch."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    wanted = [given.name for given in session.get_inputs()]
    out = np.zeros((len(rows), len(LABELS)), dtype=np.float32)
    for index, row in enumerate(rows):
        given = {"input_ids": row["input_ids"], "token_type_ids": row["token_type_ids"], "attention_mask": [1] * len(row["input_ids"])}
        out[index] = session.run(None, {name: np.array([given[name]], dtype=np.int64) for name in wanted})[0][0]
    return torch.from_numpy(out)


def all_logits(folder: Path, pairs: list[Pair]) -> torch.Tensor:
    if (folder / "model.onnx").exists():
        from transformers import PreTrainedTokenizerFast

        names = ["input_ids", "token_type_ids", "attention_mask"]
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), model_input_names=names)
        return onnx_logits(folder, encode(tokenizer, pairs))
    model = classifier(folder)
    return logits_of(model, encode(tokenizer_of(folder), pairs))


def figures(pairs: list[Pair], probabilities: torch.Tensor) -> dict[str, float]:
    """Macro-F1 over the labels that occur, each label's F1, accuracy, ECE; two-way sets: entailed or not."""
    present = {pair.label for pair in pairs}
    said = probabilities.argmax(1).tolist()
    if NOT_ENTAIL in present:
        right = [(LABELS[s] == ENTAIL) == (pair.label == ENTAIL) for s, pair in zip(said, pairs, strict=True)]
        return {"pairs": len(pairs), "accuracy": float(np.mean(right))}
    truth = [LABELS.index(pair.label) for pair in pairs]
    found = {"pairs": len(pairs)}
    labels = [index for index, label in enumerate(LABELS) if label in present]
    for index in labels:
        found[f"f1_{LABELS[index]}"] = macro_f1(truth, said, range(index, index + 1))
    found["macro_f1"] = float(np.mean([found[f"f1_{LABELS[index]}"] for index in labels]))
    found["accuracy"] = float(np.mean([t == s for t, s in zip(truth, said, strict=True)]))
    found["ece"] = expected_calibration_error(probabilities, torch.tensor(truth))
    return found


def evaluate(folder: Path, sets: Path, calibrations: dict[str, Calibration], embedder: Path | None) -> dict[str, dict[str, dict[str, float]]]:
    """Figures by calibration and set, and of each set's claims with a number. `embedder` gives the cosines where one wants them."""
    result: dict[str, dict[str, dict[str, float]]] = {name: {} for name in calibrations}
    for name in SETS:
        path = sets / name / "pairs.jsonl"
        if not path.exists():
            print(f"{name}: skipped, {path} is not there")
            continue
        pairs = read_set(path)
        logits = all_logits(folder, pairs)
        near = cosines(embedder, pairs) if embedder else None
        chosen = [i for i, pair in enumerate(pairs) if re.search(r"\d", pair.hypothesis)]
        for kind, calibration in calibrations.items():
            probabilities = calibration.probabilities(logits, near)
            found = figures(pairs, probabilities)
            found["numeric"] = figures([pairs[i] for i in chosen], probabilities[chosen])["accuracy"]
            found["numeric_pairs"] = len(chosen)
            result[kind][name] = found
            shown = "  ".join(f"{key} {value:.3f}" if isinstance(value, float) else f"{key} {value}" for key, value in found.items())
            print(f"{name:14}{kind:8}{shown}", flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--sets", type=Path, required=True)
    parser.add_argument("--calibration", type=Path, help="calibration.json of stance.calibrate")
    parser.add_argument("--embedder", type=Path, help="the embedder's folder, where the calibration counts its cosine")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    calibration = Calibration.read(arguments.calibration) if arguments.calibration else Calibration()
    result = evaluate(arguments.model, arguments.sets, {"": calibration}, arguments.embedder)[""]
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
