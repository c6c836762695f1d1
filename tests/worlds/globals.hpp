// The variables of a shared library, kept apart for each simulated rank.
//
// All ranks of a world live in one process and one thread, and use one copy of the library. A rank
// has its own variables of it: they are put in place before the rank runs and taken away after.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace latecomer::worlds {

class Globals {
 public:
  /// Finds the loaded library whose file name contains `name`. Throws std::runtime_error.
  explicit Globals(const std::string& name);

  /// The variables as they were when this object was made.
  [[nodiscard]] const std::vector<char>& fresh() const { return fresh_; }
  void save(std::vector<char>& into) const;
  void load(const std::vector<char>& from) const;

 private:
  struct Range {
    char* begin;
    std::size_t size;
  };

  std::vector<Range> ranges_;
  std::vector<char> fresh_;
};

}  // namespace latecomer::worlds
