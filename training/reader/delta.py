"""Stores a trained classifier as its difference from the base in int8, and restores it.

    python -m reader.delta --base FOLDER --model FOLDER --delta FILE      # writes FILE
    python -m reader.delta --base FOLDER --delta FILE --out FOLDER        # restores the classifier

A training that takes several sessions commits FILE between them: about 16 MB instead of 150. Matrices have one scale a row; vectors stay
float32. Weights that training froze are equal to the base's and are left out. The classifier's own layers, which the base lacks, are stored
as differences from zero. Restoring loses less than a hundredth of each row's largest change.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file

from .model import classifier, tokenizer_of

#: Layers that the base does not define: their random start values differ from run to run.
OWN = ("bert.pooler", "classifier")


def start_of(base: dict[str, torch.Tensor], name: str) -> torch.Tensor:
    return torch.zeros_like(base[name]) if name.startswith(OWN) else base[name]


def difference(base: dict[str, torch.Tensor], trained: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Tensors of the file: NAME (float32), or NAME and NAME.scale (int8 rows)."""
    stored: dict[str, torch.Tensor] = {}
    for name, weight in trained.items():
        change = weight.float() - start_of(base, name).float()
        if not change.any():
            continue
        if change.ndim < 2:
            stored[name] = change
            continue
        scale = change.abs().amax(dim=1, keepdim=True).clamp_min(1e-12) / 127
        stored[name] = (change / scale).round().to(torch.int8)
        stored[f"{name}.scale"] = scale
    return stored


def restored(base: dict[str, torch.Tensor], stored: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    weights = {name: start_of(base, name).float().clone() for name in base}
    for name, change in stored.items():
        if name.endswith(".scale"):
            continue
        scale = stored.get(f"{name}.scale")
        weights[name] += change if scale is None else change.float() * scale
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--base", type=Path, required=True, help="folder that reader.base wrote")
    parser.add_argument("--delta", type=Path, required=True)
    parser.add_argument("--model", type=Path, help="folder that reader.train wrote: store its difference")
    parser.add_argument("--out", type=Path, help="folder to restore the classifier to")
    arguments = parser.parse_args()
    model = classifier(arguments.base)
    base = model.state_dict()
    if arguments.model:
        arguments.delta.parent.mkdir(parents=True, exist_ok=True)
        save_file(difference(base, classifier(arguments.model).state_dict()), arguments.delta)
        print(f"{arguments.delta}: {arguments.delta.stat().st_size / 1e6:.1f} MB")
    if arguments.out:
        model.load_state_dict(restored(base, load_file(arguments.delta)))
        model.save_pretrained(arguments.out)
        tokenizer_of(arguments.base).save_pretrained(arguments.out)


if __name__ == "__main__":
    main()
