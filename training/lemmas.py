"""Builds the dictionaries of word forms that ship with the program: crates/language/src/lemmas/{ru,uk}.{fst,rules}.

    venv/bin/pip install ducer==1.2.0 pymorphy3==2.0.6 pymorphy3-dicts-ru==2.4.417150.4580142 wordfreq==3.1.1
    venv/bin/python lemmas.py ru ../crates/language/src/lemmas
    apt-get download hunspell-uk && dpkg-deb -x hunspell-uk_*.deb hunspell
    venv/bin/python lemmas.py uk ../crates/language/src/lemmas --hunspell hunspell/usr/share/hunspell/uk_UA
    venv/bin/python lemmas.py en ../crates/language/src/hyphens

Russian forms are those of OpenCorpora, Ukrainian ones those of the spelling dictionary of LibreOffice; wordfreq says which words
are frequent, and so ship. Of English only a list of its common words is written. docs/lemmas.md has the licences. Two runs give the same files.

A form that belongs to several words gets one of them: the likeliest in OpenCorpora's texts where those were counted, else the word
that the form itself is the dictionary form of, else the more frequent word. A form that is likelier a proper name is left out:
names have rules of their own. So are conjunctions, prepositions, particles and pronouns.
"""

import argparse
import collections
import gzip
import importlib.util
import re
from pathlib import Path

import ducer

# Letters in the order of their bytes in the file: those that the format packs into one byte with the transition. The same
# table stands in crates/language/src/lemmas.rs.
LETTERS = "абвгдежзийклмнопрстуфхцчшщъыьэюяіїєґ'"
BYTES = "0123456789abcdefghijklmnopqrstuvwxyz-"
SHORTEST = 3
FREQUENT = 1e-6
LEFT_OUT = {"PREP", "CONJ", "PRCL", "NPRO", "INTJ", "NUMR"}
PROPER = {"Name", "Surn", "Patr", "Geox", "Orgn", "Trad", "Abbr", "Init", "Apro"}
# Adjectives that were participles once and no longer tell what was done.
NO_PARTICIPLES = {"следующий", "настоящий", "бывший", "будущий", "данный", "ведущий", "текущий", "блестящий"}


class Reading:
    """One word that a form may belong to."""

    def __init__(self, lemma, weight=0.0, proper=False, last=False):
        """`proper`: a name or a function word, which has no row; `last`: only where there is no other."""
        self.lemma, self.weight, self.proper, self.last = lemma, weight, proper, last


def folded(word):
    return word.lower().replace("ё", "е").replace("\u0301", "").replace("’", "'").replace("ʼ", "'")


def frequencies(language):
    """Form -> share of the words of running text, from wordfreq's large list."""
    import msgpack

    # Only its list is read; importing the package would ask for what it needs to cut text into words.
    folder = Path(importlib.util.find_spec("wordfreq").origin).parent
    with gzip.open(folder / "data" / f"large_{language}.msgpack.gz") as file:
        bins = msgpack.load(file, raw=False)[1:]
    shares = collections.Counter()
    for centibels, words in enumerate(bins):
        for word in words:
            shares[folded(word)] += 10 ** (-centibels / 100)
    return shares


def russian():
    """Form -> readings, by OpenCorpora."""
    import pymorphy3

    analyser = pymorphy3.MorphAnalyzer(lang="ru")
    forms = collections.defaultdict(dict)
    verbs = set()
    for form, tag, lemma, _, _ in analyser.dictionary.iter_known_words():
        form, lemma, part = folded(form), folded(lemma), str(tag.POS)
        if "-" in form or {"Arch", "Erro", "Dist"} & tag.grammemes:
            continue
        if part == "INFN":
            verbs.add(lemma)
        # Wishes and commands are rare in the news, and look like nouns ("пила", "три").
        last = part == "GRND" or bool({"impr", "voct", "V-ey", "V-oy", "V-be"} & tag.grammemes)
        reading = forms[form].setdefault((lemma, part), Reading(lemma, proper=True, last=True))
        reading.last &= last
        reading.proper &= part in LEFT_OUT or bool(PROPER & tag.grammemes)
    return {form: russian_readings(analyser, form, readings, verbs) for form, readings in forms.items()}


