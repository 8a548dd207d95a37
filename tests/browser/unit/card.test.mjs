// What the card says of each kind of answer.

import assert from "node:assert/strict";
import test from "node:test";

import { cardOf, cited, isAnswer } from "../../../extension/shared/card.mjs";
import { difference } from "../../../extension/shared/correction.mjs";
import { believedOf } from "../../../extension/shared/domains.mjs";
import { textOf } from "../../../extension/shared/text.mjs";
import * as answers from "../lib/answers.mjs";
import { WORDS } from "../lib/words.mjs";

const { en, ru } = WORDS;
const card = (answer, words = en, asked = answer.claim) => cardOf(answer, { asked, words, server: "https://s.example" });

test("a firm verdict says how often such a one is right, and never that it is certain", () => {
  const said = card(answers.firm());
  assert.deepEqual([said.word, said.firmness, said.lean], ["Refuted", "conclusive", false]);
  assert.deepEqual(said.confidence, { figure: "confidence in this verdict 0.88", means: "About 8 in 10 answers with this confidence were right." });
  for (const confidence of [0.95, 0.999, 1]) {
    const sure = answers.supported();
    sure.result.claims[0].confidence = confidence;
    assert.match(card(sure).confidence.means, /bout 8 in 10/, "no more than was measured");
  }
  assert.equal(said.tier, null, "low by definition where the verdict is against the claim");
});

test("a lean is called one, without a figure, and says what would make it firm", () => {
  const said = card(answers.lean());
  assert.deepEqual([said.word, said.firmness, said.confidence], ["Supported", "provisional", null]);
  assert.deepEqual([said.notes, said.tier], [["one source only"], "corroboration: medium"]);
  assert.equal(said.firmer, "a second, independent source that says the same.");
  const bare = answers.lean();
  bare.result.claims[0].notes = ["words_only", "degraded"];
  assert.match(card(bare).firmer, /^sources that say it more plainly.*; a model that reads.*; answers from the sources that could not/);
  const firmerOf = (notes, ...stances) => {
    const answer = answers.lean();
    Object.assign(answer.result.claims[0], { notes, evidence: stances.map((stance, at) => answers.row(at + 1, stance)) });
    return card(answer).firmer;
  };
  assert.equal(firmerOf(["single_source"], "contradicts"), "a second, independent source that denies it.");
  assert.equal(firmerOf(["single_source"], "supports", "contradicts"), "sources that say it more plainly and do not disagree.");
  assert.equal(firmerOf(["no_sources"]), "a source that says plainly whether it is so.");
  assert.equal(firmerOf(["single_source"], "neutral"), "a source that says plainly whether it is so.");
  assert.deepEqual([card(answers.firm()).firmer, card(answers.greeting()).firmer], [null, null]);
});

test("nobody could be asked never looks like nobody reports it", () => {
  const [asked, silent] = [card(answers.gaps()), card(answers.silent())];
  assert.equal(asked.word, silent.word);
  assert.equal(silent.gaps, null);
  assert.equal(silent.incomplete, null);
  assert.equal(asked.incomplete, "Not everything could be asked");
  assert.deepEqual(asked.gaps.causes, ["GDELT: takes no requests at the moment", "SearxNG: no usable answer"]);
  assert.match(asked.gaps.means, /does not mean that nobody reports it/);
  const text = textOf(asked, en);
  assert.ok(text.indexOf("Not everything could be asked") < text.indexOf("no sources found"), "the gap is told first");
  for (const cause of ["of_a_later_version", ""]) {
    const later = answers.silent();
    later.result.degraded = [cause];
    assert.deepEqual(card(later).gaps.causes, ["another fault"], "an unknown cause is still a gap");
  }
});

