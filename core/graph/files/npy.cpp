#include "core/graph/files/npy.hpp"

#include <fmt/core.h>

#include <cerrno>
#include <cstring>

#include "core/base/error.hpp"

namespace orrery {

NpyArray::NpyArray(const std::filesystem::path& path)
    : file_(std::make_shared<MappedFile>(path)),
      header_(parse_npy_header(file_->path(), file_->bytes(),
                               static_cast<std::int64_t>(file_->bytes().size()))) {}

NpyWriter::NpyWriter(const std::filesystem::path& path, std::string_view dtype,
                     const std::vector<std::int64_t>& shape)
    : path_(path.string()), file_(std::fopen(path_.c_str(), "wb")) {
  if (!file_) fail();
  const std::string header = npy_header_bytes(dtype, shape);
  write(header.data(), header.size());
}

void NpyWriter::write(const void* data, std::size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, file_.get()) != bytes) fail();
}

void NpyWriter::close() {
  if (std::fflush(file_.get()) != 0 || std::fclose(file_.release()) != 0) fail();
}

void NpyWriter::fail() const {
  throw DataError(path_, "",
                  fmt::format("expected to write this file, found: {}", std::strerror(errno)));
}

}  // namespace orrery
