"""Model folders as the daemon reads them: `model.toml`, the ONNX file and the tokenizer, with checksums."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from pathlib import Path

Scalar = str | int | float | bool | list[str] | list[float]
Table = dict[str, Scalar]


def checksum(path: Path) -> str:
    """SHA-256 of a file, in hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_manifest(folder: Path, manifest: Mapping[str, Scalar | Table]) -> None:
    """Write `model.toml` into `folder`: the given keys in their order, tables behind them, then the files' checksums."""

    def line(key: str, value: Scalar) -> str:
        # JSON's strings, numbers, booleans and flat lists are TOML's too.
        return f"{key} = {json.dumps(value, ensure_ascii=False)}"

    lines = [line(key, value) for key, value in manifest.items() if not isinstance(value, dict)]
    for name, table in manifest.items():
        if isinstance(table, dict):
            lines += ["", f"[{name}]", *(line(key, value) for key, value in table.items())]
    lines += ["", "[sha256]"]
    lines += [f'"{manifest[key]}" = "{checksum(folder / str(manifest[key]))}"' for key in ("model", "tokenizer")]
    (folder / "model.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_manifest(folder: Path) -> dict:
    """What `model.toml` of `folder` says."""
    return tomllib.loads((folder / "model.toml").read_text(encoding="utf-8"))


def write_tokenizer(source: Path, target: Path) -> None:
    """Copy a `tokenizer.json` without its truncation and padding: those are the runtime's to choose."""
    tokenizer = json.loads(source.read_text(encoding="utf-8"))
    tokenizer["truncation"] = tokenizer["padding"] = None
    text = json.dumps(tokenizer, ensure_ascii=False, separators=(",", ":"))
    target.write_text(text + "\n", encoding="utf-8")
