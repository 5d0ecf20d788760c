// Input files for the tests of this folder, made on the spot in a temporary folder.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/graph/files/npy.hpp"

namespace orrery {

/// A fixture with an empty folder of its own, removed afterwards.
class FilesTest : public ::testing::Test {
 protected:
  FilesTest() {
    std::string name = (std::filesystem::temp_directory_path() / "orrery-test-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
  }
  ~FilesTest() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path file(const std::string& name) const { return folder_ / name; }

  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(file(name).parent_path());
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name).string();
  }
  std::string write_gzip(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(file(name).parent_path());
    gzFile out = gzopen(file(name).c_str(), "wb");
    gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
    gzclose(out);
    return file(name).string();
  }
  template <class T>
  std::string write_npy(const std::string& name, std::vector<std::int64_t> shape,
                        const std::vector<T>& values) const {
    std::filesystem::create_directories(file(name).parent_path());
    auto out = NpyWriter::create<T>(file(name), std::move(shape));
    out.template append<T>(values);
    out.close();
    return file(name).string();
  }
  std::string read(const std::string& name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// Cuts the last `bytes` off a file.
  void cut(const std::string& name, std::uintmax_t bytes) const {
    std::filesystem::resize_file(file(name), std::filesystem::file_size(file(name)) - bytes);
  }

  std::filesystem::path folder_;
};

/// The message of the DataError that `call` throws; "no error" when it throws nothing.
template <class Call>
std::string data_error(const Call& call) {
  try {
    call();
  } catch (const DataError& error) {
    return error.what();
  }
  return "no error";
}

/// The message of the ConfigError that `call` throws; "no error" when it throws nothing.
template <class Call>
std::string config_error(const Call& call) {
  try {
    call();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace orrery
