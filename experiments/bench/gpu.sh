#!/usr/bin/env bash
# All that only a GPU can show, in one call of less than ten minutes: tests on the real library, compute-sanitizer, rates,
# epochs beside PyTorch Geometric.
set -uo pipefail

usage() {
  cat <<'TXT'
Tests and measures the CUDA library on this machine's first GPU.

Usage: experiments/bench/gpu.sh FOLDER [STAGE...]

  FOLDER   what is written, by stage
  STAGE    of these (default: all)
             tests      tests.txt, runs.txt: every operation, and whole runs of every strategy, against the CPU
             sanitize   memcheck.txt, racecheck.txt: compute-sanitizer over the smaller tests
             rates      rates.json: copies, launches alone and in graphs, sparse-dense products, ours and cuSPARSE's
             epochs     epochs.json: a GCN on graphs of Reddit's and products' size, beside PyTorch Geometric

  BUILD    the build folder (default: build); built first where ninja is there
  EDGES    entries of the graphs of rates (default: "16000000 115000000")
  PYTHON   one with PyTorch Geometric (default: python3)

Without a device: one line, status 1.
TXT
}
case ${1:-} in '' | -h | --help) usage; exit 0 ;; esac

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 1
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 1
shift
stages=("$@")
[ $# -gt 0 ] || stages=(tests sanitize rates epochs)
for stage in "${stages[@]}"; do
  case $stage in tests | sanitize | rates | epochs) ;; *) echo "gpu.sh: unknown stage '$stage'; see gpu.sh --help" >&2; exit 2 ;; esac
done

# Wherever the build folder was built, what it holds is found in it.
export ORRERY_CUDA_LIBRARY=${ORRERY_CUDA_LIBRARY:-$build/backends/cuda/device/liborrery_cuda.so}
export ORRERY_EMULATED_LIBRARY=$build/tests/cuda/liborrery_cuda_emulated.so
if command -v ninja >/dev/null && [ -e "$build/build.ninja" ]; then
  ninja -C "$build" backends/cuda/device/liborrery_cuda.so tests/cuda/test_cuda tests/cuda_runs/test_cuda_runs \
    experiments/bench/cuda_bench experiments/orrery >"$out/build.txt" || {
    echo "gpu.sh: the build failed: see $out/build.txt" >&2
    exit 1
  }
fi
# A graph of a few entries tells whether there is a device at all.
"$build/experiments/bench/cuda_bench" 2000 >/dev/null 2>"$out/first.txt" || { tail -n 1 "$out/first.txt" >&2; exit 1; }

failed=0
run() { # run FILE COMMAND...: its output in FILE, its last lines here
  local file=$out/$1
  shift
  "$@" >"$file" 2>&1 || { failed=1; echo "failed: $*"; }
  tail -n 3 "$file"
}
tests() {
  run tests.txt timeout 60 "$build/tests/cuda/test_cuda" --gtest_filter='*/gpu' --gtest_brief=1
  run runs.txt timeout 90 "$build/tests/cuda_runs/test_cuda_runs" --gtest_filter='*OnGpu*:*Graphs*:*Mover*' --gtest_brief=1
}
sanitize() {
  command -v compute-sanitizer >/dev/null || { echo "compute-sanitizer is not on the PATH: not run"; return; }
  # The smaller tests: the tools slow kernels down by orders of magnitude.
  local few='*/gpu-*Millions*:*LongRows*:*Rmat*:*Thousands*' tool
  for tool in memcheck racecheck; do
    run $tool.txt timeout 50 compute-sanitizer --tool $tool --error-exitcode 1 "$build/tests/cuda/test_cuda" \
      --gtest_filter="$few" --gtest_brief=1
  done
}
rates() {
  # shellcheck disable=SC2086  # several sizes are several words
  timeout 120 "$build/experiments/bench/cuda_bench" ${EDGES:-} >"$out/rates.json" || { failed=1; echo "failed: cuda_bench"; }
}
epochs() {
  run epochs.txt timeout 200 "${PYTHON:-python3}" "$root/experiments/bench/gpu_epochs.py" \
    "$out/epochs.json" --orrery "$build/experiments/orrery"
}
for stage in "${stages[@]}"; do "$stage"; done
exit "$failed"
