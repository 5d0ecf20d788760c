// A name for content: 128 bits that differ where the content does.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// Takes up contents one after the other. Each counts with its length, so that "ab", "c" and "a",
/// "bc" differ. It is no protection against somebody who looks for two contents with one digest.
///
/// Source    MurmurHash3_x64_128 (Appleby, in the public domain)
/// Departs   contents are padded with zeros to whole blocks, behind their length
class Digest {
 public:
  void add(std::string_view bytes);
  void add(std::int64_t number);
  /// Blocks in parallel; the digest does not depend on the number of threads.
  template <class T>
  void add(const std::vector<T>& values) {
    add_array({reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)});
  }

  /// 32 hexadecimal digits.
  std::string text() const;

 private:
  void add_array(std::string_view bytes);
  void mix(std::uint64_t first, std::uint64_t second);

  std::uint64_t high_ = 0, low_ = 0;
};

}  // namespace orrery
