// Reads the text forms of plans and programs, which `show` prints, golden files hold and tests
// mutate; plan.cpp and program.cpp write them.

#include <algorithm>
#include <charconv>

#include "base/error.hpp"
#include "base/parse.hpp"
#include "base/threads.hpp"
#include "schedule/plan.hpp"
#include "schedule/program.hpp"

namespace latecomer {
namespace {

constexpr std::size_t kMaxInner = 2;  // plans within a plan, and levels of them

/// Reads one line word by word; every failure names the line.
class Words {
 public:
  explicit Words(std::string_view line) : line_(line), rest_(line) {}

  std::string_view next() {
    const auto begin = rest_.find_first_not_of(' ');
    if (begin == std::string_view::npos) fail("one more word");
    rest_.remove_prefix(begin);
    const auto word = rest_.substr(0, rest_.find(' '));
    rest_.remove_prefix(word.size());
    return word;
  }
  [[nodiscard]] bool more() const { return rest_.find_first_not_of(' ') != std::string_view::npos; }
  void expect(std::string_view word) {
    if (next() != word) fail("'" + std::string(word) + "'");
  }
  void end() {
    if (more()) fail("no further words");
  }

  template <typename Number>
  Number number(std::string_view word, int base = 10) {
    Number value{};
    const char* last = word.data() + word.size();
    const auto [rest, error] = std::from_chars(word.data(), last, value, base);
    if (error != std::errc() || rest != last)
      fail("a whole number instead of " + std::string(word));
    return value;
  }
  template <typename Number>
  Number number() {
    return number<Number>(next());
  }
  template <typename Number>
  std::vector<Number> numbers() {
    std::vector<Number> list;
    while (more()) list.push_back(number<Number>());
    return list;
  }
  bool flag() {
    const auto word = next();
    if (word != "yes" && word != "no") fail("yes or no");
    return word == "yes";
  }
  Progress progress() {
    const auto word = next();
    if (word != "foreground" && word != "background") fail("foreground or background");
    return word == "foreground" ? Progress::foreground : Progress::background;
  }
  Slice slice();

  [[noreturn]] void fail(const std::string& remedy) const {
    throw Error("line", std::string(line_), remedy);
  }

 private:
  std::string_view line_;
  std::string_view rest_;
};

Slice Words::slice() {
  const auto word = next();
  const auto open = word.find('[');
  const auto colon = word.find(':');
  if (open == std::string_view::npos || colon == std::string_view::npos || word.back() != ']') {
    fail("a slice such as scratch[0:4]");
  }
  Slice slice;
  const auto buffer = word.substr(0, open);
  const auto* const known = std::find(kBufferNames.begin(), kBufferNames.end(), buffer);
  if (known == kBufferNames.end()) fail("a buffer: input, output, scratch or node");
  slice.buffer = static_cast<Buffer>(known - kBufferNames.begin());
  slice.begin = number<Count>(word.substr(open + 1, colon - open - 1));
  const auto end = number<Count>(word.substr(colon + 1, word.size() - colon - 2));
  if (slice.begin < 0 || end < slice.begin) fail("a slice from 0 up, its end not before its begin");
  slice.count = end - slice.begin;
  return slice;
}

std::int32_t parse_flag(Words& words) {
  words.expect("flag");
  return words.number<std::int32_t>();
}

Operation parse_operation(Words& words) {
  Operation op;
  const auto kind = words.next();
  if (kind == "arrive") {
    op.kind = OpKind::arrive;
  } else if (kind == "send") {
    op.kind = OpKind::send;
    op.source = words.slice();
    words.expect("to");
    op.peer = words.number<Rank>();
  } else if (kind == "recv") {
    op.kind = OpKind::recv;
    op.target = words.slice();
    words.expect("from");
    op.peer = words.number<Rank>();
  } else if (kind == "copy") {
    op.kind = OpKind::copy;
    op.source = words.slice();
    words.expect("to");
    op.target = words.slice();
  } else if (kind == "combine") {
    op.kind = OpKind::combine;
    op.source = words.slice();
    op.target = words.slice();
    words.expect("into");
    const auto into = words.next();
    if (into != "left" && into != "right") words.fail("into left or into right");
    op.into = into == "left" ? Into::left : Into::right;
  } else if (kind == "signal") {
    op.kind = OpKind::signal;
    const auto what = words.next();
    if (what != "data" && what != "use") words.fail("data or use");
    (what == "data" ? op.source : op.target) = words.slice();
    op.flag = parse_flag(words);
  } else if (kind == "await") {
    op.kind = OpKind::await;
    op.target = words.slice();
    op.flag = parse_flag(words);
    words.expect("count");
    op.count = words.number<Rank>();
  } else if (kind == "accumulate") {
    op.kind = OpKind::accumulate;
    op.source = words.slice();
    words.expect("to");
    op.target = words.slice();
    op.flag = parse_flag(words);
  } else {
    words.fail("arrive, send, recv, combine, copy, signal, await or accumulate");
  }
  return op;
}

/// The lines of a text, without empty ones and those that start with #.
class Lines {
 public:
  explicit Lines(std::string_view text) {
    for (const std::string_view line : split(text, '\n')) {
      if (!line.empty() && line.front() != '#') lines_.push_back(line);
    }
  }
  [[nodiscard]] bool more() const { return at_ < lines_.size(); }
  [[nodiscard]] std::string_view peek() const { return more() ? lines_[at_] : ""; }
  Words next() {
    interruption_point();
    if (!more()) throw Error("text", "(its end)", "one more line");
    return Words(lines_[at_++]);
  }
  void title(std::string_view expected) {
    if (peek() != expected) {
      throw Error("line", std::string(peek()), "'" + std::string(expected) + "'");
    }
    ++at_;
  }
  Words field(std::string_view name) {
    Words words = next();
    words.expect(name);
    return words;
  }
  /// A field of one word.
  Words only(std::string_view name) {
    Words words = field(name);
    Words ahead = words;
    ahead.next();
    ahead.end();
    return words;
  }

