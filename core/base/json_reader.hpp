// JSON from a file with any content.
#pragma once

#include <fmt/core.h>

#include <concepts>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace orrery {

/// An object read from a file, or from one line of it, with look-ups that check the types. Any
/// wrong content becomes one line that names file, place, key, what was expected and what was
/// found. Keys are paths such as "feature_storage/kind".
///
/// Errors    DataError
class JsonReader {
 public:
  using Json = nlohmann::ordered_json;

  /// `place`: where in the file the text is ("line 3"); empty if it is the whole file.
  ///
  /// Errors    DataError: no JSON (byte and reason), a number beyond all doubles (byte and key),
  ///           nested more than 100 deep, no object
  JsonReader(std::string_view text, std::string file, std::string place = "");

  /// All of it.
  const Json& json() const { return json_; }
  /// Whether the key has a value other than null.
  bool has(std::string_view key) const { return find(key) != nullptr; }
  /// The value under a key. Whole numbers must fit into T; a list must hold nothing else.
  template <class T>
  T get(std::string_view key) const {
    const Json* value = find(key);
    if (value == nullptr) mistyped(key, expected<T>(), "none" + misspelt(key));
    return as<T>(key, *value);
  }
  /// The same, or `otherwise` if there is none.
  template <class T>
  T get(std::string_view key, T otherwise) const {
    const Json* value = find(key);
    return value == nullptr ? otherwise : as<T>(key, *value);
  }
  /// A whole number that is not negative.
  std::int64_t count(std::string_view key) const;
  std::int64_t count(std::string_view key, std::int64_t otherwise) const;
  /// Such numbers.
  std::vector<std::int64_t> counts(std::string_view key) const;
  /// An object.
  const Json& object(std::string_view key) const;

  /// For messages about a key that is missing: "; "relation" is there: did you mean "relations"?" where
  /// another key beside it is spelt almost like it, else nothing.
  std::string misspelt(std::string_view key) const;
  /// Reports that the value under `key` is wrong.
  [[noreturn]] void fail(std::string_view key, const std::string& problem) const;
  /// A value as messages show it: shortened if it is long.
  static std::string shown(const Json& value);

 private:
  const Json* find(std::string_view key) const;
  [[noreturn]] void mistyped(std::string_view key, const std::string& expected,
                             const std::string& found) const;

  template <class T>
  struct List : std::false_type {};
  template <class T>
  struct List<std::vector<T>> : std::true_type {};

  template <class T>
  static std::string expected() {
    if constexpr (std::same_as<T, bool>)
      return "true or false";
    else if constexpr (std::integral<T>)
      return "a whole number";
    else if constexpr (std::floating_point<T>)
      return "a number";
    else if constexpr (std::same_as<T, std::string>)
      return "a text";
    else
      return fmt::format("a list, each of it {}", expected<typename T::value_type>());
  }
  template <class T>
  static bool fits(const Json& value) {
    if constexpr (std::same_as<T, bool>) {
      return value.is_boolean();
    } else if constexpr (std::integral<T>) {
      if (value.is_number_unsigned())
        return value.get<std::uint64_t>() <=
               static_cast<std::uint64_t>(std::numeric_limits<T>::max());
      return value.is_number_integer() && std::in_range<T>(value.get<std::int64_t>());
    } else if constexpr (std::floating_point<T>) {
      return value.is_number();
    } else if constexpr (std::same_as<T, std::string>) {
      return value.is_string();
    } else {
      static_assert(List<T>::value);
      if (!value.is_array()) return false;
      for (const Json& element : value)
        if (!fits<typename T::value_type>(element)) return false;
      return true;
    }
  }
  template <class T>
  T as(std::string_view key, const Json& value) const {
    if (!fits<T>(value)) mistyped(key, expected<T>(), shown(value));
    return value.get<T>();
  }

  std::string file_, place_;
  Json json_;
};

}  // namespace orrery
