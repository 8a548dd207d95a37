// Answers of the shape that /api/verify gives, for the tests: one of each kind that the card tells apart, and one in which
// everything that others write is hostile.

const DAY = "2026-11-18T07:15:00Z";

/** One passage. */
export const row = (n, stance, more = {}) => ({
  n,
  evidence_id: `ev_${n}`,
  url: `https://news${n}.example/story/${n}`,
  domain: `news${n}.example`,
  title: `Report ${n}`,
  published_at: DAY,
  language: "en",
  passage: `Passage ${n} says something about the bridge.`,
  stance,
  entail: stance === "supports" ? 0.9 : 0.02,
  contradict: stance === "contradicts" ? 0.95 : 0.02,
  neutral: 0.05,
  agreement: 0.5,
  relevance: 0.8,
  quality: 0.7,
  credibility: 0.8,
  origin: "web",
  provider: "gdelt",
  independent_group: `g${n}`,
  extraction_failed: false,
  ...more,
});

/** One claim. */
export const claim = (more = {}) => ({
  claim_id: "c1",
  text: "The Riverside bridge opened in 1990.",
  kind: "factual",
  source: 0,
  judge: "model:stance",
  verdict: "refuted",
  decisive: true,
  confidence: 0.88,
  score: 12,
  tier: "low",
  agreement: 0.1,
  contradiction: true,
  notes: [],
  features: { e_max: 0, e_mean3: 0, c_max: 0.9, agree_dom: 0, rel_avg: 0.5, rec_max: 0.5, num_ok: false },
  justification: "Two independent sources say that it opened in 1987 [1] [2], and none says 1990.",
  citations: [1, 2],
  evidence: [],
  correction: null,
  ...more,
});

/** A whole answer. */
export function answerOf(claims, more = {}) {
  const main = claims[0];
  const result = {
    schema: 1,
    item_id: "check:5d41402abc",
    message_id: null,
    enriched_at: DAY,
    status: "complete",
    degraded: [],
    language: "en",
    tier: main?.tier ?? null,
    score: main?.score ?? null,
    agreement: 0.1,
    contradiction: false,
    notes: [],
    also_reported_by: [],
    explanation: null,
    overall_summary: null,
    sources_checked: ["google_factcheck", "gdelt", "news1.example"],
    fact_checks: [],
    claims,
    main_claim: main?.claim_id ?? null,
    context: { evidence: [], background: [], digest_lines: [] },
    cost: { usd: 0, provider_calls: { gdelt: 1 }, llm_calls: 0, llm_tokens: 0, millis: 812 },
    trace: ["normalise: en", "search: 5 page(s) to read", "decide: refuted"],
    ...more,
  };
  return {
    claim: main?.text ?? "Hello there!",
    verdict: main?.verdict ?? "not_verifiable",
    confidence: main?.confidence ?? 0,
    reasoning: main?.justification ?? "This is a greeting or thanks. It makes no statement that could be checked.",
    evidence: [],
    steps: result.trace,
    claim_type: "FACTUAL",
    original_claim: "",
    session_id: "00000000-0000-4000-8000-000000000000",
    result,
  };
}

const LONG =
  "The council opened the Riverside bridge to traffic on 3 May 1987, after four years of building and two winters in which the " +
  "river stood higher than at any time since records began; the mayor, who had promised it for a decade, cut the ribbon before a " +
  "crowd of some four thousand people, and the first bus crossed at noon. A second bridge, for the railway, followed in 1994.";

const REVIEW = {
  claim: "The Riverside bridge opened in 1990",
  url: "https://factcheck.example/riverside",
  publisher: "Example Fact-Check",
  rating: "False",
  rating_class: "false",
  review_date: "2026-10-02T00:00:00Z",
  similarity: 0.93,
  claim_id: "c1",
  relation: "same",
  language: "en",
};

/** Firm, with everything that a card can have. */
export const firm = () =>
  answerOf(
    [
      claim({
        evidence: [
          row(1, "contradicts", { passage: LONG, domain: "riverside-gazette.example", url: "https://www.riverside-gazette.example/1987/bridge" }),
          row(2, "contradicts", { title: "Bridge turns 30", passage: "The bridge, opened in 1987, turned thirty on Wednesday." }),
          row(3, "contradicts", { independent_group: "g2", passage: "The bridge, opened in 1987, turned thirty on Wednesday." }),
          row(4, "contradicts", { independent_group: "g2", passage: "Opened in 1987, the bridge turned thirty on Wednesday." }),
          row(5, "neutral", { contradict: 0.5, passage: "Plans for a bridge were first drawn in 1979." }),
          row(6, "supports", {
            url: "corpus://gazette/bridge.md#L3-L5",
            domain: "corpus:gazette",
            origin: "corpus",
            published_at: null,
            title: null,
            passage: "Opening: 1990 (planned).",
          }),
        ],
        notes: ["conflicting_sources"],
        correction: {
          type: "replace",
          original: "The Riverside bridge opened in 1990.",
          corrected: "The Riverside bridge opened in 1987.",
          confidence: 0.9,
          note: "",
          apply: "review",
          sources: ["https://www.riverside-gazette.example/1987/bridge"],
        },
      }),
      claim({ claim_id: "c2", text: "It is the longest in the county.", verdict: "not_enough_evidence", decisive: false, notes: ["no_sources"], justification: "" }),
    ],
    { fact_checks: [{ ...REVIEW }], also_reported_by: ["@riverside_news"] },
  );

