#include "schedule/program.hpp"

namespace latecomer {

Accesses accesses(const Operation& operation) {
  switch (operation.kind) {
    case OpKind::arrive:
      return {};
    case OpKind::send:
      return {{operation.source, {}}, {}};
    case OpKind::recv:
      return {{}, operation.target};
    case OpKind::combine:
      return {{operation.source, operation.target}, operation.result()};
    case OpKind::copy:
      return {{operation.source, {}}, operation.target};
  }
  return {};
}

}  // namespace latecomer
