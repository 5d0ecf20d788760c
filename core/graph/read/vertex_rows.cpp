#include "core/graph/read/vertex_rows.hpp"

#include <algorithm>

#include "core/base/index.hpp"

namespace orrery {
namespace {

std::vector<Vertex> chosen(std::span<const Vertex> vertices, std::span<const Vertex> rows) {
  std::vector<Vertex> result;
  result.reserve(rows.size());
  for (const Vertex r : rows) result.push_back(vertices[at(r)]);
  return result;
}

class ChosenFeatures final : public Features {
 public:
  ChosenFeatures(std::shared_ptr<const Features> whole, std::span<const Vertex> vertices)
      : whole_(std::move(whole)), vertices_(vertices) {}
  std::int64_t rows() const override { return std::ssize(vertices_); }
  std::int64_t width() const override { return whole_->width(); }
  void read(std::span<const Vertex> rows, std::int64_t col0, std::int64_t cols, float* out,
            std::int64_t ld) const override {
    whole_->read(chosen(vertices_, rows), col0, cols, out, ld);
  }
  bool half() const override { return whole_->half(); }
  void read_half(std::span<const Vertex> rows, std::int64_t col0, std::int64_t cols, Half* out,
                 std::int64_t ld) const override {
    whole_->read_half(chosen(vertices_, rows), col0, cols, out, ld);
  }
  std::string provenance() const override { return whole_->provenance(); }
  bool made_up() const override { return whole_->made_up(); }

 private:
  std::shared_ptr<const Features> whole_;
  std::span<const Vertex> vertices_;
};

}  // namespace

VertexRows rows_of(const Dataset& data) {
  VertexRows rows{data.vertices(),        data.features, data.labels.classes,
                  data.labels.multilabel, nullptr,       nullptr};
  if (data.labels.present())
    rows.labels = [&labels = data.labels](std::span<const Vertex> vertices, std::int32_t* out) {
      for (const Vertex v : vertices)
        out = std::copy_n(labels.values.begin() + v * labels.columns(), labels.columns(), out);
    };
  if (!data.split.empty())
    rows.split = [&split = data.split](std::span<const Vertex> vertices, Split* out) {
      for (const Vertex v : vertices) *out++ = split[at(v)];
    };
  return rows;
}

VertexRows rows_of(const VertexRows& whole, std::span<const Vertex> vertices) {
  VertexRows rows = whole;
  rows.count = std::ssize(vertices);
  if (whole.features) rows.features = std::make_shared<ChosenFeatures>(whole.features, vertices);
  if (whole.labels)
    rows.labels = [read = whole.labels, vertices](std::span<const Vertex> some, std::int32_t* out) {
      read(chosen(vertices, some), out);
    };
  if (whole.split)
    rows.split = [read = whole.split, vertices](std::span<const Vertex> some, Split* out) {
      read(chosen(vertices, some), out);
    };
  return rows;
}

}  // namespace orrery
