#include "runner.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "base/reproducible.hpp"
#include "runtime/connection/predecessors.hpp"

namespace latecomer::testing {
namespace {

constexpr unsigned kDeadline = 120;  // seconds without progress: a hang ends, and names itself
constexpr int kMaxNotes = 5;

struct Entry {
  const char* name;
  Test test;
};

std::vector<Entry>& entries() {
  static std::vector<Entry> all;
  return all;
}

int failures_here = 0;

/// The command line: --quick, --turn N, --seed N, --thread (main.cpp's), and words that a case's
/// name must contain.
struct Options {
  bool quick = false;
  std::uint64_t turn = 0;
  std::uint64_t seed = 1;
  std::vector<std::string> words;

  Options(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
      if (std::strcmp(argv[i], "--quick") == 0) {
        quick = true;
      } else if (std::strcmp(argv[i], "--thread") == 0) {
        continue;
      } else if (std::strcmp(argv[i], "--turn") == 0 && i + 1 < argc) {
        turn = std::strtoull(argv[++i], nullptr, 10);
      } else if (std::strcmp(argv[i], "--seed") == 0 && i + 1 < argc) {
        seed = std::strtoull(argv[++i], nullptr, 10);
      } else {
        words.emplace_back(argv[i]);
      }
    }
  }
  [[nodiscard]] bool wants(const std::string& name) const {
    for (const std::string& word : words) {
      if (name.find(word) != std::string::npos) return true;
    }
    return words.empty();
  }
};

bool run_one(const Entry& entry, const Context& context) {
  failures_here = 0;
  note_progress();
  const double begin = MPI_Wtime();
  entry.test(context);
  int failures = 0;
  forget_predecessors();  // a test may have changed their resources
  MPI_Allreduce(&failures_here, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  alarm(0);
  if (context.rank == 0) {
    std::printf("%-6s %s on %d ranks (seed %llu, turn %llu, %.1f s)\n",
                failures == 0 ? "ok" : "FAILED", entry.name, context.ranks,
                static_cast<unsigned long long>(context.seed),
                static_cast<unsigned long long>(context.turn), MPI_Wtime() - begin);
    std::fflush(stdout);
  }
  return failures == 0;
}

}  // namespace

bool Context::takes(std::uint64_t drawn) const { return !quick || drawn % 3 == turn % 3; }

Case::Case(const char* name, Test test) { entries().push_back({name, test}); }

void note_progress() { alarm(kDeadline); }

void note_failure(const char* file, int line, const std::string& text) {
  if (++failures_here > kMaxNotes) return;
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  std::fprintf(stderr, "%s:%d: rank %d: %s\n", file, line, rank, text.c_str());
}

int run_all(int argc, char** argv) {
  const Options options(argc, argv);
  Context context{0, 1, 0, options.quick, options.turn};
  MPI_Comm_rank(MPI_COMM_WORLD, &context.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &context.ranks);
  int passed = 0;
  int failed = 0;
  for (const Entry& entry : entries()) {
    if (!options.wants(entry.name)) continue;
    context.seed = options.seed + fnv1a(entry.name) % 1000000;
    ++(run_one(entry, context) ? passed : failed);
  }
  if (context.rank == 0) std::printf("%d passed, %d failed\n", passed, failed);
  return failed == 0 && passed > 0 ? 0 : 1;
}

}  // namespace latecomer::testing
