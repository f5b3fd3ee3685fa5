#!/usr/bin/env bash
# The user's own three commands, word for word, in a shell script without a terminal and without a model hub.
# $1: the dictsent to run, $2: an empty folder.
set -euo pipefail
here="$(cd "$(dirname "$0")" && pwd)"
PATH="$(cd "$(dirname "$1")" && pwd):$PATH"
cd "$2"
export HF_HUB_OFFLINE=1
unset DICTSENT_STORE DICTSENT_RUNS DICTSENT_DATA DICTSENT_WORDNET
cp "$here/wiktionary-ja/wiktionary-ja.xml" .

dictsent ingest wiktionary-ja.xml
dictsent train --lang ja --method defsent-plus --pst 3 2> train.log
dictsent eval sts > scores.txt 2> eval.log

cat train.log eval.log scores.txt
head -n 1 train.log | grep -q "built from the store's own text" || { echo "the first line does not tell of the fallback"; exit 1; }
head -n 1 eval.log | grep -q "runs/ja-defsent-plus-1" || { echo "the first line does not name the run"; exit 1; }
grep -q "mini-sts (smoke set)" scores.txt
grep -q "built from the store's own text" runs/ja-defsent-plus-1/README.md
test "$(grep -c '"step":' runs/ja-defsent-plus-1/record.json)" = 3
