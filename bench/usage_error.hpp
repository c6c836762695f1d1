// A program of the benchmark was started wrongly.
#pragma once

#include <stdexcept>

namespace bench {

/// A wrong argument or file: names the value and what would be right. Ends with exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace bench
