"""The English model with word pieces of Russian and Ukrainian, each put where the English pieces are that it is translated by.

    python -m languages.graft --data DATA --english FOLDER --vocabulary FOLDER --navec FILE --out FOLDER

What the parallel text does not tell is taken from words that are used alike (`navec`, Russian), and else from pieces that begin or
end alike: in both languages the beginning is the stem and the end its grammar.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch
from navec import Navec
from scipy.sparse import csr_matrix
from tokenizers import Tokenizer
from transformers import PreTrainedModel, PreTrainedTokenizerFast

from stance.heads import classifier
from .lexicon import lexicon
from .parallel import read
from .vocabulary import is_cyrillic

#: English pieces that stand for one other piece at most.
MEANINGS = 8
#: A piece whose meanings together are less likely than this is taken for unknown.
LEAST = 0.05
NEIGHBOURS = 10
STEM = 4


def translations(data: Path, old: Tokenizer, new: Tokenizer) -> csr_matrix:
    """How far each piece of `new` is translated by each English one: the product of both directions, rows as they come."""
    rows = [row for row in read(data) if row.languages[0] == "en"]
    english = [encoded.ids for encoded in old.encode_batch([row.first for row in rows], add_special_tokens=False)]
    other = [encoded.ids for encoded in new.encode_batch([row.second for row in rows], add_special_tokens=False)]
    size, old_size = new.get_vocab_size(), old.get_vocab_size()
    forwards = lexicon(other, english, size, old_size)
    backwards = lexicon(english, other, old_size, size)
    return forwards.multiply(backwards.T).sqrt().tocsr()


def known_vectors(meanings: csr_matrix, words: np.ndarray, piece: int) -> np.ndarray | None:
    row = meanings.getrow(piece)
    if row.nnz == 0 or row.data.sum() < LEAST:
        return None
    best = np.argsort(-row.data)[:MEANINGS]
    shares = row.data[best] / row.data[best].sum()
    return shares @ words[row.indices[best]]


def navec_neighbours(navec: Navec, known: dict[str, np.ndarray]) -> tuple[list[str], np.ndarray]:
    """Known whole words that navec has, with its vectors of length 1."""
    found = [word for word in known if not word.startswith("##") and word in navec]
    vectors = np.stack([navec[word] for word in found])
    return found, vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def by_form(piece: str, known: dict[str, np.ndarray], index: dict[str, list[str]]) -> np.ndarray | None:
    """The mean of known pieces with the longest common beginning, or for one inside a word the longest common end."""
    for length in range(len(piece), 0, -1):
        part = piece[-length:] if piece.startswith("##") else piece[:length]
        if not piece.startswith("##") and length < STEM:
            return None
        alike = index.get(("##" if piece.startswith("##") else "") + "|" + part.removeprefix("##"))
        if alike:
            return np.mean([known[name] for name in alike[:50]], axis=0)
    return None


def form_index(known: dict[str, np.ndarray]) -> dict[str, list[str]]:
    index: dict[str, list[str]] = {}
    for name in known:
        bare, inside = name.removeprefix("##"), name.startswith("##")
        for length in range(1, len(bare) + 1):
            part = bare[-length:] if inside else bare[:length]
            index.setdefault(("##" if inside else "") + "|" + part, []).append(name)
    return index


def vectors(new: Tokenizer, words: np.ndarray, meanings: csr_matrix, navec: Navec) -> np.ndarray:
    """Rows for every piece of `new`, [pieces, hidden]; the English ones as they were."""
    size = new.get_vocab_size()
    table = np.concatenate([words, np.zeros((size - len(words), words.shape[1]), words.dtype)])
    pieces = {piece: number for piece, number in new.get_vocab().items() if is_cyrillic(piece.removeprefix("##"))}
    known = {piece: vector for piece, number in pieces.items() if (vector := known_vectors(meanings, words, number)) is not None}
    names, directions = navec_neighbours(navec, known)
    index = form_index(known)
    usual = np.mean(list(known.values()), axis=0)
    told = {"parallel": len(known), "navec": 0, "form": 0, "none": 0}
    for piece, number in pieces.items():
        if piece in known:
            vector = known[piece]
        elif piece in navec:
            near = directions @ navec[piece]
            best = np.argpartition(-near, NEIGHBOURS)[:NEIGHBOURS]
            vector, told["navec"] = np.mean([known[names[i]] for i in best], axis=0), told["navec"] + 1
        elif (alike := by_form(piece, known, index)) is not None:
            vector, told["form"] = alike, told["form"] + 1
        else:
            vector, told["none"] = usual, told["none"] + 1
        table[number] = vector
    print("pieces by what tells their place:", told)
    return table


def graft(model: PreTrainedModel, english: Path, new: Tokenizer, data: Path, navec: Path) -> None:
    """Gives `model`, whose tokenizer is in the folder `english`, the pieces of `new`."""
    embeddings = model.base_model.embeddings.word_embeddings
    old = Tokenizer.from_file(str(english / "tokenizer.json"))
    # Some are published with a fixed length.
    old.no_padding()
    old.no_truncation()
    meanings = translations(data, old, new)
    table = vectors(new, embeddings.weight.detach().float().numpy(), meanings, Navec.load(navec))
    with torch.no_grad():
        larger = torch.nn.Embedding(len(table), table.shape[1], padding_idx=embeddings.padding_idx)
        larger.weight.copy_(torch.from_numpy(table))
    model.base_model.embeddings.word_embeddings = larger
    model.config.vocab_size = len(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="folder with parallel_*")
    parser.add_argument("--english", type=Path, required=True, help="the English model, as stance.unpack writes it")
    parser.add_argument("--vocabulary", type=Path, required=True, help="folder that languages.vocabulary wrote")
    parser.add_argument("--navec", type=Path, required=True, help="navec_news_v1_1B_250K_300d_100q.tar of the package natasha")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    new = Tokenizer.from_file(str(arguments.vocabulary / "tokenizer.json"))
    model = classifier(arguments.english)
    graft(model, arguments.english, new, arguments.data, arguments.navec)
    model.save_pretrained(arguments.out)
    PreTrainedTokenizerFast(
        tokenizer_file=str(arguments.vocabulary / "tokenizer.json"), model_input_names=["input_ids", "attention_mask"],
        pad_token="<pad>", cls_token="<s>", sep_token="</s>", bos_token="<s>", eos_token="</s>", unk_token="[UNK]", mask_token="<mask>",
    ).save_pretrained(arguments.out)


if __name__ == "__main__":
    main()
