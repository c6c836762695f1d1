#!/bin/bash
# Builds the documentation site into build/site, which needs no server and no network to be read.
# Usage: tools/site.sh [serve | --site-dir FOLDER]
# `serve` shows it at http://127.0.0.1:8000 and follows changes
set -euo pipefail
cd "$(dirname "$0")/.."
python=.venv/bin/python

ls python/latecomer/_core.*.so >/dev/null 2>&1 && [ -x "$python" ] || {
  echo "latecomer: the site shows the registry of a built clone; run ./demo or ./test first" >&2
  exit 1
}
cmp -s requirements-docs.txt .venv/installed-docs ||
  cat requirements*.txt | cmp -s - .venv/installed-test || {
  echo "== installing Python packages into .venv"
  "$python" -m pip install -q --disable-pip-version-check -r requirements-docs.txt
  cp requirements-docs.txt .venv/installed-docs
}
export NO_MKDOCS_2_WARNING=1 # Material's advertisement of another program
[ "${1:-}" = serve ] && exec "$python" -m mkdocs serve --strict
# Not --quiet, with which --strict does not see the warnings.
"$python" -m mkdocs build --strict "$@" 2>&1 | { grep -v '^INFO' || true; }
folder=build/site
[ "${1:-}" = --site-dir ] && folder=$2
echo "the first page: $folder/index.html"
