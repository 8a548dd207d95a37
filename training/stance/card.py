"""The model card: what the model is, what it learnt from, what was measured, what it must not be used for."""

from __future__ import annotations

from pathlib import Path

SOURCES = [
    ("fever, fever_symmetric_dev", "FEVER and FEVER-symmetric development sets (Wikipedia)", "CC BY-SA 3.0"),
    ("exfever", "EX-FEVER, people's explanations (Wikipedia)", "MIT; texts CC BY-SA"),
    ("feverous_dev", "FEVEROUS development set, sentence evidence (Wikipedia)", "CC BY-SA 3.0"),
    ("vitaminc_sample", "a sample of VitaminC (Wikipedia)", "CC BY-SA 3.0"),
    ("check_covid", "Check-COVID: claims of the news, sentences of papers", "MIT"),
    ("mnli", "MultiNLI, in part", "OANC, CC BY 3.0, CC BY-SA 3.0, MIT"),
    ("snli_devtest, snli_cad", "SNLI development and test sets; counterfactually augmented SNLI", "CC BY-SA 4.0; Apache-2.0"),
    ("negation_nli", "negation and NLI", "MIT"),
    ("conjnli, conjnli_adv15k", "ConjNLI", "MIT"),
    ("breaking_nli, med", "Breaking NLI; MED (monotonicity)", "CC BY-SA 4.0"),
    ("scitail", "SciTail", "Apache-2.0"),
    ("ambient, folio, tracie", "AmbiEnt; FOLIO; TRACIE", "CC BY 4.0; CC BY-SA 4.0; Apache-2.0"),
    ("summedits", "SummEdits: summaries edited by a language model, checked by people", "Apache-2.0"),
    ("written", "`training/written`: passages and claims written for this project by a language model: news, medicine, climate, science, encyclopaedia", "CC0 1.0"),
]

MADE = {
    "silent": "a claim with a passage of the same subject that does not share the claim's words: neutral",
    "around": "the answer among sentences of neighbouring passages: label kept",
    "number": "a number or month changed in claim or passage: contradicts",
    "bound": "a number turned into a bound (more than, at least, fewer than): entailed or contradicted by arithmetic",
    "unit": "a unit or scale changed: contradicts",
    "direction": "increase for decrease and the like, in the claim or in both: contradicts or entailed",
    "negation": "the claim, the passage or both denied: contradicts or entailed",
    "name": "a name replaced by a neighbouring one, or two names exchanged: not entailed",
    "open": "a claim, as it is or changed, with any passage of the same subject, or a sentence of one with another: answered by the teacher alone",
    "perturbed": "a claim cut short, joined with another or changed once or twice, or a passage cut: answered by the teacher alone",
}

LIMITS = """## What it must not be used for
* As a judge of truth. It reads one passage and one claim; it knows nothing of the passage's source, date or subject.
* Alone: numbers, dates and denials are compared by rule beside it, and what rests on one source of middling credibility is
  never called decisive.
* For languages other than English: its vocabulary holds letters, not words, of other scripts. The daemon leaves such
  pairs to the rules.
* To score people, or to take texts down without a person who reads the passage.

## Where it fails
* It calls too much neutral that a passage says in other words than the claim, and takes some of the rest for the opposite:
  see the F1 of each label above. Where a passage speaks of the subject and settles nothing, it takes a side too often: on
  Climate-FEVER in four of ten such pairs.
* Several steps of reasoning, and more arithmetic than a sum or a bound, are hardly in its training; it is not to be relied on there.
* Passages without their subject ("He was born in 1950"): nothing tells it whom they speak of.
"""


