// A proposed correction beside what was stated, with the words marked in which they differ.

import { inItsLetters } from "./domains.mjs";
import { webAddress } from "./fragment.mjs";
import { plain } from "./plain.mjs";

// Words that are compared, as on the server's page. Longer texts are shown whole, with nothing marked.
const MOST_WORDS = 200;

/** `{heading, said, corrected, sources}`; `said` and `corrected` are parts `{text, differs}`. `null` where none is proposed. */
export function correctionOf(correction, words) {
  const key = `correction_${correction?.type}_${correction?.apply}`;
  const [said, corrected] = [plain(correction?.original, 2000), plain(correction?.corrected, 2000)];
  if (!corrected || !words.has(key)) return null;
  const parts = difference(said, corrected);
  return {
    heading: words.say(key),
    said: parts.before,
    corrected: parts.after,
    sources: (Array.isArray(correction.sources) ? correction.sources : [])
      .map(webAddress)
      .filter(Boolean)
      .slice(0, 5)
      .map((href) => ({ href, name: inItsLetters(new URL(href).hostname) })),
  };
}

/**
 * Two texts in parts `{text, differs}`, to be joined by spaces: what both have in the same order (the longest run of words
 * that there is), and what only one of them has.
 */
export function difference(before, after) {
  const [old, now] = [before, after].map((text) => text.split(" ").filter(Boolean));
  if (old.length > MOST_WORDS || now.length > MOST_WORDS) return { before: joined(old, () => false), after: joined(now, () => false) };
  const kept = common(old, now);
  return { before: joined(old, (at) => !kept.old.has(at)), after: joined(now, (at) => !kept.now.has(at)) };
}

/** The places of a longest common subsequence of words, in either text. */
function common(old, now) {
  const longest = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1));
  for (let i = old.length - 1; i >= 0; i--) {
    for (let j = now.length - 1; j >= 0; j--) {
      longest[i][j] = old[i] === now[j] ? longest[i + 1][j + 1] + 1 : Math.max(longest[i + 1][j], longest[i][j + 1]);
    }
  }
  const kept = { old: new Set(), now: new Set() };
  for (let i = 0, j = 0; i < old.length && j < now.length; ) {
    if (old[i] === now[j]) {
      kept.old.add(i++);
      kept.now.add(j++);
    } else if (longest[i + 1][j] >= longest[i][j + 1]) i++;
    else j++;
  }
  return kept;
}

/** Words in runs that are marked or not. */
function joined(words, differs) {
  const parts = [];
  for (const [at, word] of words.entries()) {
    const last = parts.at(-1);
    if (last?.differs === differs(at)) last.text += ` ${word}`;
    else parts.push({ text: word, differs: differs(at) });
  }
  return parts;
}
