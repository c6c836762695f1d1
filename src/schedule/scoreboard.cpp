#include "schedule/scoreboard.hpp"

#include <algorithm>

namespace latecomer {

/// Makes `at` a boundary between cells; returns the first cell that begins at or after it.
Scoreboard::Cells::iterator Scoreboard::split(Cells& cells, Count at) {
  auto next = cells.lower_bound(at);
  if (next == cells.begin()) return next;
  const auto previous = std::prev(next);
  if (previous->second.end <= at) return next;
  Cell upper = previous->second;
  previous->second.end = at;
  return cells.emplace_hint(next, at, std::move(upper));
}

void Scoreboard::read(const Slice& slice, OpIndex index, std::vector<OpIndex>& after) {
  if (slice.empty()) return;
  Cells& map = cells(slice.buffer);
  auto cell = split(map, slice.begin);
  split(map, slice.end());
  for (; cell != map.end() && cell->first < slice.end(); ++cell) {
    after.push_back(cell->second.writer);
    cell->second.readers.push_back(index);
  }
}

void Scoreboard::write(const Slice& slice, OpIndex index, std::vector<OpIndex>& after) {
  if (slice.empty()) return;
  Cells& map = cells(slice.buffer);
  auto cell = split(map, slice.begin);
  split(map, slice.end());
  while (cell != map.end() && cell->first < slice.end()) {
    const auto& readers = cell->second.readers;
    // The readers already waited for the writer.
    if (readers.empty()) after.push_back(cell->second.writer);
    after.insert(after.end(), readers.begin(), readers.end());
    cell = map.erase(cell);
  }
  map.emplace_hint(cell, slice.begin, Cell{slice.end(), index, {}});
}

std::vector<OpIndex> Scoreboard::add(OpIndex index, const Operation& operation,
                                     const Program& program) {
  std::vector<OpIndex> after;
  if (operation.kind == OpKind::arrive) {
    write({Buffer::input, 0, program.input_count}, index, after);
    write({Buffer::output, 0, program.output_count}, index, after);
  } else {
    const Accesses touched = accesses(operation);
    for (const Slice& slice : touched.reads) read(slice, index, after);
    write(touched.write, index, after);
  }
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
  // A combine reads what it writes; it does not wait for itself.
  if (!after.empty() && after.back() == index) after.pop_back();
  return after;
}

}  // namespace latecomer
