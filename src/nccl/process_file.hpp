// The trace file of a rank, as the environment says.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "trace/trace_file.hpp"

namespace latecomer::nccl {

struct Place {
  std::int32_t rank, ranks;
};

/// Makes it, in the folder of LATECOMER_TRACE. Its place in the job is what the launcher says, if
/// `asks_launcher` and that says something, else that in the communicator. Null: a line on stderr
/// has told why not.
[[nodiscard]] std::unique_ptr<trace::File> make_file(Place in_communicator, bool asks_launcher);

/// A line on stderr.
void report(const std::string& line);

}  // namespace latecomer::nccl
