"""Labelled claim-passage pairs from event templates (format: README.md in this folder).

    python3 generate.py --pairs 200000 --seed 1 --out pairs.jsonl            # training pairs
    python3 generate.py --pairs 5000 --seed 2 --held-out --out dev.jsonl     # event types that training never sees
    python3 generate.py --show 20                                            # print some, one per kind
    python3 generate.py --check                                              # validate every template file

A pair takes one event type, fills its slots, and writes passage and claim with different templates, often in different languages:

    entail      the same event in other words; a number rounded; a quantity in another unit; the same negation
    contradict  one value changed; negated; the opposite outcome; denied; retracted
    neutral     planned; another matter; another event; the claim holds a value that the passage does not give

Each output line: {"source": "templates", "id", "premise", "hypothesis", "label", "kind", "languages": "ru-en"}. The same seed gives the same pairs.
"""
import argparse, datetime, functools, glob, hashlib, json, os, random, re, sys

LANGUAGES = ("en", "ru", "uk", "pt")
GROUPS = {"yes": (4, 7), "not": (2, 4), "opp": (0, 3), "deny": (1, 2), "retract": (0, 2), "plan": (1, 2), "other": (2, 4)}
MONTHS = {
    "en": "January February March April May June July August September October November December".split(),
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря".split(),
    "uk": "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня".split(),
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro".split(),
}
ABOUT = {"en": ("about", "around", "roughly", "nearly"), "ru": ("около", "примерно", "порядка"),
         "uk": ("близько", "приблизно", "майже"), "pt": ("cerca de", "aproximadamente", "quase")}
ABOVE = {"en": ("more than", "over"), "ru": ("более", "свыше"), "uk": ("понад", "більше"), "pt": ("mais de",)}
# unit -> (factor, offset, name per language) of each other unit in which a reader may meet the quantity; first the unit itself.
UNITS = {
    "km": [(1, 0, ("km", "км", "км", "km")), (0.621371, 0, ("miles", "миль", "миль", "milhas"))],
    "m": [(1, 0, ("metres", "м", "м", "metros")), (3.28084, 0, ("feet", "футов", "футів", "pés"))],
    "kg": [(1, 0, ("kg", "кг", "кг", "kg")), (2.20462, 0, ("pounds", "фунтов", "фунтів", "libras"))],
    "C": [(1, 0, ("°C", "°C", "°C", "°C")), (1.8, 32, ("°F", "°F", "°F", "°F"))],
    "kmh": [(1, 0, ("km/h", "км/ч", "км/год", "km/h")), (0.621371, 0, ("mph", "миль в час", "миль на годину", "mph"))],
    "ha": [(1, 0, ("hectares", "га", "га", "hectares")), (2.47105, 0, ("acres", "акров", "акрів", "acres"))],
    "km2": [(1, 0, ("square kilometres", "кв. км", "кв. км", "km²")), (100, 0, ("hectares", "га", "га", "hectares"))],
    "l": [(1, 0, ("litres", "л", "л", "litros")), (0.264172, 0, ("gallons", "галлонов", "галонів", "galões"))],
    "h": [(1, 0, ("hours", "часов", "годин", "horas")), (60, 0, ("minutes", "минут", "хвилин", "minutos"))],
}
WORDS = "zero one two three four five six seven eight nine ten eleven twelve".split()
TOKEN = re.compile(r"\{(\w+)(?::(\w+))?\}")
NUMBERS = ("number", "money", "length", "mass", "temp", "speed", "area", "volume", "hours", "height")
# Kinds of pairs, with how many of a hundred they are.
KINDS = (("same", 33), ("same_negation", 4), ("value", 15), ("negated", 5), ("negated_claim", 5), ("opposite", 4), ("denied", 4),
         ("retracted", 3), ("plan", 8), ("other", 10), ("another", 4), ("unsaid", 5))
# Kinds whose passage is from one group of templates: against the claim, or apart from it.
AGAINST = {"negated": "not", "opposite": "opp", "denied": "deny", "retracted": "retract"}
APART = ("plan", "other")
# A change in one of these makes the statement false; another place makes it another event.
EXACT = NUMBERS + ("percent", "date", "person", "score", "org", "year", "rank", "list")
NAMES = ("city", "country", "person", "org")


def load(folder):
    """Event types and name lists of every template file in `folder`."""
    events, names = [], {}
    for path in sorted(glob.glob(os.path.join(folder, "names*.json"))):
        with open(path, encoding="utf-8") as file:
            for name, forms in json.load(file).items():
                if name in names and names[name] != forms:
                    sys.exit(f"{path}: the list {name} is defined twice")
                names[name] = forms
    for path in sorted(glob.glob(os.path.join(folder, "events*.jsonl"))):
        with open(path, encoding="utf-8") as file:
            events += [json.loads(line) for line in file if line.strip()]
    return events, names


