// Values as bytes that travel between processes of one build. An archive is a Writer or a Reader,
// and one description of a type serves both.
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
  /// Writes how many values follow, and gives it back.
  std::size_t count(std::size_t number, std::size_t /*least_bytes*/) {
    raw(&number, 1);
    return number;
  }
  /// Gives the bytes away.
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
};

/// An archive that takes values from bytes.
///
/// Errors    Error (bytes that end too early), before memory is asked for what is not there
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
  /// Reads how many values follow, of at least so many bytes each.
  std::size_t count(std::size_t number, std::size_t least_bytes) {
    raw(&number, 1);
    expect(number, least_bytes);
    return number;
  }

 private:
  void expect(std::size_t count, std::size_t bytes_each) const;

  std::string_view left_;
};

/// A struct beside which a function `fields(archive, value)` hands its members to an archive. That
/// binds them all first ("auto& [a, b] = value"), so that it does not compile with one member more.
template <class T>
concept HasFields = requires(Writer& writer, T& value) {
  fields(writer, value);
};

/// A type whose bytes are its value. Of a struct that holds text or an address they are not: such a
/// one needs fields().
template <class T>
concept Plain = std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> &&
                !std::is_same_v<T, std::string_view> && !HasFields<T>;

/// Keeps a text for ever, as names of kinds are.
std::string_view interned(const std::string& text);

/// Each visit() hands the values of one kind of type to an archive. A type whose values share
/// something may have one beside it.
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
