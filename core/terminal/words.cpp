#include "core/terminal/words.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/terminal/plain_text.hpp"

namespace orrery {
namespace {

/// Letters to change, add or leave out.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t change = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({change, row[j] + 1, row[j - 1] + 1}));
    }
  }
  return row.back();
}

/// The candidate with the smallest distance if that is at most `most`, else an empty string.
std::string within(std::size_t most, const std::string& word,
                   const std::vector<std::string>& candidates) {
  std::string best;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(word.size(), candidate.size());
    const std::size_t shorter = std::min(word.size(), candidate.size());
    if (longer - shorter > most) continue;  // a long text costs nothing
    const std::size_t distance = edit_distance(word, candidate);
    if (distance > most || (!best.empty() && distance == most)) continue;
    most = distance;
    best = candidate;
  }
  return word.empty() ? "" : best;
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  return within(std::max<std::size_t>(2, word.size() / 2), word, candidates);
}

std::string slip_of(const std::string& word, const std::vector<std::string>& candidates) {
  return within(word.size() < 8 ? 1 : 2, word, candidates);
}

std::string unknown(const std::string& kind, const std::string& word,
                    const std::vector<std::string>& candidates, std::vector<std::string> meant) {
  constexpr std::size_t kLongest = 100;  // the search takes the product of both lengths
  if (meant.empty() && word.size() <= kLongest) meant = {nearest(word, candidates)};
  std::erase(meant, "");
  return fmt::format(
      "the unknown {} \"{}\"; {}there are {}", kind, one_line(word),
      meant.empty() ? "" : fmt::format("did you mean \"{}\"? ", fmt::join(meant, "\" or \"")),
      fmt::join(candidates, ", "));
}

}  // namespace orrery
