// What the card says, worked out from the server's answer. The result is plain data in the reader's words: the view builds
// nodes of it and knows neither verdicts nor languages, and a content script is handed nothing else.

import { correctionOf } from "./correction.mjs";
import { evidenceOf, reviewsOf } from "./evidence.mjs";
import { askedName, causeOf, firmerOf, firmness, knownVerdict, notesOf, restsOnPassages, rightInTen, showsTier } from "./labels.mjs";
import { plain } from "./plain.mjs";

const TRACE_LINES = 200;
// A paragraph or two. The server's page has the rest.
const CLAIM_CHARACTERS = 600;
const WHY_CHARACTERS = 2000;

/** Whether this is an answer to /api/verify: without a result there is nothing to show, however well it parses. */
export const isAnswer = (value) => Boolean(value?.result) && typeof value.result === "object" && Array.isArray(value.result.claims);

/**
 * The card of an answer. `asked` is what the person selected, `server` the base address, `rules` the server's domain lists,
 * or `null` where they are not known.
 */
export function cardOf(answer, { asked, words, server, rules = null }) {
  const { result } = answer;
  const claims = result.claims.filter((claim) => claim !== null && typeof claim === "object");
  const main = claims.find((claim) => claim.claim_id === result.main_claim) ?? claims[0];
  const gaps = gapsOf(result, words);
  const selected = plain(asked, CLAIM_CHARACTERS);
  const shown = main ? shownClaim(main, result, { gaps, words, rules }) : emptyClaim(answer, words);
  return {
    ...shown,
    selected,
    // The input stands beside the claim only where they differ.
    differs: squeezed(shown.claim) !== squeezed(asked),
    gaps,
    others: claims.filter((claim) => claim !== main).map((claim) => shownClaim(claim, result, { gaps, words, rules })),
    alsoReportedBy: alsoReported(result, words),
    explanation: explanationOf(result, shown),
    trace: list(result.trace).slice(0, TRACE_LINES).map((line) => plain(line, 500)),
    asked: list(result.sources_checked).slice(0, 60).map((name) => askedName(plain(name, 80), words)),
    page: typeof result.item_id === "string" ? `${server}/evidence/${encodeURIComponent(result.item_id.toWellFormed())}` : null,
  };
}

function shownClaim(claim, result, { gaps, words, rules }) {
  const verdict = knownVerdict(claim.verdict);
  const firm = firmness(verdict, claim.decisive);
  return {
    claim: plain(claim.text, CLAIM_CHARACTERS),
    kind: words.say(`kind_${["factual", "opinion", "mixed"].includes(claim.kind) ? claim.kind : "ambiguous"}`),
    verdict,
    word: words.say(`verdict_${verdict}`),
    firmness: firm && words.say(firm),
    firm: firm === "decisive",
    lean: firm === "lean",
    // That not everybody could be asked stands in the gaps already.
    notes: notesOf({ ...claim, verdict }, words).filter((note) => !gaps || note !== words.say("note_degraded")),
    firmer: firmerOf({ ...claim, verdict }, words),
    incomplete: gaps ? gaps.title : null,
    confidence: firm === "decisive" ? confidenceOf(claim, words) : null,
    tier: showsTier(verdict) && words.has(`tier_${claim.tier}`) ? words.say(`tier_${claim.tier}`) : null,
    support: restsOnPassages(claim) && Number.isFinite(claim.score) ? `${words.say("support")}: ${claim.score} ${words.say("out_of_100")}` : null,
    justification: cited(plain(claim.justification, WHY_CHARACTERS)),
    correction: correctionOf(claim.correction, words),
    evidence: evidenceOf(claim, words, rules),
    reviews: reviewsOf(result, claim, words),
  };
}

/** A text in which nothing could be checked. */
function emptyClaim(answer, words) {
  return {
    claim: plain(answer.claim, CLAIM_CHARACTERS),
    kind: null,
    verdict: "not_verifiable",
    word: words.say("verdict_not_verifiable"),
    firmness: null,
    firm: false,
    lean: false,
    notes: list(answer.result.notes).filter((note) => words.has(`note_${note}`)).map((note) => words.say(`note_${note}`)),
    firmer: null,
    incomplete: null,
    confidence: null,
    tier: null,
    support: null,
    justification: cited(plain(answer.reasoning, WHY_CHARACTERS)),
    correction: null,
    evidence: { for: [], against: [], neutral: [] },
    reviews: { for: [], against: [], other: [] },
  };
}

/** A confidence with what it means. It is never told as certain. */
function confidenceOf(claim, words) {
  const value = Number(claim.confidence);
  if (!Number.isFinite(value)) return null;
  return { figure: `${words.say("confidence")} ${words.figure(value)}`, means: words.say("confidence_means", rightInTen(value)) };
}

function gapsOf(result, words) {
  const causes = list(result.degraded).map((cause) => causeOf(plain(cause, 120), words));
  if (!causes.length) return null;
  return { title: words.say("gaps"), causes: [...new Set(causes)], means: words.say("gaps_mean") };
}

function alsoReported(result, words) {
  const channels = list(result.also_reported_by).slice(0, 3).map((channel) => plain(channel, 80));
  return channels.length ? `${words.say("also_reported_by")}: ${channels.join(", ")}` : null;
}

/** Why nothing could be checked, unless the justification has said it. */
function explanationOf(result, shown) {
  const text = plain(result.explanation);
  return text && text !== shown.justification.map((part) => part.text ?? `[${part.cite}]`).join("") ? text : null;
}

/** A justification in parts: text, and the numbers of the passages that it cites. */
export function cited(text) {
  return text
    .split(/(\[\d{1,3}\])/)
    .filter((part) => part !== "")
    .map((part) => (/^\[\d{1,3}\]$/.test(part) ? { cite: Number(part.slice(1, -1)) } : { text: part }));
}

const list = (value) => (Array.isArray(value) ? value : []);
const squeezed = (text) => plain(text, 5000).replace(/\s+/g, " ").toLowerCase();
