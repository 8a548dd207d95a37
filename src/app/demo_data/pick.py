"""Which rows the demo shows: every `pick_*` states its criterion, ranks, and takes the first. build.py calls them.

No row is named here and no claim or evidence text is edited. The criteria themselves were written with the data in view,
to cover the cases a demo should show in a readable number of items; no verdict of the product was looked at. So the set
shows cases, and measures nothing: its share of right verdicts is no accuracy figure.
"""

import csv
import re
from collections import defaultdict

STOP = set(
    "the a an of in on at to for and or but was were is are be been by with from as that this it its his her he she they "
    "their had has have also who which when while into than after before".split()
)
NEGATION = re.compile(r"\b(?:not|never|no|none|neither|without)\b|n't\b", re.I)
EVALUATIVE = re.compile(r"\b(?:best|greatest|popular|beloved|famous|brilliant|beautiful)\b", re.I)


def words(text):
    return [w for w in re.findall(r"\w+", text.lower()) if w not in STOP]


def same(one, other):
    """Equal, or of one stem: a shared beginning of at least 4 letters and 70 % of the longer word."""
    if one == other:
        return True
    if one.isdigit() or other.isdigit():
        return False
    shared = 0
    while shared < min(len(one), len(other)) and one[shared] == other[shared]:
        shared += 1
    return shared >= 4 and shared >= 0.7 * max(len(one), len(other))


def coverage(claim, evidence):
    """Share of the claim's content words that the evidence holds, 0-1."""
    wanted, present = set(words(claim)), set(words(evidence))
    return sum(any(same(w, p) for p in present) for w in wanted) / max(1, len(wanted))


def numbers(text):
    return set(re.findall(r"\d+(?:[.,]\d+)*", text))


def first_best(candidates, count, taken=(), page=lambda row: None):
    """The `count` best (score, id, row) by falling score, then id; one row a page, none of a page already taken."""
    picked, used = [], set(taken)
    for _, _, row in sorted(candidates, key=lambda c: (-c[0], c[1])):
        if len(picked) < count and (page(row) is None or page(row) not in used):
            picked.append(row)
            used.add(page(row))
    return picked


def gold(row):
    return [g["text"] for g in row["gold_evidence"]]


def best_gold(row):
    return max(coverage(row["text"], text) for text in gold(row))


def pick_fm2(rows, skip):
    """FM2 dev claims. All: one sentence of 40-170 characters without quotation marks that names its article. Ranked by
    the share of the claim's words in its best gold sentence (`mixed`: in all of them); one claim an article."""
    page = lambda row: row["wikipedia_page"]
    named = lambda row: re.sub(r" \(.*\)", "", page(row)).lower() in row["text"].lower()
    base = [
        row for row in rows
        if row["id"] not in skip and 40 <= len(row["text"]) <= 170 and row["text"].endswith(".") and named(row)
        and '"' not in row["text"] and not re.search(r"[.!?] +[A-Z]", row["text"])
    ]
    supports = [row for row in base if row["label"] == "SUPPORTS"]
    refutes = [row for row in base if row["label"] == "REFUTES"]
    joined = lambda row: " ".join(gold(row))
    groups = [
        # An opinion word and a number in one claim that the article supports.
        ("mixed", 1, [r for r in supports if EVALUATIVE.search(r["text"]) and numbers(r["text"])],
         lambda r: coverage(r["text"], joined(r))),
        # Every number of the claim stands in the gold sentences.
        ("number_agrees", 2, [r for r in supports if numbers(r["text"]) and numbers(r["text"]) <= numbers(joined(r))], best_gold),
        # The claim and the gold sentences have numbers, and share none.
        ("number_disagrees", 3, [r for r in refutes if numbers(r["text"]) and numbers(joined(r))
                                 and not numbers(r["text"]) & numbers(joined(r))], best_gold),
        # Exactly one of claim and gold is negated, and no number is in the claim.
        ("negation", 1, [r for r in refutes if not numbers(r["text"])
                         and bool(NEGATION.search(r["text"])) != bool(NEGATION.search(joined(r)))], best_gold),
        # Refuted by another name or fact: no number, no negation.
        ("fact_differs", 3, [r for r in refutes if not numbers(r["text"])
                             and not NEGATION.search(r["text"] + joined(r))], best_gold),
        # Supported, no number. The last two of these four show unreadable pages and a throttled provider.
        ("supports", 4, [r for r in supports if not numbers(r["text"])], best_gold),
    ]
    picked, taken = {}, set()
    for name, count, candidates, score in groups:
        picked[name] = first_best([(score(r), r["id"], r) for r in candidates], count, taken, page)
        taken |= {page(row) for row in picked[name]}
    # A pronoun for a subject and no name anywhere: nobody can say what it speaks of. The shortest over 35 characters.
    vague = [r for r in rows if re.match(r"(?:It|He|She|They|This) ", r["text"]) and not re.search(r" [A-Z]", r["text"])
             and len(r["text"]) >= 35]
    picked["ambiguous"] = first_best([(-len(r["text"]), r["id"], r) for r in vague], 1)
    return picked


