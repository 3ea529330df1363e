#!/usr/bin/env bash
# The collectives with ranks that mpirun started, over the site's MPI and over our own transports.
set -euo pipefail
command -v mpirun >/dev/null || { echo "mpirun is not installed"; exit 77; }
[[ -e $HOCKET_BUILD/libhocket_mpi.so ]] || { echo "no MPI was found when Hocket was configured"; exit 77; }
export HOCKET_MPI_LIBRARY=$HOCKET_BUILD/libhocket_mpi.so MPI_TEST_FOLDER=$PWD
smoke=$HOCKET_BUILD/tests/programs/mpi_smoke
worker=$HOCKET_BUILD/tests/programs/collective_worker

run() {
  local ranks=$1 program=$2 options=(--oversubscribe --mca btl "self,vader" --mca mpi_yield_when_idle 1)
  shift 2
  if ((EUID == 0)); then options+=(--allow-run-as-root); fi
  timeout 300 mpirun -n "$ranks" "${options[@]}" "$program" "$@"
}

for transport in mpi shm tcp; do
  for ranks in 1 2 4; do
    run "$ranks" "$smoke" collectives "$transport" | grep "are right over $transport with .* and $ranks ranks"
  done
done

run 2 "$HOCKET" bench collectives --transport mpi --bytes 4,64KiB --seconds 0.2 | tee bench.txt
grep -q "all_reduce  *mpi" bench.txt

code=0
run 2 "$smoke" disagree mpi >out.txt 2>err.txt || code=$?
test "$code" -ne 0
grep -m 1 "rank . and rank . disagree" err.txt
grep -q "20000 f32" err.txt
grep -q "19999 f32" err.txt

# A rank that is killed: mpirun ends the others, of whom at least one has had time to say who it was.
run 3 "$worker" mpi 1 60 >out.txt 2>err.txt &
until (($(grep -c started out.txt) == 3)) || ! kill -0 $! 2>/dev/null; do sleep 0.1; done
for process in /proc/[0-9]*; do
  if tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -qx "MPI_TEST_FOLDER=$PWD" &&
    tr '\0' '\n' <"$process/environ" | grep -qx OMPI_COMM_WORLD_RANK=1; then
    kill -9 "${process#/proc/}"
  fi
done
wait || true
grep -m 1 "failed: rank 1 (pid .*) ended without a goodbye" out.txt
