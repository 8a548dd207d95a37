"""Pairs made from labelled ones by changing a number, a unit, a direction, a denial or a name, with the right label."""

from __future__ import annotations

import random
import re

from .records import CONTRADICT, ENTAIL, NOT_ENTAIL, Pair

NUMBER = re.compile(r"(?<![\w.,$€£-])(\d{1,3}(?:,\d{3})+|\d+(?:\.\d+)?)(?![\w]|[.,]\d)")
WORD_NUMBERS = ["two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
]
SCALES = {"million": ["billion", "thousand"], "billion": ["million", "trillion"], "thousand": ["million"],
          "percent": ["times"], "kilometres": ["metres"], "miles": ["feet"], "days": ["weeks", "months"],
          "weeks": ["months", "days"], "months": ["years", "weeks"], "hours": ["minutes", "days"],
          "minutes": ["hours"], "years": ["months", "decades"]}
DIRECTIONS = [
    ("increases", "decreases"), ("increase", "decrease"), ("increased", "decreased"), ("increasing", "decreasing"),
    ("higher", "lower"), ("highest", "lowest"), ("more", "less"), ("larger", "smaller"), ("largest", "smallest"),
    ("rises", "falls"), ("rose", "fell"), ("before", "after"), ("earlier", "later"), ("first", "last"),
    ("above", "below"), ("better", "worse"), ("best", "worst"), ("positive", "negative"), ("effective", "ineffective"),
    ("likely", "unlikely"), ("safe", "unsafe"), ("possible", "impossible"), ("won", "lost"), ("gained", "lost"),
    ("reduces", "raises"), ("reduce", "raise"), ("reduced", "raised"), ("improves", "worsens"),
    ("improved", "worsened"), ("prevents", "causes"), ("prevent", "cause"), ("high", "low"), ("older", "younger"),
    ("longer", "shorter"), ("faster", "slower"), ("stronger", "weaker"), ("strong", "weak"), ("common", "rare"),
    ("accepted", "rejected"), ("approved", "banned"), ("supports", "opposes"), ("allowed", "forbidden"),
    ("success", "failure"), ("successful", "unsuccessful"), ("always", "never"), ("everyone", "nobody"),
    ("all", "none of the"), ("majority", "minority"), ("male", "female"), ("winning", "losing"), ("north", "south"),
    ("east", "west"), ("northern", "southern"), ("eastern", "western"), ("married", "unmarried"), ("alive", "dead"),
]
OPPOSITE = {a: b for a, b in DIRECTIONS} | {b: a for a, b in DIRECTIONS}
AUXILIARY = re.compile(r"\b(is|are|was|were|has been|have been|can|could|will|would|should|must|may)\b(?! not)(?!n't)")
DENIED = re.compile(r"\b(not|never|no|none|nobody|nothing|neither|nor|without)\b|n't\b", re.I)
NAME = re.compile(r"(?<![.!?] )(?<!^)\b[A-Z][\w'’-]+(?: (?:of |the |de |van |von )?[A-Z][\w'’-]+)*")


def written(value: float, like: str) -> str:
    """A number in the manner of another."""
    if "." in like:
        return f"{value:.{len(like.split('.')[1])}f}"
    whole = max(round(value), 0)
    return f"{whole:,}" if "," in like else str(whole)


def value_of(text: str) -> float:
    return float(text.replace(",", ""))


def is_year(text: str) -> bool:
    return len(text) == 4 and text.isdigit() and 1500 <= int(text) <= 2100


def other_number(text: str, rng: random.Random) -> str:
    """Another number of the same kind, further off than rounding would explain."""
    value = value_of(text)
    if is_year(text):
        return str(int(text) + rng.choice([-30, -12, -10, -5, -3, -2, -1, 1, 2, 3, 5, 10, 12, 30]))
    if value <= 12 and "." not in text:
        return str(rng.choice([n for n in range(1, 16) if n != int(value)]))
    return written(value * rng.choice([0.2, 0.5, 0.7, 0.85, 1.2, 1.5, 2, 3, 10]) + 1, text)


def shared_numbers(pair: Pair) -> list[re.Match[str]]:
    premise = {match.group() for match in NUMBER.finditer(pair.premise)}
    return [match for match in NUMBER.finditer(pair.hypothesis) if match.group() in premise]


def replaced(text: str, match: re.Match[str], by: str) -> str:
    return text[: match.start()] + by + text[match.end() :]


def number_swap(pair: Pair, rng: random.Random) -> list[Pair]:
    """An entailed number changed in the claim, or in the passage, contradicts."""
    found = shared_numbers(pair)
    if pair.label != ENTAIL or not found:
        return []
    match = rng.choice(found)
    other = other_number(match.group(), rng)
    if other in pair.premise or other == match.group():
        return []
    if rng.random() < 0.7:
        return [pair.but(source="number", hypothesis=replaced(pair.hypothesis, match, other), label=CONTRADICT)]
    premise = re.sub(rf"(?<![\d.,]){re.escape(match.group())}(?![\d]|[.,]\d)", other, pair.premise)
    return [pair.but(source="number", premise=premise, label=CONTRADICT)]


