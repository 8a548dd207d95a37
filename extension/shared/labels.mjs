// Which word stands for what the daemon stores: the same choice, and the same words, as crates/judging/src/labels.rs makes
// for the command line. A name that this version does not know is never shown raw.

/** Contradiction or support from which a passage that takes no side may take one. */
const MAY = 0.4;

const VERDICTS = ["supported", "refuted", "contested", "misleading", "outdated", "not_enough_evidence", "not_verifiable"];
const SIDELESS = ["contested", "not_enough_evidence", "not_verifiable"];

/** A verdict that there are words for. One of a later version takes no side here. */
export const knownVerdict = (verdict) => (VERDICTS.includes(verdict) ? verdict : "not_enough_evidence");

/** `decisive` or `lean` for a verdict that takes a side; `null` of one that takes none. */
export function firmness(verdict, decisive) {
  if (SIDELESS.includes(verdict)) return null;
  return decisive === true ? "decisive" : "lean";
}

/** Whether the tier says something to a reader: where a verdict is against the claim it is low by definition. */
export const showsTier = (verdict) => verdict === "supported" || verdict === "not_enough_evidence";

/** Whether a published fact-check decided. */
const byReview = (claim) => String(claim.judge ?? "").split("+").includes("fact_check");

/** Whether the support that was found in passages speaks for or against the verdict. */
export const restsOnPassages = (claim) => ["supported", "refuted", "contested"].includes(claim.verdict) && !byReview(claim);

/**
 * What would make an answer firm, by what keeps it from being so; `null` where it is firm, or cannot be. The same choice as
 * crates/judging/src/labels/firmness.rs makes.
 */
export function firmerOf(claim, words) {
  if (claim.decisive === true || claim.verdict === "not_verifiable") return null;
  const notes = Array.isArray(claim.notes) ? claim.notes : [];
  const isAlone = ["single_source", "no_corroboration", "social_only", "no_sources"].some((note) => notes.includes(note));
  const rows = Array.isArray(claim.evidence) ? claim.evidence : [];
  const isSaid = (stance) => rows.some((row) => row?.stance === stance);
  const [supports, contradicts] = [isSaid("supports"), isSaid("contradicts")];
  const lacking = ["firmer_reading"];
  if (!supports && !contradicts) lacking[0] = "firmer_plain";
  else if (isAlone && !contradicts) lacking[0] = "firmer_sources";
  else if (isAlone && !supports) lacking[0] = "firmer_denials";
  if (notes.includes("words_only")) lacking.push("firmer_model");
  if (notes.includes("degraded")) lacking.push("firmer_again");
  return `${lacking.map((key) => words.say(key)).join("; ")}.`;
}

// Of the answers stated most surely about a quarter was wrong when it was measured (docs/quality.md): nothing above this is
// promised, as on the server's own page.
const MOST_IN_TEN = 8;

/** How many of ten answers that were stated with this confidence were right. */
export const rightInTen = (confidence) => Math.min(MOST_IN_TEN, Math.max(0, Math.round(confidence * 10)));

/** The side that a published fact-check takes on our claim; `null` where it takes none. */
export function reviewSide(check) {
  const says = { true: 1, mostly_true: 1, false: -1 }[check.rating_class] ?? 0;
  const of = { same: 1, opposite: -1 }[check.relation] ?? 0;
  return { 1: "for", [-1]: "against" }[says * of] ?? null;
}

/** The notes that add something to the verdict: none that would contradict it or say it twice. */
export function notesOf(claim, words) {
  const notes = Array.isArray(claim.notes) ? claim.notes : [];
  const has = (stance) => rows(claim).some((row) => row.stance === stance);
  const open = claim.verdict === "not_enough_evidence";
  const adds = {
    no_corroboration: open && !notes.includes("no_sources"),
    conflicting_sources: has("supports") && has("contradicts") && claim.verdict !== "contested",
    no_sources: open,
    // Said by "not enough evidence" beside sources that take no side.
    only_related: false,
  };
  return notes.filter((note) => (adds[note] ?? true) && words.has(`note_${note}`)).map((note) => words.say(`note_${note}`));
}

/** What a passage says of the claim, as the name of a message. */
export function stanceKey(row) {
  if (row.stance === "supports" || row.stance === "contradicts") return `stance_${row.stance}`;
  if (row.contradict >= MAY && row.contradict >= row.entail) return "stance_may_contradict";
  return row.entail >= MAY ? "stance_may_support" : "stance_neutral";
}

/** What could not be asked or read, and why. The stored form is `provider_open:gdelt` or `deadline`. */
export function causeOf(stored, words) {
  const [label, whom] = String(stored).split(/:(.*)/s, 2);
  const concernsSomebody = ["provider_open", "provider_busy", "provider_failed", "provider_disabled", "store_away", "model_failed"];
  if (!words.has(`cause_${label}`) || label === "unknown" || concernsSomebody.includes(label) !== Boolean(whom)) {
    return words.say("cause_unknown");
  }
  const said = words.say(`cause_${label}`);
  return whom ? `${askedName(whom, words)}: ${said}` : said;
}

/** A provider or model as people call it; what has no such name keeps its own. */
export const askedName = (name, words) => (words.has(`asked_${name}`) ? words.say(`asked_${name}`) : name);

/** The rows of a claim's evidence that can be read. */
export const rows = (claim) =>
  (Array.isArray(claim.evidence) ? claim.evidence : []).filter((row) => row !== null && typeof row === "object");
