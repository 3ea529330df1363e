#!/usr/bin/env bash
# The collectives over the site's MPI, with ranks started by mpirun.
set -euo pipefail
command -v mpirun >/dev/null || { echo "mpirun is not installed"; exit 77; }
[[ -e $HOCKET_BUILD/libhocket_mpi.so ]] || { echo "no MPI was found when Hocket was configured"; exit 77; }

run() {
  local ranks=$1
  shift
  local options=(--oversubscribe --mca btl "self,vader" --mca mpi_yield_when_idle 1)
  if ((EUID == 0)); then options+=(--allow-run-as-root); fi
  timeout 300 mpirun -n "$ranks" "${options[@]}" "$HOCKET_BUILD/mpi_smoke" "$@"
}

for ranks in 1 2 4; do run "$ranks" | grep "are right over .* with $ranks ranks"; done

code=0
run 2 disagree >out.txt 2>err.txt || code=$?
test "$code" -ne 0
grep -m 1 "rank . and rank . disagree" err.txt
grep -q "20000 f32" err.txt
grep -q "19999 f32" err.txt