def bound(pair: Pair, rng: random.Random) -> list[Pair]:
    """"23 stations" bears out "more than 20 stations" and contradicts "more than 30" and "fewer than 20"."""
    found = [match for match in shared_numbers(pair) if not is_year(match.group()) and value_of(match.group()) >= 4]
    if pair.label != ENTAIL or not found:
        return []
    match = rng.choice(found)
    before = pair.hypothesis[: match.start()].rstrip().lower()
    if before.endswith(("than", "about", "over", "under", "least", "most", "nearly", "season", "no.", "number")):
        return []
    value = value_of(match.group())
    low, high = written(value * rng.uniform(0.5, 0.93), match.group()), written(value * rng.uniform(1.1, 1.8), match.group())
    if low == match.group() or high == match.group():
        return []
    phrase, label = rng.choice([
        (f"more than {low}", ENTAIL), (f"at least {low}", ENTAIL), (f"over {low}", ENTAIL),
        (f"fewer than {high}", ENTAIL), (f"less than {high}", ENTAIL), (f"under {high}", ENTAIL),
        (f"more than {high}", CONTRADICT), (f"at least {high}", CONTRADICT), (f"over {high}", CONTRADICT),
        (f"fewer than {low}", CONTRADICT), (f"less than {low}", CONTRADICT), (f"only {low}", CONTRADICT),
    ])
    return [pair.but(source="bound", hypothesis=replaced(pair.hypothesis, match, phrase), label=label)]


def word_swap(pair: Pair, rng: random.Random) -> list[Pair]:
    """A number word, month or unit that the passage shares, changed, contradicts."""
    if pair.label != ENTAIL:
        return []
    for words in (WORD_NUMBERS, MONTHS):
        here = [word for word in words if re.search(rf"\b{word}\b", pair.hypothesis) and re.search(rf"\b{word}\b", pair.premise)]
        others = [word for word in words if not re.search(rf"\b{word}\b", pair.premise)]
        if here and others:
            word = rng.choice(here)
            text = re.sub(rf"\b{word}\b", rng.choice(others), pair.hypothesis, count=1)
            return [pair.but(source="number", hypothesis=text, label=CONTRADICT)]
    for unit, others in SCALES.items():
        if re.search(rf"\d\s+{unit}\b", pair.hypothesis) and re.search(rf"\b{unit}\b", pair.premise):
            text = re.sub(rf"(\d\s+){unit}\b", rf"\g<1>{rng.choice(others)}", pair.hypothesis, count=1)
            return [pair.but(source="unit", hypothesis=text, label=CONTRADICT)]
    return []


def direction_swap(pair: Pair, rng: random.Random) -> list[Pair]:
    """A direction turned round in an entailed claim contradicts; turned in both texts of a near copy it holds again."""
    if pair.label != ENTAIL or DENIED.search(pair.hypothesis):
        return []
    here = [word for word in re.findall(r"[a-z]+", pair.hypothesis) if word in OPPOSITE]
    if not here:
        return []
    word = rng.choice(here)
    if re.search(rf"\b{OPPOSITE[word]}\b", pair.premise):
        return []
    text = re.sub(rf"\b{word}\b", OPPOSITE[word], pair.hypothesis, count=1)
    made = [pair.but(source="direction", hypothesis=text, label=CONTRADICT)]
    if len(re.findall(rf"\b{word}\b", pair.premise)) == 1 and rng.random() < 0.5:
        premise = re.sub(rf"\b{word}\b", OPPOSITE[word], pair.premise)
        made.append(pair.but(source="direction", premise=premise, hypothesis=text, label=ENTAIL))
    return made


def denied(text: str) -> str | None:
    """The sentence with its first auxiliary denied."""
    if DENIED.search(text):
        return None
    match = AUXILIARY.search(text)
    if not match or not match.group(1):
        return None
    first, *rest = match.group(1).split()
    return text[: match.start()] + " ".join([first, "not", *rest]) + text[match.end() :]


def negation_swap(pair: Pair, rng: random.Random) -> list[Pair]:
    """An entailed claim, denied, is contradicted; a claim and a single-sentence passage both denied agree again."""
    if pair.label != ENTAIL:
        return []
    claim = denied(pair.hypothesis)
    if claim is None:
        return []
    made = [pair.but(source="negation", hypothesis=claim, label=CONTRADICT)]
    premise = denied(pair.premise) if pair.premise.count(". ") == 0 else None
    if premise is not None and pair.hypothesis.split()[:2] == pair.premise.split()[:2]:
        made.append(pair.but(source="negation", premise=premise, hypothesis=claim, label=ENTAIL))
        made.append(pair.but(source="negation", premise=premise, label=CONTRADICT))
    return made


def name_swap(pair: Pair, rng: random.Random, others: list[str]) -> list[Pair]:
    """A name the passage shares, replaced by another of a neighbouring passage, or two names of the claim exchanged.

    Whether that contradicts or is merely open depends on the relation, so only "not entailed" is said.
    """
    if pair.label != ENTAIL:
        return []
    names = [name for name in dict.fromkeys(NAME.findall(pair.hypothesis)) if name in pair.premise and len(name) > 3]
    if not names:
        return []
    name = rng.choice(names)
    if len(names) >= 2 and rng.random() < 0.3:
        first, second = rng.sample(names, 2)
        if first not in second and second not in first:
            text = pair.hypothesis.replace(first, "\0").replace(second, first).replace("\0", second)
            return [pair.but(source="name", hypothesis=text, label=NOT_ENTAIL)]
    choices = [other for other in others if other not in pair.premise and len(other) > 3 and name not in other]
    if not choices:
        return []
    return [pair.but(source="name", hypothesis=pair.hypothesis.replace(name, rng.choice(choices), 1), label=NOT_ENTAIL)]
