"""Word pieces of Russian and Ukrainian, put beside those of the English model.

    python -m languages.vocabulary --data DATA --model work/mpnet-stance-int8 --out FOLDER

The English pieces keep their numbers. Text is lower-cased, as the English model has it, and letters keep their marks: й stays
й, where the English tokenizer would make и of it.
Frequencies are those of `wordfreq`, and the parallel text.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path

from tokenizers import Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import WordPiece
from tokenizers.trainers import WordPieceTrainer
from wordfreq import get_frequency_dict

from .parallel import read

PIECES = 32_000
#: Occurrences that the frequencies stand for; Russian has more text, Ukrainian must not be left with letters.
OCCURRENCES = {"ru": 6_000_000, "uk": 6_000_000}
LETTERS = "абвгґдеєжзиіїйклмнопрстуфхцчшщъыьэюяё"


def is_cyrillic(word: str) -> bool:
    return bool(word) and all(letter in LETTERS or letter in "'’-" for letter in word)


def words(data: Path) -> Iterator[list[str]]:
    for language, occurrences in OCCURRENCES.items():
        for word, frequency in get_frequency_dict(language, wordlist="large").items():
            count = round(frequency * occurrences)
            if count and is_cyrillic(word):
                yield [word] * count
    for row in read(data):
        for text, language in ((row.first, row.languages[0]), (row.second, row.languages[1])):
            if language != "en":
                yield [text.lower()]


def cyrillic_pieces(data: Path) -> list[str]:
    trained = Tokenizer(WordPiece(unk_token="[UNK]"))
    trained.normalizer = normalizers.Lowercase()
    trained.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trained.train_from_iterator(words(data), WordPieceTrainer(vocab_size=PIECES, special_tokens=["[UNK]"], show_progress=False))
    ranked = sorted(trained.get_vocab().items(), key=lambda pair: pair[1])
    return [piece for piece, _ in ranked if is_cyrillic(piece.removeprefix("##"))]


def joined(model: Path, pieces: list[str]) -> Tokenizer:
    """The English tokenizer that knows the pieces as well."""
    document = json.loads((model / "tokenizer.json").read_text())
    # Some are published with a fixed length.
    document["padding"] = document["truncation"] = None
    vocabulary = document["model"]["vocab"]
    for piece in pieces:
        vocabulary.setdefault(piece, len(vocabulary))
    document["normalizer"] = {
        "type": "Sequence",
        "normalizers": [
            {"type": "NFD"},
            # As the English model has it, which knows no "café".
            {"type": "Replace", "pattern": {"Regex": "(?<=[A-Za-z])\\p{Mn}+"}, "content": ""},
            {"type": "NFC"},
            document["normalizer"] | {"strip_accents": False},
        ],
    }
    return Tokenizer.from_str(json.dumps(document))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with parallel_*")
    parser.add_argument("--model", type=Path, required=True, help="the English model's folder")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    tokenizer = joined(arguments.model, cyrillic_pieces(arguments.data))
    arguments.out.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(arguments.out / "tokenizer.json"))
    for text in ("Кабинет министров утвердил бюджет на 2026 год.", "Кабінет міністрів ухвалив бюджет на 2026 рік.", "The café opened."):
        print(tokenizer.encode(text).tokens)
    print(tokenizer.get_vocab_size(), "pieces")


if __name__ == "__main__":
    main()
