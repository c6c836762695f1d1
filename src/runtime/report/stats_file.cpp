#include "runtime/report/stats_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/files.hpp"
#include "runtime/settings/environment.hpp"

namespace latecomer {
namespace {

constexpr int kMaxTried = 16;  // names for the new file; others may be left over

std::string reason() { return meaning_of_error(errno); }

/// Opens a new file, and sets its name. Returns a negative number if it cannot be made.
int open_new(const std::string& beside, std::string& name) {
  int file = -1;
  for (int i = 0; i < kMaxTried; ++i) {
    name = beside + '.' + std::to_string(getpid()) + '.' + std::to_string(i);
    file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) break;
  }
  return file;
}

}  // namespace

std::string stats_file_name(const std::string& pattern, Rank rank) {
  return expanded(pattern, rank, environment);
}

bool is_of_each_rank(const std::string& pattern) {
  return pattern.find("%r") != std::string::npos || pattern.find("%p") != std::string::npos;
}

std::string write_stats_file(const std::string& name, const std::string& text) {
  struct stat found{};
  const bool there = lstat(name.c_str(), &found) == 0;
  if (there && !S_ISREG(found.st_mode)) return "no regular file";
  if (there && access(name.c_str(), W_OK) != 0) return reason();  // the folder alone would allow it
  std::string fresh;
  const int file = open_new(name, fresh);
  if (file < 0) return reason();
  if (there) (void)fchmod(file, found.st_mode & 07777);  // as the user has set it
  const int code = write_all(file, text);
  std::string failure = code == 0 ? "" : meaning_of_error(code);
  if (close(file) != 0 && failure.empty()) failure = reason();
  if (failure.empty() && std::rename(fresh.c_str(), name.c_str()) != 0) failure = reason();
  if (!failure.empty()) unlink(fresh.c_str());
  return failure;
}

}  // namespace latecomer
