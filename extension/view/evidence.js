// The evidence of a card: two sides, and apart from them what takes no side; then published fact-checks.

globalThis.corroborateView ??= {};

(() => {
  const view = globalThis.corroborateView;
  if (view.evidence) return;
  const { make, theirs, link, fold } = view;

  /** The sides with their passages. `gaps` says whether somebody could not be asked. */
  view.evidence = (evidence, words, gaps) =>
    make(
      "div",
      { class: "sides" },
      side("for", words.for, evidence.for, words.none_for, words, gaps),
      side("against", words.against, evidence.against, words.none_against, words, gaps),
      evidence.neutral.length
        ? fold(`${words.neutral} (${evidence.neutral.length})`, { class: "neutral" }, stories(evidence.neutral, words))
        : null,
    );

  function side(name, title, list, none, words, gaps) {
    return make(
      "section",
      { class: `side ${name}` },
      make("h3", null, `${title} `, make("span", { class: "count" }, String(list.length))),
      list.length ? stories(list, words) : make("p", { class: "none" }, gaps ? `${none} ${words.among_asked}` : none),
    );
  }

  const stories = (list, words) => make("ol", { class: "stories" }, list.map((story) => make("li", null, row(story, words), same(story, words))));

  function same(story, words) {
    if (!story.sameStory) return null;
    return fold(story.sameStory, { class: "same" }, make("ul", null, story.others.map((other) => make("li", null, row(other, words)))));
  }

  function row(one, words) {
    const number = one.n === null ? null : make("span", { class: "number" }, `[${one.n}]`);
    return make(
      "article",
      { class: `row ${one.side}`, "data-n": one.n, tabindex: "-1" },
      make(
        "p",
        { class: "head" },
        number,
        theirs("bdi", { class: "outlet" }, one.outlet),
        make("span", { class: "day" }, one.day),
        make("span", { class: "stance" }, one.stance),
      ),
      one.title ? theirs("p", { class: "title" }, one.title) : null,
      theirs("blockquote", null, one.passage),
      one.whole ? fold(words.whole_passage, { class: "whole" }, theirs("blockquote", null, one.whole)) : null,
      one.href
        ? link(one.href, { class: "open", "aria-label": `${words.open_passage}: ${one.outlet}` }, words.open_passage)
        : theirs("p", { class: "place" }, one.place),
    );
  }

  /** Published fact-checks, each under what it was held against. */
  view.reviews = (reviews, words) => {
    if (!reviews.length) return null;
    return make(
      "section",
      { class: "reviews" },
      make("h3", null, words.reviews),
      reviews.map((check) =>
        make(
          "article",
          { class: "row review" },
          make("p", { class: "head" }, make("span", { class: "stance" }, check.heading)),
          make(
            "p",
            { class: "head" },
            check.href
              ? link(check.href, { class: "outlet", dir: "auto" }, check.publisher || check.href)
              : theirs("bdi", { class: "outlet" }, check.publisher),
            check.day ? make("span", { class: "day" }, check.day) : null,
          ),
          make("p", { class: "rating" }, `${words.rating}: `, theirs("bdi", null, `“${check.rating}”`)),
          theirs("blockquote", null, check.claim),
          check.place ? theirs("p", { class: "place" }, check.place) : null,
        ),
      ),
    );
  };
})();
