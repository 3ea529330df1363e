#!/usr/bin/env bash
# A C compiler alone builds a program with hocket.h and -lhocket; its two processes add up as the notes do.
set -euo pipefail
cc -std=c11 -D_GNU_SOURCE -Wall -Wextra -Wpedantic -Werror -I "$HOCKET_BUILD/include" -o c_all_reduce \
  "$HOCKET_SOURCE/examples/c_all_reduce.c" -L "$HOCKET_BUILD" -lhocket -Wl,-rpath,"$HOCKET_BUILD"
./c_all_reduce | sort | tee out.txt
diff out.txt - <<'END'
rank 0: [2, 4, 6]
rank 1: [2, 4, 6]
END
