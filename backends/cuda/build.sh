#!/usr/bin/env bash
# Builds liborrery_cuda.so with nvcc alone, where the project's other libraries are missing.
set -euo pipefail

usage() {
  cat <<'TXT'
Builds the library for NVIDIA GPUs with nvcc alone.

Usage: backends/cuda/build.sh [OUTPUT]

  OUTPUT          the library to write (default: liborrery_cuda.so in this folder)

  NVCC            the compiler (default: nvcc on the PATH, then /usr/local/cuda/bin/nvcc)
  NVCC_FLAGS      further flags, e.g. -I of a folder with Random123, or
                  '-gencode=arch=compute_89,code=sm_89' for one more architecture
  NCCL=0          without NCCL

The programs find it by ORRERY_CUDA_LIBRARY=OUTPUT.
TXT
}
case ${1:-} in -h | --help) usage; exit 0 ;; esac

root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
device=$root/backends/cuda/device
output=${1:-$root/backends/cuda/liborrery_cuda.so}
nvcc=${NVCC:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo "nvcc was not found: put it on the PATH, or name it by NVCC" >&2; exit 1; }
read -r -a more <<<"${NVCC_FLAGS:-}"

# has HEADER: whether the compiler finds it
has() { echo "#include <$1>" | "$nvcc" "${more[@]}" -x cu -E - >/dev/null 2>&1; }
has Random123/philox.h || {
  echo "Random123 was not found: apt-get install librandom123-dev, or unpack its headers and give NVCC_FLAGS=-I<folder>" >&2
  exit 1
}
nccl=(nccl_not_built.cpp)
libraries=(-lcublas -lcusparse)
if [ "${NCCL:-1}" != 0 ]; then
  has nccl.h || { echo "nccl.h was not found: install NCCL, give NVCC_FLAGS=-I<folder>, or build without it by NCCL=0" >&2; exit 1; }
  nccl=(nccl.cu)
  libraries+=(-lnccl)
fi

cd "$device"
sources=()
for source in *.cu *.cpp; do
  case $source in nccl.cu | nccl_not_built.cpp) ;; *) sources+=("$source") ;; esac
done
"$nvcc" -std=c++20 -O3 --threads 0 -shared -Xcompiler=-fPIC,-Wall,-Wextra -I"$root" \
  -gencode=arch=compute_80,code=sm_80 -gencode=arch=compute_90,code=sm_90 \
  -gencode=arch=compute_90,code=compute_90 "${more[@]}" \
  "${sources[@]}" "${nccl[@]}" "${libraries[@]}" -o "$output"
echo "$output"
