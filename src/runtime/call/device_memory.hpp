// Memory of accelerators that the program's CUDA, HIP or Level Zero runtime manages: the processor
// may not be able to touch it.
#pragma once

namespace latecomer {

/// True if such a runtime is in the process and says that the address lies in memory of its
/// devices, or in memory that it moves between devices and host. Host memory that a program has
/// registered with a runtime does not count. No runtime is loaded or set up for this.
[[nodiscard]] bool is_device_memory(const void* address);

}  // namespace latecomer
