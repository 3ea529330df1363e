#!/usr/bin/env bash
# The sources keep the order of the layers, and the check sees includes that do not.
set -euo pipefail
check=$HOCKET_SOURCE/tests/check_layers.py

/usr/bin/python3 "$check" "$HOCKET_SOURCE/src"

# must_find NAME LINE: the check finds fault with a file src/nn/layer.h that has this line.
must_find() {
  mkdir -p "$1/nn"
  echo "$2" >"$1/nn/layer.h"
  if /usr/bin/python3 "$check" "$1"; then
    echo "unnoticed: $2"
    exit 1
  fi
}

must_find neighbour '#include "data/dataset.h"'
must_find right '#include "train/trainer.h"'
must_find library '#include <dnnl.hpp>'
