#include "core/graph/files/vertex_names.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/whole_file.hpp"
#include "core/graph/files/mapped_file.hpp"
#include "core/graph/files/npy.hpp"
#include "core/terminal/plain_text.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> read_words(const fs::path& path, std::int64_t vertices) {
  const MappedFile file(path);
  const std::string_view text = file.bytes();
  const std::int64_t lines =
      std::ranges::count(text, '\n') + (text.empty() || text.ends_with('\n') ? 0 : 1);
  if (lines != vertices)
    throw DataError(
        file.path(), "",
        fmt::format("expected {} lines, a name for each vertex, found {}", vertices, lines));
  std::vector<std::string> words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    words.push_back(one_line(std::string(text.substr(begin, end - begin))));
    begin = end + 1;
  }
  return words;
}

}  // namespace

VertexNames read_vertex_names(const fs::path& folder, std::int64_t vertices) {
  const fs::path numbers = folder / "ids.npy", words = folder / "names.txt";
  if (fs::exists(numbers) && fs::exists(words))
    throw DataError(folder.string(), "",
                    "has both ids.npy and names.txt: remove the one that its vertices are not "
                    "called by");
  VertexNames names;
  if (fs::exists(words)) names.words = read_words(words, vertices);
  if (!fs::exists(numbers)) return names;
  const NpyArray array(numbers);
  const auto values = array.values<std::int64_t>({vertices});
  names.numbers.assign(values.begin(), values.end());
  return names;
}

void write_vertex_names(const VertexNames& names, const fs::path& folder) {
  if (!names.numbers.empty()) {
    auto file = NpyWriter::create<std::int64_t>(folder / "ids.npy", {std::ssize(names.numbers)});
    file.append<std::int64_t>(names.numbers);
    file.close();
  }
  if (names.words.empty()) return;
  std::string text;
  for (const std::string& word : names.words) text += word + '\n';
  write_file(folder / "names.txt", text);
}

}  // namespace orrery
