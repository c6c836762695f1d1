// Readers of foreign bytes, by name: each refuses bytes by Error, or has a result that it reads
// again as the same. Tests replay the corpus and changes of it; compiled with LATECOMER_LIBFUZZER,
// this is a target of libFuzzer instead, for the reader of that name (evidence/fuzz.py).
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "algorithms/plans.hpp"
#include "algorithms/registry.hpp"
#include "base/error.hpp"
#include "base/files.hpp"
#include "base/json.hpp"
#include "base/network.hpp"
#include "base/parse.hpp"
#include "base/reproducible.hpp"
#include "choose/wisdom.hpp"
#include "rules/rules.hpp"
#include "schedule/placement.hpp"
#include "trace/matched_calls.hpp"
#include "trace/rank_file.hpp"
#include "verify/verify.hpp"

namespace latecomer {
namespace {

/// A broken promise: ends the process, which is what a fuzzer looks for.
void demand(bool holds, const char* what) {
  if (holds) return;
  (void)std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// The text that a value is written as is read as the same value.
template <class Value, class Parse, class Write>
void read_twice(const Value& value, const Parse& parse, const Write& write) {
  const std::string text = write(value);
  demand(write(parse(text)) == text, "read again, it is another one");
}

void json(std::string_view text) { (void)shown(read_json(text, "file", {})); }

void rules(std::string_view text) { (void)read_rules(text, "file"); }

void wisdom(std::string_view text) {
  const auto parse = [](std::string_view from) { return Wisdom(from, "file"); };
  read_twice(parse(text), parse, [](const Wisdom& each) { return each.text(); });
}

void network(std::string_view text) {
  read_twice(parse_network(text), parse_network,
             [](const Network& each) { return to_string(each); });
}

void amount(std::string_view text) {
  const auto refused = [&](auto parse) {
    try {
      (void)parse("amount", text);
    } catch (const Error&) {
      return;
    }
  };
  refused(parse_number);
  refused(parse_bytes);
  refused(parse_seconds);
  refused([](auto what, auto from) { return parse_count(what, from, 1); });
  const std::vector<Count> factors = parse_factors("factors", text);
  demand(decode_factors(encode_factors(factors)) == factors, "factors have another code");
}

/// The text's length says of which collective it is.
void choice(std::string_view text) {
  (void)seed_of(parse_choice(all_collectives()[text.size() % kCollectives], text));
}

void placement(std::string_view text) {
  const auto ranks = static_cast<Rank>(1 + std::ranges::count(text, ','));
  const Placement found = parse_placement(text, ranks);
  check_placement(found, ranks);
  (void)Nodes(found, ranks).most();
}

/// Programs are built of small plans alone: they may be larger than the text by any factor.
void plan(std::string_view text) {
  constexpr Rank kMostRanks = 16;
  constexpr Count kMostElements = 4096;
  const auto write = [](const Plan& each) { return to_text(each); };
  const Plan found = parse_plan(text);
  read_twice(found, [](std::string_view from) { return parse_plan(from); }, write);
  if (found.problem.ranks > kMostRanks || found.problem.count > kMostElements) return;
  check_plan(found);
  const Network network;
  const Executors executors = make_executors(found, network);
}

void schedule(std::string_view text) {
  const auto write = [](const Schedule& each) { return to_text(each); };
  const Schedule found = parse_schedule(text);
  if (!verify(found.plan.problem, found.programs)) read_twice(found, parse_schedule, write);
}

/// A file that no folder has.
class Nameless {
 public:
  explicit Nameless(std::string_view bytes) : file_(memfd_create("bytes", MFD_CLOEXEC)) {
    demand(write(file_.get(), bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
           "no memory for a file");
  }
  [[nodiscard]] std::string path() const { return "/proc/self/fd/" + std::to_string(file_.get()); }

 private:
  OwnDescriptor file_;
};

/// The communicators of the file are matched as if they were parts of one.
void trace_file(std::string_view bytes) {
  trace::Header header;
  std::memcpy(&header, bytes.data(), std::min(bytes.size(), sizeof header));
  const Nameless written(bytes);
  trace::SharedNumbers shared;
  const auto file = std::make_shared<const trace::RankFile>(
      trace::read_rank_file(written.path(), header.rank, shared));
  if (file->refused) return;
  auto words = std::make_shared<trace::Numbered>(std::size_t{1} << 10);
  for (const auto& [number, text] : file->texts) words->set(number, 1);
  for (const bool overlapping : {false, true}) {
    std::vector<trace::Part> parts;
    std::vector<std::int64_t> places;
    for (std::size_t at = 0; at < std::min<std::size_t>(file->comms.size(), 4); ++at) {
      parts.push_back({file, at, words, 0});
      places.push_back(static_cast<std::int64_t>(at));
    }
    trace::MatchedCalls calls(parts, overlapping, header.begin);
    std::vector<trace::Mixed> mixed;
    (void)calls.match(places, mixed);
    std::vector<std::int64_t> rows(std::min<std::size_t>(calls.sequence().size(), 64));
    for (std::size_t at = 0; at < rows.size(); ++at) rows[at] = static_cast<std::int64_t>(at);
    std::vector<double> arrival(rows.size() * places.size());
    std::vector<double> exit(arrival.size());
    calls.read(rows, places, arrival, exit);
  }
}

const std::map<std::string, void (*)(std::string_view)> kReaders = {
    {"amount", amount},    {"choice", choice},       {"json", json},   {"network", network},
    {"plan", plan},        {"placement", placement}, {"rules", rules}, {"schedule", schedule},
    {"trace", trace_file}, {"wisdom", wisdom},
};

void read_or_refuse(void (*reader)(std::string_view), std::string_view bytes) try {
  reader(bytes);
} catch (const Error& error) {
  demand(!error.subject().empty() && !error.remedy().empty(), "an error without words");
}

}  // namespace
}  // namespace latecomer

#ifdef LATECOMER_LIBFUZZER

#include <sanitizer/allocator_interface.h>

namespace {

std::atomic<std::size_t> held = 0;  // bytes
std::atomic<std::size_t> most = 0;

void count(const volatile void* at, std::size_t) {
  held += __sanitizer_get_allocated_size(at);
  most = std::max<std::size_t>(most, held);
}
void discount(const volatile void* at) {
  if (at != nullptr) held -= __sanitizer_get_allocated_size(at);
}

double cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  __sanitizer_install_malloc_and_free_hooks(count, discount);
  return 0;
}

/// At most a second of CPU time, and ten times the input and 64 MiB of memory.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto reader = latecomer::kReaders.at(std::getenv("LATECOMER_FUZZ"));
  const std::size_t before = held;
  const double begin = cpu_seconds();
  most = before;
  latecomer::read_or_refuse(reader, {reinterpret_cast<const char*>(data), size});
  latecomer::demand(cpu_seconds() - begin < 1, "it took more than a second");
  latecomer::demand(most - before < 10 * size + (std::size_t{64} << 20), "it took much memory");
  return 0;
}

#else

#include <gtest/gtest.h>

namespace latecomer {
namespace {

namespace fs = std::filesystem;
constexpr int kChanges = 100;  // of each file

std::string bytes_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Some bytes become others, are left out, or come twice.
std::string changed(std::string bytes, Random& random) {
  constexpr std::string_view kOdd("\0\x7f\xff\"\\{}[]:,=-.019exn \n", 23);
  for (std::uint64_t left = 1 + random.below(4); left > 0 && !bytes.empty(); --left) {
    const std::size_t at = random.below(bytes.size());
    const std::size_t length = 1 + random.below(random.below(2) == 0 ? 2 : 64);
    switch (random.below(3)) {
      case 0:
        bytes[at] = kOdd[random.below(kOdd.size())];
        break;
      case 1:
        bytes.erase(at, length);
        break;
      default:
        bytes.insert(at, bytes.substr(at, length));
    }
  }
  return bytes;
}

using Named = std::pair<const std::string, void (*)(std::string_view)>;
class Readers : public ::testing::TestWithParam<Named> {};

TEST_P(Readers, RefuseOrReadTheCorpusAndChangesOfIt) {
  const auto& [name, reader] = GetParam();
  std::vector<fs::path> paths;
  for (const auto& each : fs::directory_iterator(LATECOMER_TEST_DATA "/fuzz/corpus/" + name)) {
    paths.push_back(each.path());
  }
  ASSERT_FALSE(paths.empty());
  std::ranges::sort(paths);
  Random random(1);
  for (const fs::path& path : paths) {
    SCOPED_TRACE(path.string());
    const std::string bytes = bytes_of(path);
    read_or_refuse(reader, bytes);
    for (int i = 0; i < kChanges; ++i) read_or_refuse(reader, changed(bytes, random));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Readers, ::testing::ValuesIn(kReaders.begin(), kReaders.end()),
                         [](const auto& of) { return of.param.first; });

}  // namespace
}  // namespace latecomer

#endif
