#include "core/base/json_reader.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/terminal/plain_text.hpp"
#include "core/terminal/words.hpp"

namespace orrery {
namespace {

using Json = JsonReader::Json;

/// Recursive functions print and destroy values, so their depth is limited: far above the need of
/// our files, far below the end of the stack.
constexpr int kDeepest = 100;

std::string cut(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

/// nlohmann's message without its number and place; it quotes what was read last.
std::string reason(const std::string& what) {
  const auto colon = what.find(": ");
  const auto bracket = what.find("] ");
  if (colon != std::string::npos) return cut(what.substr(colon + 2), 160);
  return cut(bracket == std::string::npos ? what : what.substr(bracket + 2), 160);
}

/// Place, from 1, of a number whose text is known; 0 if it is not there. Texts are passed over.
std::size_t byte_of(std::string_view number, std::string_view json) {
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (in_text && json[i] == '\\')
      ++i;
    else if (json[i] == '"')
      in_text = !in_text;
    else if (!in_text && json.substr(i).starts_with(number))
      return i + 1;
  }
  return 0;
}

/// The keys that lead to the value being read, as nlohmann's parser tells of them.
class Path {
 public:
  void follow(int depth, Json::parse_event_t event, const Json& parsed) {
    const auto level = static_cast<std::size_t>(depth);
    if (event == Json::parse_event_t::key) {
      keys_.resize(level);
      keys_.back() = parsed.get<std::string>();
    } else if (event == Json::parse_event_t::object_end ||
               event == Json::parse_event_t::array_end) {
      keys_.resize(level);
    }
  }
  /// "a/b"; lists have no keys.
  std::string words() const {
    std::string path;
    for (const std::string& key : keys_)
      if (!key.empty()) path += (path.empty() ? "" : "/") + key;
    return cut(path, 60);
  }

 private:
  std::vector<std::string> keys_;
};

}  // namespace

JsonReader::JsonReader(std::string_view text, std::string file, std::string place)
    : file_(std::move(file)), place_(std::move(place)) {
  const auto where = [&](std::size_t byte) {
    return fmt::format("{}{}byte {}", place_, place_.empty() ? "" : ", ", byte);
  };
  Path path;
  const auto shallow = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth > kDeepest)
      throw DataError(file_, place_,
                      fmt::format("expected JSON at most {} deep, found it deeper", kDeepest));
    path.follow(depth, event, parsed);
    return true;
  };
  try {
    json_ = Json::parse(text, shallow);
  } catch (const Json::parse_error& error) {
    throw DataError(file_, where(error.byte),
                    fmt::format("expected JSON, found something else or the end of the file ({})",
                                reason(error.what())));
  } catch (const Json::exception& error) {  // "number overflow parsing '1e999'", without a place
    const std::string what = error.what();
    const auto first = what.find('\'') + 1, last = what.rfind('\'');
    if (first == 0 || last < first)
      throw DataError(file_, place_, fmt::format("expected JSON, found {}", reason(what)));
    const std::string number = what.substr(first, last - first), key = path.words();
    throw DataError(
        file_, where(byte_of(number, text)) + (key.empty() ? "" : ", key " + key),
        fmt::format("expected a number of 64 bits (up to 1.8e308), found {}", cut(number, 60)));
  }
  if (!json_.is_object())
    throw DataError(file_, where(0), fmt::format("expected a JSON object, found {}", shown(json_)));
}

const Json* JsonReader::find(std::string_view key) const {
  const Json* value = &json_;
  for (std::size_t begin = 0; begin <= key.size();) {
    const std::size_t end = std::min(key.find('/', begin), key.size());
    if (!value->is_object())
      fail(key.substr(0, begin == 0 ? 0 : begin - 1),
           fmt::format("expected an object, found {}", shown(*value)));
    const auto found = value->find(std::string(key.substr(begin, end - begin)));
    if (found == value->end() || found->is_null()) return nullptr;
    value = &*found;
    begin = end + 1;
  }
  return value;
}

std::int64_t JsonReader::count(std::string_view key) const {
  const std::int64_t value = count(key, -1);
  if (value < 0) fail(key, "expected a count, found none" + misspelt(key));
  return value;
}

std::int64_t JsonReader::count(std::string_view key, std::int64_t otherwise) const {
  const Json* value = find(key);
  if (value == nullptr) return otherwise;
  if (!fits<std::int64_t>(*value) || value->get<std::int64_t>() < 0)
    fail(key, fmt::format("expected a count, found {}", shown(*value)));
  return value->get<std::int64_t>();
}

std::vector<std::int64_t> JsonReader::counts(std::string_view key) const {
  auto values = get<std::vector<std::int64_t>>(key);
  for (const std::int64_t value : values)
    if (value < 0) fail(key, fmt::format("expected counts, found {}", value));
  return values;
}

const Json& JsonReader::object(std::string_view key) const {
  const Json* value = find(key);
  if (value == nullptr || !value->is_object())
    fail(key, fmt::format("expected an object, found {}",
                          value ? shown(*value) : "none" + misspelt(key)));
  return *value;
}

std::string JsonReader::misspelt(std::string_view key) const {
  const std::size_t slash = key.rfind('/');
  const bool inner = slash != std::string_view::npos;
  const Json* beside = inner ? find(key.substr(0, slash)) : &json_;
  if (beside == nullptr) return misspelt(key.substr(0, slash));
  if (!beside->is_object()) return "";
  const std::string name(inner ? key.substr(slash + 1) : key);
  std::vector<std::string> there;
  for (const auto& [other, value] : beside->items())
    if (other != name) there.push_back(other);
  const std::string close = slip_of(name, there);
  return close.empty()
             ? ""
             : fmt::format("; \"{}\" is there: did you mean \"{}\"?", one_line(close), name);
}

void JsonReader::fail(std::string_view key, const std::string& problem) const {
  throw DataError(file_, fmt::format("{}{}key {}", place_, place_.empty() ? "" : ", ", key),
                  problem);
}

void JsonReader::mistyped(std::string_view key, const std::string& expected,
                          const std::string& found) const {
  fail(key, fmt::format("expected {}, found {}", expected, found));
}

std::string JsonReader::shown(const Json& value) {
  return cut(value.dump(-1, ' ', false, Json::error_handler_t::replace), 60);
}

}  // namespace orrery