def set_table(figures: dict) -> str:
    """Figures per set, f32 beside int8."""
    lines = ["| set | pairs | macro-F1 f32 | macro-F1 int8 | F1 entail / neutral / contradict (int8) | ECE | accuracy where the claim has a number |", "|---|---|---|---|---|---|---|"]
    both = figures["sets"]
    for name, found in both.get("int8", {}).get("beside", {}).items():
        twin = both["f32"]["beside"][name]
        if "macro_f1" not in found:
            lines.append(f"| {name} (two-way, accuracy) | {found['pairs']} | {twin['accuracy']:.3f} | {found['accuracy']:.3f} | | | {found['numeric']:.3f} of {found['numeric_pairs']} |")
            continue
        each = " / ".join(f"{found[f'f1_{label}']:.2f}" if f"f1_{label}" in found else "–" for label in ("entail", "neutral", "contradict"))
        lines.append(f"| {name} | {found['pairs']} | {twin['macro_f1']:.3f} | {found['macro_f1']:.3f} | {each} | {found['ece']:.3f} | {found['numeric']:.3f} of {found['numeric_pairs']} |")
    return "\n".join(lines)


def table_alone(figures: dict) -> str:
    """The int8 figures where the model has no cosine to go by."""
    lines = ["| set | macro-F1 | ECE |", "|---|---|---|"]
    lines += [f"| {name} | {found['macro_f1']:.3f} | {found['ece']:.3f} |"
              for name, found in figures["sets"].get("int8", {}).get("alone", {}).items() if "macro_f1" in found]
    return "\n".join(lines)


def card(folder: Path, counts: dict[str, dict[str, int]], figures: dict) -> str:
    """The card's text."""
    made_of = {kind: sum(counts.get(kind, {}).values()) for kind in MADE}
    rows = "\n".join(f"| {names} | {what} | {licence} |" for names, what, licence in SOURCES)
    made = "\n".join(f"| {kind} | {made_of[kind]:,} | {what} |" for kind, what in MADE.items() if made_of[kind])
    held = figures["held_out"]["beside"]
    beside, alone = figures["calibration"]["beside"], figures["calibration"]["alone"]
    where = f"on {held['pages']:,} pairs of WiCE, claims with web pages, which no training used" if held["pages"] else "on the same pairs"
    size = (folder / "model.onnx").stat().st_size / 1e6
    return f"""# {folder.name}

Says whether a passage entails, contradicts or leaves open a claim: three probabilities. A cross-encoder of twelve layers with
768 hidden values, 6 attention heads and 432 inner values each ({size:.1f} MB: int8, the words in four bits), read by the daemon
in-process.

* Base: all-mpnet-base-v2 (Apache-2.0). It learnt the labelled pairs, was cut down to this size, and then taught by what it
  was before: its answers beside the labels. Then it was trained on with pairs written for this project; the shipped weights are a
  mean of before and after. Made, calibrated and measured by the steps of `training/run`;
  `training/README.md` says in what the shipped weights differ from one run of it.
* Licence of these weights: CC BY-SA 4.0, since several of the sources ask for share-alike (`LICENSE`).
* Input: passage first, claim second, at most 256 word pieces together, the passage cut where longer.
* Calibration: temperature {beside['temperature']}, added to the logits {beside['bias']} and {beside['weights']} times the
  cosine of claim and passage by `{figures['embedder']}` (entail, neutral, contradict); without that embedder temperature
  {alone['temperature']} and {alone['bias']}. The temperatures were fitted {where}, the rest on the held-out
  claims of Check-COVID, {held['fitted']} pairs (error on {held['pairs']} held-out pairs {held['before']:.3f} before, {held['after']:.3f} after;
  accuracy {held['accuracy']:.3f}).

## Measured
On sets of which neither claims nor passages were trained on. The figures of earlier models on these sets were seen while this
one was planned, and 400 pairs of each with one part-way when it was decided what to calibrate on; that the old weights keep a
third in the mean, and that the cosine counts, was decided with these figures in view; nothing else was fitted on them. Sets with two of the three labels are scored over those two while the model
chooses among three. Figures of the model without the rules and without `[figures]` of its model.toml, what it is worth that the
passage has the claim's figures (`stance/standing.py`), by ONNX Runtime; what the daemon makes of it together with its rules is
measured by `cargo bench --bench stance`.

{set_table(figures)}

Without the embedder (int8):

{table_alone(figures)}

What these figures do not show: news of today, paragraphs chosen by the daemon itself, sources that copy each other.

## Learnt from
| source | what | licence |
|---|---|---|
{rows}

Built from them for the first training:

| kind | pairs | how |
|---|---|---|
{made}

{LIMITS}"""
