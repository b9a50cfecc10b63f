"""Makes the archives of a release on Linux, checks and tries each of them, and writes their checksums.

    python3 scripts/release.py [TARGET…] [--wheel] [--out dist]

Without a target it makes all: Linux and macOS for both processors, and Windows. This machine's own is always made, because it
writes the manual pages and completions of all. An archive holds the program with the network inside, README, changes, documents,
licences, manual pages and completions; beside the archives lie the source, from which they were made, `SHA256SUMS` and the text of the
release (`NOTES.md`), the newest section of CHANGELOG.md. `--wheel` adds a package for pip for each target.

A program must ask for no library that a fresh system lacks, and for no newer system than INSTALL.txt says; one for Apple's processors
must be signed, if only by checksums. Each archive is unpacked into an empty folder and must play there: under qemu or Wine where it
is for another machine and they are installed; otherwise it is said that it was not tried.

One toolchain, zig, compiles and links for all systems. Needs Python 3.8 or newer, and:

    rustup target add TARGET…
    pip install ziglang cargo-zigbuild; for --wheel also maturin, wheel
    apt-get install llvm                                      reads what a program asks for
    apt-get install qemu-user libc6-arm64-cross wine64        may be missing: tries the programs for ARM64 and Windows
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
import struct
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORK = ROOT / "target" / "release-files"
TARGETS = [
    "x86_64-unknown-linux-gnu",
    "aarch64-unknown-linux-gnu",
    "x86_64-pc-windows-gnu",
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
]
OWN = f"{platform.machine()}-unknown-linux-gnu"
# The oldest systems for which Rust's own library is made.
GLIBC, MACOS = "2.17", "11.0"
# What a program may load: the system's own libraries, and none that a compiler brings ("lib…" on Windows).
LIBRARIES = {
    "linux": r"(libc|libdl|libm|libpthread|librt|libutil|ld-linux-\S+)\.so\.\d",
    "apple": r"/(usr/lib|System/Library/Frameworks)/\S+",
    "windows": r"(?!lib)\S+\.dll",
}
# What sysinfo takes of Apple's frameworks. The linker wants their names, and zig brings those of libSystem alone.
FRAMEWORKS = {
    "CoreFoundation": "CFDataGetBytes CFDataGetLength CFDataGetTypeID CFGetTypeID CFRelease CFRetain CFStringCreateWithBytesNoCopy "
    "kCFAllocatorDefault kCFAllocatorNull",
    "IOKit": "IOIteratorNext IOObjectRelease IORegistryEntryCreateCFProperty IORegistryEntryGetName IOServiceGetMatchingServices "
    "IOServiceMatching kIOMasterPortDefault",
}
FRAMEWORK = """--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: /System/Library/Frameworks/{name}.framework/Versions/A/{name}
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ {symbols} ]
...
"""
# What people get beside the program. docs/ links to the files at the top.
FILES = ["README.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "LICENSE", "docs", "models/README.md"]
SHELLS = {"bash": "zeitnot", "zsh": "_zeitnot", "fish": "zeitnot.fish", "powershell": "zeitnot.ps1"}
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
    "linux": f"\nIt needs glibc {GLIBC} or newer (ldd --version tells yours).\n",
    "apple": f"\nIt needs macOS {MACOS} or newer. If macOS refuses to open it: xattr -d com.apple.quarantine zeitnot\n",
    "windows": "\nIt needs Windows 10 or newer.\n",
}


def run(*command, **more):
    """Runs a command, which must succeed, and returns what it writes to stdout."""
    print("$", *command, file=sys.stderr)
    command = [str(part) for part in command]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, encoding="utf-8", cwd=ROOT, **more).stdout


def frameworks():
    """Tells the linker of Apple's frameworks, in a folder that stands for Xcode's; returns the folder."""
    for name, symbols in FRAMEWORKS.items():
        folder = WORK / "apple" / f"System/Library/Frameworks/{name}.framework"
        folder.mkdir(parents=True, exist_ok=True)
        symbols = ", ".join(f"_{symbol}" for symbol in symbols.split())
        (folder / f"{name}.tbd").write_text(FRAMEWORK.format(name=name, symbols=symbols))
    return WORK / "apple"


def of_system(target, table):
    return next(value for word, value in table.items() if word in target)


def build(target):
    """Builds the program and returns its path, wherever Cargo is set to put it."""
    oldest = f".{GLIBC}" if "linux" in target else ""
    command = ["cargo", "zigbuild", "--locked", "--release", "--bin", "zeitnot", "--target", target + oldest]
    messages = run(*command, "--message-format=json-render-diagnostics")
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


def check(program, target):
    """Reads what the program asks of its system, and returns it in words; ends the script where a system may lack it."""
    headers = run("llvm-objdump", "--private-headers", program)
    libraries = sorted(set(re.findall(r"(?:NEEDED|DLL Name:|LC_LOAD_DYLIB\n.*\n +name) +(\S+)", headers)))
    versions = [tuple(map(int, found.split("."))) for found in re.findall(r"(?:GLIBC_|minos )([\d.]+)", headers)]
    newest, oldest = max(versions, default=()), of_system(target, {"linux": GLIBC, "apple": MACOS, "windows": "10"})
    rare = [library for library in libraries if not re.fullmatch(of_system(target, LIBRARIES), library, re.IGNORECASE)]
    if rare or newest > tuple(map(int, oldest.split("."))):
        raise SystemExit(f"{program} asks for version {newest} of its system, and for {rare or 'no rare library'}")
    if target == "aarch64-apple-darwin" and not is_signed(program.read_bytes()):
        raise SystemExit(f"{program} has no valid signature, so macOS would not run it")
    return " ".join([".".join(map(str, newest)), *libraries]).strip()


def is_signed(program):
    """Whether a program for macOS has an ad-hoc signature with the right checksum of each page: Apple's processors run no other.
    The layout is that of `CS_CodeDirectory` in Apple's cs_blobs.h."""
    at = program.rfind(b"\xfa\xde\x0c\x02")
    if at < 0:
        return False
    flags, sums, _, _, count, end, length, _, _, shift = struct.unpack_from(">6I4B", program, at + 12)
    pages = [program[begin : min(begin + (1 << shift), end)] for begin in range(0, end, 1 << shift)]
    return flags & 2 and program[at + sums :][: count * length] == b"".join(hashlib.sha256(page).digest() for page in pages)


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
    notes = of_system(target, NOTES)
    started = program.name if "windows" in target else f"./{program.name}"
    text = INSTALL.format(version=version, target=target, program=program.name, run=started, notes=notes)
    (folder / "INSTALL.txt").write_text(text, encoding="utf-8")
    return folder


