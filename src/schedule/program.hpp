// A program: the operations of one rank in one call, as data. They are listed in program order; the
// order in which they must wait for each other follows from the elements they touch.
//
// Matching: the n-th send from a to b in program order is received by the n-th receive at b
// from a. Operand order: combine computes `left op right` and leaves it in place of one operand.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.hpp"
#include "schedule/plan.hpp"

namespace latecomer {

/// Before the local arrival only scratch and the node's buffer may be touched. In place, `input` is
/// not used. The ranks of a node share one buffer `node`.
enum class Buffer : std::uint8_t { input, output, scratch, node };
inline constexpr int kBuffers = 4;
inline constexpr std::array<std::string_view, kBuffers> kBufferNames = {"input", "output",
                                                                        "scratch", "node"};
/// The most bytes of a node's buffer, and flags, that a program uses.
inline constexpr Count kMaxNodeBytes = Count{32} << 20;
inline constexpr std::int32_t kMaxNodeFlags = 4096;

/// `count` elements of a buffer, from `begin`.
struct Slice {
  Buffer buffer = Buffer::scratch;
  Count begin = 0;
  Count count = 0;

  [[nodiscard]] Count end() const { return begin + count; }
  [[nodiscard]] bool empty() const { return count == 0; }
  [[nodiscard]] bool overlaps(const Slice& other) const {
    return buffer == other.buffer && begin < other.end() && other.begin < end();
  }
  /// The part from `offset`, `length` elements long.
  [[nodiscard]] Slice part(Count offset, Count length) const {
    return {buffer, begin + offset, length};
  }
  bool operator==(const Slice&) const = default;
};

/// The slice of a message without elements, which only carries piggyback data.
inline constexpr Slice kNothing{Buffer::scratch, 0, 0};

/// A node has flags, which count from 0 in each call. `signal` adds 1 to one: what this rank did
/// before is then known to whoever awaits it. `await` waits until a flag has counted so far.
/// `accumulate` combines a slice into the node's buffer and adds 1; the first one on a flag copies.
/// Of several on one flag only one runs at a time, in any order: for commutative operators.
enum class OpKind : std::uint8_t { arrive, send, recv, combine, copy, signal, await, accumulate };
enum class Into : std::uint8_t { left, right };

struct Operation {
  OpKind kind = OpKind::arrive;
  Rank peer = -1;  // send, recv
  // signal: the data that it tells of; for the reads of a target, the use of which has ended, it is
  // `target`. await: the data that others wrote (or, if this rank writes next, used).
  Slice source;             // send: the data; copy, accumulate: from; combine: left
  Slice target;             // recv, copy, accumulate: to; combine: right
  Into into = Into::right;  // combine
  std::int32_t flag = -1;   // signal, await, accumulate
  Rank count = 0;           // await

  static Operation send(Rank to, const Slice& data) { return {OpKind::send, to, data, {}}; }
  static Operation recv(Rank from, const Slice& to) { return {OpKind::recv, from, {}, to}; }
  static Operation copy(const Slice& from, const Slice& to) { return {OpKind::copy, -1, from, to}; }
  static Operation combine(const Slice& left, const Slice& right, Into into) {
    return {OpKind::combine, -1, left, right, into};
  }
  static Operation signal(const Slice& written, std::int32_t flag) {
    return {OpKind::signal, -1, written, {}, Into::right, flag};
  }
  static Operation await(const Slice& data, std::int32_t flag, Rank count) {
    return {OpKind::await, -1, {}, data, Into::right, flag, count};
  }

  /// The slice that a combine leaves its result in.
  [[nodiscard]] const Slice& result() const { return into == Into::left ? source : target; }
  /// The slice that a message moves.
  [[nodiscard]] const Slice& data() const { return kind == OpKind::send ? source : target; }
  bool operator==(const Operation&) const = default;
};

[[nodiscard]] inline bool is_message(const Operation& op) {
  return op.kind == OpKind::send || op.kind == OpKind::recv;
}

[[nodiscard]] inline bool has_flag(const Operation& op) {
  return op.kind == OpKind::signal || op.kind == OpKind::await || op.kind == OpKind::accumulate;
}

/// True for work on this rank's processor, of which one operation runs at a time.
[[nodiscard]] inline bool is_local(const Operation& op) {
  return op.kind == OpKind::combine || op.kind == OpKind::copy || op.kind == OpKind::accumulate;
}

using OpIndex = std::uint32_t;

/// The context of one rank in a call, for programs and other protocols: facts that all ranks share,
/// and the sizes of this rank's buffers.
struct RankContext {
  std::uint64_t plan_hash = 0;
  Rank me = 0;
  Rank ranks = 1;
  Count input_count = 0;  // elements; 0 in place
  Count output_count = 0;
  Count scratch_count = 0;
  Rank node = 0;         // the node of this rank, where it shares its memory
  Count node_count = 0;  // elements of the node's buffer, and its flags: alike on all its ranks
  std::int32_t flags = 0;
  bool in_place = false;
  bool commutative = true;
  Progress progress = Progress::foreground;

  [[nodiscard]] Count buffer_count(Buffer buffer) const {
    return buffer == Buffer::input     ? input_count
           : buffer == Buffer::output  ? output_count
           : buffer == Buffer::scratch ? scratch_count
                                       : node_count;
  }
  bool operator==(const RankContext&) const = default;
};
/// The node whose memory a rank uses; one of its own, below 0, if it uses none.
[[nodiscard]] inline Rank memory_node(const RankContext& context) {
  const bool shares = context.node_count > 0 || context.flags > 0;
  return shares ? context.node : -1 - context.me;
}
/// The context of rank `me` under the plan, without scratch.
[[nodiscard]] RankContext context_of(const Plan& plan, Rank me);

struct Program : RankContext {
  std::vector<Operation> operations;
  std::vector<std::vector<OpIndex>> after;  // per operation: earlier ones it waits for
  std::vector<OpIndex> piggybacking;        // operations that carry arrival stamps, ascending
  /// Short messages, like long ones, leave when their receive is posted, and receives from
  /// different peers follow each other.
  bool receiver_paced = false;

  bool operator==(const Program&) const = default;
};

/// The slices that an operation reads and writes: up to 2 reads and 1 write. An arrival has none
/// here; it counts as writing the whole input and output.
struct Accesses {
  Slice reads[2];
  Slice write;
};
[[nodiscard]] Accesses accesses(const Operation& operation);

/// The first line of the text form.
inline constexpr std::string_view kProgramTitle = "latecomer-program 1";
/// The text form: a header, then one operation a line with `after` and its dependencies.
[[nodiscard]] std::string to_text(const Program& program);

/// A plan and the programs of all its ranks.
struct Schedule {
  Plan plan;
  std::vector<Program> programs;
};
/// The plan's text followed by the programs'; empty lines and lines that start with # are skipped.
[[nodiscard]] std::string to_text(const Schedule& schedule);
/// Throws Error naming the line that cannot be read.
[[nodiscard]] Schedule parse_schedule(std::string_view text);

[[nodiscard]] std::string to_text(const Slice& slice);
[[nodiscard]] std::string to_text(const Operation& operation);

}  // namespace latecomer
