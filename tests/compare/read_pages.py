#!/usr/bin/env python3
"""Has trafilatura read pages, for the time it takes and the text it finds.

    read_pages.py LIST OUT

LIST has a page's file and its address on a line, a tab between; OUT gets one JSON line a page: {"seconds", "text"}.
Reading the file is not timed. Run by the test `segments_of_trafilatura` on the pages it has just read itself.
"""

import json
import sys
import time
from pathlib import Path

import trafilatura


def main() -> None:
    pages, out = (Path(argument) for argument in sys.argv[1:3])
    with out.open("w", encoding="utf-8") as answers:
        for line in pages.read_text(encoding="utf-8").splitlines():
            file, url = line.split("\t")
            html = Path(file).read_bytes()
            started = time.perf_counter()
            text = trafilatura.extract(html, url=url, include_comments=False) or ""
            answers.write(json.dumps({"seconds": time.perf_counter() - started, "text": text}) + "\n")


if __name__ == "__main__":
    main()
