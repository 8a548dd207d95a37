// Links that open a page at the passage that was quoted from it.

// The address of a seed fact carries this mark of the daemon's, which is no part of the page's own address.
const SEED_MARK = "#seed-fact";
// A passage up to this long is searched for whole; of a longer one its beginning and its end are named, so that the
// address stays short and a footnote mark in the middle does no harm.
const WHOLE = 80;
const EDGE = 30;

/** The address as a link may carry it: http or https, without a user name in front. `null` for anything else. */
export function webAddress(address) {
  if (typeof address !== "string" || !/^https?:\/\//i.test(address.trim())) return null;
  let url;
  try {
    url = new URL(address.trim().toWellFormed());
  } catch {
    return null;
  }
  if (url.protocol !== "https:" && url.protocol !== "http:") return null;
  // "https://bank.example@evil.example/" reads like the bank's.
  url.username = "";
  url.password = "";
  return url.href.endsWith(SEED_MARK) ? url.href.slice(0, -SEED_MARK.length) : url.href;
}

/** The address with a text fragment, so that a browser scrolls to the passage and marks it; `null` where it is no link. */
export function atPassage(address, passage) {
  const href = webAddress(address);
  const directive = href && textDirective(passage);
  if (!directive) return href;
  return href.includes("#") ? `${href}:~:${directive}` : `${href}#:~:${directive}`;
}

function textDirective(passage) {
  const text = trimEdges(typeof passage === "string" ? passage.toWellFormed().replace(/\s+/g, " ") : "");
  if (!text) return null;
  if (text.length <= WHOLE) return `text=${encode(text)}`;
  const words = text.split(" ");
  const start = trimEdges(edge(words));
  const end = trimEdges(edge(words.slice().reverse()).split(" ").reverse().join(" "));
  if (!start || !end || start.length + end.length >= text.length) return `text=${encode(Array.from(text).slice(0, WHOLE).join(""))}`;
  return `text=${encode(start)},${encode(end)}`;
}

/** So many words from the front that they are hardly anywhere else on the page. */
function edge(words) {
  let taken = "";
  for (const word of words) {
    taken = taken ? `${taken} ${word}` : word;
    if (taken.length >= EDGE) break;
  }
  return taken;
}

/** Without quotation marks, dots and dashes around it: pages write them in many ways. */
function trimEdges(text) {
  return text.replace(/^[^\p{L}\p{N}]+/u, "").replace(/[^\p{L}\p{N}\p{M}]+$/u, "");
}

// In a text directive "-", "," and "&" have a meaning of their own; encodeURIComponent leaves the first as it is.
function encode(text) {
  return encodeURIComponent(text).replace(/-/g, "%2D");
}
