// The evidence of a claim as it is shown: on which side, which passages are one story, where the link leads.

import { outletName, placeName } from "./domains.mjs";
import { atPassage, webAddress } from "./fragment.mjs";
import { rows, stanceKey } from "./labels.mjs";
import { plain } from "./plain.mjs";

// As much of a passage as two sentences take. The rest is one press away.
const SHOWN = 320;
const MOST = 10_000;

/** `{for, against, neutral}`, each a list of stories: the first passage that tells it, and the others that tell the same. */
export function evidenceOf(claim, words) {
  const sides = { for: [], against: [], neutral: [] };
  for (const row of rows(claim)) sides[sideOf(row)].push(row);
  return Object.fromEntries(Object.entries(sides).map(([side, of]) => [side, stories(of, words)]));
}

const sideOf = (row) => ({ supports: "for", contradicts: "against" })[row.stance] ?? "neutral";

function stories(of, words) {
  const groups = new Map();
  for (const row of of) {
    const group = row.independent_group || Symbol("a story of its own");
    if (!groups.has(group)) groups.set(group, []);
    groups.get(group).push(shownRow(row, words));
  }
  return [...groups.values()].map(([first, ...others]) => ({
    ...first,
    others,
    sameStory: others.length ? words.count("same_story", others.length) : null,
  }));
}

function shownRow(row, words) {
  const passage = plain(row.passage, MOST);
  const shown = plain(row.passage, SHOWN);
  const href = atPassage(row.url, row.passage);
  return {
    n: Number.isInteger(row.n) ? row.n : null,
    outlet: outlet(row, href, words),
    title: plain(row.title, 200),
    day: words.day(row.published_at),
    stance: words.say(stanceKey(row)),
    side: sideOf(row),
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

/** The published fact-checks that were held against a claim. */
export function reviewsOf(result, claim, words) {
  const checks = Array.isArray(result.fact_checks) ? result.fact_checks : [];
  return checks
    .filter((check) => check?.claim_id === claim.claim_id)
    .map((check) => {
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
    });
}
