"""Writes the model that finds names in Russian and Ukrainian text: models/slovnet-names/model.bin.

    venv/bin/python names.py ../models/slovnet-names --pairs DATA/parallel_ru_uk/pairs.tsv.gz [--words 100000]

The network is `slovnet`'s for names in news and the word vectors are `navec`'s, as the package `natasha` carries both. The network is
as its authors trained it: the vectors are cut to the most frequent words, and the weights are laid out in the order in which
crates/language/src/entities/tagger reads them. What is added are Ukrainian words: each gets the vector of the Russian word that stands
for it in parallel text (lexicon.py). Two runs give the same file.

The file, numbers little-endian: how many words (u32); their hashes in order (u32: the upper half of FNV-1a 64 of the word in UTF-8);
for each of them, and last for the unknown word, 100 codes (u8); how many Ukrainian words (u32), their hashes in order (u32), and for each
the place of a Russian word (u32); the table of codes (f32, 100 x 256 x 3); the vectors of the word
shapes (f32, 66 x 30); of each of the three convolutions the weights (f32, tap x input x output), bias, scale and shift; the
projection (f32, input x output) with its bias; and how likely one tag follows another (f32, from x to).
"""

import argparse
import gzip
import json
import re
import shutil
import tarfile
from importlib import metadata, resources
from pathlib import Path

import numpy as np

from lexicon import lexicon
from parallel import HELD, LICENCES

OUTPUT = "<f4"
WORD = re.compile(r"[^\W\d_]+(?:['-][^\W\d_]+)*")
APOSTROPHES = str.maketrans("’ʼ", "''")
#: Product of both probabilities from which one word stands for another.
AGREED = 0.01


def hashed(word):
    value = 0xCBF29CE484222325
    for byte in word.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value >> 32


def vectors(path, wanted):
    """Hashes and codes of the `wanted` most frequent words, the codes of the unknown word, and the table of codes."""
    from navec import Navec

    navec = Navec.load(path)
    words, codes = navec.vocab.words, np.asarray(navec.pq.indexes)
    frequent = sorted(
        (place for place, word in enumerate(words) if not word.startswith("<")),
        key=lambda place: (-navec.vocab.counts[place], place),
    )
    kept = {}
    for place in frequent[:wanted]:
        # Of two words with one hash the more frequent one stays.
        kept.setdefault(hashed(words[place]), place)
    order = sorted(kept)
    rows = codes[[kept[value] for value in order] + [words.index("<unk>")]]
    places = {words[kept[value]]: place for place, value in enumerate(order)}
    return np.array(order, dtype="<u4"), rows.astype("u1"), np.asarray(navec.pq.codes), places


def ukrainian(path, places):
    """Hashes of Ukrainian words in order, and for each the place of the Russian word that most often stands for it."""
    sides = [[], []]
    vocabularies = [{"": 0}, {"": 0}]
    with gzip.open(path, "rt", encoding="utf-8") as file:
        next(file)
        for line in file:
            source, *texts = line.rstrip("\n").split("\t")
            if source in HELD or source not in LICENCES:
                # Kept to measure on, or without a stated licence.
                continue
            for side, vocabulary, text in zip(sides, vocabularies, texts, strict=True):
                side.append([vocabulary.setdefault(word, len(vocabulary)) for word in WORD.findall(text.lower().translate(APOSTROPHES))])
    russian, known = (list(vocabulary) for vocabulary in vocabularies)
    # Asked from both ends: a word stands for another where each is likely given the other.
    there = lexicon(sides[1], sides[0], len(known), len(russian))
    back = lexicon(sides[0], sides[1], len(russian), len(known))
    agreed = there.multiply(back.T).tocsr()
    found = {}
    for number, word in enumerate(known):
        row = agreed.getrow(number)
        likely = [(-chance, russian[other]) for other, chance in zip(row.indices, row.data) if russian[other] in places]
        if number and likely and min(likely)[0] < -AGREED:
            found.setdefault(hashed(word), places[min(likely)[1]])
    order = sorted(found)
    return np.array(order, dtype="<u4"), np.array([found[value] for value in order], dtype="<u4")


class Network:
    """The arrays of slovnet's archive by their place in its description."""

    def __init__(self, path):
        self.archive = tarfile.open(path)
        self.scheme = json.load(self.archive.extractfile("model.json"))

    def array(self, weight):
        bytes_ = self.archive.extractfile(f"arrays/{weight['array']}.bin").read()
        return np.frombuffer(bytes_, weight["dtype"]).reshape(weight["shape"])

    def names(self, vocabulary):
        return gzip.decompress(self.archive.extractfile(f"vocabs/{vocabulary}.gz").read()).decode().split("\n")

    def parts(self):
        yield self.array(self.scheme["emb"]["shape"]["weight"])
        for layer in self.scheme["encoder"]["layers"]:
            yield self.array(layer["conv"]["weight"]).transpose(2, 1, 0)
            yield self.array(layer["conv"]["bias"])
            norm = {part: self.array(layer["norm"][part]) for part in ("weight", "bias", "mean", "std")}
            scale = norm["weight"] / norm["std"]
            yield scale
            yield norm["bias"] - norm["mean"] * scale
        head = self.scheme["head"]
        yield self.array(head["proj"]["weight"])
        yield self.array(head["proj"]["bias"])
        yield self.array(head["crf"]["transitions"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="where model.bin and the licence go")
    parser.add_argument("--pairs", type=Path, required=True, help="Russian and Ukrainian sentences: source, Russian, Ukrainian")
    parser.add_argument("--words", type=int, default=100_000, help="word vectors that are kept")
    arguments = parser.parse_args()
    data = resources.files("natasha") / "data"
    hashes, rows, codes, places = vectors(data / "emb" / "navec_news_v1_1B_250K_300d_100q.tar", arguments.words)
    of_ukrainian, russian = ukrainian(arguments.pairs, places)
    network = Network(data / "model" / "slovnet_ner_news_v1.tar")
    tags = "<pad> O B-PER I-PER B-LOC I-LOC B-ORG I-ORG".split()
    assert network.names("tag")[: len(tags)] == tags, "the program knows other tags"
    with open(arguments.folder / "model.bin", "wb") as file:
        file.write(np.uint32(len(hashes)).astype("<u4").tobytes())
        file.write(hashes.tobytes() + rows.tobytes())
        file.write(np.uint32(len(of_ukrainian)).astype("<u4").tobytes())
        file.write(of_ukrainian.tobytes() + russian.tobytes())
        for part in (codes, *network.parts()):
            file.write(np.ascontiguousarray(part, dtype=OUTPUT).tobytes())
        print(f"{len(hashes)} Russian and {len(of_ukrainian)} Ukrainian words, {file.tell() / 1e6:.1f} MB")
    shutil.copy(metadata.distribution("slovnet").locate_file("slovnet-0.6.0.dist-info/LICENSE"), arguments.folder)


if __name__ == "__main__":
    main()
