#include "tests/fuzz/judge.hpp"

#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <exception>

#include "core/base/error.hpp"
#include "core/base/parallel.hpp"

// What the address sanitizer offers; absent in other builds.
extern "C" {
__attribute__((weak)) int __sanitizer_install_malloc_and_free_hooks(
    void (*malloc_hook)(const volatile void*, std::size_t),
    void (*free_hook)(const volatile void*));
__attribute__((weak)) std::size_t __sanitizer_get_allocated_size(const volatile void*);
}

namespace orrery::fuzz {
namespace {

constexpr unsigned kMostSeconds = 10;
constexpr std::int64_t kMemory = 64 << 20;

std::atomic<std::int64_t> held{0}, most_held{0};

void taken(const volatile void*, std::size_t bytes) {
  const std::int64_t now = held += static_cast<std::int64_t>(bytes);
  if (now > most_held) most_held = now;
}

void given_back(const volatile void* memory) {
  if (memory != nullptr) held -= static_cast<std::int64_t>(__sanitizer_get_allocated_size(memory));
}

/// Words that the input holds may be shown.
std::string fault_in(std::string_view message, std::string_view input) {
  for (const char* word : {"[json.exception", "std::", "bad_alloc", "basic_string",
                           "cannot create std", "vector::", "_M_", "stol", "stoi", "stod",
                           "filesystem error", "regex", "Unknown exception"})
    if (message.find(word) != std::string_view::npos && input.find(word) == std::string_view::npos)
      return std::string("words of a library in a message: ").append(message);
  return "";
}

std::string how_it_ended(const Target& target, std::string_view input) {
  try {
    target.read(input);
    return "";
  } catch (const Error& error) {
    return fault_in(error.what(), input);
  } catch (const std::exception& error) {
    return std::string("an exception that is no orrery::Error: ").append(error.what());
  } catch (...) {
    return "an exception that is no std::exception";
  }
}

}  // namespace

std::string judge(const Target& target, std::string_view input) {
  static const bool counted = __sanitizer_install_malloc_and_free_hooks != nullptr &&
                              __sanitizer_install_malloc_and_free_hooks(taken, given_back) > 0;
  const ThreadPool one_thread(1);
  const std::int64_t before = held;
  most_held = before;
  ::alarm(kMostSeconds);
  std::string fault = how_it_ended(target, input);
  ::alarm(0);
  const std::int64_t most = kMemory + 4 * static_cast<std::int64_t>(input.size());
  if (counted && fault.empty() && most_held - before > most)
    fault = "held " + std::to_string(most_held - before) + " bytes for an input of " +
            std::to_string(input.size()) + ", more than " + std::to_string(most);
  return fault;
}

}  // namespace orrery::fuzz
