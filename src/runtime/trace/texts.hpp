// The texts of a trace file: each is written once, and records name it by its id.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "runtime/trace/trace_file.hpp"

namespace latecomer::trace {

class Texts {
 public:
  explicit Texts(File& file) : file_(file) { (void)id(""); }

  /// The id of a text; 0, the empty text's, where there is no room.
  std::uint32_t id(std::string_view words);
  /// That of the name of a place in the program.
  std::uint32_t site(const void* address);

 private:
  /// Finds texts without making a string.
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const {
      return std::hash<std::string_view>{}(text);
    }
  };

  File& file_;
  std::unordered_map<std::string, std::uint32_t, Hash, std::equal_to<>> ids_;
  std::unordered_map<const void*, std::uint32_t> sites_;
  std::pair<const void*, std::uint32_t> last_site_{nullptr, 0};
};

}  // namespace latecomer::trace