def slots(template):
    return {match[0] for match in TOKEN.findall(template)}


def check(events, names):
    """Problems of the templates, one text each."""
    problems, seen = [], set()
    for event in events:
        here, types = event["id"], event["slots"]
        if here in seen:
            problems.append(f"{here}: the id is used twice")
        seen.add(here)
        if not set(event.get("another", ())) <= set(types):
            problems.append(f"{here}: `another` names a slot that is not declared")
        for slot, kind in types.items():
            name = kind.split(":")[0]
            if name == "list" and kind.split(":")[1] not in names:
                problems.append(f"{here}: no list {kind}")
            elif name not in EXACT + NAMES:
                problems.append(f"{here}: slot type {kind} is unknown")
        for language in LANGUAGES:
            texts = event.get(language)
            if texts is None:
                if language != "pt":
                    problems.append(f"{here}: {language} is missing")
                continue
            for group, (least, most) in GROUPS.items():
                if not least <= len(texts.get(group, [])) <= most:
                    problems.append(f"{here}/{language}/{group}: {len(texts.get(group, []))} templates, {least} to {most} are expected")
            for group, templates in texts.items():
                for template in templates:
                    for slot, unit in TOKEN.findall(template):
                        if slot not in types:
                            problems.append(f"{here}/{language}/{group}: slot {slot} is not declared: {template}")
                        if unit and unit not in UNITS:
                            problems.append(f"{here}/{language}/{group}: unit {unit} is unknown: {template}")
    for name, forms in names.items():
        lengths = {language: len(forms[language]) for language in LANGUAGES if language in forms}
        if len(set(lengths.values())) > 1:
            problems.append(f"list {name}: lengths differ: {lengths}")
    return problems


