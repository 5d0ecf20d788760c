// Instruction sets that the vector kernels are compiled for; the programs choose one at start.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "core/runtime/execute/kernels.hpp"

namespace orrery {

enum class Isa : std::uint8_t { baseline, avx2, avx512 };
std::string_view name_of(Isa isa);

/// True if this build has kernels for `isa` and this machine can run them.
bool supported(Isa isa);

/// The widest supported instruction set.
Isa best_isa();

/// Kernels of one instruction set, so that a test can compare all of them.
///
/// Requires  supported(isa)
std::unique_ptr<Kernels> make_cpu_kernels_for(Isa isa);

}  // namespace orrery
