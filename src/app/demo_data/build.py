#!/usr/bin/env python3
"""Rebuilds the demo's world: items.ndjson and recordings/*.ndjson beside this file.

    python3 build.py DATA_FOLDER

DATA_FOLDER holds fm2, nli_train, terra_ru, factrueval2016, lingua_langid, claimreview_samples and api_samples as their
READMEs describe them. Standard library only; the same input gives the same bytes. Which rows are taken is the affair of
pick.py; the rows translated by hand stand in handmade.json; everything else in the output is made here.
"""

import base64
import html
import json
import re
import sys
from collections import defaultdict
from pathlib import Path
from urllib.parse import quote, urlsplit

sys.dont_write_bytecode = True  # the folder holds data, not caches

from pick import coverage, first_best, pick_factrueval, pick_feverous, pick_fm2, pick_lingua, pick_reviews, pick_terra, read_reviews

HERE = Path(__file__).resolve().parent
SEARXNG = "http://searxng.example/search"
GDELT = "https://api.gdeltproject.org/api/v2/doc/doc"
GOOGLE = "https://factchecktools.googleapis.com/v1alpha1/claims:search"
# GDELT's own words, sent with status 200 when a client asks too often.
THROTTLE = (
    "Please limit requests to one every 5 seconds or contact kalev.leetaru5@gmail.com for larger queries. All high-traffic "
    "users should switch to our ngrams dataset: https://blog.gdeltproject.org/using-the-new-web-ngrams-dataset-to-find-"
    "relevant-coverage/.\n"
)
# Articles give the demo's pages their length; more would only make the files larger.
MAX_SENTENCES = 24


# ---------------------------------------------------------------- pages

def page_html(language, title, site, url, blocks, kind, navigation, footer, charset="utf-8"):
    """One document: head with OpenGraph and JSON-LD (no date: none is known), navigation, the text, a footer.
    `blocks` is [(heading or None, [paragraph])]."""
    e = html.escape
    data = {"@context": "https://schema.org", "@type": kind, "headline": title, "inLanguage": language, "url": url,
            "publisher": {"@type": "Organization", "name": site}}
    body = "\n".join(
        (f"<h2>{e(heading)}</h2>\n" if heading else "") + "\n".join(f"<p>{e(text)}</p>" for text in texts)
        for heading, texts in blocks
    )
    menu = "".join(f'<li><a href="/{quote(word.lower())}">{e(word)}</a></li>' for word in navigation)
    return (
        f'<!doctype html>\n<html lang="{language}">\n<head>\n<meta charset="{charset}">\n<title>{e(title)} - {e(site)}</title>\n'
        f'<link rel="canonical" href="{e(url)}">\n<meta property="og:type" content="article">\n'
        f'<meta property="og:title" content="{e(title)}">\n<meta property="og:site_name" content="{e(site)}">\n'
        f'<meta property="og:url" content="{e(url)}">\n'
        f'<script type="application/ld+json">{json.dumps(data, ensure_ascii=False)}</script>\n</head>\n<body>\n'
        f"<nav><ul>{menu}</ul></nav>\n<main>\n<article>\n<h1>{e(title)}</h1>\n{body}\n</article>\n</main>\n"
        f"<footer><p>{e(footer)}</p></footer>\n</body>\n</html>\n"
    )


NAVIGATION = {
    "en": ["Home", "World", "Science", "Culture", "Sport", "Contact"],
    "ru": ["Главная", "Мир", "Наука", "Культура", "Спорт", "Контакты"],
    "uk": ["Головна", "Світ", "Наука", "Культура", "Спорт", "Контакти"],
}
COMPOSED = {
    "ru": "Страница собрана для демонстрации; такого издания нет.",
    "uk": "Сторінку складено для демонстрації; такого видання немає.",
}


def exact(url, body, made, source, status=200, content_type="text/html; charset=utf-8", charset=None):
    text = {"body_base64": base64.b64encode(body.encode(charset)).decode()} if charset else {"body": body}
    return {"method": "GET", "url": url, "status": status, "headers": {"content-type": content_type}, **text,
            "made": made, "source": source}