/** Supported, and firm. */
export const supported = () =>
  answerOf([
    claim({
      text: "The Riverside bridge opened in 1987.",
      verdict: "supported",
      confidence: 0.93,
      score: 91,
      tier: "high",
      justification: "Three independent sources say so [1] [2].",
      evidence: [row(1, "supports", { passage: LONG }), row(2, "supports")],
    }),
  ]);

/** A lean, on one source. */
export const lean = () =>
  answerOf([
    claim({ verdict: "supported", decisive: false, tier: "medium", score: 55, notes: ["single_source"], justification: "One source says so [1].", evidence: [row(1, "supports")] }),
  ]);

/** Nothing was found, and two could not be asked. */
export const gaps = () =>
  answerOf([claim({ verdict: "not_enough_evidence", decisive: false, score: null, notes: ["no_sources", "degraded"], justification: "No source was found." })], {
    status: "degraded",
    degraded: ["provider_open:gdelt", "provider_failed:searxng"],
  });

/** Nothing was found, and everybody could be asked. */
export const silent = () => answerOf([claim({ verdict: "not_enough_evidence", decisive: false, score: null, notes: ["no_sources"], justification: "No source was found." })]);

/** A text without a statement. */
export const greeting = () => answerOf([], { explanation: "This is a greeting or thanks. It makes no statement that could be checked." });

/** Sources on both sides. */
export const contested = () =>
  answerOf([claim({ verdict: "contested", decisive: false, score: 48, notes: ["conflicting_sources"], justification: "They disagree [1] [2].", evidence: [row(1, "supports"), row(2, "contradicts")] })]);

/** Decided by a published fact-check alone. */
export const reviewed = () => answerOf([claim({ judge: "fact_check", confidence: 0.91, citations: [], justification: "A published fact-check rates it False." })], { fact_checks: [{ ...REVIEW }] });

/** Markup, scripts, other directions of writing, endless words, towers of accents: whatever a page may call itself. */
export const EVIL = {
  markup: `<img src=x onerror="globalThis.owned=1"><script>globalThis.owned=1</script>`,
  bidi: "\u202eevil\u2066\u200f\u061c",
  long: "W".repeat(10_000),
  tower: "e" + "\u0301".repeat(3000),
  emoji: "👨‍👩‍👧‍👦🏳️‍🌈".repeat(600),
  halves: "\ud800\udc00\ud83d",
  address: "javascript:globalThis.owned=1",
  quoted: `"><svg onload=globalThis.owned=1>`,
};

/** Everything that others write is hostile. */
export function hostile() {
  const everything = Object.values(EVIL);
  const rows = everything.map((text, at) =>
    row(at + 1, ["supports", "contradicts", "neutral"][at % 3], { passage: text, title: text, domain: text, url: text, published_at: text, independent_group: text }),
  );
  rows.push(row(90, "supports", { url: `https://a.example/${EVIL.markup}`, domain: "bank.example", title: EVIL.markup, passage: EVIL.markup + EVIL.bidi }));
  rows.push(row(91, "supports", { url: "https://bank.example@evil.example/", domain: "bank.example" }));
  rows.push(null, "row", 3);
  const said = everything.join(" ");
  return answerOf(
    [
      claim({
        text: said,
        justification: `${said} [1] [999] [90]`,
        notes: [EVIL.markup, null, "single_source"],
        evidence: rows,
        correction: { type: "replace", apply: "auto", original: said, corrected: said + said, note: said, confidence: 1, sources: everything },
      }),
      claim({ claim_id: EVIL.markup, text: said, verdict: "of_a_later_version", tier: EVIL.markup, kind: EVIL.markup }),
    ],
    {
      item_id: `../../${EVIL.quoted}\ud800`,
      degraded: everything.map((text) => `provider_open:${text}`).concat(everything),
      fact_checks: everything.map((text) => ({ ...REVIEW, claim: text, url: text, publisher: text, rating: text, relation: text, review_date: text })),
      trace: everything,
      sources_checked: everything,
      also_reported_by: everything,
      explanation: said,
    },
  );
}
