"""Small tokenizers of the three kinds, laid out as those of the encoders they stand for."""

from __future__ import annotations

import io
import json
import tempfile
from collections import Counter
from pathlib import Path

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from .texts import CORPUS

# Small enough for a fixture, large enough that most words are several tokens and some are one.
VOCABULARY = 600
LONGEST_PIECE = 8
# A few of the rules that the real models' normalisers have: full-width signs, ligatures, ellipsis, hard blank.
NORMALISATION = {"２": "2", "ﬁ": "fi", "…": "...", "\u00a0": " ", "½": "1/2", "³": "3", "e\u0301": "é"}


def bert() -> Tokenizer:
    """WordPiece, lower case, `[CLS] a [SEP] b [SEP]` with the second text as segment 1."""
    normalizer, pre_tokenizer = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    words = Counter(
        word for line in CORPUS for word, _ in pre_tokenizer.pre_tokenize_str(normalizer.normalize_str(line))
    )
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *word_pieces(words)]
    tokenizer = Tokenizer(models.WordPiece({token: index for index, token in enumerate(tokens)}, unk_token="[UNK]"))
    tokenizer.add_special_tokens(tokens[:5])
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, pre_tokenizer
    tokenizer.decoder = decoders.WordPiece()
    frame(tokenizer, "[CLS]", "[SEP]", "[SEP]", second_type=1)
    return tokenizer


def word_pieces(words: Counter[str]) -> list[str]:
    """Every character at a word's start and inside, and the longer pieces that cover most; the same at every run,
    which the library's trainer does not promise."""
    characters, longer = set[str](), Counter[str]()
    for word, count in words.items():
        for start in range(len(word)):
            mark = "##" if start else ""
            characters.add(mark + word[start])
            for end in range(start + 2, min(len(word), start + LONGEST_PIECE) + 1):
                longer[mark + word[start:end]] += count * (end - start - 1)
    ranked = sorted(longer, key=lambda piece: (-longer[piece], piece))
    return sorted(characters) + ranked[: VOCABULARY - len(characters)]


def xlm_roberta() -> Tokenizer:
    """Unigram with sentencepiece's normaliser, `<s> a </s></s> b </s>`."""
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    tokenizer = unigram(special, ["<mask>"])
    tokenizer.normalizer = normalizers.Sequence([precompiled()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace(prepend_scheme="always")]
    )
    frame(tokenizer, "<s>", "</s>", "</s> </s>", second_type=0)
    return tokenizer


def deberta_v3() -> Tokenizer:
    """Unigram with blanks folded, `[CLS] a [SEP] b [SEP]` with the second text as segment 1."""
    tokenizer = unigram(["[PAD]", "[CLS]", "[SEP]", "[UNK]"], ["[MASK]"])
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Strip(), precompiled(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    frame(tokenizer, "[CLS]", "[SEP]", "[SEP]", second_type=1)
    return tokenizer


def modernbert() -> Tokenizer:
    """BPE over bytes, `[CLS] a [SEP] b [SEP]`."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    frame(tokenizer, "[CLS]", "[SEP]", "[SEP]", second_type=0)
    return tokenizer


def frame(tokenizer: Tokenizer, first: str, last: str, between: str, second_type: int) -> None:
    """Put the marks around one text and around two."""
    marks = sorted({first, last})
    middle = " ".join(f"{mark}:0" for mark in between.split(" "))
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{first}:0 $A:0 {last}:0",
        pair=f"{first}:0 $A:0 {middle} $B:{second_type} {last}:{second_type}",
        special_tokens=[(mark, tokenizer.token_to_id(mark)) for mark in marks],
    )


def sentencepiece_model() -> sentencepiece_model_pb2.ModelProto:
    """A Unigram model trained on the corpus, with its compiled normaliser."""
    model = io.BytesIO()
    with tempfile.TemporaryDirectory() as folder:
        rules = Path(folder, "rules.tsv")
        rules.write_text("".join(f"{points(key)}\t{points(value)}\n" for key, value in NORMALISATION.items()))
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(CORPUS * 4),
            model_writer=model,
            model_type="unigram",
            vocab_size=VOCABULARY,
            character_coverage=1.0,
            normalization_rule_tsv=str(rules),
            hard_vocab_limit=False,
            num_threads=1,
            minloglevel=2,
        )
    return sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())


def points(text: str) -> str:
    """Code points in hex, as sentencepiece's rules are written."""
    return " ".join(f"{ord(character):X}" for character in text)


def unigram(special: list[str], behind: list[str]) -> Tokenizer:
    """A Unigram tokenizer with the special tokens first and `behind` at the end of its vocabulary."""
    normal = sentencepiece_model_pb2.ModelProto.SentencePiece.NORMAL
    learnt = [(piece.piece, piece.score) for piece in sentencepiece_model().pieces if piece.type == normal]
    vocabulary = [(token, 0.0) for token in special] + learnt + [(token, 0.0) for token in behind]
    unknown = next(index for index, token in enumerate(special) if "unk" in token.lower())
    tokenizer = Tokenizer(models.Unigram(vocabulary, unknown, False))
    tokenizer.add_special_tokens([*special, *behind])
    tokenizer.decoder = decoders.Metaspace()
    return tokenizer


def precompiled() -> normalizers.Normalizer:
    """Sentencepiece's normaliser, as real Unigram tokenizers carry it."""
    return normalizers.Precompiled(sentencepiece_model().normalizer_spec.precompiled_charsmap)


def pad_token(tokenizer: Tokenizer) -> str:
    """The token that fills a batch."""
    return "[PAD]" if tokenizer.token_to_id("[PAD]") is not None else "<pad>"


def describe(tokenizer: Tokenizer) -> str:
    """`tokenizer.json`, compact and the same at every run."""
    return json.dumps(json.loads(tokenizer.to_str()), ensure_ascii=False, separators=(",", ":")) + "\n"
