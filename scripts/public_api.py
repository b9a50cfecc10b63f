#!/usr/bin/env python3
"""Compares what the library shows to other programs with tests/data/public_api.txt, so that it changes on purpose and with a line in
CHANGELOG.md.

Usage: scripts/public_api.py [--write]
"""

import difflib
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
LISTING = ROOT / "tests/data/public_api.txt"
PARTS = re.compile(r'id="((?:method|tymethod|variant|structfield|associatedconstant|associatedtype)\.\w+)"')


def api(folder: Path) -> list[str]:
    """A line for each item of the documentation, and for each of its own parts."""
    lines = []
    for page in sorted(folder.rglob("*.html")):
        kind, dot, name = page.stem.partition(".")
        if not dot:
            continue
        path = "::".join([folder.name, *page.relative_to(folder).parts[:-1], name])
        # What traits give to any type is no one's decision.
        own = page.read_text().split('id="trait-implementations"')[0].split('id="synthetic-implementations"')[0]
        lines += [f"{kind} {path}", *(f"{kind} {path} {part}" for part in sorted(set(PARTS.findall(own))))]
    return lines


def main() -> int:
    folder = ROOT / "target/doc/zeitnot_engine"
    # Pages of items that are gone would stay.
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run(["cargo", "doc", "--quiet", "--release", "--no-deps", "--package", "zeitnot-engine"], cwd=ROOT, check=True)
    found = api(folder)
    if "--write" in sys.argv:
        LISTING.write_text("\n".join(found) + "\n")
        return 0
    known = LISTING.read_text().splitlines()
    if found == known:
        return 0
    sys.stdout.writelines(line + "\n" for line in difflib.unified_diff(known, found, "was", "is", lineterm="", n=0))
    print("The library's public items have changed. Say so in CHANGELOG.md, and run scripts/public_api.py --write")
    return 1


if __name__ == "__main__":
    sys.exit(main())
