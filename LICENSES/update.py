#!/usr/bin/env python3
"""Writes the list of third-party crates and their licence texts: python3 LICENSES/update.py

crates.tsv  one line a crate of Cargo.lock: name, version, SPDX expression, copyright lines of its licence files
crates.txt  licence and notice texts of those crates, except the bodies of MIT, Apache-2.0 and MPL-2.0, which are other files

Run it after a change of Cargo.lock. The test `third_party_list_matches_the_lock_file` compares names and versions.
It needs cargo and the crates' sources, which cargo fetches. Standard library only.
"""

import json
import re
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
LICENCE_FILE = re.compile(r"^(licen[sc]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
COPYRIGHT = re.compile(r"^\W*(?:portions )?copyright\b.*(?:\(c\)|©|\d{4}).*$", re.IGNORECASE | re.MULTILINE)
#: The placeholder of the appendix of Apache-2.0, and sentences about copyright.
NO_HOLDER = re.compile(r"\[yyyy\]|\{yyyy\}|copyright (?:notice|holder|owner|statement|license)|copyright and related", re.IGNORECASE)
#: Texts that are in LICENSE-MIT, LICENSE-APACHE and MPL-2.0.txt: words that only they have, and their length. A longer file holds
#: something else too. The last licence is one of several at choice, and not the one that is used.
KNOWN = {
    "permission is hereby granted, free of charge, to any person obtaining a copy": 1_300,
    "terms and conditions for use, reproduction, and distribution": 11_500,
    "mozilla public license version 2.0": 17_000,
    "gnu general public license": 19_000,
}


def packages() -> list[dict]:
    """Third-party packages of Cargo.lock, for every platform and feature."""
    command = ["cargo", "metadata", "--locked", "--all-features", "--format-version", "1"]
    output = subprocess.run(command, cwd=HERE.parent, check=True, capture_output=True, text=True).stdout
    found = [package for package in json.loads(output)["packages"] if package["source"]]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def texts(package: dict) -> list[str]:
    folder = Path(package["manifest_path"]).parent
    paths = [path for path in sorted(folder.iterdir()) if path.is_file() and LICENCE_FILE.match(path.name)]
    named = package["license_file"]
    if named and folder / named not in paths and (folder / named).is_file():
        paths.append(folder / named)
    return [path.read_text(encoding="utf-8", errors="replace").strip() for path in paths]


def holders(found: list[str]) -> str:
    lines = [" ".join(line.split()).strip("/*# ") for text in found for line in COPYRIGHT.findall(text)]
    return "; ".join(dict.fromkeys(line for line in lines if not NO_HOLDER.search(line) and len(line) < 200))


def is_known(text: str) -> bool:
    flat = " ".join(text.lower().split())
    return len(flat) < 40 or any(words in flat and len(flat) < most for words, most in KNOWN.items())


def main() -> None:
    rows, others = [], {}
    for package in packages():
        found = texts(package)
        licence = (package["license"] or "see crates.txt").replace(" / ", "/").replace("/", " OR ")
        rows.append("\t".join((package["name"], package["version"], licence, holders(found))))
        for text in found:
            if not is_known(text):
                others.setdefault(text, []).append(f"{package['name']} {package['version']}")
    (HERE / "crates.tsv").write_text("\n".join(rows) + "\n", encoding="utf-8")
    rule = "=" * 80
    parts = [f"{rule}\n{', '.join(names)}\n{rule}\n\n{text}\n" for text, names in others.items()]
    (HERE / "crates.txt").write_text("\n".join(parts), encoding="utf-8")
    print(f"{len(rows)} crates, {len(others)} texts")


if __name__ == "__main__":
    main()
