"""Sentence embeddings for building data: mean of the last layer, unit length."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from transformers import AutoModel, AutoTokenizer

from .model import quick


def embedder(folder: Path, batch: int = 64, longest: int = 64) -> Callable[[list[str]], np.ndarray]:
    """A function from texts to unit rows, float32 [texts, dimension]."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder).eval()

    @torch.inference_mode()
    def embed(texts: list[str]) -> np.ndarray:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        rows = np.zeros((len(texts), model.config.hidden_size), dtype=np.float32)
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            inputs = tokenizer([texts[i] for i in chosen], padding=True, truncation=True, max_length=longest, return_tensors="pt")
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=quick() == torch.bfloat16):
                hidden = model(**inputs).last_hidden_state.float()
            mask = inputs["attention_mask"].unsqueeze(-1).float()
            mean = (hidden * mask).sum(1) / mask.sum(1)
            rows[chosen] = torch.nn.functional.normalize(mean, dim=1).numpy()
        return rows

    return embed
