"""How near a claim stands to a passage: the cosine of their vectors by an embedder in a folder as the daemon reads it.

The daemon asks it only about the languages that its manifest names, and has no vector of a text without a letter; here every text
has one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from folder import read_manifest

from .records import Pair


def vectors(folder: Path, texts: list[str], threads: int = 2) -> np.ndarray:
    """Unit rows, float32 [texts, dimension], by ONNX Runtime; one text at a time, since nothing may hang on its neighbours."""
    import onnxruntime
    from tokenizers import Tokenizer

    stated = read_manifest(folder)
    if (stated["task"], stated.get("pooling")) != ("embedding", "mean"):
        raise SystemExit(f"{folder} is not an embedder that takes the mean of its words")
    if stated.get("query_prefix"):
        raise SystemExit(f"{folder} wants a prefix before its texts, which is not written here")
    tokenizer = Tokenizer.from_file(str(folder / stated["tokenizer"]))
    tokenizer.enable_truncation(stated["max_length"])
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(folder / stated["model"], options, providers=["CPUExecutionProvider"])
    wanted = [given.name for given in session.get_inputs()]
    rows = np.zeros((len(texts), stated["dimension"]), dtype=np.float32)
    for index, text in enumerate(texts):
        encoded = tokenizer.encode(text)
        given = {"input_ids": encoded.ids, "token_type_ids": encoded.type_ids, "attention_mask": encoded.attention_mask}
        hidden = session.run(None, {name: np.array([given[name]], dtype=np.int64) for name in wanted})[0][0]
        mean = hidden.mean(0) if hidden.ndim == 2 else hidden
        rows[index] = mean / max(float(np.linalg.norm(mean)), 1e-12)
    return rows


def cosines(folder: Path, pairs: list[Pair]) -> torch.Tensor:
    """The cosine of each pair's two texts, float32 [pairs], -1 to 1."""
    texts = list(dict.fromkeys(text for pair in pairs for text in (pair.premise, pair.hypothesis)))
    row = {text: index for index, text in enumerate(texts)}
    made = vectors(folder, texts)
    return torch.tensor([float(made[row[pair.premise]] @ made[row[pair.hypothesis]]) for pair in pairs])