class Generator:
    def __init__(self, events, names, seed):
        self.events, self.names, self.random = events, names, random.Random(seed)

    # ── values ──

    def value(self, kind, event, old=None):
        """A value of a slot type; unlike `old`, and so far from it that no rounding confuses the two."""
        random, (name, _, argument) = self.random, kind.partition(":")
        if name in NAMES or name == "list":
            count = len(self.names[argument if name == "list" else name]["en"])
            return random.choice([index for index in range(count) if index != old])
        if name == "date":
            while True:
                date = datetime.date(2024, 1, 1) + datetime.timedelta(days=random.randrange(1000))
                if date != old:
                    return date
        if name == "score":
            while True:
                high, low = random.randint(1, 6), random.randint(0, 5)
                if high > low and (high, low) != old:
                    return high, low
        low, high = (float(bound) for bound in re.fullmatch(r"(-?[\d.]+)-(-?[\d.]+)", argument).groups())
        for _ in range(60):
            value = round(random.uniform(low, high), 1) if name == "percent" else random.randint(int(low), int(high))
            small = name in NUMBERS and value % 10 in (1, 2, 3, 4)
            if event.get("avoid_small") and small and random.random() < 0.9:
                continue
            gap = {"percent": 1.5, "year": 1, "rank": 1}.get(name, 0.15 * max(abs(old or 0), 3))
            if old is None or abs(value - old) >= gap:
                return value
        return value + max(2, int(abs(value) * 0.5))

    def figure(self, value, language):
        text = f"{value:,}" if abs(value) >= 10_000 else str(value)
        if language == "en":
            return text
        text = text.replace(",", "\u00a0" if language != "pt" else "@")
        return text.replace(".", ",").replace("@", ".")

    def rounded(self, value, language, mode):
        step = 10 ** max(0, len(str(abs(int(value)))) - (2 if mode == "about" else 1))
        if mode == "about":
            near = round(value / step) * step
            word = self.random.choice(ABOUT[language])
            if word in ("nearly", "майже", "quase") and near < value:
                word = ABOUT[language][0]
            return f"{word} {self.figure(near, language)}"
        below = value // step * step
        return f"{self.random.choice(ABOVE[language])} {self.figure(below, language)}" if below < value else self.figure(value, language)

    def render(self, kind, value, language, unit=None, mode=None):
        name = kind.partition(":")[0]
        if name in NAMES or name == "list":
            forms = self.names[kind.partition(":")[2] if name == "list" else name]
            return forms.get(language, forms["en"])[value]
        if name == "date":
            month = MONTHS[language][value.month - 1]
            if language == "en":
                return f"{value.day} {month} {value.year}" if self.random.random() < 0.5 else f"{month} {value.day}, {value.year}"
            if language == "pt":
                return f"{value.day} de {month} de {value.year}"
            return f"{value.day} {month} {value.year} " + {"ru": "года", "uk": "року"}[language]
        if name == "score":
            return f"{value[0]}{self.random.choice(':-')}{value[1]}"
        if unit:
            column = LANGUAGES.index(language)
            factor, offset, unit_names = UNITS[unit][1 if mode == "unit" else 0]
            amount = value * factor + offset
            if mode == "unit":
                digits = 3 - len(str(abs(int(amount))))
                amount = round(amount, max(digits, -20)) if digits < 1 else round(amount, 1)
                amount = int(amount) if amount == int(amount) else amount
            text = self.rounded(amount, language, mode) if mode in ("about", "above") and value >= 20 else self.figure(amount, language)
            return f"{text} {unit_names[column]}"
        if name in ("year", "rank"):
            return str(value)
        if mode in ("about", "above") and name in NUMBERS and value >= 20:
            return self.rounded(value, language, mode)
        if mode == "word" and language == "en" and name == "number" and 2 <= value <= 12:
            return WORDS[value]
        return self.figure(value, language)

    def fill(self, template, event, values, language, modes=()):
        modes = dict(modes)
        text = TOKEN.sub(
            lambda match: self.render(event["slots"][match[1]], values[match[1]], language, match[2], modes.get(match[1])), template)
        return text[0].upper() + text[1:]

    def values(self, event, apart_from=None):
        values = {}
        for slot, kind in event["slots"].items():
            old = apart_from[slot] if apart_from else None
            # Two slots of one kind must differ: the buyer is not the bought.
            for _ in range(20):
                values[slot] = self.value(kind, event, old)
                if all(values[slot] != values[other] or event["slots"][other] != kind for other in values if other != slot):
                    break
        return values

    # ── pairs ──

    def pick(self, texts, group, within=None):
        found = [template for template in texts.get(group, []) if within is None or slots(template) <= within]
        return self.random.choice(found) if found else None

    def pair(self):
        """One labelled pair."""
        kind = self.random.choices([name for name, _ in KINDS], [weight for _, weight in KINDS])[0]
        while True:
            pair = self.pair_of(kind)
            if pair is not None:
                return pair

    def pair_of(self, kind):
        """A pair of that kind; None if the event type and the templates that were drawn allow none."""
        random = self.random
        event = random.choice(self.events)
        languages = [language for language in LANGUAGES if language in event]
        weights = [{"en": 4, "ru": 3, "uk": 3, "pt": 2}[language] for language in languages]
        of_passage = random.choices(languages, weights)[0]
        of_claim = of_passage if random.random() < 0.7 else random.choices(languages, weights)[0]
        passages, claims, values = event[of_passage], event[of_claim], self.values(event)
        made = self.maker(kind)(event, passages, claims, values, of_passage, of_claim)
        if made is None or made[0] == made[1]:
            return None
        passage, claim, label = made
        passage = self.surrounded(passage, event, passages, values, of_passage)
        return {"premise": passage, "hypothesis": claim, "label": label, "kind": kind, "event": event["id"],
                "languages": of_passage if of_passage == of_claim else f"{of_passage}-{of_claim}"}

    def maker(self, kind):
        """The method that makes pairs of that kind."""
        if kind in AGAINST:
            return functools.partial(self.pair_against, AGAINST[kind])
        return functools.partial(self.pair_apart, kind) if kind in APART else getattr(self, "pair_" + kind)

    def surrounded(self, passage, event, passages, values, language):
        """The passage among one or two sentences that settle nothing: of the same event, or of another one."""
        random, sentences = self.random, [passage]
        for _ in range(random.choices((0, 1, 2), (45, 35, 20))[0]):
            if random.random() < 0.6:
                # The same names, other figures and days: a matter of the same people.
                near = self.values(event, values)
                near.update({slot: values[slot] for slot, kind in event["slots"].items() if kind.partition(":")[0] in NAMES + ("list",)})
                extra = self.fill(self.pick(passages, "other"), event, near, language)
            else:
                far = random.choice(self.events)
                if language not in far or far["id"] == event["id"]:
                    continue
                extra = self.fill(self.pick(far[language], random.choice(("yes", "other"))), far, self.values(far), language)
            if extra not in sentences:
                sentences.insert(random.randrange(len(sentences) + 1), extra)
        return " ".join(text if text[-1] in ".!?»”\"" else text + "." for text in sentences)

    def alike(self, event, texts, within):
        """How the claim writes its numbers: as they are, rounded, in another unit, in words."""
        changes = {}
        for slot in sorted(within):
            name = event["slots"][slot].partition(":")[0]
            if name in NUMBERS and self.random.random() < 0.4:
                has_unit = any(match == slot and unit for text in texts for match, unit in TOKEN.findall(text))
                changes[slot] = self.random.choice(("unit", "unit", "about", "above") if has_unit else ("about", "above", "word"))
        return changes

    def pair_same(self, event, passages, claims, values, p, c):
        passage = self.pick(passages, "yes")
        claim = self.pick(claims, "yes", slots(passage))
        if claim is None or (p == c and claim == passage):
            return None
        modes = self.alike(event, [claim], slots(claim))
        return self.fill(passage, event, values, p), self.fill(claim, event, values, c, modes), "entail"

    def pair_same_negation(self, event, passages, claims, values, p, c):
        # The first `not` is the plain negation; the others give reasons of their own.
        passage, claim = self.pick(passages, "not"), claims["not"][0]
        if not slots(claim) <= slots(passage) or (p == c and claim == passage):
            return None
        return self.fill(passage, event, values, p), self.fill(claim, event, values, c), "entail"

    def pair_value(self, event, passages, claims, values, p, c):
        passage = self.pick(passages, "yes")
        claim = self.pick(claims, "yes", slots(passage))
        changeable = [slot for slot in sorted(slots(claim or ""))
                      if event["slots"][slot].partition(":")[0] in EXACT and slot not in event.get("another", ())]
        if not changeable:
            return None
        slot = self.random.choice(changeable)
        changed = {**values, slot: self.value(event["slots"][slot], event, values[slot])}
        if any(changed[slot] == values[other] and event["slots"][other] == event["slots"][slot] for other in values if other != slot):
            return None
        modes = {name: mode for name, mode in self.alike(event, [claim], slots(claim)).items() if name != slot or mode in ("unit", "word")}
        return self.fill(passage, event, values, p), self.fill(claim, event, changed, c, modes), "contradict"

    def pair_against(self, group, event, passages, claims, values, p, c):
        passage, claim = self.pick(passages, group), self.pick(claims, "yes")
        if passage is None:
            return None
        return self.fill(passage, event, values, p), self.fill(claim, event, values, c), "contradict"

    def pair_apart(self, group, event, passages, claims, values, p, c):
        of_claim = self.random.choice(("yes", "yes", "not"))
        return self.fill(self.pick(passages, group), event, values, p), self.fill(self.pick(claims, of_claim), event, values, c), "neutral"

    def pair_negated_claim(self, event, passages, claims, values, p, c):
        passage, claim = self.pick(passages, "yes"), self.pick(claims, self.random.choice(("not", "not", "opp")))
        if claim is None:
            return None
        return self.fill(passage, event, values, p), self.fill(claim, event, values, c), "contradict"

    def pair_another(self, event, passages, claims, values, p, c):
        passage, claim = self.pick(passages, "yes"), self.pick(claims, "yes")
        places = {slot for slot, kind in event["slots"].items() if kind in ("city", "country")} | set(event.get("another", ()))
        # Without its place a passage may be about the claim's event.
        if not places & slots(passage) & slots(claim):
            return None
        return self.fill(passage, event, self.values(event, values), p), self.fill(claim, event, values, c), "neutral"

    def pair_unsaid(self, event, passages, claims, values, p, c):
        passage, claim = self.pick(passages, "yes"), self.pick(claims, "yes")
        missing = slots(claim) - slots(passage)
        if not any(event["slots"][slot].partition(":")[0] in EXACT for slot in missing):
            return None
        return self.fill(passage, event, values, p), self.fill(claim, event, values, c), "neutral"


