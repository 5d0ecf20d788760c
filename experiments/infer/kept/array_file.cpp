#include "experiments/infer/kept/array_file.hpp"

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/files/checksum.hpp"

namespace orrery {
namespace {

// Layout: checksum of the rest, eight digits; the number of arrays, and the bytes of each, int64; the
// arrays.
constexpr std::size_t kDigits = 8;

/// Of the sizes and each array, so that nobody has to put them beside each other.
std::string checksum_of_all(std::string_view sizes, std::span<const std::string_view> arrays) {
  std::string each = checksum(sizes);
  for (const std::string_view array : arrays) each += checksum(array);
  return checksum(each);
}

}  // namespace

void write_arrays(const std::filesystem::path& file, std::span<const std::string_view> arrays) {
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(arrays.size())};
  for (const std::string_view array : arrays)
    sizes.push_back(static_cast<std::int64_t>(array.size()));
  const std::string sum = checksum_of_all(as_bytes(sizes), arrays);
  std::vector<std::string_view> pieces{sum, as_bytes(sizes)};
  pieces.insert(pieces.end(), arrays.begin(), arrays.end());
  write_file(file, pieces);
}

ArrayFile::ArrayFile(const std::filesystem::path& file) : file_(file) {
  const std::string_view all = file_.bytes();
  constexpr std::size_t kNumber = sizeof(std::int64_t);
  std::size_t next = kDigits;
  const auto number = [&] {
    std::int64_t value = -1;
    if (all.size() < next || all.size() - next < kNumber) refuse();
    std::memcpy(&value, all.data() + next, kNumber);
    next += kNumber;
    if (value < 0 || static_cast<std::uint64_t>(value) > all.size()) refuse();
    return static_cast<std::size_t>(value);
  };
  const std::size_t count = number();
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < count; ++i) sizes.push_back(number());
  const std::string_view head = all.substr(kDigits, next - kDigits);
  for (const std::size_t size : sizes) {
    if (all.size() - next < size) refuse();
    arrays_.push_back(all.substr(next, size));
    next += size;
  }
  if (next != all.size() || checksum_of_all(head, arrays_) != all.substr(0, kDigits)) refuse();
}

void ArrayFile::refuse() const {
  throw DataError(file_.path(), "", "is damaged: start anew without --resume, which removes it");
}

}  // namespace orrery
