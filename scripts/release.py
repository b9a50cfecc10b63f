"""Makes the archives of a release, tries each of them, and writes their checksums.

    python3 scripts/release.py [TARGET…] [--wheel] [--out dist]

The targets are Rust's (`aarch64-unknown-linux-gnu`, `x86_64-pc-windows-gnu`, …); this machine's own is always made, because it writes
the manual pages and completions of all. An archive holds the program with the network inside, README, changes, documents,
licences, manual pages and completions; beside the archives lie the source, from which they were made, `SHA256SUMS` and the text of the
release (`NOTES.md`), the newest section of CHANGELOG.md.
Each archive is unpacked into an empty folder and must play there: under qemu or Wine where it is for another machine and they are
installed; otherwise it is said that it was not tried. `--wheel` adds a package for pip of this machine's target (needs maturin).

Cross compilation needs `rustup target add TARGET` and, on Debian, gcc-aarch64-linux-gnu or gcc-mingw-w64-x86-64; to try the results
qemu-user with libc6-arm64-cross, or wine64. Needs Python 3.8 or newer, and nothing else.
"""

import argparse
import gzip
import hashlib
import io
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "release-files"
BUILD = ["--locked", "--release"]
# What people get beside the program. docs/ links to the files at the top.
FILES = ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSE", "docs", "models/README.md"]
SHELLS = {"bash": "zeitnot", "zsh": "_zeitnot", "fish": "zeitnot.fish", "powershell": "zeitnot.ps1"}
LINKERS = {"aarch64-unknown-linux-gnu": "aarch64-linux-gnu-gcc"}
# Where Debian keeps programs that don't lie in the path.
WINE = ["wine", "wine64", "/usr/lib/wine/wine64"]
# Rust's programs take random numbers from bcryptprimitives.dll, which every Windows has and Wine 8 lacks.
RANDOM_FOR_WINE = """#include <windows.h>
#include <ntsecapi.h>
BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T size) { return RtlGenRandom(to, size); }
"""
CONVERSATION = "uci\nisready\nposition startpos moves e2e4\ngo nodes 100\n"

INSTALL = """Zeitnot {version} for {target}

The program is {program}; it needs no other file, its network is inside. Try it:

    {run} bench

Tell your chess program to use it as a UCI engine. README.md says how to use other networks and a GPU; docs/ tells the rest.

man/           manual pages, for a folder such as ~/.local/share/man/man1
completions/   for bash (~/.local/share/bash-completion/completions), zsh (a folder of $fpath), fish (~/.config/fish/completions), PowerShell
LICENSE        the licence of Zeitnot; its network is under GPL-3.0, see models/README.md
THIRD-PARTY.txt  the licences of the packages that are part of the program

The source is zeitnot-{version}-source.tar.gz beside this archive.
{notes}"""
NOTES = {
    "linux": "\nIt needs glibc {glibc} or newer (ldd --version tells yours) and libgcc_s.so.1, which every desktop has.\n",
    "apple": "\nIf macOS refuses to open it: xattr -d com.apple.quarantine zeitnot\n",
    "windows": "",
}


def run(*command, **more):
    """Runs a command, which must succeed, and returns what it writes to stdout."""
    print("$", *command, file=sys.stderr)
    command = [str(part) for part in command]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", cwd=ROOT, **more).stdout


def host():
    lines = run("rustc", "-vV").splitlines()
    return next(line.split(": ")[1] for line in lines if line.startswith("host: "))


def build(target):
    """Builds the program and returns its path, wherever Cargo is set to put it."""
    env = dict(os.environ)
    if target in LINKERS:
        env.setdefault(f"CARGO_TARGET_{target.upper().replace('-', '_')}_LINKER", LINKERS[target])
    for_others = [] if target == host() else ["--target", target]
    messages = run("cargo", "build", *BUILD, *for_others, "--message-format=json-render-diagnostics", env=env)
    return next(Path(message["executable"]) for message in map(json.loads, messages.splitlines()) if message.get("executable"))


def documents(program):
    """Lets the program of this machine write manual pages and completions; returns their folder."""
    folder = WORK / "documents"
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "completions").mkdir(parents=True)
    run(program, "man", "--out", folder / "man")
    for shell, name in SHELLS.items():
        (folder / "completions" / name).write_text(run(program, "completions", shell), encoding="utf-8")
    return folder


def glibc(program):
    """Returns the newest version of glibc whose symbols the program asks for."""
    words = program.read_bytes().split(b"GLIBC_")[1:]
    versions = [word.split(b"\0")[0].decode(errors="replace") for word in words]
    numbers = [tuple(map(int, version.split("."))) for version in versions if version.replace(".", "").isdigit()]
    return ".".join(map(str, max(numbers)))


def gather(program, target, version, shared):
    """Puts all files of an archive into a folder and returns it."""
    folder = WORK / f"zeitnot-{version}-{target}"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(shared, folder)
    shutil.copy2(program, folder)
    for name in FILES:
        source, goal = ROOT / name, folder / name
        goal.parent.mkdir(exist_ok=True)
        shutil.copytree(source, goal) if source.is_dir() else shutil.copy2(source, goal)
    run(sys.executable, "scripts/licences.py", folder / "THIRD-PARTY.txt", "--target", target)
    notes = next((text for word, text in NOTES.items() if word in target), "")
    if "{glibc}" in notes:
        notes = notes.format(glibc=glibc(program))
    started = program.name if "windows" in target else f"./{program.name}"
    text = INSTALL.format(version=version, target=target, program=program.name, run=started, notes=notes)
    (folder / "INSTALL.txt").write_text(text, encoding="utf-8")
    return folder


