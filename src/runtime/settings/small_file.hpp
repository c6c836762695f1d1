// Reads small files that a setting names.
#pragma once

#include <string>

namespace latecomer {

/// The file's text. `what`: of the file, for messages. Throws Error for anything but a regular file
/// of at most `most` bytes that can be read; never waits for the writer of a pipe.
[[nodiscard]] std::string read_small_file(const std::string& what, const std::string& name,
                                          std::size_t most);

}  // namespace latecomer
