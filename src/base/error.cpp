#include "base/error.hpp"

#include <utility>

#include "base/threads.hpp"

namespace latecomer {
namespace {

struct LastError;
using MessageOfThread = PerThread<LastError, std::string>;

}  // namespace

void set_last_error(std::string message) { MessageOfThread::get() = std::move(message); }

const char* last_error() { return MessageOfThread::get().c_str(); }

}  // namespace latecomer
