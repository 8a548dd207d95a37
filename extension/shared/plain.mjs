// Other people's text, made safe to show in one line. The daemon does the same for a terminal (src/cli/plain.rs): what a
// page calls itself must not turn the line around, break it or stretch it without end.

const BREAKS = /[\t\n\v\f\r\u0085\u2028\u2029]+/g;
const TURNS = /[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
const CONTROLS = /[\u0000-\u001f\u007f-\u009f]/g;
// An accent or two belong to a letter. Towers of them are made to cover the lines above and below.
const TOWERS = /(\p{M}{4})\p{M}+/gu;

/**
 * Other people's text in one line: breaks become spaces, characters that change the direction of writing are left out, of
 * other control characters a mark is left. Anything but a text becomes the empty one. Longer than `most` characters it is
 * cut, with "…" in place of the rest.
 */
export function plain(text, most = 4000) {
  if (typeof text !== "string") return "";
  const safe = text
    .toWellFormed()
    .replace(BREAKS, " ")
    .replace(TURNS, "")
    .replace(CONTROLS, "\ufffd")
    .replace(TOWERS, "$1")
    .trim();
  return shorten(safe, most);
}

/** The first `most` characters, with "…" where some were left out. Cuts between characters, never inside one. */
export function shorten(text, most) {
  if (text.length <= most) return text;
  const kept = Array.from(text.slice(0, most * 2)).slice(0, most).join("");
  if (kept.length >= text.length) return text;
  return `${kept.replace(/[\s\u200d\ufe0f]+$/u, "")}…`;
}
