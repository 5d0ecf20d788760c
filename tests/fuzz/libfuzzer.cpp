// The same targets under libFuzzer, which coverage leads; see tests/fuzz/long_run. The environment
// variable ORRERY_FUZZ names the target; ORRERY_FUZZ_SEEDS a folder into which its seeds are
// written.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/corpus.hpp"
#include "tests/fuzz/judge.hpp"
#include "tests/fuzz/mutate.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using namespace orrery::fuzz;

const Target* chosen = nullptr;

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  const char* name = std::getenv("ORRERY_FUZZ");
  try {
    chosen = &target(name == nullptr ? "" : name);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ORRERY_FUZZ: %s\n", error.what());
    std::exit(2);
  }
  if (const char* folder = std::getenv("ORRERY_FUZZ_SEEDS")) {
    std::filesystem::create_directories(folder);
    int number = 0;
    auto inputs = chosen->seeds();
    for (auto& input : kept_inputs(chosen->name)) inputs.push_back(std::move(input));
    for (const std::string& input : inputs)
      std::ofstream(std::filesystem::path(folder) / ("seed-" + std::to_string(number++)),
                    std::ios::binary)
          << input;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string fault = judge(*chosen, {reinterpret_cast<const char*>(data), size});
  if (fault.empty()) return 0;
  std::fprintf(stderr, "%s\n", fault.c_str());
  std::abort();
}

/// Half of the changes know the formats, half are libFuzzer's, which know the program.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t most, unsigned seed) {
  if (seed % 2 == 0) return LLVMFuzzerMutate(data, size, most);
  static const std::vector<std::string> seeds = chosen->seeds();
  Dice dice(seed);
  std::string input(reinterpret_cast<const char*>(data), size);
  mutate(input, dice, chosen->words, seeds, most);
  std::copy(input.begin(), input.end(), reinterpret_cast<char*>(data));
  return input.size();
}
