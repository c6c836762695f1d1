#include "base/last_error.hpp"

#include <utility>

namespace latecomer {
namespace {

thread_local std::string message_of_thread;

}  // namespace

void set_last_error(std::string message) { message_of_thread = std::move(message); }

const char* last_error() { return message_of_thread.c_str(); }

}  // namespace latecomer