test("evidence stands on two sides, and copies of a story are one", () => {
  const { evidence } = card(answers.firm());
  assert.deepEqual([evidence.for.length, evidence.against.length, evidence.neutral.length], [1, 2, 1]);
  assert.deepEqual(evidence.against[1].others.map((other) => other.n), [3, 4]);
  assert.equal(evidence.against[1].sameStory, "same story as 2 other outlets: they count once");
  assert.equal(evidence.neutral[0].stance, "may contradict");
  const long = evidence.against[0];
  assert.ok(long.passage.endsWith("…") && long.whole.length > long.passage.length);
  assert.match(long.href, /^https:\/\/www\.riverside-gazette\.example\/1987\/bridge#:~:text=/);
  assert.equal(long.outlet, "riverside-gazette.example");
});

test("an outlet's credibility comes with its reason, by the server's lists", () => {
  const rules = [
    { domain: "example", list: "allow", credibility: 0.9, source_type: "news", why: "read <b>daily</b>\u202e" },
    { domain: "news2.example", list: "deny", source_type: "link_farm", why: "from the configuration" },
    { domain: "*.gov", list: "allow", source_type: "government", why: null },
  ];
  const shown = cardOf(answers.firm(), { asked: "", words: en, server: "https://s.example", rules }).evidence;
  assert.deepEqual(shown.against[0].credibility, { stars: "★★★★☆", said: "credibility 0.80", reason: "on the allow list, news outlet (read <b>daily</b>)" });
  assert.equal(shown.against[1].credibility.reason, "on the deny list, link farm", "the longest domain decides");
  assert.equal(shown.for[0].credibility.reason, null, "an own document is on no list of sites");
  assert.equal(believedOf("gov", rules, en), "on no list", "*.gov is what lies below it");
  assert.equal(believedOf("nasa.gov.", rules, en), "on the allow list, public authority");
  assert.equal(card(answers.firm()).evidence.against[0].credibility.reason, null, "nothing is said where the lists are not known");
  const bare = answers.firm();
  bare.result.claims[0].evidence = [answers.row(1, "supports", { credibility: "high" }), answers.row(2, "supports", { credibility: 17, llm_stance: "contradicts" })];
  const [none, much] = card(bare).evidence.for;
  assert.deepEqual([none.credibility, much.credibility.stars], [null, "★★★★★"]);
  assert.equal(much.secondReading, "the language model reads it as: contradicts");
});

test("a fact-check stands on the side it takes, one of the opposite claim on the other", () => {
  const sides = (more) => {
    const answer = answers.reviewed();
    Object.assign(answer.result.fact_checks[0], more);
    return Object.entries(card(answer).reviews).filter(([, list]) => list.length).map(([side]) => side).join();
  };
  assert.equal(sides({}), "against");
  assert.equal(sides({ rating_class: "mostly_true" }), "for");
  assert.equal(sides({ relation: "opposite" }), "for");
  assert.equal(sides({ relation: "related" }), "other");
  for (const rating_class of ["mixed", "unrated", null, "constructor"]) assert.equal(sides({ rating_class }), "other", String(rating_class));
});

test("an own document is named and is no link", () => {
  const own = card(answers.firm()).evidence.for[0];
  assert.deepEqual([own.href, own.place, own.outlet, own.day], [null, "bridge.md, lines 3–5", "gazette (own documents)", "no date"]);
});

test("the claim as it was checked stands beside the input only where they differ", () => {
  const answer = answers.firm();
  assert.equal(card(answer).differs, false);
  assert.equal(card(answer, en, `  ${answer.claim.replace(" ", "\n").toUpperCase()} `).differs, false);
  assert.equal(card(answer, en, "Yesterday they said the bridge opened in 1990!").differs, true);
});

test("the main claim comes first, the others are folded, and each has its own fact-checks", () => {
  const answer = answers.firm();
  answer.result.main_claim = "c2";
  const said = card(answer);
  assert.equal(said.claim, "It is the longest in the county.");
  assert.deepEqual([said.reviews.against.length, said.others.length, said.others[0].reviews.against.length], [0, 1, 1]);
});

test("a text without a statement says so, once", () => {
  const said = card(answers.greeting());
  assert.equal(said.word, "Not verifiable");
  assert.equal(said.justification.length, 1);
  assert.equal(said.explanation, null);
});

test("the server's page of the item is found by its id, whatever is in it", () => {
  assert.equal(card(answers.firm()).page, "https://s.example/evidence/check%3A5d41402abc");
  assert.match(card(answers.hostile()).page, /^https:\/\/s\.example\/evidence\/\.\.%2F\.\.%2F/);
});

test("a justification is parted at its citations", () => {
  assert.deepEqual(cited("So [1] and [22], not [x]."), [{ text: "So " }, { cite: 1 }, { text: " and " }, { cite: 22 }, { text: ", not [x]." }]);
});

test("a correction marks what differs", () => {
  const { before, after } = difference("opened in 1990 there", "opened in 1987 there");
  assert.deepEqual([before[1], after[1]], [{ text: "1990", differs: true }, { text: "1987", differs: true }]);
  assert.deepEqual(difference("a", "a").after, [{ text: "a", differs: false }]);
  const twice = difference("the 3 ships left on 4 May", "the 5 ships left on 6 May").after.filter((part) => part.differs);
  assert.deepEqual(twice.map((part) => part.text), ["5", "6"], "what stands between two differences is not one");
  assert.deepEqual(difference("a b", "a b c").before, [{ text: "a b", differs: false }]);
});

test("hostile texts become plain, bounded data in every language", () => {
  for (const words of Object.values(WORDS)) {
    const said = card(answers.hostile(), words, Object.values(answers.EVIL).join(" "));
    const json = JSON.stringify(said);
    assert.ok(json.isWellFormed() && structuredClone(said));
    assert.doesNotMatch(json, /[\u202a-\u202e\u2066-\u2069\u200e\u200f\u061c]/);
    const links = [...json.matchAll(/"(?:href|page)":"([^"]*)"/g)].map((found) => found[1]);
    assert.ok(links.length > 1 && links.every((link) => /^https:\/\//.test(link)), links.join(" "));
    assert.ok(textOf(said, words).isWellFormed());
    assert.equal(said.others[0].verdict, "not_enough_evidence", "a verdict of a later version takes no side");
  }
  const deceiving = card(answers.hostile()).evidence.for.find((row) => row.n === 91);
  assert.deepEqual([deceiving.href.split("#")[0], deceiving.outlet], ["https://evil.example/", "bank.example (evil.example)"]);
});

test("whatever is no answer is known as none, and an answer with holes is still shown", () => {
  for (const bad of [null, 1, "x", [], {}, { result: 1 }, { result: {} }, { result: { claims: {} } }]) assert.equal(isAnswer(bad), false);
  const bare = { result: { claims: [{ verdict: "supported" }] } };
  assert.equal(card(bare, en, "x").firmness, "provisional");
  assert.ok(textOf(card(bare, ru, "x"), ru));
});

test("the text for the clipboard holds the verdict, the evidence, its addresses and what it is not", () => {
  const text = textOf(card(answers.firm(), en, "They said it opened in 1990."), en);
  const parts = [
    "Refuted · conclusive · confidence in this verdict 0.88",
    "You asked: They said it opened in 1990.",
    "What was checked: The Riverside bridge opened in 1990.",
    "For the claim:",
    "Against the claim:",
    "credibility 0.80",
    "same story as 2 other outlets: they count once: news3.example, news4.example",
    "https://factcheck.example/riverside",
    "Signals with their sources, not a certificate of truth.",
    "https://s.example/evidence/check%3A5d41402abc",
  ];
  for (const part of parts) assert.ok(text.includes(part), `${part}\n${text}`);
});