def pack(folder, out, target):
    """Packs a folder: the same files give the same bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = [str(path.relative_to(folder.parent)).replace(os.sep, "/") for path in files]
    if "windows" in target:
        archive = out / f"{folder.name}.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for path, name in zip(files, names):
                packed.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED, 9)
        return archive
    archive = out / f"{folder.name}.tar.gz"
    with open(archive, "wb") as file, gzip.GzipFile("", "wb", 9, file, mtime=0) as zipped:
        with tarfile.open(fileobj=zipped, mode="w") as packed:
            for path, name in zip(files, names):
                info = tarfile.TarInfo(name)
                info.size = path.stat().st_size
                info.mode = 0o755 if path.stem == "zeitnot" and path.parent == folder else 0o644
                packed.addfile(info, io.BytesIO(path.read_bytes()))
    return archive


def runner(target):
    """Returns the command that runs programs of a target here; None where there is none."""
    if target == host():
        return []
    if target == "aarch64-unknown-linux-gnu" and shutil.which("qemu-aarch64"):
        return ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
    if "windows" in target and platform.system() != "Windows":
        wine = next((found for found in map(shutil.which, WINE) if found), None)
        return [wine] if wine else None
    return None


def try_out(archive, target):
    """Unpacks an archive into an empty folder and lets the program play there; returns what was seen."""
    through = runner(target)
    if through is None:
        return "not tried: no machine of this kind, and neither qemu nor Wine, is here"
    with tempfile.TemporaryDirectory() as folder:
        shutil.unpack_archive(archive, folder)
        (home,) = Path(folder).iterdir()
        program = home / ("zeitnot.exe" if "windows" in target else "zeitnot")
        env = dict(os.environ, ZEITNOT_OFFLINE="1", WINEDEBUG="-all")
        if "windows" in target and through:
            library = ["-shared", "-o", home / "bcryptprimitives.dll", "-x", "c", "-", "-ladvapi32"]
            run("x86_64-w64-mingw32-gcc", *library, input=RANDOM_FOR_WINE)
        start = dict(cwd=home, env=env, encoding="utf-8", stdout=subprocess.PIPE)
        # An emulator makes a few visits a second.
        nodes = "20" if through else "200"
        tried = subprocess.run([*through, program, "bench", "--nodes", nodes], timeout=600, check=True, **start)
        bench = tried.stdout.split("\n")
        with subprocess.Popen([*through, program], stdin=subprocess.PIPE, **start) as game:
            game.stdin.write(CONVERSATION)
            game.stdin.flush()
            answer = next((line for line in game.stdout if line.startswith("bestmove")), None)
            game.stdin.close()
        if answer is None:
            raise SystemExit(f"{archive.name}: no move came")
        by = f" (by {Path(through[0]).name})" if through else ""
        return f"tried{by}: {answer.strip()}; {[line for line in bench if line][-1]}"


def notes():
    """Returns the newest section of CHANGELOG.md without its heading; links become plain text, because the files are elsewhere."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    section = re.split(r"^## .*$", text, flags=re.MULTILINE)[1]
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", section).strip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET")
    parser.add_argument("--wheel", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    own = host()
    targets = list(dict.fromkeys([own, *arguments.targets]))
    made, shared, version, own_folder = [], None, None, None
    for target in targets:
        program = build(target)
        if target == own:
            shared = documents(program)
            version = run(program, "--version").split()[-1]
        folder = gather(program, target, version, shared)
        own_folder = own_folder or folder
        archive = pack(folder, out, target)
        made.append((archive, try_out(archive, target)))
    source = out / f"zeitnot-{version}-source.tar.gz"
    run("git", "archive", "--format=tar.gz", f"--prefix=zeitnot-{version}/", "-o", source, "HEAD")
    made.append((source, "the commit's files"))
    if arguments.wheel:
        made.append((wheel(own_folder, out), "a package for pip"))
    sums = [f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n" for archive, _ in made]
    (out / "SHA256SUMS").write_text("".join(sums))
    (out / "NOTES.md").write_text(notes(), encoding="utf-8")
    for archive, seen in made:
        print(f"{archive.name}  {archive.stat().st_size / 1e6:.1f} MB  {seen}")


def wheel(folder, out):
    """Makes a package for pip with the program in it; `folder` is this machine's archive. Returns its path."""
    shutil.copy2(folder / "THIRD-PARTY.txt", ROOT)
    try:
        before = set(out.glob("*.whl"))
        run("maturin", "build", "--locked", "--release", "--out", out)
        return max(set(out.glob("*.whl")) - before or out.glob("*.whl"), key=lambda path: path.stat().st_mtime)
    finally:
        (ROOT / "THIRD-PARTY.txt").unlink()


if __name__ == "__main__":
    main()
