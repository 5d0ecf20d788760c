// Values as bytes that travel between processes of one build. An archive is a Writer or a Reader;
// one description of a type serves both.
#pragma once

#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace orrery {

/// An archive that appends values to bytes.
class Writer {
 public:
  static constexpr bool kReads = false;

  /// Writes each value by its visit().
  template <class... T>
  void operator()(T&... values) {
    (visit(*this, values), ...);
  }
  /// Writes the bytes of plain values.
  template <class T>
  void raw(const T* values, std::size_t count) {
    if (count > 0) bytes_.append(reinterpret_cast<const char*>(values), count * sizeof(T));
  }
  /// Writes how many values follow, and returns it.
  std::size_t count(std::size_t number, std::size_t /*least_bytes*/) {
    raw(&number, 1);
    return number;
  }
  /// Returns the bytes and forgets them.
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// An archive that takes values from bytes.
///
/// Errors    Error (bytes that end too early), before memory is allocated for missing values
class Reader {
 public:
  static constexpr bool kReads = true;
  explicit Reader(std::string_view bytes) : left_(bytes) {}

  /// Reads each value by its visit().
  template <class... T>
  void operator()(T&... values) {
    (visit(*this, values), ...);
  }
  /// Reads the bytes of plain values.
  template <class T>
  void raw(T* values, std::size_t count) {
    expect(count, sizeof(T));
    if (count > 0) std::memcpy(values, left_.data(), count * sizeof(T));
    left_.remove_prefix(count * sizeof(T));
  }
  /// Reads how many values follow, with at least this many bytes each.
  std::size_t count(std::size_t number, std::size_t least_bytes) {
    raw(&number, 1);
    expect(number, least_bytes);
    return number;
  }

 private:
  void expect(std::size_t count, std::size_t bytes_each) const;

  std::string_view left_;
};

/// A struct with a function `fields(archive, value)` that hands its members to an archive. That
/// function binds all members first ("auto& [a, b] = value"), so it does not compile if a member is
/// added.
template <class T>
concept HasFields = requires(Writer& writer, T& value) {
  fields(writer, value);
};

/// A type whose bytes are its value. This does not hold for a struct with text or an address: such
/// a struct needs fields().
template <class T>
concept Plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                !std::is_same_v<T, std::string_view> && !HasFields<T>;

/// Keeps a text forever, as the names of kinds.
std::string_view interned(const std::string& text);

/// Each visit() hands the values of one kind of type to an archive. A type whose values share
/// something may have its own visit().
template <class A, Plain T>
void visit(A& a, T& value) {
  a.raw(&value, 1);
}

template <class A, HasFields T>
void visit(A& a, T& value) {
  fields(a, value);
}

template <class A>
void visit(A& a, std::string& text) {
  text.resize(a.count(text.size(), 1));
  a.raw(text.data(), text.size());
}

template <class A>
void visit(A& a, std::string_view& text) {
  std::string copy(text);
  visit(a, copy);
  if constexpr (A::kReads) text = interned(copy);
}

template <class A, class T>
void visit(A& a, std::vector<T>& list) {
  if constexpr (Plain<T>) {
    list.resize(a.count(list.size(), sizeof(T)));
    a.raw(list.data(), list.size());
  } else {
    const std::size_t size = a.count(list.size(), 1);
    for (std::size_t i = 0; i < size; ++i) {
      if constexpr (A::kReads) list.emplace_back();
      visit(a, list[i]);
    }
  }
}

template <class A, class Key, class T>
void visit(A& a, std::map<Key, T>& map) {
  const std::size_t size = a.count(map.size(), 1);
  if constexpr (A::kReads) {
    for (std::size_t i = 0; i < size; ++i) {
      Key key{};
      visit(a, key);
      visit(a, map[key]);
    }
  } else {
    for (auto& [key, value] : map) {
      Key copy = key;
      visit(a, copy);
      visit(a, value);
    }
  }
}

/// Writes a value.
template <class T>
std::string written(const T& value) {
  Writer writer;
  visit(writer, const_cast<T&>(value));  // a writer changes nothing
  return writer.take();
}

/// Reads the value that written() wrote.
/// Errors    Error (bytes that end too early)
template <class T>
T read_back(std::string_view bytes) {
  Reader reader(bytes);
  T value{};
  visit(reader, value);
  return value;
}

}  // namespace orrery
