// The trace file of this process, if LATECOMER_TRACE names a folder.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trace/trace_file.hpp"

namespace latecomer::trace {

/// The most bytes of a file, by LATECOMER_TRACE_BYTES; what cannot be read is reported.
[[nodiscard]] std::uint64_t limit_of_file();
/// After MPI_Init. Null: there is to be none, or it cannot be made, which is reported.
[[nodiscard]] std::unique_ptr<File> make_file();
/// Reports what is not in it, since it is full or could not grow.
void report_missing(const std::string& what, int obstacle);
/// Who says what is wrong with the file, in place of this process's stderr.
void report_to(void (*report)(const std::string& line));

}  // namespace latecomer::trace
