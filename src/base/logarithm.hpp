// Logarithms by basic arithmetic alone: the same bits on all processors of one kind of
// instructions, whatever their mathematical libraries choose.
#pragma once

namespace latecomer {

/// The natural logarithm of a positive, finite number, within 1e-10.
[[nodiscard]] double log_of(double value);
/// Its inverse, relatively within 1e-10; for powers beyond 600 that of 600, up or down.
[[nodiscard]] double exp_of(double power);

}  // namespace latecomer
