#!/usr/bin/env bash
# A project outside the tree finds an installed Hocket, links it and runs.
set -euo pipefail
cmake --install "$HOCKET_BUILD" --prefix "$PWD/prefix" >install.log
cmake -G Ninja -S "$HOCKET_SOURCE/tests/install" -B consumer -DCMAKE_PREFIX_PATH="$PWD/prefix" >configure.log
cmake --build consumer
consumer/consumer
