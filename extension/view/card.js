// The card: the answer first, then what it rests on. Builds nodes from the data that shared/card.mjs makes.

globalThis.corroborateView ??= {};

(() => {
  const view = globalThis.corroborateView;
  if (view.card) return;
  const { make, theirs, link, press, fold, icon } = view;

  /** The card of an answer; `words` are the static ones of the view. */
  view.card = (card, words) => {
    const element = make("div", { class: "card" });
    element.append(
      ...[
        verdict(card, "h2"),
        gaps(card.gaps),
        claim(card, words),
        justification(card, words, element),
        notes(card),
        firmer(card, words),
        card.explanation ? theirs("p", { class: "explanation" }, card.explanation) : null,
        correction(card.correction, words),
        hasEvidence(card) || card.verdict !== "not_verifiable" ? view.evidence(card, words, Boolean(card.gaps)) : null,
        card.alsoReportedBy ? theirs("p", { class: "also" }, card.alsoReportedBy) : null,
        others(card, words),
        how(card, words),
        make("p", { class: "signal" }, words.signal),
      ].filter(Boolean),
    );
    return element;
  };

  const hasEvidence = (card) => [card.evidence, card.reviews].some((sides) => Object.values(sides).some((list) => list.length));

  function verdict(card, heading) {
    const tone = `verdict ${card.verdict}${card.lean ? " lean" : ""}${card.incomplete ? " incomplete" : ""}`;
    return make(
      "header",
      { class: tone },
      make("div", { class: "sign" }, icon(card.verdict)),
      make(
        "div",
        { class: "said" },
        make(heading, { class: "word" }, card.word),
        make(
          "p",
          { class: "facets" },
          card.firmness ? make("span", { class: card.lean ? "facet unsure" : "facet" }, card.firmness) : null,
          card.tier ? make("span", { class: "facet" }, card.tier) : null,
          card.incomplete ? make("span", { class: "facet gap" }, card.incomplete) : null,
        ),
        card.confidence ? make("p", { class: "confidence" }, make("b", null, `${card.confidence.figure}.`), ` ${card.confidence.means}`) : null,
      ),
    );
  }

  // Stands right below the verdict, before anything is said of what was not found.
  function gaps(of) {
    if (!of) return null;
    return make(
      "section",
      { class: "gaps" },
      icon("gap"),
      make("div", null, make("h3", null, of.title), make("ul", null, of.causes.map((cause) => theirs("li", null, cause))), make("p", null, of.means)),
    );
  }

  function notes(card) {
    if (!card.notes.length) return null;
    return make("ul", { class: "notes" }, card.notes.map((note) => make("li", null, note)));
  }

  function firmer(card, words) {
    return card.firmer ? make("p", { class: "firmer" }, make("b", null, `${words.firmer}:`), ` ${card.firmer}`) : null;
  }

  function claim(card, words) {
    const kind = card.kind ? make("p", { class: "kind" }, `${words.kind}: ${card.kind}`) : null;
    if (!card.differs) return make("section", { class: "claim" }, make("h3", null, words.claim), theirs("p", null, card.claim), kind);
    return make(
      "section",
      { class: "claim beside" },
      make("div", null, make("h3", null, words.you_asked), theirs("p", { class: "input" }, card.selected)),
      make("div", null, make("h3", null, words.checked), theirs("p", null, card.claim), kind),
    );
  }

  function justification(card, words, root) {
    if (!card.justification.length) return null;
    const parts = card.justification.map((part) => (part.cite === undefined ? part.text : citation(part.cite, words, root)));
    return make("section", { class: "why" }, make("h3", null, words.why), make("p", { dir: "auto" }, parts));
  }

  /** A number that leads to its passage, opening what it is folded under. */
  function citation(number, words, root) {
    return press(`[${number}]`, { class: "cite", "aria-label": `${words.sources} ${number}` }, () => {
      const row = root.querySelector(`[data-n="${number}"]`);
      if (!row) return;
      for (let outer = row.closest("details"); outer; outer = outer.parentElement.closest("details")) outer.open = true;
      row.scrollIntoView({ block: "nearest" });
      row.focus({ preventScroll: true });
    });
  }

  function correction(of, words) {
    if (!of) return null;
    const marked = (parts, name) =>
      parts.flatMap((part, at) => [at ? " " : null, part.differs ? make(name, null, part.text) : part.text]).filter((part) => part !== null);
    return make(
      "section",
      { class: "correction" },
      make("h3", null, of.heading),
      of.said.length ? make("p", null, make("span", { class: "label" }, words.said), make("bdi", { dir: "auto" }, marked(of.said, "del"))) : null,
      make("p", null, make("span", { class: "label" }, words.corrected), make("bdi", { dir: "auto" }, marked(of.corrected, "ins"))),
      of.sources.length
        ? make("p", { class: "label" }, `${words.sources}: `, of.sources.flatMap((source, at) => [at ? ", " : null, link(source.href, { dir: "auto" }, source.name)]))
        : null,
    );
  }

  function others(card, words) {
    if (!card.others.length) return null;
    return fold(
      `${words.other_claims} (${card.others.length})`,
      { class: "others" },
      card.others.map((one) => {
        const article = make("article", { class: "other" });
        article.append(
          ...[
            theirs("p", { class: "text" }, one.claim),
            verdict(one, "h3"),
            justification(one, words, article),
            notes(one),
            firmer(one, words),
            correction(one.correction, words),
            view.evidence(one, words, Boolean(card.gaps)),
          ].filter(Boolean),
        );
        return article;
      }),
    );
  }

  function how(card, words) {
    if (!card.trace.length && !card.asked.length && !card.support) return null;
    return fold(
      words.how,
      { class: "how" },
      card.support ? make("p", null, card.support) : null,
      card.asked.length ? theirs("p", null, `${words.asked}: ${card.asked.join(", ")}`) : null,
      card.trace.length ? make("ol", { class: "trace" }, card.trace.map((line) => theirs("li", null, line))) : null,
    );
  }
})();
