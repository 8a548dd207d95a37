// The evidence of a claim as it is shown: on which side, which passages are one story, where the link leads.

import { believedOf, outletName, placeName } from "./domains.mjs";
import { atPassage, webAddress } from "./fragment.mjs";
import { reviewSide, rows, stanceKey } from "./labels.mjs";
import { plain } from "./plain.mjs";

// As much of a passage as two sentences take. The rest is one press away.
const SHOWN = 320;
const MOST = 10_000;

/**
 * `{for, against, neutral}`, each a list of stories: the first passage that tells it, and the others that tell the same.
 * `rules` are the server's domain lists, or `null`.
 */
export function evidenceOf(claim, words, rules) {
  const sides = { for: [], against: [], neutral: [] };
  for (const row of rows(claim)) sides[sideOf(row)].push(row);
  return Object.fromEntries(Object.entries(sides).map(([side, of]) => [side, stories(of, words, rules)]));
}

const sideOf = (row) => ({ supports: "for", contradicts: "against" })[row.stance] ?? "neutral";

function stories(of, words, rules) {
  const groups = new Map();
  for (const row of of) {
    const group = row.independent_group || Symbol("a story of its own");
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(shownRow(row, words, rules));
  }
  return [...groups.values()].map(([first, ...others]) => ({
    ...first,
    others,
    sameStory: others.length ? words.count("same_story", others.length) : null,
  }));
}

function shownRow(row, words, rules) {
  const passage = plain(row.passage, MOST);
  const shown = plain(row.passage, SHOWN);
  const href = atPassage(row.url, row.passage);
  return {
    n: Number.isInteger(row.n) ? row.n : null,
    outlet: outlet(row, href, words),
    title: plain(row.title, 200),
    day: words.day(row.published_at),
    stance: words.say(stanceKey(row)),
    secondReading: secondReading(row, words),
    credibility: credibilityOf(row, href, words, rules),
    side: sideOf(row),
    // For a voice that reads it aloud.
    language: /^[a-z]{2,3}$/.test(row.language ?? "") ? row.language : null,
    passage: shown,
    whole: shown === passage ? null : passage,
    href,
    place: href ? null : placeName(row.url, words),
  };
}

/** The outlet, and the host that the link leads to where that is not the outlet's. */
function outlet(row, href, words) {
  const name = outletName(row.domain, words);
  if (!href) return name;
  const host = new URL(href).hostname;
  const stored = String(row.domain).toLowerCase();
  if (host === stored || host.endsWith(`.${stored}`)) return name;
  return name ? `${name} (${outletName(host, words)})` : outletName(host, words);
}

/** How far the outlet is believed, in stars, as a figure, and why. */
function credibilityOf(row, href, words, rules) {
  const value = row.credibility;
  if (!Number.isFinite(value)) return null;
  const reason = href && rules ? believedOf(new URL(href).hostname, rules, words) : null;
  const stars = Math.min(5, Math.max(0, Math.round(value * 5)));
  return { stars: "★".repeat(stars) + "☆".repeat(5 - stars), said: `${words.say("credibility")} ${words.figure(value)}`, reason };
}

/** What a language model said of the passage, where it said something else. */
function secondReading(row, words) {
  const key = `stance_${row.llm_stance}`;
  return row.llm_stance && row.llm_stance !== row.stance && words.has(key) ? words.say("second_reading", words.say(key)) : null;
}

/** The published fact-checks that were held against a claim: those that take a side on it, and the others. */
export function reviewsOf(result, claim, words) {
  const checks = (Array.isArray(result.fact_checks) ? result.fact_checks : []).filter((check) => check?.claim_id === claim.claim_id);
  const sides = { for: [], against: [], other: [] };
  for (const check of checks) sides[reviewSide(check) ?? "other"].push(shownReview(check, words));
  return sides;
}

function shownReview(check, words) {
  const href = webAddress(check.url);
  const relation = words.has(`review_${check.relation}`) ? check.relation : "other";
  return {
    heading: words.say(`review_${relation}`),
    publisher: plain(check.publisher, 200),
    day: check.review_date ? words.day(check.review_date) : null,
    rating: plain(check.rating, 300),
    claim: plain(check.claim, 600),
    href,
    place: href ? null : placeName(check.url, words),
  };
}
