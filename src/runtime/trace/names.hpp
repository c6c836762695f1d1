// The names of things and of places in the program, as a trace file has them: each is written once,
// and records name it by its id.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "trace/trace_file.hpp"

namespace latecomer::trace {

class Names {
 public:
  explicit Names(File& file) : file_(file) { (void)id(""); }

  /// The id of a text; 0, the empty text's, where there is no room.
  std::uint32_t id(std::string_view words) { return texts_(file_, words); }
  /// That of the name of a place in the program.
  std::uint32_t site(const void* address);

 private:
  File& file_;
  Texts texts_;
  std::unordered_map<const void*, std::uint32_t> sites_;
  std::pair<const void*, std::uint32_t> last_site_{nullptr, 0};
};

}  // namespace latecomer::trace