class World:
    """Everything recorded so far."""

    def __init__(self):
        self.items, self.pages, self.searches = [], {}, {SEARXNG: [], GDELT: [], GOOGLE: []}

    def page(self, url, language, title, site, blocks, made, source, kind="NewsArticle", charset=None):
        footer = COMPOSED.get(language, "")
        navigation = NAVIGATION[language]
        if site == "Wikipedia":
            navigation = ["Main page", "Contents", "Current events", "Random article", "About Wikipedia"]
            footer = "Text is available under the Creative Commons Attribution-ShareAlike License; its authors are named in the article's history."
        content_type = f"text/html; charset={charset or 'utf-8'}"
        document = page_html(language, title, site, url, blocks, kind, navigation, footer, charset or "utf-8")
        self.pages[url] = exact(url, document, made, source, content_type=content_type, charset=charset)
        return {"url": url, "title": title, "content": blocks[0][1][0][:200], "text": " ".join(t for _, ts in blocks for t in ts)}

    def search(self, endpoint, item, body, made="composed", content_type="application/json"):
        """The URL names the item. A test of the program adds the requests that it makes for the item as aliases."""
        self.searches[endpoint].append({
            "method": "GET", "url": f"{endpoint}?item={item['item_id']}", "status": 200, "headers": {"content-type": content_type},
            "body" if isinstance(body, str) else "json": body, "made": made, "source": item["origin"]["dataset"]})

    def item(self, number, language, text, made, origin, hits=(), news=(), reviews=None, throttled=False, **more):
        """One item and what the three providers say to its queries. An absent answer is the provider's own empty one."""
        item = {"schema": 1, "item_id": f"demo:{number:02}:{more.pop('kind')}", "text": text, "language": language,
                "channel": f"@demo_{language}", **more, "made": made, "origin": origin}
        self.items.append(item)
        self.search(SEARXNG, item, searxng(text, hits))
        if throttled:
            self.search(GDELT, item, THROTTLE, content_type="text/html; charset=utf-8")
        else:
            self.search(GDELT, item, gdelt(news, language))
        self.search(GOOGLE, item, reviews if reviews is not None else {}, "source" if reviews else "composed")


def searxng(query, hits):
    results = []
    for position, hit in enumerate(hits, 1):
        parts = urlsplit(hit["url"])
        results.append({
            "url": hit["url"], "title": hit["title"], "content": hit["content"], "engine": "demo", "publishedDate": None,
            "parsed_url": [parts.scheme, parts.netloc, parts.path, "", "", ""], "template": "default.html", "engines": ["demo"],
            "positions": [position], "score": round(1 / position, 3), "category": "general",
        })
    return {"query": query, "results": results, "answers": [], "corrections": [], "infoboxes": [], "suggestions": [],
            "unresponsive_engines": []}


def gdelt(news, language):
    names = {"en": "English", "ru": "Russian", "uk": "Ukrainian"}
    return {"articles": [
        {"url": n["url"], "url_mobile": "", "title": n["title"], "seendate": "20261120T080000Z", "socialimage": "",
         "domain": urlsplit(n["url"]).netloc, "language": names[language], "sourcecountry": ""} for n in news
    ]} if news else {}


def google(reviews):
    """The wire shape of claims:search; headlines are left out on purpose (facts only)."""
    claims = []
    for r in reviews:
        day = "-".join(part.zfill(2) for part in r["date"].split("-"))
        claims.append({"text": r["claim"], "claimReview": [{
            "publisher": {"name": r["publisher"], "site": urlsplit(r["url"]).netloc.removeprefix("www.")}, "url": r["url"],
            "reviewDate": f"{day}T00:00:00Z", "textualRating": r["rating"], "languageCode": "en"}]})
    return {"claims": claims}


def wikipedia(world, title, sections, source):
    """`sections` is {heading: [sentence]}; two sentences a paragraph, "Summary" is the lead and has no heading."""
    blocks = []
    for heading in sorted(sections, key=lambda h: h != "Summary"):
        texts = sections[heading]
        blocks.append((None if heading == "Summary" else heading.split(" | ")[-1],
                       [" ".join(texts[i:i + 2]) for i in range(0, len(texts), 2)]))
    url = "https://en.wikipedia.org/wiki/" + quote(title.replace(" ", "_"), safe="_(),:!'*")
    return world.page(url, "en", title, "Wikipedia", blocks, "source", source, kind="Article")


def fm2_page(world, rows, chosen):
    """The article as FM2 holds it: the chosen claim's gold sentences, then others any FM2 row retrieved from it."""
    own = [(g["section_header"], g["text"]) for g in chosen["gold_evidence"] + chosen["retrieved_evidence"]]
    others = [(g["section_header"], g["text"]) for row in rows if row["wikipedia_page"] == chosen["wikipedia_page"]
              for g in row["gold_evidence"] + row["retrieved_evidence"]]
    kept = list(dict.fromkeys(own + others))[:MAX_SENTENCES]
    sections = defaultdict(list)
    for heading, text in kept:
        sections[heading].append(text)
    return wikipedia(world, chosen["wikipedia_page"], sections, f"fm2 dev, {chosen['wikipedia_page']}")


# ---------------------------------------------------------------- the world

def news_page(world, language, host, path, site, headline, paragraphs, source, charset=None):
    return world.page(f"https://{host}/{path}", language, headline, site, [(None, paragraphs)], "composed", source, charset=charset)