def feverous_segments(premise):
    """[(article, sentences)] of a premise; the article's name stands before its first sentence: "Name: sentence"."""
    marks = list(re.finditer(r"(?:^|(?<=[.!?\"”)] ))([A-Z0-9][^.:!?\"]{2,60}): ", premise))
    marks = [m for m in marks if m.group(1).count("(") == m.group(1).count(")")]
    ends = [m.start() for m in marks[1:]] + [len(premise)]
    segments = defaultdict(list)
    for mark, end in zip(marks, ends):
        text = premise[mark.end():end].strip()
        if text not in segments[mark.group(1)]:
            segments[mark.group(1)].append(text)
    return [(name, " ".join(texts)) for name, texts in segments.items()]


def pick_feverous(rows):
    """FEVEROUS dev claims labelled supported, 40-190 characters, whose evidence comes from exactly two articles that both
    name the claim's first two words; ranked by the coverage of the weaker article; the first three."""
    candidates = []
    for row in rows:
        segments = feverous_segments(row["premise"])
        claim = row["hypothesis"]
        subject = " ".join(claim.split()[:2])
        if row["label"] != "entail" or len(segments) != 2 or not 40 <= len(claim) <= 190:
            continue
        if all(subject in f"{name} {text}" for name, text in segments):
            candidates.append((min(coverage(claim, text) for _, text in segments), row["id"], (row, segments)))
    return first_best(candidates, 3)


def uncsv(text):
    """The set's premises and hypotheses kept their CSV quoting: "a ""b"" c" is a "b" c."""
    return text[1:-1].replace('""', '"') if text.startswith('"') and text.endswith('"') else text


def pick_terra(rows):
    """TERRa train pairs, hypothesis 35-130 characters ending in a full stop, ranked by coverage: one entailed with an
    agreeing number of three digits or more; one entailed with three capitalised words inside; one not entailed with a
    number the premise lacks; one not entailed with a capitalised word inside and no number."""
    base = [
        dict(row, claim=uncsv(row["claim"]), evidence=uncsv(row["evidence"])) for row in rows if row["split"] == "train"
    ]
    base = [row for row in base if 35 <= len(row["claim"]) <= 130 and row["claim"].endswith(".")]
    inside = lambda text: len(re.findall(r"(?<=[а-яё,] )[А-ЯЁ][а-яё]+", text))
    entail = [row for row in base if row["label"] == "entail"]
    other = [row for row in base if row["label"] == "not_entail"]
    number = lambda row: any(len(n) >= 3 for n in numbers(row["claim"]))
    groups = [
        (1, [r for r in entail if number(r) and numbers(r["claim"]) <= numbers(r["evidence"])]),
        (1, [r for r in entail if not numbers(r["claim"]) and inside(r["claim"]) >= 3]),
        (1, [r for r in other if numbers(r["claim"]) and numbers(r["evidence"]) and not numbers(r["claim"]) <= numbers(r["evidence"])]),
        (1, [r for r in other if not numbers(r["claim"]) and inside(r["claim"]) >= 1]),
    ]
    return [r for n, group in groups for r in first_best([(coverage(r["claim"], r["evidence"]), r["id"], r) for r in group], n)]


