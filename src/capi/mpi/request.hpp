// What a latecomer_request points to.
#pragma once

#include "runtime/call/persistent.hpp"

struct latecomer_request_s {
  latecomer::PersistentCall call;
};
