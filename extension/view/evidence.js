// The evidence of a card: two sides, and apart from them what takes no side; then published fact-checks.

globalThis.corroborateView ??= {};

(() => {
  const view = globalThis.corroborateView;
  if (view.evidence) return;
  const { make, theirs, link, fold } = view;

  /** The sides, each with its fact-checks and passages. `gaps` says whether somebody could not be asked. */
  view.evidence = ({ evidence, reviews }, words, gaps) => {
    const side = (name, none) => {
      const count = reviews[name].length + evidence[name].length;
      return make(
        "section",
        { class: `side ${name}` },
        make("h3", null, `${words[name]} `, make("span", { class: "count" }, String(count))),
        count ? null : make("p", { class: "none" }, gaps ? `${none} ${words.among_asked}` : none),
        reviews[name].length ? checks(reviews[name], name, words) : null,
        evidence[name].length ? stories(evidence[name], words) : null,
      );
    };
    return make(
      "div",
      { class: "sides" },
      side("for", words.none_for),
      side("against", words.none_against),
      reviews.other.length ? fold(`${words.other_reviews} (${reviews.other.length})`, { class: "apart" }, checks(reviews.other, "", words)) : null,
      evidence.neutral.length ? fold(`${words.neutral} (${evidence.neutral.length})`, { class: "apart" }, stories(evidence.neutral, words)) : null,
    );
  };

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
      credibility(one.credibility),
      one.secondReading ? make("p", { class: "reading" }, one.secondReading) : null,
      one.title ? theirs("p", { class: "title" }, one.title) : null,
      theirs("blockquote", { lang: one.language }, one.passage),
      one.whole ? fold(words.whole_passage, { class: "whole" }, theirs("blockquote", { lang: one.language }, one.whole)) : null,
      one.href
        ? link(one.href, { class: "open", "aria-label": `${words.open_passage}: ${one.outlet}` }, words.open_passage)
        : theirs("p", { class: "place" }, one.place),
    );
  }

  function credibility(of) {
    if (!of) return null;
    return make(
      "p",
      { class: "credibility" },
      make("span", { class: "stars", "aria-hidden": "true" }, of.stars),
      ` ${of.said}`,
      of.reason ? [": ", theirs("bdi", null, of.reason)] : null,
    );
  }

  /** Published fact-checks, each with what it was held against. */
  const checks = (list, side, words) =>
    make(
      "ul",
      { class: "stories" },
      list.map((check) =>
        make(
          "li",
          null,
          make(
            "article",
            { class: `row review ${side}` },
            make("p", { class: "head" }, make("span", { class: "stance" }, check.heading)),
            make(
              "p",
              { class: "head" },
              check.href
                ? link(check.href, { class: "outlet", dir: "auto" }, check.publisher || check.href)
                : theirs("bdi", { class: "outlet" }, check.publisher),
              check.day ? make("span", { class: "day" }, check.day) : null,
            ),
            make("p", { class: "rating" }, `${words.rating}: `, theirs("q", null, check.rating)),
            theirs("blockquote", null, check.claim),
            check.place ? theirs("p", { class: "place" }, check.place) : null,
          ),
        ),
      ),
    );
})();
