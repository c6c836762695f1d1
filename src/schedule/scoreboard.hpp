// Derives the dependencies of operations from the element ranges they read and write, as a
// processor's scoreboard does: read after write, write after read, write after write.
#pragma once

#include <map>
#include <vector>

#include "schedule/program.hpp"

namespace latecomer {

class Scoreboard {
 public:
  /// Returns the operation's dependencies, ascending, and notes the slices that it reads and
  /// writes.
  std::vector<OpIndex> add(OpIndex index, const Operation& operation, const Program& program);

 private:
  /// A range of one buffer whose elements have the same last writer and readers since.
  struct Cell {
    Count end;
    OpIndex writer;
    std::vector<OpIndex> readers;
  };
  using Cells = std::map<Count, Cell>;  // by begin; ranges that are absent were never written

  void write(const Slice& slice, OpIndex index, std::vector<OpIndex>& after);
  void read(const Slice& slice, OpIndex index, std::vector<OpIndex>& after);
  Cells::iterator split(Cells& cells, Count at);
  Cells& cells(Buffer buffer) { return cells_[static_cast<int>(buffer)]; }

  Cells cells_[kBuffers];
};

}  // namespace latecomer