 private:
  std::vector<std::string_view> lines_;
  std::size_t at_ = 0;
};

void parse_header(Lines& lines, Program& program) {
  lines.title(kProgramTitle);
  Words plan = lines.only("plan");
  program.plan_hash = plan.number<std::uint64_t>(plan.next(), 16);
  Words rank = lines.field("rank");
  program.me = rank.number<Rank>();
  rank.expect("of");
  program.ranks = rank.number<Rank>();
  rank.end();
  Words buffers = lines.field("buffers");
  buffers.expect("input");
  program.input_count = buffers.number<Count>();
  buffers.expect("output");
  program.output_count = buffers.number<Count>();
  buffers.expect("scratch");
  program.scratch_count = buffers.number<Count>();
  buffers.end();
  if (lines.peek().starts_with("node ")) {
    Words node = lines.field("node");
    program.node = node.number<Rank>();
    node.expect("count");
    program.node_count = node.number<Count>();
    node.expect("flags");
    program.flags = node.number<std::int32_t>();
    node.end();
  } else {
    program.node = program.me;
  }
  program.in_place = lines.only("in-place").flag();
  program.commutative = lines.only("commutative").flag();
  program.progress = lines.only("progress").progress();
  if (lines.peek().starts_with("receiver-paced ")) {
    program.receiver_paced = lines.only("receiver-paced").flag();
  }
  if (lines.peek().starts_with("telling ")) {
    Words piggybacking = lines.field("telling");
    program.piggybacking = piggybacking.numbers<OpIndex>();
  }
}

Program parse_program(Lines& lines) {
  Program program;
  parse_header(lines, program);
  while (lines.peek() != "end") {
    Words words = lines.next();
    const auto index = words.number<OpIndex>();
    if (index != program.operations.size()) {
      words.fail("operation number " + std::to_string(program.operations.size()));
    }
    program.operations.push_back(parse_operation(words));
    if (words.more()) words.expect("after");
    program.after.push_back(words.numbers<OpIndex>());
  }
  lines.title("end");
  return program;
}

/// Each rank once, or no order at all.
void check_order(const Plan& plan) {
  if (plan.order.empty()) return;
  std::vector<Rank> sorted = plan.order;
  std::sort(sorted.begin(), sorted.end());
  // The number of ranks alone is not to take memory.
  const bool fits = sorted.size() == static_cast<std::size_t>(plan.problem.ranks);
  if (!fits || sorted != order_by_arrival(plan.problem.ranks, {})) {
    throw Error("order", std::to_string(plan.order.size()) + " ranks",
                "each of the " + std::to_string(plan.problem.ranks) + " ranks once");
  }
}

Plan parse_plan(Lines& lines, std::size_t depth = 0) {
  Plan plan;
  Problem& problem = plan.problem;
  lines.title(kPlanTitle);
  plan.algorithm = lines.only("algorithm").next();
  problem.collective = parse_collective(lines.only("collective").next());
  problem.ranks = lines.only("ranks").number<Rank>();
  problem.count = lines.only("count").number<Count>();
  problem.element_bytes = lines.only("element-bytes").number<Count>();
  problem.root = lines.only("root").number<Rank>();
  problem.commutative = lines.only("commutative").flag();
  problem.in_place = lines.only("in-place").flag();
  plan.progress = lines.only("progress").progress();
  while (lines.peek() != "end") {
    Words words = lines.next();
    const auto field = words.next();
    if (field == "exact") {
      problem.exact = words.flag();
    } else if (field == "parts") {
      problem.parts = words.numbers<Count>();
    } else if (field == "telemetry") {
      plan.telemetry = words.flag();
    } else if (field == "parameter") {
      const auto parameter = words.next();
      plan.parameters.emplace(parameter, words.number<Count>());
    } else if (field == "order") {
      plan.order = words.numbers<Rank>();
    } else if (field == "table") {
      plan.table = words.numbers<Count>();
    } else if (field == "placement") {
      plan.placement = words.numbers<Rank>();
    } else if (field == "inner") {
      if (depth == kMaxInner || plan.inner.size() == kMaxInner)
        words.fail("two inner plans at most");
      words.end();
      plan.inner.push_back(parse_plan(lines, depth + 1));
    } else {
      words.fail("exact, parts, telemetry, parameter, order, table, placement, inner or end");
    }
    words.end();
  }
  lines.title("end");
  check(problem);
  check_order(plan);
  check_placement(plan.placement, problem.ranks);
  return plan;
}

}  // namespace

Plan parse_plan(std::string_view text) {
  Lines lines(text);
  Plan plan = parse_plan(lines);
  if (lines.more()) lines.next().fail("the end of the text");
  return plan;
}

Schedule parse_schedule(std::string_view text) {
  Lines lines(text);
  Schedule schedule{parse_plan(lines), {}};
  while (lines.more()) schedule.programs.push_back(parse_program(lines));
  return schedule;
}

}  // namespace latecomer
