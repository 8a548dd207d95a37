// The popup: a box for a statement, and the same panel as in pages. Also a tab of its own (#tab), for what was selected
// where no overlay can be.

import { api } from "../shared/api.mjs";
import { putWords } from "../shared/pages.mjs";
import { settings } from "../shared/settings.mjs";
import { wordsIn } from "../shared/words.mjs";

const view = globalThis.corroborateView;
const [form, box, place] = ["form", "claim", "panel"].map((id) => document.getElementById(id));
const inTab = location.hash === "#tab";
document.documentElement.classList.toggle("tab", inTab);

const panel = view.panel({
  cancel: () => session.cancel(),
  again: () => check(),
  options: () => void api.runtime.openOptionsPage(),
});
panel.element.setAttribute("role", "region");
const session = view.session(panel, () => {
  place.hidden = false;
});
place.append(panel.element);

function check() {
  session.start(box.value);
}

form.addEventListener("submit", (event) => {
  event.preventDefault();
  check();
});
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
});
document.getElementById("options").addEventListener("click", () => void api.runtime.openOptionsPage());

/** What is selected on the page that the popup was opened over; nothing where the browser does not let us look. */
async function selection() {
  try {
    const [tab] = await api.tabs.query({ active: true, currentWindow: true });
    const [frame] = await api.scripting.executeScript({ target: { tabId: tab.id }, func: () => String(getSelection()) });
    return frame?.result?.trim() ?? "";
  } catch {
    return "";
  }
}

/** The text that the background handed over, once. */
async function handed() {
  const { handed: text = "" } = await api.storage.session.get("handed");
  await api.storage.session.remove("handed");
  return text;
}

putWords(document, await wordsIn((await settings()).language));
box.focus();
const text = inTab ? await handed() : await selection();
// What was typed meanwhile stays.
if (text && !box.value) box.value = text;
// In a tab the person has asked already. Over a page the selection is only put into the box: nothing is sent unasked.
if (inTab && text) check();