def russian_readings(analyser, form, readings, verbs):
    """What is left of them: a participle is its verb's, an adverb its adjective's, a reflexive verb the plain one's."""
    parts = {part for _, part in readings}
    out = {}
    counted = {}
    if len({lemma for lemma, _ in readings}) > 1:
        parses = analyser.parse(form)
        # Where nothing was counted all readings have the same share.
        if len({round(parse.score, 6) for parse in parses}) > 1:
            for parse in parses:
                key = (folded(parse.normal_form), str(parse.tag.POS))
                counted[key] = counted.get(key, 0.0) + parse.score
    for (lemma, part), reading in readings.items():
        if part == "ADJF" and "PRTF" in parts and lemma not in NO_PARTICIPLES:
            continue
        if part == "PRTF" and any(other in NO_PARTICIPLES for other, _ in readings):
            continue
        if part == "ADVB" and "ADJS" in parts:
            continue
        if part in {"INFN", "VERB", "GRND", "PRTF", "PRTS"}:
            lemma = plain_verb(lemma, verbs)
        weight = counted.get((reading.lemma, part), 0.0)
        kept = out.setdefault(lemma, Reading(lemma, proper=True, last=True))
        kept.weight += weight
        kept.proper &= reading.proper
        kept.last &= reading.last
    if "ADVB" in parts and "ADJS" in parts:
        # The adverb's share is the adjective's.
        share = sum(weight for (_, part), weight in counted.items() if part == "ADVB")
        for (lemma, part), _ in readings.items():
            if part == "ADJS" and lemma in out:
                out[lemma].weight += share
                break
    return list(out.values())


def plain_verb(lemma, verbs):
    for ending in ("ся", "сь"):
        if lemma.endswith(ending) and lemma[: -len(ending)] in verbs:
            return lemma[: -len(ending)]
    return lemma


def affixes(path):
    rules = collections.defaultdict(list)
    for line in path.with_suffix(".aff").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if len(fields) >= 5 and fields[0] == "SFX":
            _, flag, cut, added, condition = fields[:5]
            condition = None if condition == "." else re.compile(condition + "$")
            rules[flag].append(("" if cut == "0" else cut, "" if added == "0" else added, condition))
    return rules


def inflected(word, flags, rules):
    for flag in flags:
        for cut, added, condition in rules[flag]:
            if word.endswith(cut) and (condition is None or condition.search(word)):
                yield flag, word.removesuffix(cut) + added


# What the flags of uk_UA.aff say of a word.
ADJECTIVE = set("j")
VERB = set("XYZ]^?7JL")
# Vocatives and imperatives.
RARE = set("hxKgli>LJ?")
IMPERSONAL = set("N'k=M")


def ukrainian(path):
    """Form -> readings, by the affix flags of the spelling dictionary."""
    rules = affixes(path)
    words = {}
    for line in path.with_suffix(".dic").read_text(encoding="utf-8").splitlines()[1:]:
        word, _, flags = line.split("\t")[0].split(" ")[0].strip().partition("/")
        if "-" not in word and word:
            words[word] = words.get(word, "") + flags
    verbs = {word for word, flags in words.items() if VERB & set(flags) and word == word.lower()}
    adjectives = {word for word, flags in words.items() if ADJECTIVE & set(flags) and word == word.lower()}
    # "Захоплено" is of "захопити", and so "захоплений" is.
    participles = {}
    for verb in sorted(verbs):
        for _, form in inflected(verb, [flag for flag in words[verb] if flag in IMPERSONAL], rules):
            participles.setdefault(form[:-1] + "ий", verb)
    forms = collections.defaultdict(dict)
    for word, flags in words.items():
        proper = word != word.lower()
        lemma = participles.get(word, word)
        lemma = plain_verb(lemma, verbs) if lemma in verbs else lemma
        if flags:
            add(forms, word, lemma, proper, False)
            for flag, form in inflected(word, flags, rules):
                add(forms, form, lemma, proper, flag in RARE)
    for word, flags in words.items():
        if not flags and word == word.lower() and folded(word) not in forms:
            flat(forms, word, adjectives, participles)
    for line in (Path(__file__).parent / "lemmas_uk.tsv").read_text(encoding="utf-8").splitlines():
        if not line.startswith("#"):
            lemma, of_it = line.split("\t")
            for form in of_it.split(" "):
                forms[form] = {lemma: Reading(lemma)}
    return {form: list(readings.values()) for form, readings in forms.items()}


