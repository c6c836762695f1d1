// This rank's output on stderr while the object lives.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "runtime/report/log.hpp"

namespace latecomer::testing {

class CapturedStderr {
 public:
  CapturedStderr()
      : file_(fdopen(memfd_create("stderr", MFD_CLOEXEC), "w+")), saved_(dup(STDERR_FILENO)) {
    dup2(fileno(file_), STDERR_FILENO);
    keep_stderr();
  }
  ~CapturedStderr() {
    restore();
    std::fclose(file_);
  }
  CapturedStderr(const CapturedStderr&) = delete;
  CapturedStderr& operator=(const CapturedStderr&) = delete;

  std::string text() {
    restore();
    std::string all;
    std::rewind(file_);
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) all += static_cast<char>(c);
    return all;
  }

 private:
  void restore() {
    if (saved_ < 0) return;
    std::fflush(stderr);
    dup2(saved_, STDERR_FILENO);
    close(saved_);
    keep_stderr();
    saved_ = -1;
  }

  std::FILE* file_;
  int saved_;
};

}  // namespace latecomer::testing
