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
# Two libraries have functions that every Windows has and Wine 8 lacks: random numbers for Rust's programs, and the counters that tell
# sysinfo the load of the processors.
library() { x86_64-w64-mingw32-gcc -shared -o "$home/$1.dll" -x c - -ladvapi32; }
printf '%s\n' '#include <windows.h>' '#include <ntsecapi.h>' \
    'BOOL WINAPI ProcessPrng(PBYTE to, SIZE_T size) { return RtlGenRandom(to, size); }' | library bcryptprimitives
library pdh <<'EOF'
#include <windows.h>
#include <pdh.h>
static ULONGLONG before[2];
static double idle_percent;
PDH_STATUS WINAPI PdhOpenQueryW(LPCWSTR source, DWORD_PTR data, PDH_HQUERY *query) { *query = &idle_percent; return 0; }
PDH_STATUS WINAPI PdhAddEnglishCounterW(PDH_HQUERY query, LPCWSTR path, DWORD_PTR data, PDH_HCOUNTER *counter) {
    *counter = &idle_percent;
    return 0;
}
PDH_STATUS WINAPI PdhCollectQueryData(PDH_HQUERY query) {
    FILETIME times[3];
    ULONGLONG now[3];
    GetSystemTimes(&times[0], &times[1], &times[2]);
    for (int i = 0; i < 3; i++) now[i] = (ULONGLONG)times[i].dwHighDateTime << 32 | times[i].dwLowDateTime;
    now[1] += now[2];
    if (now[1] > before[1]) idle_percent = 100.0 * (now[0] - before[0]) / (now[1] - before[1]);
    for (int i = 0; i < 2; i++) before[i] = now[i];
    return 0;
}
PDH_STATUS WINAPI PdhGetFormattedCounterValue(PDH_HCOUNTER counter, DWORD format, LPDWORD type, PPDH_FMT_COUNTERVALUE value) {
    value->doubleValue = *(double *)counter;
    return 0;
}
PDH_STATUS WINAPI PdhRemoveCounter(PDH_HCOUNTER counter) { return 0; }
PDH_STATUS WINAPI PdhCloseQuery(PDH_HQUERY query) { return 0; }
PDH_STATUS WINAPI PdhEnumObjectsW(LPCWSTR a, LPCWSTR b, PZZWSTR c, LPDWORD d, DWORD e, BOOL f) { return 0; }
EOF
export WINEDLLOVERRIDES=pdh=n
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

report=$(zeitnot benchmark --backend random --nodes 200 --num-positions 2 --json)
check 'names the processor' '"machine":{"cpu":"[^"]* [^"]*"' "$report"
check 'knows the memory' '"memory_gb":[0-9]' "$report"
check 'measures CPU time' '"cpu_s":[0-9]' "$report"
check 'knows what others use' '"others":{"busy":[0-9.]*[1-9]' "$report"
check 'names the system' '"system":"\(Microsoft \)\?Windows [0-9]' "$report"

for part in 1 2; do
    zeitnot match --games 4 --nodes 5 --max-plies 20 --backend random --shard $part/2 --out part$part/a >/dev/null
done
check 'expands stars' '^games  *4:' "$(zeitnot report 'part*/a/games.csv')"
check 'serves' '"id":1' "$(echo '{"id":1,"moves":["e4"],"nodes":5}' | zeitnot serve --backend random)"
check 'evaluates' '^startpos' "$(zeitnot eval startpos --backend random)"
check 'says how to get Python' 'winget install' "$(export ZEITNOT_OFFLINE=0; zeitnot setup)"
exit $failed
