// The variables of shared libraries, kept apart for each simulated rank.
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
  /// Finds the loaded libraries whose file names contain `name`. Throws std::runtime_error.
  explicit Globals(const std::string& name);

  /// The variables as they were when this object was made.
  [[nodiscard]] const std::vector<char>& fresh() const { return fresh_; }
  /// `into` was a copy of fresh() or has been saved to.
  void save(std::vector<char>& into);
  void load(const std::vector<char>& from) const;

 private:
  struct Part {
    char* begin;
    std::size_t size;
    std::size_t at;  // in what is saved
  };

  [[nodiscard]] bool is_fresh(const Part& part) const;
  void note_changes();

  // Most variables keep their value: only parts that some rank has changed are copied.
  std::vector<Part> unchanged_;
  std::vector<Part> changed_;
  std::vector<char> fresh_;
};

}  // namespace latecomer::worlds