def pack(folder, out, target):
    """Packs a folder: the same files give the same bytes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    names = [str(path.relative_to(folder.parent)) for path in files]
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
    if target == OWN:
        return []
    if target == "aarch64-unknown-linux-gnu" and shutil.which("qemu-aarch64"):
        return ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]
    if "windows" in target:
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
        if "windows" in target:
            library = ["-shared", "-o", home / "bcryptprimitives.dll", "-x", "c", "-", "-ladvapi32"]
            run("cargo-zigbuild", "zig", "cc", "--", "-target", "x86_64-windows-gnu", *library, input=RANDOM_FOR_WINE)
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
    os.environ.update(SDKROOT=str(frameworks()), MACOSX_DEPLOYMENT_TARGET=MACOS)
    made, shared, version = [], None, None
    for target in dict.fromkeys([OWN, *(arguments.targets or TARGETS)]):
        program = build(target)
        if target == OWN:
            shared = documents(program)
            version = run(program, "--version").split()[-1]
        needs = check(program, target)
        folder = gather(program, target, version, shared)
        archive = pack(folder, out, target)
        made.append((archive, f"needs {needs}; {try_out(archive, target)}"))
        if arguments.wheel:
            made.append((wheel(program, folder, target, out), "a package for pip"))
    source = out / f"zeitnot-{version}-source.tar.gz"
    run("git", "archive", "--format=tar.gz", f"--prefix=zeitnot-{version}/", "-o", source, "HEAD")
    made.append((source, "the commit's files"))
    sums = [f"{hashlib.sha256(archive.read_bytes()).hexdigest()}  {archive.name}\n" for archive, _ in made]
    (out / "SHA256SUMS").write_text("".join(sums))
    (out / "NOTES.md").write_text(notes(), encoding="utf-8")
    for archive, seen in made:
        print(f"{archive.name}  {archive.stat().st_size / 1e6:.1f} MB  {seen}")


def wheel(program, folder, target, out):
    """Makes a package for pip with the program in it; `folder` is the archive's. Returns its path."""
    parts = WORK / "wheel"
    shutil.rmtree(parts, ignore_errors=True)
    shutil.copytree(ROOT / "python", parts, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy2(folder / "THIRD-PARTY.txt", ROOT)
    try:
        run("maturin", "pep517", "write-dist-info", "--target", target, "--metadata-directory", parts)
    finally:
        (ROOT / "THIRD-PARTY.txt").unlink()
    (facts,) = parts.glob("*.dist-info")
    # maturin knows nothing of the oldest glibc, which `check` has seen.
    tag = facts / "WHEEL"
    tag.write_text(tag.read_text().replace("-linux_", f"-manylinux_{GLIBC.replace('.', '_')}_"))
    scripts = facts.with_suffix(".data") / "scripts"
    scripts.mkdir(parents=True)
    shutil.copy2(program, scripts)
    run(sys.executable, "-m", "wheel", "pack", parts, "--dest-dir", out)
    return out / f"{facts.stem}-{re.search('Tag: (.*)', tag.read_text())[1]}.whl"


if __name__ == "__main__":
    main()
