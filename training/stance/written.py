"""The pairs written for this project (`training/written`), and what is needed to train a model on with them.

    python -m stance.written --written written --sets SETS_FOLDER            # is any of them too near a set that is measured?
    python -m stance.written --written written --build BUILD_FOLDER --out BUILD_FOLDER [--old 1.0]
    python -m stance.written --written written --model MODEL_FOLDER --files climate8 climate9   # how many it reads rightly

A file holds one subject matter, a line one passage with claims (`p`) or one claim with passages (`h`), under `e`, `n` and `c` what
the passage entails, leaves open, contradicts. Every tenth line is kept out of training. The second command writes a build of
these pairs and as many old ones (`--old` times as many), drawn from the student's of BUILD_FOLDER. The third has a model answer all
pairs of some files, those held out too. `--files` names the files that count in each.
"""

from __future__ import annotations

import argparse
import json
import random
from pathlib import Path

from folder import read_manifest

from .neighbours import content
from .records import CONTRADICT, ENTAIL, LABELS, NEUTRAL, WRITTEN, Pair, counts, read, shown, write

KEYS = {"e": ENTAIL, "n": NEUTRAL, "c": CONTRADICT}

#: One line of so many is held out.
HELD_OUT = 10

#: Share of the words of two texts that stand in both, from which a person would ask whether one was taken from the other.
TOO_NEAR = 0.6
#: Texts of fewer words share them by chance.
FEWEST_WORDS = 5


def pairs_of(line: str, name: str) -> list[Pair]:
    """The pairs of one line; `name` is the line's."""
    row = json.loads(line)
    found = []
    for key, label in KEYS.items():
        for index, text in enumerate(row.get(key, [])):
            premise, hypothesis = (row["p"], text) if "p" in row else (text, row["h"])
            found.append(Pair(WRITTEN, f"{name}/{key}{index}", premise.strip(), hypothesis.strip(), label))
    return found


def read_written(folder: Path, files: list[str] | None = None) -> tuple[list[Pair], list[Pair]]:
    """The pairs to train on, and those held out: of all files, or of those named (without their ending)."""
    kept: list[Pair] = []
    held: list[Pair] = []
    there = sorted(folder.glob("*.jsonl"))
    missing = set(files or ()) - {path.stem for path in there}
    if missing:
        raise SystemExit(f"not in {folder}: {', '.join(sorted(missing))}")
    for path in there:
        if files and path.stem not in files:
            continue
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
        for number, line in enumerate(lines, 1):
            (held if number % HELD_OUT == 0 else kept).extend(pairs_of(line, f"{path.stem}/{number}"))
    if not kept:
        raise SystemExit(f"no written pairs in {folder}")
    return kept, held


def nearness(ours: set[str], theirs: set[str]) -> float:
    """Words that two texts share, of the words of both, 0 to 1."""
    return len(ours & theirs) / len(ours | theirs)


def too_near(written: list[Pair], sets: Path) -> list[tuple[str, str, str]]:
    """Claims and passages written that stand near one of a measured set: where, theirs, ours."""
    ours = {text: pair.id for pair in written for text in (pair.premise, pair.hypothesis)}
    words = {text: content(text) for text in ours}
    by_word: dict[str, list[str]] = {}
    for text, held in words.items():
        for word in held if len(held) >= FEWEST_WORDS else ():
            by_word.setdefault(word, []).append(text)
    theirs = {row[side] for path in sets.glob("*/pairs.jsonl") for row in map(json.loads, path.open(encoding="utf-8"))
              for side in ("claim", "evidence")}
    if not theirs:
        raise SystemExit(f"no <set>/pairs.jsonl in {sets}")
    found = []
    for text in theirs:
        held = content(text)
        if len(held) < FEWEST_WORDS:
            continue
        shared: dict[str, int] = {}
        for word in held:
            for mine in by_word.get(word, ()):
                shared[mine] = shared.get(mine, 0) + 1
        found += [(ours[mine], text, mine) for mine, count in shared.items()
                  if count >= TOO_NEAR * len(words[mine]) and nearness(words[mine], held) >= TOO_NEAR]
    return found


