#!/usr/bin/env bash
# The examples build against an installed Hocket and do what they say.
set -euo pipefail
cmake --install "$HOCKET_BUILD" --prefix "$PWD/prefix" >install.log
cmake -G Ninja -S "$HOCKET_SOURCE/examples" -B out -DCMAKE_PREFIX_PATH="$PWD/prefix" >configure.log
cmake --build out
out/train
out/own_model
out/c_all_reduce | grep -c "\[2, 4, 6\]" | grep -x 2
"$HOCKET" train --model "file:$HOCKET_SOURCE/examples/small_cnn.model" --data synthetic:mnist,samples=1000 --quiet \
  --epochs 3 --target-accuracy 0.9
