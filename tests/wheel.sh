#!/usr/bin/env bash
# The installed wheel does the main job without the source tree: $1 is its dictsent, $2 an empty folder.
set -euo pipefail
dictsent="$1"
cd "$2"
export HF_HUB_OFFLINE=1
"$dictsent" --version
"$dictsent" run quickstart --dry-run
printf 'cat\ta small animal that purrs\ndog\tan animal that barks\n' > words.tsv
"$dictsent" ingest words.tsv --lang en
"$dictsent" stats --json > stats.json
grep -q '"entries": 2' stats.json
"$dictsent" show cat > cat.txt
grep -q purrs cat.txt
"$dictsent" eval sts tfidf --json > scores.json
grep -q mini-sts scores.json
if "$dictsent" train 2> error.txt; then echo "two definitions were trained on"; exit 1; fi
grep -q 'Error: only . definitions are left to train on' error.txt
"$dictsent" remove words