def pick_factrueval(folder):
    """FactRuEval-2016 news. Wire: the first document whose first paragraph names a news agency. Cluster: the first other
    document under 1,500 characters whose first sentence (60-200 characters) holds a number."""
    agency = re.compile(r"France-Presse|Reuters|Associated Press|Рейтер|Интерфакс")
    wire = cluster = None
    for path in sorted(folder.glob("*.txt"), key=lambda p: (len(p.stem), p.stem)):
        paragraphs = [line.strip() for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]
        sentence = re.match(r"[^.!?]+[.!?](?= [А-ЯЁ]|$)", paragraphs[0])
        if not sentence:
            continue
        found = (path.stem, sentence.group(0), paragraphs)
        if agency.search(paragraphs[0]):
            wire = wire or found
        elif 60 <= len(sentence.group(0)) <= 200 and numbers(sentence.group(0)) and sum(map(len, paragraphs)) < 1500:
            cluster = cluster or found
    return wire, cluster


def pick_lingua(folder):
    """Sentences of the lingua test files, first line of each that fits: an opinion marker in the first person (three
    languages, 45-160 characters); an evaluation beside a rank (Russian); a birth date (Ukrainian)."""
    patterns = [
        ("en", "opinion", r"\b(?:I think|I believe|in my opinion)\b"),
        ("ru", "opinion", r"\b(?:я считаю|по-моему|на мой взгляд)\b"),
        ("uk", "opinion", r"\b(?:я думаю|я вважаю|на мою думку)\b"),
        ("ru", "mixed", r"(?=.*(?:великолепн|прекрасн|замечательн))(?=.*(?:первое|второе|третье) место)"),
        ("uk", "nothing_found", r"^[А-ЯЄІЇҐ]\w+ [А-ЯЄІЇҐ]\w+ народи(?:вся|лася) \d+ \w+ \d{4} року\.$"),
    ]
    picked = []
    for language, kind, pattern in patterns:
        lines = (folder / language / "sentences.txt").read_text(encoding="utf-8").split("\n")
        line, text = next((n, t.strip()) for n, t in enumerate(lines, 1)
                          if 45 <= len(t.strip()) <= 160 and re.search(pattern, t.strip(), re.I))
        picked.append((language, kind, line, text))
    return picked


CHECKERS = {  # publisher names and the files their reviews stand in
    "afpfactcheck": "AFP Fact Check", "africacheck": "Africa Check", "checkyourfact": "Check Your Fact", "fullfact": "Full Fact",
    "politifact": "PolitiFact", "snopes": "Snopes", "truthorfiction": "Truth or Fiction",
}


def read_reviews(folder):
    """Short facts of each review: the claim, the rating, the address, the dates. No article text is read."""
    csv.field_size_limit(10**9)
    reviews = []
    for key, publisher in CHECKERS.items():
        with open(folder / f"output_sample_{key}.csv", encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                claim = row["claimReview_claimReviewed"].strip()
                if 40 <= len(claim) <= 180 and claim.isascii() and claim[0] != '"':
                    reviews.append({
                        "file": key, "publisher": publisher, "claim": claim, "rating": row["rating_alternateName"].strip(),
                        "url": row["claimReview_url"].strip(), "date": row["claimReview_datePublished"].strip(),
                    })
    return reviews


def pick_reviews(reviews):
    """ClaimReview facts. First two pairs of claims of different publishers, each the pair that shares most words (Jaccard):
    one rated alike, one rated differently; the first of a pair is the item's text. Then, for each of four ratings, the
    first statement with a number that ends in a full stop and speaks of no picture or film. Returns lists of reviews."""
    alike, differently = [], []
    for i, one in enumerate(reviews):
        for other in reviews[i + 1:]:
            if one["publisher"] != other["publisher"]:
                a, b = set(words(one["claim"])), set(words(other["claim"]))
                group = alike if one["rating"] == other["rating"] else differently
                group.append((len(a & b) / len(a | b), one["url"] + other["url"], [one, other]))
    picked = first_best(alike, 1) + first_best(differently, 1)
    used = {review["url"] for pair in picked for review in pair}
    for rating in ("False", "True", "Misleading", "Mixture"):
        picked.append([next(
            r for r in reviews
            if r["rating"] == rating and r["url"] not in used and numbers(re.sub(r"[Cc]ovid-19", "", r["claim"]))
            and r["claim"].endswith(".") and not re.search(r"photo|picture|image|video", r["claim"], re.I)
        )])
    return picked