def unreadable(world, title):
    """Three addresses that exist only here: a consent wall, a page that is gone, a server that never answers in time."""
    wall = (f'<!doctype html><html lang="en"><head><title>Before you continue</title></head><body><h1>Before you continue</h1>'
            '<form method="post" action="/consent"><p>We use cookies and data to deliver and maintain our services, measure '
            'engagement and show personalised advertising.</p><button>Reject all</button><button>Accept all</button></form></body></html>\n')
    gone = '<!doctype html><html lang="en"><head><title>404 Not Found</title></head><body><h1>Not Found</h1></body></html>\n'
    late = '<!doctype html><html lang="en"><head><title>504 Gateway Time-out</title></head><body><h1>504 Gateway Time-out</h1></body></html>\n'
    hits = []
    for host, status, body in (("consent-wall", 200, wall), ("gone", 404, gone), ("too-slow", 504, late)):
        url = f"https://{host}.example/story"
        world.pages[url] = exact(url, body, "composed", "written for the demo", status)
        hits.append({"url": url, "title": title, "content": ""})
    return hits


def read_jsonl(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def build(data):
    world, handmade = World(), json.loads((HERE / "handmade.json").read_text(encoding="utf-8"))
    fm2 = read_jsonl(data / "fm2" / "dev.jsonl")
    feverous = read_jsonl(data / "nli_train" / "feverous_dev.jsonl")
    picked = pick_fm2(fm2, handmade["fm2"])
    queue = []  # (language, text, made, origin, keyword arguments), in the order the demo shows them

    def fm2_origin(row):
        return {"dataset": "fm2", "id": f"dev/{row['id']}", "label": row["label"], "licence": "Apache-2.0; Wikipedia text CC BY-SA"}

    for kind in ("number_agrees", "number_disagrees", "supports", "fact_differs", "negation", "mixed", "ambiguous"):
        for row in picked[kind][:2] if kind == "supports" else picked[kind]:
            hits = [] if kind == "ambiguous" else [fm2_page(world, fm2, row)]
            queue.append(("en", row["text"], "source", fm2_origin(row), {"kind": kind, "hits": hits, "distract": kind != "ambiguous"}))

    origin = lambda row: {"dataset": "feverous_dev", "id": row["id"], "label": row["label"], "licence": "MIT; Wikipedia text CC BY-SA 3.0"}
    for row, segments in pick_feverous(feverous):
        hits = [wikipedia(world, name, {"Summary": re.split(r"(?<=[a-z]\.) (?=[A-Z])", text)}, f"feverous_dev {row['id']}")
                for name, text in segments]
        queue.append(("en", row["hypothesis"], "source", origin(row), {"kind": "two_articles_agree", "hits": hits, "distract": True}))

    for reviews in pick_reviews(read_reviews(data / "claimreview_samples")):
        first = reviews[0]
        kind = "checked_by_two" if len(reviews) == 2 else f"checked_{first['rating'].lower()}"
        queue.append(("en", first["claim"], "source", {"dataset": "claimreview_samples", "id": first["url"], "label": first["rating"],
                      "licence": "short facts only"}, {"kind": kind, "reviews": google(reviews)}))
    sample = json.loads((data / "api_samples" / "google_factcheck_claims_search_real_response.json").read_text(encoding="utf-8"))
    for claim in sample["claims"]:
        for review in claim["claimReview"]:
            review.pop("title", None)
    queue.append(("en", sample["claims"][0]["text"], "source", {"dataset": "api_samples", "id": "google_factcheck_claims_search",
                  "label": "False", "licence": "short facts only"}, {"kind": "checked_many", "reviews": {"claims": sample["claims"]}}))

    for number, row in enumerate(pick_terra(read_jsonl(data / "terra_ru" / "pairs.jsonl")), 1):
        headline = row["evidence"].split(". ")[0].rstrip(".")[:90]
        page = news_page(world, "ru", f"vesti-{number}.example", row["id"].replace("train/", "terra-"), f"Пример: вести {number}",
                         headline, [row["evidence"]], f"terra_ru {row['id']}", "windows-1251" if number == 1 else None)
        queue.append(("ru", row["claim"], "source", {"dataset": "terra_ru", "id": row["id"], "label": row["label"], "licence": "MIT"},
                      {"kind": f"terra_{row['label']}", "hits": [page], "news": [page]}))

    wire, cluster = pick_factrueval(data / "factrueval2016" / "devset")
    rights = {"dataset": "factrueval2016", "label": None, "licence": "MIT"}
    copies = [news_page(world, "ru", f"gazeta-{n}.example", "wire-story", f"Пример: газета {n}", wire[1].rstrip("."), wire[2][:length],
                        f"factrueval2016 {wire[0]}") for n, length in enumerate((4, 3, 4, 2, 4), 1)]
    queue.append(("ru", wire[1], "source", dict(rights, id=wire[0]), {"kind": "five_copies_of_one_wire", "hits": copies[:3], "news": copies}))
    page = news_page(world, "ru", "vestnik.example", "news", "Пример: вестник", cluster[1].rstrip("."), cluster[2], f"factrueval2016 {cluster[0]}")
    members = [{"channel": f"@demo_ru_{n}", "item_id": f"demo:member:{n}"} for n in (2, 3)]
    queue.append(("ru", cluster[1], "source", dict(rights, id=cluster[0]), {"kind": "also_reported_by", "hits": [page], "news": [page],
                  "cluster_id": "demo:cluster:1", "cluster_members": members}))

    for dataset, table in (("fm2", handmade["fm2"]), ("feverous_dev", handmade["feverous_dev"])):
        for key, entry in table.items():
            row = next(r for r in (fm2 if dataset == "fm2" else feverous) if r["id"] == key)
            hits = [world.page(p["url"], "uk", p["title"], p["site"], [(None, p["paragraphs"])], "translated", f"{dataset} {key}, {p['of']}",
                               kind="Article") for p in entry["pages"]]
            source = fm2_origin(row) if dataset == "fm2" else origin(row)
            queue.append(("uk", entry["claim"], "translated", source, {"kind": "translated", "hits": hits}))
    for language, kind, line, text in pick_lingua(data / "lingua_langid"):
        queue.append((language, text, "source", {"dataset": "lingua_langid", "id": f"{language}/sentences.txt:{line}", "label": None,
                      "licence": "Apache-2.0; sentences CC BY (Leipzig Corpora Collection)"}, {"kind": kind}))

    blocked, throttled = picked["supports"][2:]
    queue.append(("en", blocked["text"], "source", fm2_origin(blocked), {"kind": "pages_unreadable", "hits": unreadable(world, blocked["wikipedia_page"])}))
    queue.append(("en", throttled["text"], "source", fm2_origin(throttled), {"kind": "gdelt_throttled", "throttled": True,
                  "hits": [fm2_page(world, fm2, throttled)]}))

    english = [hit for entry in queue for hit in entry[4].get("hits", ()) if "wikipedia.org" in hit["url"]]
    for number, (language, text, made, source, more) in enumerate(queue, 1):
        if more.pop("distract", False):  # what a real search also brings: the other article that shares most words
            own = {hit["url"] for hit in more["hits"]}
            others = [(coverage(text, hit["text"]), hit["url"], hit) for hit in english if hit["url"] not in own]
            more["hits"] = more["hits"] + first_best(others, 1)
        world.item(number, language, text, made, source, **more)
    return world


def readme_table(world):
    """One row an item: where its text comes from, and what was done for its pages."""
    rows = ["| item | text | made | from | label | licence | pages |\n|---|---|---|---|---|---|---|\n"]
    for item, search in zip(world.items, world.searches[SEARXNG]):
        found = defaultdict(int)
        for result in search["json"]["results"]:
            found[world.pages[result["url"]]["made"]] += 1
        pages = ", ".join(f"{count} {made}" for made, count in sorted(found.items())) or "none"
        origin, text = item["origin"], item["text"].replace("|", "\\|")
        rows.append(f"| `{item['item_id']}` | {text} | {item['made']} | {origin['dataset']} `{origin['id']}` | {origin['label'] or '-'} "
                    f"| {origin['licence']} | {pages} |\n")
    return "".join(rows)


def write(world):
    dump = lambda value: json.dumps(value, ensure_ascii=False)
    (HERE / "items.ndjson").write_text("".join(dump(item) + "\n" for item in world.items), encoding="utf-8")
    (HERE / "recordings").mkdir(exist_ok=True)
    files = {"google_factcheck": world.searches[GOOGLE], "gdelt": world.searches[GDELT], "searxng": world.searches[SEARXNG],
             "pages": [world.pages[url] for url in sorted(world.pages)]}
    for name, recordings in files.items():
        head = {"format": 2, "recorded_at": "2026-11-20T12:00:00Z"}
        lines = "".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) + "\n" for line in [head, *recordings])
        (HERE / "recordings" / f"{name}.ndjson").write_text(lines, encoding="utf-8")
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    before, rest = readme.split("<!-- items -->\n")
    after = rest.split("<!-- /items -->\n")[1]
    table = readme_table(world)
    (HERE / "README.md").write_text(f"{before}<!-- items -->\n{table}<!-- /items -->\n{after}", encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: build.py DATA_FOLDER")
    write(build(Path(sys.argv[1])))
