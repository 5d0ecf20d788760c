#include "backends/reference/reference.hpp"

#include "backends/reference/reference_apply.hpp"
#include "core/base/error.hpp"

namespace orrery {
namespace {

class ReferenceKernels final : public Kernels {
 public:
  std::string_view name() const override { return "reference"; }
  void run(const Op& op, const RankMemory& memory) override {
    std::visit(
        [&]<class T>(const T& local) {
          if constexpr (Communicates<T>)
            ORRERY_ASSERT(!"a communicator does it");
          else
            reference::apply(local, memory);
        },
        op);
  }
};

}  // namespace

std::unique_ptr<Kernels> make_reference_kernels() { return std::make_unique<ReferenceKernels>(); }

}  // namespace orrery
