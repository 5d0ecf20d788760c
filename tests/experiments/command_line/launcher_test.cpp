// The launcher of the source tree says what it waits for. Meson and ninja are played by scripts.
#include <gmock/gmock.h>
#include <sys/file.h>

#include "tests/experiments/commands/started_program.hpp"

namespace orrery {
namespace {

using ::testing::HasSubstr;

class Launcher : public testing::StartedProgram {
 protected:
  Launcher() {
    std::filesystem::create_directories(in("tools"));
    std::filesystem::copy_file(ORRERY_SOURCES "/orrery", in("orrery"));
    // A system without apt, on which the launcher installs nothing.
    script("dpkg-query", "exit 1");
    script("apt-get", "exit 0");
    script("sudo", "exit 0");
    script("meson", "mkdir -p \"$2\"; touch \"$2/build.ninja\"");
    script("ninja",
           "case \" $* \" in *' -n '*) exit 0 ;; esac\n"
           "mkdir -p \"$2/experiments\"; printf '#!/bin/sh\\necho started\\n' > "
           "\"$2/experiments/orrery\"; chmod +x \"$2/experiments/orrery\"\n"
           "for i in $(seq 1 40); do echo \"[$i/40] Compiling x.cpp\"; [ $i != 10 ] || sleep 4; "
           "done");
  }
  void script(const std::string& name, const std::string& text) const {
    std::ofstream(in("tools/" + name)) << "#!/bin/bash\n" << text << "\n";
    std::filesystem::permissions(in("tools/" + name), std::filesystem::perms::owner_all);
  }
  int launch() const {
    return shell(fmt::format("env PATH='{}':\"$PATH\" '{}' plan", in("tools").string(),
                             in("orrery").string()));
  }
};

TEST_F(Launcher, TellsHowFarTheFirstBuildIsAndWhatIsLeft) {
  EXPECT_EQ(launch(), 0) << read("err");

  EXPECT_EQ(read("out"), "started\n");
  EXPECT_THAT(read("err"), HasSubstr("only this first time"));
  EXPECT_THAT(read("err"), HasSubstr("orrery: built 1 of 40\n"));
  // Ten steps took 4 s, so the others take about 10.
  EXPECT_THAT(read("err"), ::testing::ContainsRegex("built 1[0-9] of 40, about [1-9]0 s left"));
  EXPECT_THAT(read("err"), ::testing::Not(HasSubstr("waiting until")));
}

TEST_F(Launcher, SaysThatItWaitsForAnotherStartThatBuilds) {
  const int lock = ::open(in(".orrery-build.lock").c_str(), O_RDWR | O_CREAT, 0644);
  ASSERT_EQ(::flock(lock, LOCK_EX), 0);
  script("sleep", "exit 0");
  const pid_t watcher = ::fork();
  if (watcher == 0) {  // holds the lock until the launcher has said so
    for (int i = 0; i < 200 && read("err").find("waiting until") == std::string::npos; ++i)
      ::usleep(50000);
    ::_exit(0);
  }
  ::close(lock);  // the watcher's copy keeps it

  EXPECT_EQ(launch(), 0) << read("err");

  EXPECT_EQ(wait_for(watcher), 0);
  EXPECT_THAT(read("err"), HasSubstr("another start of orrery is building here; waiting until"));
  EXPECT_EQ(read("out"), "started\n");
}

}  // namespace
}  // namespace orrery
