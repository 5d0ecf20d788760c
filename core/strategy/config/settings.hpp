// Settings of an experiment file, for those parts of the program that know no file format.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace orrery {

/// Values by path, such as "strategy.sampling.hops". A path that does not exist, or has another
/// type, has no value.
class Settings {
 public:
  virtual ~Settings() = default;
  virtual bool has(std::string_view path) const = 0;
  virtual std::optional<double> number(std::string_view path) const = 0;
  virtual std::optional<std::string> text(std::string_view path) const = 0;
  virtual std::optional<bool> flag(std::string_view path) const = 0;
  /// A list of whole numbers.
  virtual std::optional<std::vector<int>> integers(std::string_view path) const = 0;
  virtual std::optional<std::vector<std::string>> texts(std::string_view path) const = 0;
  /// Lists of whole numbers by name.
  virtual std::optional<std::map<std::string, std::vector<int>>> integers_by_name(
      std::string_view path) const = 0;
  /// A number of bytes, or text such as "64 MiB".
  ///
  /// Errors    ConfigError: text that is no number of bytes
  virtual std::optional<std::int64_t> bytes(std::string_view path) const = 0;
  /// The value as it stands in the file, for messages.
  virtual std::string shown(std::string_view path) const = 0;

  int integer(std::string_view path, int otherwise) const {
    return static_cast<int>(number(path).value_or(otherwise));
  }
  bool is(std::string_view path, std::string_view value) const { return text(path) == value; }
  /// The value that a name means; `otherwise` if the path does not exist.
  template <class T>
  T choice(std::string_view path, std::initializer_list<std::pair<std::string_view, T>> names,
           T otherwise) const {
    const auto name = text(path);
    if (!name) return otherwise;
    for (const auto& [known, value] : names)
      if (known == *name) return value;
    throw ConfigError(std::string(path), "no \"" + *name + "\" is known");
  }
};

}  // namespace orrery
