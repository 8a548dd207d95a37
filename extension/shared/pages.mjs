// What the extension's own pages have in common: their words.

/** Puts the words of `data-word` attributes in place, and says which language the page is in. */
export function putWords(document, words) {
  document.documentElement.lang = words.tag;
  for (const element of document.querySelectorAll("[data-word]")) element.textContent = words.say(element.dataset.word);
}
