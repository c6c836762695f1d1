// The facts of a collective in its record: its data, its operator and its algorithm.
#pragma once

#include <string>
#include <string_view>

#include "runtime/call/call.hpp"
#include "trace/records.hpp"

namespace latecomer {
struct CommState;
}

namespace latecomer::trace {

/// Sets what is known of the data before the call: bytes of the whole vector, of an element.
void describe(Call& record, const latecomer::Call& call, const CommState& state);
[[nodiscard]] std::string_view name_of(MPI_Op op);
/// "ring", and "as=x segments=4" or "segments=4", as "x:segments=4" or "ring:segments=4". Empty
/// where there is no memory.
[[nodiscard]] std::string with_parameters(std::string_view algorithm, std::string_view parameters);

}  // namespace latecomer::trace
