// The object behind a latecomer_request.
#pragma once

#include "runtime/call/persistent.hpp"

struct latecomer_request_s {
  latecomer::PersistentCall call;
};
