"""Encoders of four architectures with small random weights."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from tokenizers import Tokenizer
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DebertaV2Config,
    DebertaV2ForSequenceClassification,
    ModernBertConfig,
    ModernBertForSequenceClassification,
    PreTrainedConfig,
    PreTrainedModel,
    XLMRobertaConfig,
    XLMRobertaForSequenceClassification,
)

from . import tokenizers

HIDDEN = 32
HEADS = 4
INTERMEDIATE = 64
MAX_LENGTH = 512
LABELS = 3
# Matrices keep the size of what goes through them at a gain of one; a little more makes attention choose.
GAIN = 1.3


@dataclass(frozen=True)
class Architecture:
    """How a small encoder of one kind is made."""

    name: str
    seed: int
    tokenizer: Callable[[], Tokenizer]
    config: Callable[[Tokenizer], PreTrainedConfig]
    classifier: type[PreTrainedModel]
    pooling: str
    # Of the last matrix, chosen so that the logits of different inputs lie about one apart.
    head_gain: float


def common(tokenizer: Tokenizer) -> dict[str, object]:
    """What all four share."""
    return {
        "vocab_size": tokenizer.get_vocab_size(),
        "hidden_size": HIDDEN,
        "num_attention_heads": HEADS,
        "intermediate_size": INTERMEDIATE,
        "num_labels": LABELS,
        "pad_token_id": tokenizer.token_to_id(tokenizers.pad_token(tokenizer)),
        "attn_implementation": "eager",
    }


def bert_config(tokenizer: Tokenizer) -> PreTrainedConfig:
    """Absolute positions, two segments."""
    return BertConfig(num_hidden_layers=3, max_position_embeddings=MAX_LENGTH, **common(tokenizer))


def xlm_roberta_config(tokenizer: Tokenizer) -> PreTrainedConfig:
    """Positions counted from behind the padding's id, one segment."""
    return XLMRobertaConfig(
        num_hidden_layers=3,
        max_position_embeddings=MAX_LENGTH + 2,
        type_vocab_size=1,
        layer_norm_eps=1e-5,
        **common(tokenizer),
    )


def deberta_v3_config(tokenizer: Tokenizer) -> PreTrainedConfig:
    """The settings of DeBERTa-v3 and mDeBERTa-v3: disentangled attention with logarithmic position buckets."""
    return DebertaV2Config(
        num_hidden_layers=3,
        max_position_embeddings=MAX_LENGTH,
        type_vocab_size=0,
        relative_attention=True,
        position_buckets=256,
        norm_rel_ebd="layer_norm",
        share_att_key=True,
        pos_att_type="p2c|c2p",
        position_biased_input=False,
        max_relative_positions=-1,
        pooler_hidden_size=HIDDEN,
        **common(tokenizer),
    )


def modernbert_config(tokenizer: Tokenizer) -> PreTrainedConfig:
    """Rotary positions; the first and the last layer see the whole text, the other 64 tokens to either side."""
    return ModernBertConfig(
        num_hidden_layers=3,
        max_position_embeddings=MAX_LENGTH,
        global_attn_every_n_layers=2,
        local_attention=128,
        bos_token_id=tokenizer.token_to_id("[CLS]"),
        cls_token_id=tokenizer.token_to_id("[CLS]"),
        eos_token_id=tokenizer.token_to_id("[SEP]"),
        sep_token_id=tokenizer.token_to_id("[SEP]"),
        classifier_pooling="cls",
        **common(tokenizer),
    )


ARCHITECTURES = [
    Architecture("bert", 11, tokenizers.bert, bert_config, BertForSequenceClassification, "mean", 6.0),
    Architecture(
        "xlm-roberta", 12, tokenizers.xlm_roberta, xlm_roberta_config, XLMRobertaForSequenceClassification, "mean", 8.0
    ),
    Architecture(
        "deberta-v3", 13, tokenizers.deberta_v3, deberta_v3_config, DebertaV2ForSequenceClassification, "mean", 3.0
    ),
    Architecture(
        "modernbert", 14, tokenizers.modernbert, modernbert_config, ModernBertForSequenceClassification, "cls", 2.0
    ),
]


def classifier(architecture: Architecture, tokenizer: Tokenizer) -> PreTrainedModel:
    """The encoder with its classification head, weights drawn anew from the architecture's seed."""
    model = architecture.classifier(architecture.config(tokenizer)).eval()
    generator = torch.Generator().manual_seed(architecture.seed)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(draw(name, parameter, architecture.head_gain, generator))
    return model


def draw(name: str, parameter: torch.Tensor, head_gain: float, generator: torch.Generator) -> torch.Tensor:
    """Random values of a size that suits the parameter's place."""
    values = torch.randn(parameter.shape, generator=generator)
    if "embedding" in name and parameter.ndim == 2:
        return values
    if parameter.ndim == 2:
        gain = head_gain if name.startswith(("classifier.weight", "classifier.out_proj.weight")) else GAIN
        return values * gain / parameter.shape[1] ** 0.5
    centre = 1.0 if "norm" in name.lower() and name.endswith("weight") else 0.0
    return centre + values * 0.1


def encoder(model: PreTrainedModel) -> PreTrainedModel:
    """The encoder of a classifier, without the head."""
    return model.base_model
