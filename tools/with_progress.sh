#!/bin/bash
# Runs a command with its output in a file, and shows how far it is, by Ninja's last [n/m]: on a
# terminal in place, otherwise in a line every so many seconds. Ends with the command's exit code,
# and prints the end of the file where that is not 0.
# Usage: tools/with_progress.sh [-i SECONDS] FILE COMMAND...
set -uo pipefail
every=60
if [ "$1" = -i ]; then
  every=$2
  shift 2
fi
log=$1
shift
: >"$log"

state() { grep -o '^\[[0-9]*/[0-9]*\]' "$log" 2>/dev/null | tail -n 1; }

watch() {
  local passed=0 shown
  # Short steps: what is left of this when the command ends holds the output open for so long.
  while sleep 1; do
    passed=$((passed + 1))
    shown="$(state) $((passed / 60)) min $((passed % 60)) s"
    if [ -t 1 ]; then
      printf '\r   %s\033[K' "$shown"
    elif [ $((passed % every)) -eq 0 ]; then
      echo "   $shown"
    fi
  done
}

# The command is in the foreground, so that Ctrl-C reaches it.
watch &
watcher=$!
trap 'kill "$watcher" 2>/dev/null' EXIT
"$@" >"$log" 2>&1
code=$?
kill "$watcher" 2>/dev/null
wait "$watcher" 2>/dev/null
if [ -t 1 ]; then printf '\r\033[K'; fi
if [ "$code" -ne 0 ]; then tail -n 60 "$log" >&2; fi
exit "$code"
