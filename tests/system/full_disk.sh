#!/usr/bin/env bash
# A disk that fills up while a checkpoint is saved: one line, exit code 1, and the checkpoints before are whole.
set -euo pipefail
mkdir disk
if ! mount -t tmpfs -o size=1m tmpfs disk 2>/dev/null; then
  echo "no permission to mount a small file system"
  exit 77
fi
trap 'umount disk' EXIT

code=0
"$HOCKET" train --model mlp,hidden=48 --data synthetic:mnist,samples=1000 --epochs 4 --checkpoint-every 4 --keep 9 \
  --out disk/run --quiet 2>err.txt >out.txt || code=$?
cat err.txt
test "$code" -eq 1
test "$(wc -l <err.txt)" -eq 1
grep -q '^hocket: .*No space left on device' err.txt
rm -rf disk/run/metrics.jsonl
"$HOCKET" eval --run disk/run
