#include "core/terminal/words.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/terminal/plain_text.hpp"

namespace orrery {

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  const auto distance = [](const std::string& a, const std::string& b) {
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
  };
  std::string best;
  std::size_t closest = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (const std::string& candidate : candidates)
    if (distance(word, candidate) < closest) {
      closest = distance(word, candidate);
      best = candidate;
    }
  return word.empty() ? "" : best;
}

std::string unknown(const std::string& kind, const std::string& word,
                    const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 100;  // the search takes the product of both lengths
  const std::string close = word.size() <= kLongest ? nearest(word, candidates) : "";
  return fmt::format("the unknown {} \"{}\"; {}there are {}", kind, one_line(word),
                     close.empty() ? "" : fmt::format("did you mean \"{}\"? ", close),
                     fmt::join(candidates, ", "));
}

}  // namespace orrery
