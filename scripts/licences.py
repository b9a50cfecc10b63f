#!/usr/bin/env python3
"""Writes the licences of all that is linked into the program, for release archives.

Every crate that the build for one target takes in is listed with version, licence and source, then every licence text once
with the crates that it came with, and Rust's own, since its standard library is linked in too. What only builds or tests the
program is left out. Fails if a crate states no licence, or if a licence has no text in what is written.

    scripts/licences.py THIRD-PARTY.txt                                     this machine, default features
    scripts/licences.py THIRD-PARTY.txt --target x86_64-pc-windows-msvc

Needs cargo, and nothing of Python but its standard library.
"""

import argparse
import html
import json
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
TEXT_NAME = re.compile(r"(licen[cs]e|copying|copyright|notice|unlicense)", re.IGNORECASE)
# What a text must contain to be that of a licence.
PHRASES = {
    "0BSD": "PERMISSION TO USE, COPY, MODIFY, AND/OR DISTRIBUTE",
    "Apache-2.0": "APACHE LICENSE VERSION 2.0",
    "BSD-2-Clause": "REDISTRIBUTIONS IN BINARY FORM MUST REPRODUCE",
    "BSD-3-Clause": "REDISTRIBUTIONS IN BINARY FORM MUST REPRODUCE",
    "BSL-1.0": "BOOST SOFTWARE LICENSE",
    "CC0-1.0": "CC0 1.0 UNIVERSAL",
    "GPL-3.0-or-later": "GNU GENERAL PUBLIC LICENSE VERSION 3",
    "ISC": "PERMISSION TO USE, COPY, MODIFY, AND/OR DISTRIBUTE",
    "MIT": "PERMISSION IS HEREBY GRANTED, FREE OF CHARGE",
    "Unicode-3.0": "UNICODE LICENSE V3",
    "Unlicense": "THIS IS FREE AND UNENCUMBERED SOFTWARE",
    "Zlib": "THIS SOFTWARE IS PROVIDED 'AS-IS'",
    "bzip2-1.0.6": "ALTERED SOURCE VERSIONS MUST BE PLAINLY MARKED",
}


def output_of(*command):
    return subprocess.run(command, cwd=REPOSITORY, check=True, stdout=subprocess.PIPE, text=True).stdout


def linked_crates(target, flags):
    """Returns the packages of others that the program's build for `target` links, by name and version."""
    edges = ["--package=zeitnot", "--edges=normal,no-proc-macro"]
    tree = output_of("cargo", "tree", "--locked", *edges, "--prefix=none", f"--target={target}", *flags)
    linked = {tuple(line.split()[:2]) for line in tree.splitlines() if line}
    metadata = output_of("cargo", "metadata", "--format-version=1", "--locked", f"--filter-platform={target}", *flags)
    packages = json.loads(metadata)["packages"]
    found = [package for package in packages if package["source"] and (package["name"], f"v{package['version']}") in linked]
    return sorted(found, key=lambda package: (package["name"], package["version"]))


def licence_files(folder):
    """Returns the licence texts of a package: those at its head, and those of C code one folder below."""
    candidates = [*folder.glob("*"), *folder.glob("*/*")]
    return sorted(path for path in candidates if path.is_file() and TEXT_NAME.match(path.stem) and path.suffix != ".rs")


def words(text):
    return " ".join(text.upper().split())


def is_met(expression, known):
    """Tells whether a licence expression, alternatives joined by "AND", can be met with the licences whose text is known."""
    parts = re.split(r"\s+AND\s+", re.sub(r"\s+WITH\s+[\w.-]+", "", expression))
    return all(known.intersection(re.split(r"\s+OR\s+|\s*/\s*", part.strip("() "))) for part in parts)


def rust_text():
    """Returns the notices of Rust's standard library and of what is in it, which come with the toolchain as a page."""
    sysroot = Path(output_of("rustc", "--print", "sysroot").strip())
    page = (sysroot / "share/doc/rust/COPYRIGHT-library.html").read_text(encoding="utf-8")
    lines = html.unescape(re.sub(r"<[^>]*>", "", page)).splitlines()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in lines)).strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the file to write")
    parser.add_argument("--target", help="the target of the build; default: this machine's")
    parser.add_argument("--cargo-flags", default="", help="the build's flags about features, divided by spaces")
    args = parser.parse_args()
    target = args.target or re.search(r"^host: (.*)$", output_of("rustc", "-vV"), re.MULTILINE).group(1)
    version = output_of("rustc", "--version").split()[1]

    texts = {}
    rows, faults = [], []

    def add(owner, text):
        texts.setdefault(words(text), (text, []))[1].append(owner)

    library = f"rust {version} (standard library)"
    rows.append((library, "MIT OR Apache-2.0", "https://github.com/rust-lang/rust"))
    add(library, rust_text())
    for package in linked_crates(target, args.cargo_flags.split()):
        name = f"{package['name']} {package['version']}"
        if not package["license"]:
            faults.append(f"{name} states no licence")
        rows.append((name, package["license"] or "", package["repository"] or ""))
        for path in licence_files(Path(package["manifest_path"]).parent):
            add(name, path.read_text(encoding="utf-8", errors="replace").strip())

    ours = words((REPOSITORY / "LICENSE").read_text(encoding="utf-8"))
    known = {name for name, phrase in PHRASES.items() if any(words(phrase) in text for text in [ours, *texts])}
    for name, licence, _ in rows:
        if licence and not is_met(licence, known):
            faults.append(f"{name}: no text of {licence}")
    if faults:
        sys.exit("\n".join(faults))

    owners = {owner for _, names in texts.values() for owner in names}
    name_width, licence_width = (max(len(row[column]) for row in rows) for column in (0, 1))
    with args.out.open("w", encoding="utf-8") as out:
        out.write(
            "Zeitnot is under the GNU General Public License, version 3 or later: see LICENSE.\n"
            f"Linked into the program for {target} are the works below, each under its own licence; the texts follow.\n"
            "For one that brings no text of its own, the text of its licence is that of others, or LICENSE.\n\n"
        )
        for name, licence, source in rows:
            mark = "" if name in owners else "  (no text of its own)"
            out.write(f"{name:{name_width}}  {licence:{licence_width}}  {source}{mark}\n")
        for text, names in sorted(texts.values(), key=lambda entry: (-len(entry[1]), entry[1])):
            out.write(f"\n{'=' * 100}\n{', '.join(dict.fromkeys(names))}\n{'=' * 100}\n\n{text}\n")
    print(f"{args.out}: {len(rows)} works, {len(texts)} texts")


if __name__ == "__main__":
    main()
