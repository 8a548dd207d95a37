"""Has a trained model answer every built pair, for a smaller one to learn from.

    python -m stance.teach --model MODEL_FOLDER --build BUILD_FOLDER --out ANSWERS_FOLDER

Writes the logits [pairs, 3] of each `train_*.jsonl` to `train_*.pt`. A file that is there already is kept, so that what was
stopped goes on where it was.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import torch

from .heads import classifier
from .model import encode, logits_of, quick, tokenizer_of
from .records import read

PART = 8192


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", type=Path, required=True, help="folder that stance.train wrote")
    parser.add_argument("--build", type=Path, required=True, help="folder that stance.build wrote")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    tokenizer = tokenizer_of(arguments.model)
    model = classifier(arguments.model).to(arguments.device, quick(arguments.device))
    for path in sorted(arguments.build.glob("train_*.jsonl")):
        out = arguments.out / f"{path.stem}.pt"
        if out.exists():
            print(f"{out} is there: kept", flush=True)
            continue
        rows = encode(tokenizer, read(path))
        answers, started = [], time.time()
        for start in range(0, len(rows), PART):
            answers.append(logits_of(model, rows[start : start + PART], arguments.device))
            done, passed = min(start + PART, len(rows)), time.time() - started
            print(f"{path.name}: {done} of {len(rows)}, {passed / done * (len(rows) - done):.0f} s to go", flush=True)
        part = out.with_suffix(".part")
        torch.save(torch.cat(answers), part)
        part.rename(out)


if __name__ == "__main__":
    main()
