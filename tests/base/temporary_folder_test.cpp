// Folders among the temporary files: there while they are used, and gone afterwards in any case.
#include "core/base/temporary_folder.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/base/error.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class TemporaryFolders : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(parent_);
    fs::create_directories(parent_);
    ::setenv("TMPDIR", parent_.c_str(), 1);
  }
  void TearDown() override {
    ::unsetenv("TMPDIR");
    fs::remove_all(parent_);
  }
  std::ptrdiff_t entries() const {
    return std::distance(fs::directory_iterator(parent_), fs::directory_iterator());
  }

  const fs::path parent_ = fs::path(::testing::TempDir()) / "orrery-temporary-folders";
};

TEST_F(TemporaryFolders, AreOfOneUserAndGoWithTheirObject) {
  {
    const TemporaryFolder folder("test");
    std::ofstream(folder.path() / "file") << "x";
    struct stat status {};
    ASSERT_EQ(::stat(folder.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777U, 0700U);
    EXPECT_TRUE(folder.path().filename().string().starts_with("orrery-test-"));
  }
  EXPECT_EQ(entries(), 0);
}

TEST_F(TemporaryFolders, OfKilledProcessesGoWithTheNextAndThoseInUseStay) {
  const pid_t killed = ::fork();
  if (killed == 0) {
    const TemporaryFolder left("test");
    std::ofstream(left.path() / "file") << "x";
    ::kill(::getpid(), SIGKILL);
  }
  ASSERT_EQ(::waitpid(killed, nullptr, 0), killed);
  ASSERT_EQ(entries(), 1);
  fs::create_directories(parent_ / "orrery-test-of-someone");
  fs::create_directories(parent_ / "orrery-other-123456");

  const TemporaryFolder first("test");
  EXPECT_EQ(entries(), 3);
  const TemporaryFolder second("test");
  EXPECT_EQ(entries(), 4);
  EXPECT_TRUE(fs::exists(first.path()));
}

TEST_F(TemporaryFolders, ThatCannotBeMadeSayWhatToDo) {
  ::setenv("TMPDIR", (parent_ / "absent").c_str(), 1);
  try {
    const TemporaryFolder folder("test");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("set TMPDIR"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace orrery