def held_out(event):
    """One event type in twelve is never trained on."""
    return int(hashlib.sha256(event["id"].encode()).hexdigest(), 16) % 12 == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", default=os.path.dirname(os.path.abspath(__file__)), help="where the template files are")
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--held-out", action="store_true", help="only event types that training never sees")
    parser.add_argument("--out", help="JSONL file (default: standard output)")
    parser.add_argument("--show", type=int, help="print so many pairs for a person to read")
    parser.add_argument("--check", action="store_true", help="validate the template files")
    options = parser.parse_args()
    events, names = load(options.folder)
    problems = check(events, names)
    if options.check or problems:
        print("\n".join(problems) or f"{len(events)} event types, {len(names)} lists: no problem found")
        sys.exit(1 if problems else 0)
    generator = Generator([event for event in events if held_out(event) == options.held_out], names, options.seed)
    out = open(options.out, "w", encoding="utf-8") if options.out else sys.stdout
    count, wanted = 0, options.show or options.pairs
    while count < wanted:
        pair = generator.pair()
        count += 1
        if options.show:
            print(f"[{pair['label']}/{pair['kind']}/{pair['event']}] {pair['languages']}\n  P: {pair['premise']}\n  C: {pair['hypothesis']}")
        else:
            print(json.dumps({"source": "templates", "id": f"{options.seed}:{count}", **pair}, ensure_ascii=False), file=out)


if __name__ == "__main__":
    main()
