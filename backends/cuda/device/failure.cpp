#include "backends/cuda/device/failure.hpp"

namespace orrery::cuda {
namespace {

thread_local std::string text_of_thread;

}  // namespace

const char* last_error() { return text_of_thread.c_str(); }
void set_last_error(const std::string& text) { text_of_thread = text; }

}  // namespace orrery::cuda
