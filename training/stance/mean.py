"""The mean of models of one shape, weight by weight: what was learnt since is kept, and less of what was known is lost
(Wortsman and others, 2022).

The first may have word pieces more than the others: those stay as they are there.

    python -m stance.mean --models FOLDER FOLDER [--shares 1 2] --out FOLDER
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch

from .heads import classifier
from .model import tokenizer_of


@torch.no_grad()
def mean(folders: list[Path], shares: list[float]) -> torch.nn.Module:
    """The first model with the weighted mean of all their weights; what is no float is the first one's."""
    first, *others = [classifier(folder) for folder in folders]
    states = [model.state_dict() for model in others]
    for name, value in first.state_dict().items():
        if value.is_floating_point():
            rows = min([len(state[name]) for state in states], default=0) if value.dim() else None
            common = value[:rows] if rows is not None else value
            common.mul_(shares[0] / sum(shares))
            for state, share in zip(states, shares[1:], strict=True):
                theirs = state[name]
                common.add_(theirs[:rows] if rows is not None else theirs, alpha=share / sum(shares))
    return first


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=Path, nargs="+", required=True, help="folders that stance.train or stance.unpack wrote")
    parser.add_argument("--shares", type=float, nargs="+", help="how much each counts; left out, all alike")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    shares = arguments.shares or [1.0] * len(arguments.models)
    if len(shares) != len(arguments.models) or sum(shares) <= 0:
        parser.error("--shares wants one number a model, not all zero")
    mean(arguments.models, shares).save_pretrained(arguments.out)
    tokenizer_of(arguments.models[0]).save_pretrained(arguments.out)


if __name__ == "__main__":
    main()
