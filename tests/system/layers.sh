#!/usr/bin/env bash
# The sources keep the order of the layers, and the check sees an include that does not.
set -euo pipefail
check=$HOCKET_SOURCE/tests/check_layers.py

/usr/bin/python3 "$check" "$HOCKET_SOURCE/src"

mkdir -p bad/nn bad/data
echo '#include "data/reader.h"' >bad/nn/layer.h
if /usr/bin/python3 "$check" bad; then
  echo "an include of a neighbour went unnoticed"
  exit 1
fi
