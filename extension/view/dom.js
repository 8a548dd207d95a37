// Builds nodes. A classic script, because content scripts cannot be modules without opening files to every page. All text
// goes in as text: nothing here can make markup of what others wrote.

globalThis.corroborateView ??= {};

(() => {
  const view = globalThis.corroborateView;
  if (view.make) return;

  /** An element with attributes and children; children that are `null`, `false` or empty are left out. */
  view.make = (name, attributes, ...children) => {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes ?? {})) {
      if (value === null || value === false) continue;
      // Addresses go through `link`, handlers through `press`.
      if (key === "href" || key.startsWith("on")) throw new TypeError(`${key} is not set here`);
      element.setAttribute(key, value === true ? "" : value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== false && child !== ""));
    return element;
  };

  /** Text that others wrote, set apart so that its direction of writing does not touch ours. */
  view.theirs = (name, attributes, text) => view.make(name, { dir: "auto", ...attributes }, text);

  /** A link to a web page in a tab of its own, which learns nothing of where it was opened; plain text for anything else. */
  view.link = (href, attributes, ...children) => {
    if (!/^https?:\/\//i.test(href ?? "")) return view.make("span", attributes, ...children);
    const link = view.make("a", { target: "_blank", rel: "noopener noreferrer nofollow", referrerpolicy: "no-referrer", ...attributes }, ...children);
    link.href = href;
    return link;
  };

  /** A button. Only a person's own press counts: a page can make events, but not trusted ones. */
  view.press = (label, attributes, action) => {
    const button = view.make("button", { type: "button", ...attributes }, label);
    button.addEventListener("click", (event) => {
      if (event.isTrusted) action(event);
    });
    return button;
  };

  /** Something folded under its summary. */
  view.fold = (summary, attributes, ...children) => view.make("details", attributes, view.make("summary", null, summary), ...children);

  /** Puts a text on the clipboard; resolves to whether that was allowed. `root` is where a helper element may stand. */
  view.copy = async (text, root) => {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {
      return copyBySelection(text, root);
    }
  };

  // Pages served over plain http have no clipboard interface.
  function copyBySelection(text, root) {
    const field = view.make("textarea", { class: "unseen", "aria-hidden": "true", tabindex: "-1" });
    field.value = text;
    const focused = root.getRootNode().activeElement;
    root.append(field);
    field.select();
    let copied = false;
    try {
      copied = document.execCommand("copy");
    } catch {
      copied = false;
    }
    field.remove();
    focused?.focus({ preventScroll: true });
    return copied;
  }
})();
