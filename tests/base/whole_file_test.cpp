#include "core/base/whole_file.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <memory>
#include <new>
#include <string>
#include <system_error>

#include "core/base/dead_segments.hpp"
#include "core/base/error.hpp"
#include "core/base/removed_if_interrupted.hpp"
#include "core/terminal/message.hpp"

namespace orrery {
namespace {

namespace fs = std::filesystem;

class WholeFile : public ::testing::Test {
 protected:
  WholeFile() { fs::create_directories(folder_); }
  ~WholeFile() override { fs::remove_all(folder_); }

  static std::string text_of(const fs::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::size_t entries() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), {}));
  }

  const fs::path folder_ = fs::path(::testing::TempDir()) / ("whole-" + std::to_string(::getpid()));
};

TEST_F(WholeFile, ReplacesWhatIsThereAndLeavesNothingBeside) {
  write_file(folder_ / "a", "old");
  write_file(folder_ / "a", "new");

  EXPECT_EQ(text_of(folder_ / "a"), "new");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WholeFile, IsNotWrittenThroughALinkThatLiesInItsWay) {
  write_file(folder_ / "precious", "content");
  fs::create_symlink("precious", folder_ / "a.part");

  write_file(folder_ / "a", "new");

  EXPECT_EQ(text_of(folder_ / "precious"), "content");
  EXPECT_EQ(text_of(folder_ / "a"), "new");
}

/// Two processes write long files of one name again and again: each finds one of them whole.
TEST_F(WholeFile, OfTwoProcessesIsAlwaysOneOfTheirs) {
  const fs::path file = folder_ / "a";
  const auto write_some = [&](char letter) {
    for (int i = 0; i < 15; ++i) {
      write_file(file, std::string(std::size_t{1} << 19U, letter));
      const std::string text = text_of(file);
      if (text.size() != std::size_t{1} << 19U ||
          text.find_first_not_of(text.front()) != std::string::npos)
        return false;
    }
    return true;
  };
  const pid_t other = ::fork();
  if (other == 0) {
    try {
      ::_exit(write_some('a') ? 0 : 1);
    } catch (...) {
      ::_exit(2);
    }
  }
  EXPECT_TRUE(write_some('b'));
  int status = -1;
  ASSERT_EQ(::waitpid(other, &status, 0), other);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(entries(), 1U);
}

TEST_F(WholeFile, FollowsALinkOfItsOwnName) {
  write_file(folder_ / "target", "old");
  fs::create_symlink("target", folder_ / "a");

  write_file(folder_ / "a", "new");

  EXPECT_TRUE(fs::is_symlink(folder_ / "a"));
  EXPECT_EQ(text_of(folder_ / "target"), "new");
}

TEST_F(WholeFile, GoesIntoADeviceAsItStands) {
  EXPECT_NO_THROW(write_file("/dev/null", "text"));
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_THROW(write_file("/dev/full", "text"), Error);
}

TEST_F(WholeFile, ThatCannotBeMadeNamesItAndTheReason) {
  try {
    write_file(folder_ / "nowhere" / "a", "text");
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("nowhere/a: cannot be opened: No such file"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(WholeFile, OfALogGrowsByItsLines) {
  append_to_file(folder_ / "log", "1\n", false);
  append_to_file(folder_ / "log", "2\n3\n", true);

  EXPECT_EQ(text_of(folder_ / "log"), "1\n2\n3\n");
}

/// Segments as killed jobs leave them, as running ones have them, and as one makes them now.
TEST_F(WholeFile, OfSharedMemoryGoesWhenNobodyHasItMapped) {
  for (const char* name : {"vader.dead", "vader.alive", "vader.young", "other"})
    write_file(folder_ / name, std::string(4096, 'x'));
  const auto old = fs::file_time_type::clock::now() - std::chrono::minutes(5);
  for (const char* name : {"vader.dead", "vader.alive", "other"})
    fs::last_write_time(folder_ / name, old);
  const int descriptor = ::open((folder_ / "vader.alive").c_str(), 0);
  void* mapped = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, descriptor, 0);
  ASSERT_NE(mapped, MAP_FAILED);

  remove_dead_segments(folder_, "vader.");

  EXPECT_FALSE(fs::exists(folder_ / "vader.dead"));
  for (const char* name : {"vader.alive", "vader.young", "other"})
    EXPECT_TRUE(fs::exists(folder_ / name)) << name;
  ::munmap(mapped, 4096);
  ::close(descriptor);
}

TEST(Message, OfTheStandardLibraryIsInPlainWords) {
  const std::system_error no_thread(
      std::make_error_code(std::errc::resource_unavailable_try_again));
  const fs::filesystem_error no_file("status", "a/b", std::make_error_code(std::errc::io_error));

  EXPECT_NE(message_of(std::bad_alloc()).find("grants no more memory"), std::string::npos);
  EXPECT_NE(message_of(no_thread).find("grants no more threads"), std::string::npos);
  EXPECT_EQ(message_of(no_file), "a/b: Input/output error");
  EXPECT_EQ(message_of(Error("own words")), "own words");
}

TEST(Message, IsTheLastOfAProcessWithoutMemoryWhichLeavesNothingUnfinished) {
  const fs::path unfinished =
      fs::temp_directory_path() / ("orrery-unfinished-" + std::to_string(::getpid()));
  fs::create_directory(unfinished);
  EXPECT_EXIT(
      {
        const RemovedIfInterrupted worthless(unfinished);
        end_when_memory_ends(remove_unfinished_if_free);
        std::get_new_handler()();  // what operator new calls; sanitizers bring one that does not
      },
      ::testing::ExitedWithCode(1), "orrery: error: the system grants no more memory");
  EXPECT_FALSE(fs::exists(unfinished));
}

}  // namespace
}  // namespace orrery
