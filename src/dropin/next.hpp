// The functions behind ours: those of a PMPI tool that comes after the drop-in library, else the
// MPI library's own.
#pragma once

namespace latecomer {

using AnyFunction = void (*)();

/// The next function of this name, or `own` if there is none. `own` has the right type.
[[nodiscard]] AnyFunction find_next(const char* name, AnyFunction own);

template <class Function>
[[nodiscard]] Function* next(const char* name, Function* own) {
  return reinterpret_cast<Function*>(find_next(name, reinterpret_cast<AnyFunction>(own)));
}

/// Where the program called from; `caller`: the wrapper's return address, which is the loader's.
[[nodiscard]] const void* call_site(const void* caller);

/// True if the program's messages come to this library: through the loader that has them, or since
/// there is no loader.
[[nodiscard]] bool loader_has_messages();

/// Makes calls of the library's own collectives go to the functions behind ours, such as a tool's.
/// They do whether this library is active or not.
void follow_next();

/// Lets the loader pass short calls on to the functions behind ours, if they are not counted.
void pass_short_calls();
/// Short calls come to this library again.
void keep_short_calls();

}  // namespace latecomer
