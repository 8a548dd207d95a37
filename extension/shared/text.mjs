// The card as text, for the clipboard: everything that a reader needs to judge it away from here, gaps among it.

/** The lines of a card. */
export function textOf(card, words) {
  const lines = [
    [card.word, card.firmness, card.confidence?.figure, card.tier].filter(Boolean).join(" · "),
    ...(card.confidence ? [card.confidence.means] : []),
    ...(card.gaps ? [`${card.gaps.title}: ${card.gaps.causes.join("; ")}. ${card.gaps.means}`] : []),
    ...(card.notes.length ? [card.notes.join("; ")] : []),
    ...(card.firmer ? [`${words.say("ui_firmer")}: ${card.firmer}`] : []),
    "",
    ...(card.differs ? [`${words.say("ui_you_asked")}: ${card.selected}`] : []),
    `${words.say(card.differs ? "ui_checked" : "ui_claim")}: ${card.claim}`,
    joined(card.justification),
    ...(card.explanation ? [card.explanation] : []),
    ...(card.correction ? [`${card.correction.heading}: ${card.correction.corrected.map((part) => part.text).join(" ")}`] : []),
    ...section(words.say("ui_for"), card.reviews.for, card.evidence.for),
    ...section(words.say("ui_against"), card.reviews.against, card.evidence.against),
    ...section(words.say("ui_neutral"), [], card.evidence.neutral),
    ...section(words.say("ui_other_reviews"), card.reviews.other, []),
    "",
    words.say("ui_signal"),
    ...(card.page ? [card.page] : []),
  ];
  return lines.filter((line, at) => line !== "" || lines[at - 1] !== "").join("\n");
}

const joined = (parts) => parts.map((part) => part.text ?? `[${part.cite}]`).join("");

function section(title, reviews, stories) {
  return reviews.length || stories.length ? ["", `${title}:`, ...reviews.flatMap(review), ...stories.flatMap(story)] : [];
}

function story(row) {
  return [
    `${row.n === null ? "" : `[${row.n}] `}${[row.outlet, row.day, row.stance].filter(Boolean).join(" · ")}`,
    `    “${row.passage}”`,
    ...(row.credibility ? [`    ${[row.credibility.said, row.credibility.reason].filter(Boolean).join(": ")}`] : []),
    `    ${row.href ?? row.place}`,
    ...(row.sameStory ? [`    ${row.sameStory}: ${row.others.map((other) => other.outlet).join(", ")}`] : []),
  ];
}

function review(check) {
  return [
    `${check.heading}: ${[check.publisher, check.day].filter(Boolean).join(", ")}: “${check.rating}”`,
    `    “${check.claim}”`,
    `    ${check.href ?? check.place}`,
  ];
}
