#!/bin/sh
# Builds the program for Windows and tries it under Wine, which gets no drive Z: through that it would find Linux's /proc.
#   apt install gcc-mingw-w64-x86-64-win32 wine64 && rustup target add x86_64-pc-windows-gnu
#   scripts/wine.sh [PROGRAM.exe]
# Prints a line for each check. Exit code 1 if one fails.
set -eu
cd "$(dirname "$0")/.."
target=x86_64-pc-windows-gnu
if [ $# -gt 0 ]; then
    built=$1
else
    cargo build --locked --release --bin zeitnot --target $target
    built=target/$target/release/zeitnot.exe
fi
wine=$(command -v wine64 || command -v wine || echo /usr/lib/wine/wine64)
export WINEPREFIX="${TMPDIR:-/tmp}/zeitnot-wine-$$" WINEDEBUG=-all ZEITNOT_OFFLINE=1
# Wine's server writes into its folder until it ends.
trap 'wineserver -k || true; wineserver -w || true; rm -rf "$WINEPREFIX"' EXIT
"$wine" wineboot -i >/dev/null 2>&1
home="$WINEPREFIX/drive_c/Program Files/Zeitnot für Öz" work="$WINEPREFIX/drive_c/work"
mkdir -p "$home" "$work/part1" "$work/part2"
cp "$built" "$home/zeitnot.exe"
cp models/tiny/zeitnot-tiny.pb.gz "$work/ein netz für öz.pb.gz"
# Rust's programs take random numbers from this library, which every Windows has and Wine 8 lacks.
printf '%s\n' '#include <windows.h>' '#include <ntsecapi.h>' \
    'BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T size) { return RtlGenRandom(to, size); }' |
    x86_64-w64-mingw32-gcc -shared -o "$home/bcryptprimitives.dll" -x c - -ladvapi32
rm -f "$WINEPREFIX/dosdevices/z:"
cd "$work"

failed=0
zeitnot() { "$wine" 'C:\Program Files\Zeitnot für Öz\zeitnot.exe' "$@" 2>&1 || echo "exit code $?"; }
# The output of a call, given as the third argument, must have the pattern in the second.
check() {
    if printf '%s\n' "$3" | grep -q -e "$2"; then echo "ok    $1"; else
        printf 'FAIL  %s, expected %s:\n%s\n' "$1" "$2" "$(printf '%s' "$3" | tail -n 3 | cut -c -300)"
        failed=1
    fi
}

game() { printf '%s\r\n' uci "$@" isready 'position startpos moves e2e4' 'go nodes 20' wait quit; }
check 'plays over UCI' '^bestmove ' "$(game | zeitnot)"
quoted='setoption name WeightsFile value "C:\work\ein netz für öz.pb.gz"'
check 'takes quotation marks off a path' 'info string .*ein netz für öz.pb.gz, ' "$(game "$quoted" | zeitnot)"

for encoding in UTF-8 WINDOWS-1252 UTF-16; do
    printf 'weights="C:\\work\\ein netz für öz.pb.gz"\r\n' | iconv -t $encoding >"$home/zeitnot.config"
    check "reads a configuration in $encoding" 'using .*ein netz für öz' \
        "$(zeitnot bench --nodes 5 --num-positions 1)"
    check "writes a configuration in $encoding" 'Configuration: ' \
        "$(zeitnot benchmark --nodes 5 --num-positions 1 --threads 1 --write)"
done
rm "$home/zeitnot.config"

report=$(zeitnot benchmark --backend random --nodes 200 --num-positions 2 --no-advice --json)
check 'names the processor' '"machine":{"cpu":"[^"]* [^"]*"' "$report"
check 'knows the memory' '"memory_gb":[0-9]' "$report"
check 'measures CPU time' '"cpu_s":[0-9]' "$report"
check 'knows what others use' '"others":{' "$report"
check 'names the system' '"system":"Windows' "$report"

zeitnot match --games 2 --nodes 5 --max-plies 20 --backend random --out part1/a >/dev/null
zeitnot match --games 2 --nodes 5 --max-plies 20 --backend random --seed 2 --out part2/a >/dev/null
check 'expands stars' '^games  *4:' "$(zeitnot report 'part*/a/games.csv')"
check 'serves' '"id":1' "$(echo '{"id":1,"moves":["e4"],"nodes":5}' | zeitnot serve --backend random)"
check 'evaluates' '^startpos' "$(zeitnot eval startpos --backend random)"
check 'says how to get Python' 'winget install' "$(export ZEITNOT_OFFLINE=0; zeitnot setup)"
exit $failed
