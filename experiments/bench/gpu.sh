#!/usr/bin/env bash
# All that only a GPU can show, in one call: tests on the real library, compute-sanitizer, rates.
set -uo pipefail

usage() {
  cat <<'TXT'
Tests and measures the CUDA library on this machine's first GPU.

Usage: experiments/bench/gpu.sh FOLDER [EDGES...]

  FOLDER   what is written: tests.txt, memcheck.txt, racecheck.txt, rates.json
  EDGES    entries of the graphs (default: 16000000 and 115000000)

  BUILD    the build folder (default: build)

Without a device: one line, status 1.
TXT
}
case ${1:-} in '' | -h | --help) usage; exit 0 ;; esac

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
build=$(cd "$root" && cd "${BUILD:-build}" && pwd) || exit 1
mkdir -p "$1" && out=$(cd "$1" && pwd) || exit 1
shift
ninja -C "$build" backends/cuda/device/liborrery_cuda.so tests/cuda/test_cuda experiments/bench/cuda_bench >"$out/build.txt" || {
  echo "gpu.sh: the build failed: see $out/build.txt" >&2
  exit 1
}
# A graph of a few entries tells whether there is a device at all.
"$build/experiments/bench/cuda_bench" 2000 >/dev/null 2>"$out/first.txt" || { tail -n 1 "$out/first.txt" >&2; exit 1; }

failed=0
run() { # run FILE COMMAND...: its output in FILE, its last lines here
  local file=$out/$1
  shift
  "$@" >"$file" 2>&1 || { failed=1; echo "failed: $*"; }
  tail -n 3 "$file"
}
run tests.txt timeout 120 "$build/tests/cuda/test_cuda" --gtest_filter='*/gpu' --gtest_brief=1
if command -v compute-sanitizer >/dev/null; then
  # The smaller tests: the tools slow kernels down by orders of magnitude.
  few='*/gpu-*Millions*:*LongRows*:*Rmat*:*Thousands*'
  run memcheck.txt timeout 120 compute-sanitizer --tool memcheck --error-exitcode 1 "$build/tests/cuda/test_cuda" --gtest_filter="$few" --gtest_brief=1
  run racecheck.txt timeout 120 compute-sanitizer --tool racecheck --error-exitcode 1 "$build/tests/cuda/test_cuda" --gtest_filter="$few" --gtest_brief=1
else
  echo "compute-sanitizer is not on the PATH: not run"
fi
timeout 240 "$build/experiments/bench/cuda_bench" "$@" >"$out/rates.json" || { failed=1; echo "failed: cuda_bench"; }
exit "$failed"
