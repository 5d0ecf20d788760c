// An experiment file for readers who do not know JSON.
#pragma once

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/strategy/config/settings.hpp"
#include "experiments/config/experiment.hpp"

namespace orrery {

/// Settings in a file's JSON, which must outlive them.
class JsonSettings final : public Settings {
 public:
  explicit JsonSettings(const nlohmann::ordered_json& root) : root_(root) {}

  bool has(std::string_view path) const override { return find(path) != nullptr; }
  std::optional<double> number(std::string_view path) const override {
    const auto* value = find(path);
    return value != nullptr && value->is_number() ? std::optional(value->get<double>())
                                                  : std::nullopt;
  }
  std::optional<std::string> text(std::string_view path) const override {
    const auto* value = find(path);
    return value != nullptr && value->is_string() ? std::optional(value->get<std::string>())
                                                  : std::nullopt;
  }
  std::optional<bool> flag(std::string_view path) const override {
    const auto* value = find(path);
    return value != nullptr && value->is_boolean() ? std::optional(value->get<bool>())
                                                   : std::nullopt;
  }
  std::optional<std::vector<int>> integers(std::string_view path) const override {
    return list<int>(path, [](const auto& element) { return element.is_number_integer(); });
  }
  std::optional<std::vector<std::string>> texts(std::string_view path) const override {
    return list<std::string>(path, [](const auto& element) { return element.is_string(); });
  }
  std::optional<std::map<std::string, std::vector<int>>> integers_by_name(
      std::string_view path) const override {
    const auto* value = find(path);
    if (value == nullptr || !value->is_object()) return std::nullopt;
    return value->get<std::map<std::string, std::vector<int>>>();
  }
  std::optional<std::int64_t> bytes(std::string_view path) const override {
    const auto* value = find(path);
    if (value == nullptr) return std::nullopt;
    if (value->is_string()) return parse_bytes(value->get<std::string>(), std::string(path));
    return value->is_number_integer() ? std::optional(value->get<std::int64_t>()) : std::nullopt;
  }
  std::string shown(std::string_view path) const override {
    const auto* value = find(path);
    return value != nullptr ? value->dump() : "nothing";
  }

 private:
  /// Nothing if the value is no list, or an element is not as it should be.
  template <class T, class F>
  std::optional<std::vector<T>> list(std::string_view path, const F& is_right) const {
    const auto* value = find(path);
    if (value == nullptr || !value->is_array() ||
        !std::all_of(value->begin(), value->end(), is_right))
      return std::nullopt;
    return value->template get<std::vector<T>>();
  }
  const nlohmann::ordered_json* find(std::string_view path) const {
    const nlohmann::ordered_json* here = &root_;
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find('.', begin), path.size());
      const std::string key(path.substr(begin, end - begin));
      if (!here->is_object() || !here->contains(key)) return nullptr;
      here = &(*here)[key];
      begin = end + 1;
    }
    return here;
  }

  const nlohmann::ordered_json& root_;
};

}  // namespace orrery
