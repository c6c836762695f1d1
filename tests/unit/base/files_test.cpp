// Room for files, on a kernel that gives up at each signal, and where there is none.
#include "base/files.hpp"

#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "trace/trace_file.hpp"

namespace {

int interruptions = 0;    // so often a signal ends the call
off_t room = 0;           // where the disk ends; 0: nowhere
bool may_signal = false;  // a signal could have come
int fallocations = 0;

}  // namespace

/// In place of the system's.
extern "C" int posix_fallocate(int file, off_t begin, off_t bytes) {
  ++fallocations;
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  may_signal = may_signal || sigismember(&blocked, SIGALRM) == 0;
  if (interruptions > 0) {
    --interruptions;
    return EINTR;
  }
  if (room > 0 && begin + bytes > room) return ENOSPC;
  static const auto real =
      reinterpret_cast<int (*)(int, off_t, off_t)>(dlsym(RTLD_NEXT, "posix_fallocate"));
  return real(file, begin, bytes);
}

namespace latecomer {
namespace {

class Folder {
 public:
  Folder() { EXPECT_NE(mkdtemp(path_), nullptr); }
  ~Folder() {
    unlink(file().c_str());
    rmdir(path_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string path() const { return path_; }
  [[nodiscard]] std::string file() const { return path() + "/rank-0.trace"; }

 private:
  char path_[32] = "/tmp/latecomer-files-XXXXXX";
};

TEST(Files, RoomIsMadeWhateverSignalsCome) {
  const Folder folder;
  const int file = open(folder.file().c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  interruptions = 3;
  fallocations = 0;
  may_signal = false;
  EXPECT_EQ(reserve_room(file, 4096, 10000), 0);
  EXPECT_EQ(fallocations, 4);
  EXPECT_FALSE(may_signal);
  struct stat found{};
  EXPECT_EQ(fstat(file, &found), 0);
  EXPECT_EQ(found.st_size, 14096);
  sigset_t after;
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(sigismember(&after, SIGALRM), 0);
  close(file);
  EXPECT_EQ(reserve_room(-1, 0, 10), EBADF);
}

/// The limit in the header tells a reader when the file was full.
TEST(Files, ATraceWithoutRoomSaysWhereItEnded) {
  const Folder folder;
  std::string why;
  room = off_t{2} << 20;
  const auto file = trace::File::make(folder.path(), trace::header_of(0, 1, "h", "l"), why);
  ASSERT_NE(file, nullptr) << why;
  std::uint64_t records = 0;
  for (; file->has_room(1); ++records) file->append(trace::Call{});
  room = 0;
  EXPECT_EQ(file->obstacle(), ENOSPC);
  EXPECT_EQ(records, (std::uint64_t{2 << 20} - sizeof(trace::Header)) / sizeof(trace::Call));
  EXPECT_FALSE(file->has_room(1));
  trace::Header header;
  const int read_again = open(folder.file().c_str(), O_RDONLY | O_CLOEXEC);
  EXPECT_EQ(read(read_again, &header, sizeof header), static_cast<ssize_t>(sizeof header));
  close(read_again);
  EXPECT_EQ(header.limit, std::uint64_t{2} << 20);
  EXPECT_EQ(header.used, records);
}

}  // namespace
}  // namespace latecomer
