// The button beside selected text. It reads where the selection is and, when it is pressed, what it says; nothing leaves
// the page before. Registered only while a person has it switched on, and never on sites where it is to stay silent.

(() => {
  const api = globalThis.browser?.runtime ? globalThis.browser : globalThis.chrome;
  // Shorter selections are words that were marked to be copied or looked up.
  const LEAST_CHARACTERS = 12;
  const GAP = 8;
  // Its own colours: it has to be seen on any page.
  const LOOKS = `
    div { all: initial; display: flex; font: 600 13px/1 system-ui, sans-serif; border-radius: 999px; overflow: hidden;
      background: #1f4f8f; color: #fff; border: 1px solid #ffffffb0; box-shadow: 0 2px 10px #0006; }
    button { all: unset; box-sizing: border-box; cursor: pointer; padding: 8px 12px; min-height: 32px; color: #fff; }
    button + button { padding: 8px 10px; border-inline-start: 1px solid #ffffff50; font-weight: 400; }
    button:hover { background: #2b63ad; }
    button:focus-visible { outline: 2px solid #fff; outline-offset: -4px; border-radius: 999px; }`;

  let shown = null;
  let words = null;

  const hide = () => {
    shown?.remove();
    shown = null;
  };

  /** The selection, if it is of the page's own text: what stands in a field is being written, not read. */
  function selected() {
    const selection = document.getSelection();
    if (!selection || selection.isCollapsed || !selection.rangeCount) return null;
    const within = selection.anchorNode?.parentElement;
    if (within?.isContentEditable || within?.closest("input, textarea")) return null;
    const text = String(selection).trim();
    if (Array.from(text).length < LEAST_CHARACTERS || !/\p{L}/u.test(text)) return null;
    const places = selection.getRangeAt(0).getClientRects();
    const place = places[places.length - 1];
    return place ? { text, place } : null;
  }

  async function offer() {
    const found = selected();
    if (!found) return hide();
    try {
      words = await api.runtime.sendMessage({ kind: "button" });
    } catch {
      // The extension was updated or removed; a new page has the new one.
      words = null;
    }
    hide();
    if (words) show(found);
  }

  function show({ text, place }) {
    const host = document.createElement("div");
    const root = host.attachShadow({ mode: "closed" });
    const style = document.createElement("style");
    style.textContent = LOOKS;
    const bar = document.createElement("div");
    bar.lang = words.lang;
    bar.append(
      button(words.check, words.check, () => void api.runtime.sendMessage({ kind: "pressed", claim: text })),
      button("×", words.silence_here, () => void api.runtime.sendMessage({ kind: "silence" })),
    );
    root.append(style, bar);
    for (const [name, value] of [["all", "initial"], ["position", "fixed"], ["z-index", "2147483646"], ["left", "0"], ["top", "0"]]) {
      host.style.setProperty(name, value, "important");
    }
    document.documentElement.append(host);
    const { width, height } = bar.getBoundingClientRect();
    const fit = (wanted, room, size) => `${Math.max(GAP, Math.min(wanted, room - size - GAP))}px`;
    host.style.setProperty("left", fit(place.right - width / 2, innerWidth, width), "important");
    host.style.setProperty("top", fit(place.bottom + GAP, innerHeight, height), "important");
    shown = host;
  }

  function button(label, title, action) {
    const element = document.createElement("button");
    element.type = "button";
    element.textContent = label;
    element.title = title;
    element.setAttribute("aria-label", title);
    // A press must not take the selection away before it is used.
    element.addEventListener("mousedown", (event) => event.preventDefault());
    element.addEventListener("click", (event) => {
      if (!event.isTrusted) return;
      hide();
      action();
    });
    return element;
  }

  const inOurs = (event) => shown !== null && event.composedPath().includes(shown);
  document.addEventListener("mouseup", (event) => {
    // The selection is final only after this event.
    if (event.isTrusted && !inOurs(event)) setTimeout(offer);
  });
  document.addEventListener("keyup", (event) => {
    if (event.isTrusted && (event.key === "Shift" || (event.key === "a" && (event.ctrlKey || event.metaKey)))) void offer();
  });
  document.addEventListener("selectionchange", () => {
    if (shown && document.getSelection()?.isCollapsed) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
  document.addEventListener("scroll", hide, { capture: true, passive: true });
})();
