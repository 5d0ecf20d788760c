#include "core/inference/input/feature_files.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/index.hpp"
#include "core/base/parallel.hpp"
#include "core/graph/files/npy_header.hpp"
#include "core/inference/input/storage_rate.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kRowBlock = 1024;
constexpr const char *kRows = "rows-", *kIds = "ids-";

/// The numbers of the vertices in a file, of any allowed type.
std::vector<std::uint64_t> read_ids(const fs::path& path, std::int64_t rows) {
  const NpyHeader header = read_npy_header(path);
  const std::string& type = header.dtype;
  if (type != "<i4" && type != "<u4" && type != "<i8" && type != "<u8")
    throw DataError(header.path, "",
                    fmt::format("expected int32, uint32, int64 or uint64, found '{}'", type));
  header.require(type, {rows});
  const MappedFile file(path);
  const char* data = file.bytes().data() + header.data_offset;
  std::vector<std::uint64_t> ids;
  ids.reserve(at(rows));
  const auto take = [&]<class T>(const T* values) {
    // A negative number becomes one above all vertices.
    for (std::int64_t i = 0; i < rows; ++i) ids.push_back(static_cast<std::uint64_t>(values[i]));
  };
  if (type == "<i4") take(reinterpret_cast<const std::int32_t*>(data));
  if (type == "<u4") take(reinterpret_cast<const std::uint32_t*>(data));
  if (type == "<i8") take(reinterpret_cast<const std::int64_t*>(data));
  if (type == "<u8") take(reinterpret_cast<const std::uint64_t*>(data));
  return ids;
}

class LocatedFeatures final : public Features {
 public:
  explicit LocatedFeatures(std::shared_ptr<const FeatureFiles> files) : files_(std::move(files)) {}
  std::int64_t rows() const override { return files_->rows(); }
  std::int64_t width() const override { return files_->width(); }
  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    parallel_for(std::ssize(vertices), kRowBlock, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        files_->copy(files_->place_of(vertices[at(i)]), col0, cols, out + i * ld);
    });
  }
  std::string provenance() const override { return "rows in files, by their location"; }

 private:
  std::shared_ptr<const FeatureFiles> files_;
};

class ScannedFeatures final : public Features {
 public:
  explicit ScannedFeatures(std::shared_ptr<const FeatureFiles> files) : files_(std::move(files)) {}
  std::int64_t rows() const override { return files_->rows(); }
  std::int64_t width() const override { return files_->width(); }
  void read(std::span<const Vertex> vertices, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    constexpr std::int64_t kNobody = -1;
    std::vector<std::int64_t> wanted(at(rows()), kNobody);
    for (std::int64_t i = 0; i < std::ssize(vertices); ++i) wanted[at(vertices[at(i)])] = i;
    std::vector<float> row(at(width()));
    for (std::int64_t place = 0; place < rows(); ++place) {
      files_->copy(place, 0, width(), row.data());  // it comes from the file, or not
      const std::int64_t i = wanted[at(files_->vertex_at(place))];
      if (i != kNobody) std::copy_n(row.begin() + col0, cols, out + i * ld);
    }
  }
  std::string provenance() const override { return "rows in files, all of them scanned"; }

 private:
  std::shared_ptr<const FeatureFiles> files_;
};

}  // namespace

FeatureFiles::FeatureFiles(const fs::path& folder, std::int64_t vertices)
    : folder_(folder.string()) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(kRows) && name.ends_with(".npy"))
      names.push_back(name.substr(std::string(kRows).size()));
  }
  if (error) throw DataError(folder_, "", "cannot be read as a folder: " + error.message());
  std::sort(names.begin(), names.end());
  if (names.empty())
    throw DataError(folder_, "", "expected files rows-NAME.npy and ids-NAME.npy, found none");

  constexpr Vertex kNowhere = -1;
  place_of_.assign(at(vertices), kNowhere);
  for (const std::string& name : names) {
    File file{rows(), NpyArray(folder / (kRows + name))};
    file.values = file.array.values<float>({-1, files_.empty() ? -1 : width_});
    width_ = file.array.shape()[1];
    const fs::path of_ids = folder / (kIds + name);
    const auto ids = read_ids(of_ids, file.array.shape()[0]);
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const std::string place = fmt::format("element {}", i);
      if (ids[i] >= static_cast<std::uint64_t>(vertices))
        throw DataError(of_ids.string(), place,
                        fmt::format("expected vertices from 0 to {}, found {}", vertices - 1,
                                    static_cast<std::int64_t>(ids[i])));
      Vertex& known = place_of_[ids[i]];
      if (known != kNowhere)
        throw DataError(
            of_ids.string(), place,
            fmt::format("vertex {} already has a row, number {} of all files", ids[i], known));
      known = static_cast<Vertex>(vertex_at_.size());
      vertex_at_.push_back(static_cast<Vertex>(ids[i]));
    }
    files_.push_back(std::move(file));
    rows_ = std::ssize(vertex_at_);
  }
  if (width_ < 1) throw DataError(folder_, "", "expected rows of at least one column");
  const auto missing = std::find(place_of_.begin(), place_of_.end(), kNowhere);
  if (missing != place_of_.end())
    throw DataError(folder_, "",
                    fmt::format("expected a row for each of {} vertices, found none for vertex {}",
                                vertices, missing - place_of_.begin()));
}

FeatureFiles FeatureFiles::counted(std::int64_t vertices, std::int64_t width) {
  FeatureFiles files;
  files.rows_ = vertices;
  files.width_ = width;
  return files;
}

void FeatureFiles::fetch(std::int64_t first, std::int64_t count) const {
  constexpr std::int64_t kPage = 4096 / sizeof(float), kPiece = 1 << 18;  // floats
  volatile float touched = 0;
  for (const File& file : files_) {
    const std::int64_t rows = std::ssize(file.values) / width_;
    const std::int64_t begin = std::max(first, file.first) - file.first,
                       end = std::min(first + count, file.first + rows) - file.first;
    for (std::int64_t at_first = begin * width_; at_first < end * width_; at_first += kPiece) {
      const std::int64_t stop = std::min(at_first + kPiece, end * width_);
      pass_storage((stop - at_first) * static_cast<std::int64_t>(sizeof(float)));
      for (std::int64_t i = at_first; i < stop; i += kPage) touched = file.values[at(i)];
    }
  }
  static_cast<void>(touched);
}

void FeatureFiles::copy(std::int64_t place, std::int64_t col0, std::int64_t cols,
                        float* out) const {
  const auto after =
      std::upper_bound(files_.begin(), files_.end(), place,
                       [](std::int64_t p, const File& file) { return p < file.first; });
  const File& file = *std::prev(after);
  const std::int64_t first = (place - file.first) * width_ + col0;
  const auto from = file.values.subspan(at(first), at(cols));
  std::ranges::copy(from, out);
  const auto bad = std::ranges::find_if(from, [](float x) { return !std::isfinite(x); });
  if (bad != from.end())
    throw DataError(file.array.path(),
                    orrery::place_of(file.array.shape(), first + (bad - from.begin())),
                    fmt::format("expected a finite number, found {}", *bad));
}

std::shared_ptr<const Features> located_features(std::shared_ptr<const FeatureFiles> files) {
  return std::make_shared<LocatedFeatures>(std::move(files));
}

std::shared_ptr<const Features> scanned_features(std::shared_ptr<const FeatureFiles> files) {
  return std::make_shared<ScannedFeatures>(std::move(files));
}

}  // namespace orrery
