// The panel around the card: what is being done, the answer or what went wrong, and the buttons that go with each.

globalThis.corroborateView ??= {};

(() => {
  const view = globalThis.corroborateView;
  if (view.panel) return;
  const { make, theirs, press, fold, link, icon } = view;

  /**
   * A panel. `act` holds what its buttons do: `cancel`, `again`, `options` and, in a page, `close`. The words come with the
   * first message of a check, so nothing is shown before.
   */
  view.panel = (act) => {
    const live = make("p", { class: "unseen", role: "status", "aria-live": "polite" });
    const bar = make("div", { class: "bar" });
    const body = make("div", { class: "body" });
    const buttons = make("div", { class: "buttons" });
    const element = make("section", { class: "panel", tabindex: "-1" }, bar, live, body, buttons);
    return new Panel(act, { element, live, bar, body, buttons });
  };

  class Panel {
    constructor(act, parts) {
      Object.assign(this, parts);
      this.act = act;
      this.words = {};
    }

    /** Takes the words, and shows the bar of an overlay. */
    speak(words) {
      this.words = words;
      this.element.lang = words.lang;
      this.element.setAttribute("aria-label", words.title);
      if (!this.act.close) return;
      const close = press(icon("close"), { class: "close", "aria-label": words.close, title: words.close }, this.act.close);
      this.bar.replaceChildren(icon("mark"), make("span", { class: "name" }, words.title), close);
    }

    /** A check has begun. */
    begin(claim) {
      this.stage = make("p", { class: "stage" });
      this.seconds = make("span", { class: "seconds" });
      this.slow = make("p", { class: "slow" });
      this.gapList = make("ul", { class: "gap-list" });
      this.lines = make("ol", { class: "trace" });
      this.steps = fold(this.words.steps, { class: "how", hidden: true }, this.lines);
      const shown = theirs("p", { class: "asked" }, claim);
      const working = make("div", { class: "working" }, make("div", { class: "track", "aria-hidden": "true" }), this.stage, this.seconds);
      this.show([shown, working, this.slow, this.gapList, this.steps], [press(this.words.cancel, null, this.act.cancel)]);
      this.element.setAttribute("aria-busy", "true");
    }

    /** The server has come to another stage. */
    at(text) {
      this.stage.textContent = text;
      this.live.textContent = text;
    }

    /** So long it has taken. */
    tick(seconds, slow) {
      this.seconds.textContent = seconds;
      if (!slow || this.slow.textContent === slow) return;
      this.slow.textContent = slow;
      this.live.textContent = slow;
    }

    /** A line of what was done. */
    line(text) {
      this.steps.hidden = false;
      this.lines.append(theirs("li", null, text));
    }

    /** Somebody could not be asked. */
    gap(text) {
      this.gapList.append(theirs("li", null, text));
      this.live.textContent = text;
    }

    /** The answer. */
    answer(card, text) {
      const copy = press(this.words.copy, null, async () => {
        const said = (await view.copy(text, this.element)) ? this.words.copied : this.words.not_copied;
        copy.textContent = said;
        this.live.textContent = said;
      });
      const page = card.page ? link(card.page, { class: "button" }, this.words.open_page) : null;
      this.show([view.card(card, this.words)], [copy, page, press(this.words.again, null, this.act.again)]);
      this.live.textContent = [card.word, card.firmness, card.incomplete].filter(Boolean).join(". ");
      this.settle();
    }

    /** It went wrong. */
    problem(problem) {
      const said = problem.said ? theirs("p", { class: "server-said" }, `${this.words.server_says}: ${problem.said}`) : null;
      const box = make(
        "div",
        { class: "problem" },
        make("h2", null, problem.title),
        make("p", null, problem.advice),
        problem.line ? this.copyLine(problem.line) : null,
        said,
      );
      const again = problem.again ? press(this.words.again, null, this.act.again) : null;
      const options = problem.options ? press(this.words.options, { class: "first" }, this.act.options) : null;
      this.show([box], [options, again]);
      this.live.textContent = `${problem.title}. ${problem.advice}`;
      this.settle();
    }

    /** The person has cancelled it. */
    cancelled() {
      this.show([make("p", { class: "cancelled" }, this.words.cancelled)], [press(this.words.again, null, this.act.again)]);
      this.live.textContent = this.words.cancelled;
      this.settle();
    }

    copyLine(text) {
      const button = press(this.words.copy_line, null, async () => {
        button.textContent = (await view.copy(text, this.element)) ? this.words.copied : this.words.not_copied;
      });
      return make("div", { class: "line" }, make("code", { tabindex: "0" }, text), button);
    }

    settle() {
      this.element.removeAttribute("aria-busy");
    }

    // A button that goes away takes the focus with it: it moves to the panel, from where Tab leads into what is new.
    show(body, buttons) {
      const root = this.element.getRootNode();
      const within = root.activeElement !== null && this.element.contains(root.activeElement);
      this.body.replaceChildren(...body.filter(Boolean));
      this.buttons.replaceChildren(...buttons.filter(Boolean));
      this.body.scrollTop = 0;
      if (within && !this.element.contains(root.activeElement)) this.focus();
    }

    focus() {
      this.element.focus({ preventScroll: true });
    }
  }
})();
