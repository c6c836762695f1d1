#include "schedule/builder.hpp"

#include <algorithm>

#include "base/threads.hpp"

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

namespace {

/// The slice of an operation on a flag: wherever it lies, one without elements is nothing.
Slice told(const Slice& slice) { return slice.empty() ? kNothing : slice; }

}  // namespace

Builder::Builder(const Plan& plan, Rank me)
    : input_(plan.problem.input(me)), output_(plan.problem.output(me)), telemetry_(plan.telemetry) {
  static_cast<RankContext&>(program_) = context_of(plan, me);
  add({});
}

void Builder::add(const Operation& operation) {
  interruption_point();
  const auto index = static_cast<OpIndex>(program_.operations.size());
  program_.after.push_back(scoreboard_.add(index, operation, program_));
  program_.operations.push_back(operation);
}

void Builder::add_message(const Operation& operation) {
  add(operation);
  if (!telemetry_ || !piggybacks_) return;
  if (!piggybacked_.insert({operation.kind, operation.peer}).second) return;
  program_.piggybacking.push_back(last());
  if (operation.kind == OpKind::send && background()) depend_on_arrival();
}

/// A message with arrival stamps carries this rank's own one, so it waits for the arrival.
void Builder::depend_on_arrival() {
  std::vector<OpIndex>& after = program_.after.back();
  if (after.empty() || after.front() != kNone) after.insert(after.begin(), kNone);
}

Slice Builder::input(Range range) const {
  if (program_.in_place && input_.empty()) {
    return {Buffer::output, range.begin - output_.begin, range.count};
  }
  return {Buffer::input, range.begin - input_.begin, range.count};
}

Slice Builder::output(Range range) const {
  if (program_.in_place && output_.empty()) {
    return {Buffer::input, range.begin - input_.begin, range.count};
  }
  return {Buffer::output, range.begin - output_.begin, range.count};
}

Slice Builder::scratch(Count count) {
  const Slice block{Buffer::scratch, program_.scratch_count, count};
  program_.scratch_count += count;
  return block;
}

void Builder::send(Rank to, const Slice& data) {
  if (data.empty()) return;
  add_message(Operation::send(to, data));
  sent_ = last();
}

void Builder::send_in_turn(Rank to, const Slice& data, OpIndex pace) {
  if (data.empty()) return;
  const OpIndex sent = sent_;
  send(to, data);
  auto& after = program_.after.back();
  for (const OpIndex earlier : {sent, pace}) {
    if (earlier != kNone) after.push_back(earlier);
  }
  std::sort(after.begin(), after.end());
  after.erase(std::unique(after.begin(), after.end()), after.end());
}

void Builder::recv(Rank from, const Slice& target) {
  if (!target.empty()) add_message(Operation::recv(from, target));
}

void Builder::notify(Rank to) {
  add_message(Operation::send(to, kNothing));
  program_.after.back() = notified_;
}

void Builder::receive_notification(Rank from) {
  add_message(Operation::recv(from, kNothing));
  notified_.push_back(last());
}

void Builder::copy(const Slice& from, const Slice& to) {
  if (!from.empty() && from != to) add(Operation::copy(from, to));
}

void Builder::combine(const Slice& left, const Slice& right, Into into) {
  if (!left.empty()) add(Operation::combine(left, right, into));
}

Slice Builder::node(Count count) {
  const Slice block{Buffer::node, program_.node_count, count};
  program_.node_count += count;
  return block;
}

std::int32_t Builder::flag() { return program_.flags++; }

void Builder::signal(const Slice& data, std::int32_t flag) {
  add(Operation::signal(told(data), flag));
}

void Builder::signal_end_of_use(const Slice& data, std::int32_t flag) {
  add({OpKind::signal, -1, kNothing, told(data), Into::right, flag});
}

void Builder::await(const Slice& data, std::int32_t flag, Rank count) {
  add(Operation::await(told(data), flag, count));
}

void Builder::accumulate(const Slice& from, const Slice& to, std::int32_t flag) {
  if (from.empty()) return signal(kNothing, flag);  // the others count on it
  add({OpKind::accumulate, -1, from, to, Into::right, flag});
}

void Builder::wait_also_for(OpIndex earlier) {
  auto& after = program_.after.back();
  after.insert(std::lower_bound(after.begin(), after.end(), earlier), earlier);
  after.erase(std::unique(after.begin(), after.end()), after.end());
}

void Builder::piggyback_last() {
  if (!telemetry_) return;
  program_.piggybacking.push_back(last());
  const OpKind kind = program_.operations.back().kind;
  const bool tells = kind != OpKind::await && kind != OpKind::recv;
  if (tells && background()) depend_on_arrival();
}

Slice Builder::fold(const Slice& received, Received side, const Slice& own, const Slice& spare) {
  if (!commutative()) return fold_in_order(received, side, own, spare);
  if (writable(own)) {
    const bool left = side == Received::left;
    combine(left ? received : own, left ? own : received, left ? Into::right : Into::left);
    return own;
  }
  if (side == Received::right) {
    combine(own, received, Into::right);
  } else {
    combine(received, own, Into::left);
  }
  return received;
}

Slice Builder::fold_in_order(const Slice& received, Received side, const Slice& own,
                             const Slice& spare) {
  if (side == Received::right) {
    combine(own, received, Into::right);
    return received;
  }
  const Slice mine = writable(own) ? own : spare;
  copy(own, mine);
  combine(received, mine, Into::right);
  return mine;
}

Slice Builder::receive_and_fold(Rank from, Range range, Received side, bool final) {
  if (final && !commutative()) return receive_and_fold_in_order(from, range, side);
  const Slice own = input(range);
  const Slice goal = output(range);
  // The output must not be written before the arrival: data that may be there earlier need scratch.
  if (final && !writable(own) && !background()) {
    recv(from, goal);
    return fold(goal, side, own, goal);
  }
  const Slice landing = scratch(range.count);
  recv(from, landing);
  if (commutative() && !final) {
    // Into scratch also in place: the receive of the final result into the output must not wait
    // until the partial one has left.
    const bool left = side == Received::left;
    combine(left ? landing : own, left ? own : landing, left ? Into::left : Into::right);
    return landing;
  }
  const Slice result = fold(landing, side, own, goal);
  if (!final) return result;
  copy(result, goal);
  return goal;
}

Slice Builder::receive_and_fold_in_order(Rank from, Range range, Received side) {
  const Slice own = input(range);
  const Slice goal = output(range);
  const bool direct = side == Received::right && !writable(own) && !background();
  const Slice landing = direct ? goal : scratch(range.count);
  recv(from, landing);
  copy(fold_in_order(landing, side, own, goal), goal);
  return goal;
}

}  // namespace latecomer