def add(forms, form, lemma, proper, last):
    form, lemma = folded(form), folded(lemma)
    reading = forms[form].setdefault(lemma, Reading(lemma, proper=True, last=True))
    reading.proper &= proper
    reading.last &= last


def flat(forms, word, adjectives, participles):
    """Words without flags: reflexive forms, adverbs, and nouns that take no endings."""
    if word.endswith(("ся", "сь")):
        for reading in list(forms.get(folded(word[:-2]), {}).values()):
            add(forms, word, reading.lemma, reading.proper, False)
    elif word.endswith(("о", "е")):
        adjective = next((word[:-1] + ending for ending in ("ий", "ій") if word[:-1] + ending in adjectives), None)
        lemma = participles.get(adjective, adjective) if adjective else word
        add(forms, word, lemma, False, False)


def chosen(readings, form, shares, lemma_shares):
    """The one word a form is taken for, or None for a name."""
    def order(reading):
        return (not reading.last, reading.weight, reading.lemma == form, lemma_shares[reading.lemma], reading.lemma)

    best = max(readings, key=order)
    plain = [reading for reading in readings if not reading.proper]
    if not best.proper or not plain:
        return None if best.proper else best.lemma
    # "Львів" is written more often than all the other forms of "лев", and so is the city; "мости" is no place called so.
    likeliest = max(plain, key=order)
    rest = lemma_shares[likeliest.lemma] - shares.get(form, 0.0) / len(plain)
    counted = any(reading.weight for reading in readings)
    return None if counted or shares.get(form, 0.0) > rest else likeliest.lemma


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("language", choices=["ru", "uk"])
    arguments.add_argument("out", type=Path)
    arguments.add_argument("--hunspell", type=Path, help="uk_UA.aff and uk_UA.dic, without the ending")
    arguments.add_argument("--least", type=float, default=1e-7, help="share of running text below which a word is left out")
    options = arguments.parse_args()
    forms = russian() if options.language == "ru" else ukrainian(options.hunspell)
    shares = frequencies(options.language)
    lemma_shares = collections.Counter()
    for form, readings in forms.items():
        plain = [reading for reading in readings if not reading.proper]
        for reading in plain:
            lemma_shares[reading.lemma] += shares.get(form, 0.0) / len(plain)
    write(forms, shares, lemma_shares, options)


def write(forms, shares, lemma_shares, options):
    rows, counts = {}, collections.Counter()
    for form, readings in forms.items():
        if len(form) < SHORTEST or any(letter not in LETTERS for letter in form):
            continue
        lemma = chosen(readings, form, shares, lemma_shares)
        if lemma is None or lemma_shares[lemma] < options.least or any(letter not in LETTERS for letter in lemma):
            continue
        row = rule(form, lemma)
        # "Людей" is of "человек"; a rare form of another beginning ("наичистейший") is not worth a rule of its own.
        if len(form) - row[0] < 2 and shares.get(form, 0.0) < FREQUENT:
            continue
        rows[form] = row
        counts[rows[form]] += 1
    # The frequent rules have the small numbers, which take less room.
    rules = [known for known, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
    numbers = {known: number for number, known in enumerate(rules)}
    letters = dict(zip(LETTERS, BYTES))
    coded = sorted((("".join(letters[letter] for letter in form)).encode(), numbers[row]) for form, row in rows.items())
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"{options.language}.fst"
    ducer.Map.build(str(path), coded)
    listed = "".join(f"{cut}{added}\n" for cut, added in rules)
    (options.out / f"{options.language}.rules").write_text(listed, encoding="utf-8")
    lemmas = {form[: len(form) - row[0]] + row[1] for form, row in rows.items()}
    print(f"{len(rows)} forms of {len(lemmas)} words, {len(rules)} rules, {path.stat().st_size} bytes")


def rule(form, lemma):
    """How many letters go from the form's end, and what is put there."""
    same = 0
    while same < min(len(form), len(lemma)) and form[same] == lemma[same]:
        same += 1
    return len(form) - same, lemma[same:]


if __name__ == "__main__":
    main()
