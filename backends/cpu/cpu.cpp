#include "backends/cpu/cpu.hpp"

#include "backends/cpu/cpu_apply.hpp"
#include "backends/cpu/isa.hpp"
#include "core/base/error.hpp"
#include "core/base/index.hpp"

namespace orrery {
namespace {

#ifdef ORRERY_HAVE_ONEDNN
constexpr std::string_view kDenseLibrary = "oneDNN";
#else
constexpr std::string_view kDenseLibrary = "OpenBLAS";
#endif

class CpuKernels final : public Kernels {
 public:
  explicit CpuKernels(const cpu::RangeKernels& kernels) : kernels_(kernels) {}
  std::string_view name() const override { return "cpu"; }
  void run(const Op& op, const RankMemory& memory) override {
    std::visit(
        [&]<class T>(const T& local) {
          if constexpr (Communicates<T>)
            ORRERY_ASSERT(!"a communicator does it");
          else
            cpu::apply(local, memory, kernels_);
        },
        op);
  }

 private:
  const cpu::RangeKernels& kernels_;
};

const cpu::RangeKernels& kernels_for(Isa isa) {
#ifdef ORRERY_HAVE_AVX512
  if (isa == Isa::avx512) return cpu::avx512::kernels;
#endif
#ifdef ORRERY_HAVE_AVX2
  if (isa == Isa::avx2) return cpu::avx2::kernels;
#endif
  ORRERY_ASSERT(isa == Isa::baseline);
  return cpu::baseline::kernels;
}

}  // namespace

std::string_view name_of(Isa isa) {
  constexpr std::string_view names[] = {"baseline", "avx2", "avx512"};
  return names[at(isa)];
}

bool supported(Isa isa) {
#ifdef ORRERY_HAVE_AVX512
  if (isa == Isa::avx512) return __builtin_cpu_supports("x86-64-v4");
#endif
#ifdef ORRERY_HAVE_AVX2
  if (isa == Isa::avx2) return __builtin_cpu_supports("x86-64-v3");
#endif
  return isa == Isa::baseline;
}

Isa best_isa() {
  return supported(Isa::avx512) ? Isa::avx512 : supported(Isa::avx2) ? Isa::avx2 : Isa::baseline;
}

std::unique_ptr<Kernels> make_cpu_kernels_for(Isa isa) {
  ORRERY_ASSERT(supported(isa));
  return std::make_unique<CpuKernels>(kernels_for(isa));
}

std::unique_ptr<Kernels> make_cpu_kernels() {
  cpu::prepare_products();
  return make_cpu_kernels_for(best_isa());
}

std::string cpu_kernels_description() {
  std::string text = "cpu (";
  return text.append(name_of(best_isa())).append(", ").append(kDenseLibrary).append(")");
}

}  // namespace orrery
