#include "base/own_descriptor.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace latecomer {

FileIdentity FileIdentity::of(int descriptor) {
  struct stat found{};
  if (descriptor < 0 || fstat(descriptor, &found) != 0) return {};
  return {found.st_dev, found.st_ino, true};
}

OwnDescriptor::OwnDescriptor(int number) : number_(number) {
  const int before = errno;
  file_ = FileIdentity::of(number);
  errno = before;
}

OwnDescriptor::~OwnDescriptor() {
  if (const int number = get(); number >= 0) close(number);
}

int OwnDescriptor::get() const {
  if (number_ < 0 || FileIdentity::of(number_) == file_) return number_;
  errno = EBADF;
  return -1;
}

}  // namespace latecomer
