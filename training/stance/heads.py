"""An MPNet encoder whose layers keep only some of their attention heads, and how any stance model is loaded."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForSequenceClassification, MPNetForSequenceClassification, PreTrainedModel
from transformers.models.mpnet.modeling_mpnet import MPNetSelfAttention


class FewHeads(MPNetSelfAttention):
    """Self-attention with the heads named in `heads`; the others' share of what the layers have in common is passed over."""

    def __init__(self, config, heads: list[int]) -> None:
        super().__init__(config)
        self.all_head_size = len(heads) * self.attention_head_size
        self.q, self.k, self.v = (nn.Linear(config.hidden_size, self.all_head_size) for _ in range(3))
        self.o = nn.Linear(self.all_head_size, config.hidden_size)
        self.heads = heads

    def forward(self, hidden_states, attention_mask=None, position_bias=None, output_attentions=False, **kwargs):
        """As the whole layer's; `position_bias` is [1, all heads, queries, keys]."""
        if position_bias is not None:
            position_bias = position_bias[:, self.heads]
        return super().forward(hidden_states, attention_mask, position_bias, output_attentions, **kwargs)


class FewHeadsClassifier(MPNetForSequenceClassification):
    """`config.kept_heads` holds the heads of each layer."""

    def __init__(self, config) -> None:
        super().__init__(config)
        for layer, heads in zip(self.mpnet.encoder.layer, config.kept_heads, strict=True):
            layer.attention.attn = FewHeads(config, heads)


def keep_heads(layer: nn.Module, scores: torch.Tensor, count: int, config) -> list[int]:
    """Keep the `count` heads of a layer with the highest scores, [heads]; gives their numbers."""
    heads = scores.topk(count).indices.sort().values.tolist()
    whole = layer.attention.attn
    kept = FewHeads(config, heads)
    size = whole.attention_head_size
    values = torch.cat([torch.arange(head * size, (head + 1) * size) for head in heads])
    for name in ("q", "k", "v"):
        getattr(kept, name).weight.data = getattr(whole, name).weight.data[values].clone()
        getattr(kept, name).bias.data = getattr(whole, name).bias.data[values].clone()
    kept.o.weight.data = whole.o.weight.data[:, values].clone()
    kept.o.bias.data = whole.o.bias.data
    layer.attention.attn = kept
    return heads


def classifier(folder: Path, **changes) -> PreTrainedModel:
    """The classifier in `folder`, with the configuration's `changes`."""
    loading = {name: changes.pop(name) for name in ("dtype", "attn_implementation") if name in changes}
    config = AutoConfig.from_pretrained(folder, local_files_only=True, **changes)
    kind = FewHeadsClassifier if getattr(config, "kept_heads", None) else AutoModelForSequenceClassification
    return kind.from_pretrained(folder, config=config, local_files_only=True, **loading)
