// A proposed correction beside what was stated, with the part that differs marked.

import { inItsLetters } from "./domains.mjs";
import { webAddress } from "./fragment.mjs";
import { plain } from "./plain.mjs";

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

/** Two texts in parts: what both begin with, what differs, what both end with. Whole words only. */
export function difference(before, after) {
  const [a, b] = [before.split(" "), after.split(" ")];
  let head = 0;
  while (head < a.length && head < b.length && a[head] === b[head]) head++;
  let tail = 0;
  while (tail < a.length - head && tail < b.length - head && a.at(-1 - tail) === b.at(-1 - tail)) tail++;
  const parts = (of) =>
    [
      { text: of.slice(0, head).join(" "), differs: false },
      { text: of.slice(head, of.length - tail).join(" "), differs: true },
      { text: of.slice(of.length - tail).join(" "), differs: false },
    ].filter((part) => part.text !== "");
  return { before: parts(a), after: parts(b) };
}
