#!/usr/bin/env bash
# The examples build against an installed Hocket and do what they say.
set -euo pipefail
cmake --install "$HOCKET_BUILD" --prefix "$PWD/prefix" >install.log
cmake -G Ninja -S "$HOCKET_SOURCE/examples" -B out -DCMAKE_PREFIX_PATH="$PWD/prefix" >configure.log
cmake --build out
out/train
out/own_model

# The loop for one process and the one for a job differ in at most three lines and learn the same parameters.
changed=$({ diff "$HOCKET_SOURCE/examples/serial.cc" "$HOCKET_SOURCE/examples/data_parallel.cc" || true; } | grep -c '^>')
test "$changed" -le 3
out/serial >serial.txt
"$HOCKET" launch -n 2 -- out/data_parallel >data_parallel.txt
paste -d' ' serial.txt data_parallel.txt |
  awk '{ d = $2 - $4; if ($1 != $3 || d * d > 1e-10) { print; bad = 1 } } END { exit bad || NR != 25 }'

out/c_all_reduce | grep -c "\[2, 4, 6\]" | grep -x 2
"$HOCKET" train --model "file:$HOCKET_SOURCE/examples/small_cnn.model" --data synthetic:mnist,samples=1000 --quiet \
  --epochs 3 --target-accuracy 0.9
