#include "schedule/program.hpp"

#include "base/parse.hpp"
#include "base/text.hpp"
#include "base/threads.hpp"

namespace latecomer {

RankContext context_of(const Plan& plan, Rank me) {
  const Problem& problem = plan.problem;
  RankContext context;
  context.plan_hash = hash(plan);
  context.me = me;
  context.ranks = problem.ranks;
  context.input_count = problem.input(me).count;
  context.output_count = problem.output(me).count;
  context.node = plan.placement.empty() ? me : plan.placement[static_cast<std::size_t>(me)];
  context.in_place = problem.in_place_at(me);
  context.commutative = problem.commutative;
  context.progress = plan.progress;
  return context;
}

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
    case OpKind::signal:
    case OpKind::await:
      return {{operation.source, {}}, operation.target};
    case OpKind::accumulate:
      return {{operation.source, operation.target}, operation.target};
  }
  return {};
}

std::string to_text(const Slice& slice) {
  // Unsigned: a broken program's slice may end beyond all numbers, and is shown all the same.
  const auto end =
      static_cast<std::uint64_t>(slice.begin) + static_cast<std::uint64_t>(slice.count);
  return std::string(kBufferNames[static_cast<int>(slice.buffer)]) + '[' +
         std::to_string(slice.begin) + ':' + std::to_string(static_cast<Count>(end)) + ']';
}

std::string to_text(const Operation& op) {
  const auto flag_text = [](const Operation& of) { return " flag " + std::to_string(of.flag); };
  switch (op.kind) {
    case OpKind::arrive:
      return "arrive";
    case OpKind::send:
      return "send " + to_text(op.source) + " to " + std::to_string(op.peer);
    case OpKind::recv:
      return "recv " + to_text(op.target) + " from " + std::to_string(op.peer);
    case OpKind::copy:
      return "copy " + to_text(op.source) + " to " + to_text(op.target);
    case OpKind::combine:
      return "combine " + to_text(op.source) + ' ' + to_text(op.target) + " into " +
             (op.into == Into::left ? "left" : "right");
    case OpKind::signal:
      return "signal " +
             (op.target.empty() ? "data " + to_text(op.source) : "use " + to_text(op.target)) +
             flag_text(op);
    case OpKind::await:
      return "await " + to_text(op.target) + flag_text(op) + " count " + std::to_string(op.count);
    case OpKind::accumulate:
      return "accumulate " + to_text(op.source) + " to " + to_text(op.target) + flag_text(op);
  }
  return "";
}

std::string to_text(const Program& program) {
  TextOut out;
  out << kProgramTitle << "\nplan " << format_hex(program.plan_hash, 16) << "\nrank " << program.me
      << " of " << program.ranks << "\nbuffers input " << program.input_count << " output "
      << program.output_count << " scratch " << program.scratch_count << '\n';
  if (program.node != program.me || program.node_count > 0 || program.flags > 0) {
    out << "node " << program.node << " count " << program.node_count << " flags " << program.flags
        << '\n';
  }
  out << "in-place " << yes_no(program.in_place) << "\ncommutative " << yes_no(program.commutative)
      << "\nprogress " << to_string(program.progress) << '\n';
  if (program.receiver_paced) out << "receiver-paced yes\n";
  out.list("telling", program.piggybacking);
  for (std::size_t i = 0; i < program.operations.size(); ++i) {
    interruption_point();
    out << i << ' ' << to_text(program.operations[i]);
    if (!program.after[i].empty()) out << " after";
    for (const OpIndex index : program.after[i]) out << ' ' << index;
    out << '\n';
  }
  out << "end\n";
  return out.take();
}

std::string to_text(const Schedule& schedule) {
  std::string text = to_text(schedule.plan);
  for (const Program& program : schedule.programs) text += to_text(program);
  return text;
}

}  // namespace latecomer