def onward(written: list[Pair], old: list[Pair], share: float, rng: random.Random) -> list[Pair]:
    """The written pairs and `share` as many old ones with a label, in random order."""
    labelled = [pair for pair in old if pair.label in LABELS and pair.source != WRITTEN]
    chosen = written + rng.sample(labelled, min(len(labelled), round(share * len(written))))
    rng.shuffle(chosen)
    return chosen


def accuracy(model: Path, embedder: Path, pairs: list[Pair]) -> float:
    """Share that a model reads as they are labelled; the daemon's folder with its calibration, a trained one by its logits.

    The cosine of `embedder` counts where the folder was calibrated with that one.
    """
    import tomllib

    import torch

    from .calibrate import Calibration
    from .evaluate import all_logits
    from .nearness import cosines

    manifest = model / "model.toml"
    calibration, near = Calibration(), None
    if manifest.exists():
        stated = tomllib.loads(manifest.read_text(encoding="utf-8"))
        calibration = Calibration(stated["temperature"], stated["bias"])
        beside = stated.get("similarity")
        if beside and beside["embedder"] == read_manifest(embedder)["name"]:
            near = cosines(embedder, pairs)
            calibration = Calibration(beside["temperature"], beside["bias"], beside["weights"])
    truth = torch.tensor([LABELS.index(pair.label) for pair in pairs])
    return (calibration.probabilities(all_logits(model, pairs), near).argmax(1) == truth).float().mean().item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--written", type=Path, required=True)
    parser.add_argument("--files", nargs="+", help="only these files, without their ending")
    parser.add_argument("--model", type=Path, help="how many of the pairs this model reads rightly")
    parser.add_argument("--embedder", type=Path, default=Path(__file__).resolve().parents[2] / "models/minilm-en-ru-uk-int8",
                        help="with --model: the embedder whose cosine it counts (default: the shipped one)")
    parser.add_argument("--sets", type=Path, help="list what stands too near a labelled set")
    parser.add_argument("--build", type=Path, help="folder of the student's pairs that stance.build wrote")
    parser.add_argument("--out", type=Path, help="folder to write the build to")
    parser.add_argument("--old", type=float, default=1.0, help="old pairs for each written one")
    parser.add_argument("--seed", type=int, default=20261121)
    arguments = parser.parse_args()
    if (arguments.build is None) != (arguments.out is None):
        parser.error("--build and --out go together")
    kept, held = read_written(arguments.written, arguments.files)
    print(f"written: {len(kept)} pairs to train on, {len(held)} held out\n{shown(kept)}")
    if arguments.sets:
        near = too_near(kept + held, arguments.sets)
        for name, theirs, ours in near:
            print(f"too near: {name}\n  theirs: {theirs}\n  ours:   {ours}")
        print(f"{len(near)} too near a text of {arguments.sets}")
    if arguments.model:
        print(f"{arguments.model}: {accuracy(arguments.model, arguments.embedder, kept + held):.3f} of {len(kept + held)} pairs")
    if arguments.build and arguments.out:
        pairs = onward(kept, read(arguments.build / "train_0.jsonl"), arguments.old, random.Random(arguments.seed))
        write(arguments.out / "train_0.jsonl", pairs)
        # The build may have been made with these pairs: they are held out once.
        old_held = [pair for pair in read(arguments.build / "held_out.jsonl") if pair.source != WRITTEN]
        write(arguments.out / "held_out.jsonl", held + old_held)
        (arguments.out / "counts.json").write_text(json.dumps(counts(pairs), indent=1))
        print(f"onward: {len(pairs)} pairs (entail, neutral, contradict, not entailed, unknown)\n{shown(pairs)}")


if __name__ == "__main__":
    main()
