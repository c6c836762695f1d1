#include "worlds/world.hpp"

#include <latecomer/latecomer_mpi.h>

#include <algorithm>
#include <map>
#include <regex>
#include <sstream>

#include "worlds/values.hpp"

namespace latecomer::worlds {
namespace {

constexpr int kFailures = 0;  // Tags::kFailures
constexpr int kControl = 4;   // Tags::kControl

/// What a world's ranks find out together.
struct Findings {
  Outcome outcome;
  std::map<std::pair<int, int>, std::vector<char>> expected;  // for a step and a communicator
  std::map<std::pair<int, int>, std::vector<char>> first;     // the bits that came first
  std::map<std::pair<int, int>, std::string> counts;          // what a rank says was done
  std::vector<int> at;                                        // the step of each rank

  void fault(const std::string& text) { outcome.faults.push_back(text); }
};

/// The algorithm of the last call, as far as the communicator's statistics tell it.
std::string last_algorithm(MPI_Comm comm, const std::string& collective, std::uint64_t bytes) {
  int keys = 0;
  latecomer_count_stats(comm, &keys, nullptr);
  for (int i = 0; i < keys; ++i) {
    static latecomer_key_stats stats;  // large
    if (latecomer_get_key_stats(comm, i, &stats) != MPI_SUCCESS || stats.last_choice < 0) continue;
    if (stats.collective != collective || stats.bytes != bytes || stats.exact != 0) continue;
    const auto& choice = stats.choices[stats.last_choice];
    return std::string(choice.algorithm) + ' ' + choice.parameters;
  }
  return "unknown";
}

class Rank {
 public:
  Rank(const World& world, Scheduler& scheduler, Findings& findings)
      : world_(world), scheduler_(scheduler), findings_(findings) {}

  void live() {
    int provided = 0;
    PMPI_Init_thread(nullptr, nullptr, MPI_THREAD_SINGLE, &provided);
    PMPI_Op_create(compose, 0, &compose_);
    comms_.push_back(MPI_COMM_WORLD);
    prepare(MPI_COMM_WORLD);
    for (std::size_t i = 0; i < world_.steps.size(); ++i) {
      const int number = static_cast<int>(i);
      findings_.at[scheduler_.me()] = number;
      if (world_.dies == scheduler_.me() && world_.dies_before == number) {
        scheduler_.kill(scheduler_.me());
      }
      take(world_.steps[i], number);
    }
    findings_.at[scheduler_.me()] = static_cast<int>(world_.steps.size());
    if (scheduler_.me() == 0) break_at_end();
    for (std::size_t i = comms_.size(); i-- > 1;) {
      if (comms_[i] != MPI_COMM_NULL) PMPI_Comm_free(&comms_[i]);
    }
    latecomer_prepare_finalize();
    PMPI_Finalize();
  }

 private:
  [[nodiscard]] bool breaks(const char* fault) const {
    return scheduler_.me() == 0 && world_.broken == fault;
  }

  /// What rank 0 does wrong after its last call, for the test of the checks.
  void break_at_end() {
    static int word = 0;
    const std::string& fault = world_.broken;
    MPI_Request request = MPI_REQUEST_NULL;
    if (fault == "message") PMPI_Isend(&word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &request);
    if (fault == "receive") PMPI_Irecv(&word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, &request);
    if (fault == "stuck") PMPI_Recv(&word, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (fault == "late") scheduler_.spend(7200 * kSecond);
    if (fault == "barrier") PMPI_Barrier(MPI_COMM_WORLD);
    if (fault == "group") {
      MPI_Group group = MPI_GROUP_NULL;
      PMPI_Comm_group(MPI_COMM_WORLD, &group);
    }
    if (fault == "datatype") {
      MPI_Datatype made = MPI_DATATYPE_NULL;
      PMPI_Type_create_resized(MPI_INT, 0, 8, &made);
    }
    for (int i = 0; fault == "communicator" && i < 5; ++i) {
      MPI_Comm made = MPI_COMM_NULL;
      PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &made);
    }
    while (fault == "silence") {
      int found = 0;
      PMPI_Iprobe(0, 99, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
      scheduler_.pause(scheduler_.now() + kSecond);
    }
  }

  void prepare(MPI_Comm comm) {
    PMPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (const char* const collective :
         {"allreduce", "reduce", "bcast", "allgather", "gather", "scatter"}) {
      if (latecomer_set_algorithm(comm, collective, world_.algorithm.c_str()) != MPI_SUCCESS) {
        if (world_.algorithm.rfind("auto", 0) == 0) {
          findings_.fault("rank " + std::to_string(scheduler_.me()) + ": cannot set " +
                          world_.algorithm + ": " + latecomer_last_error());
        }
      }
    }
    if (world_.online) latecomer_set_estimate(comm, "online");
  }

  void take(const Step& step, int number) {
    if (step.comm >= static_cast<int>(comms_.size())) return;
    const MPI_Comm comm = comms_[step.comm];
    if (step.kind == Kind::split) {
      comms_.push_back(MPI_COMM_NULL);
      if (comm == MPI_COMM_NULL) return;
      const int parts = std::max(1, step.count);
      PMPI_Comm_split(comm, scheduler_.me() % parts,
                      scheduler_.me() * (step.root % 2 == 0 ? 1 : -1), &comms_.back());
      prepare(comms_.back());
      return;
    }
    if (comm == MPI_COMM_NULL) return;
    scheduler_.spend(step.compute[scheduler_.me()]);
    if (step.kind == Kind::free_comm) {
      if (step.comm > 0) PMPI_Comm_free(&comms_[step.comm]);
      return;
    }
    call(step, number, comm);
  }

  void call(const Step& step, int number, MPI_Comm comm) {
    int me = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &me);
    PMPI_Comm_size(comm, &size);
    const int root = step.root % size;
    const MPI_Datatype type = step.type == 0 ? MPI_INT : step.type == 1 ? MPI_DOUBLE : MPI_UINT64_T;
    const MPI_Op op = step.type == 2 ? compose_ : MPI_SUM;
    const auto bytes = step.count * kWidth[step.type];
    const std::pair key{number, comm};
    std::vector<char> mine = vector_of(step, number, me, step.count);
    std::vector<char> got(bytes);
    std::vector<char> right;
    bool has = true;  // this rank gets a result
    int code = MPI_SUCCESS;
    switch (step.kind) {
      case Kind::allreduce:
        code = latecomer_allreduce(mine.data(), got.data(), step.count, type, op, comm);
        right = expected(step, number, comm, size);
        break;
      case Kind::reduce:
        code = latecomer_reduce(mine.data(), got.data(), step.count, type, op, root, comm);
        has = me == root;
        if (has) right = expected(step, number, comm, size);
        break;
      case Kind::bcast:
        if (me == root) got = mine;
        code = latecomer_bcast(got.data(), step.count, type, root, comm);
        right = vector_of(step, number, root, step.count);
        break;
      case Kind::allgather:
      case Kind::gather:
        has = step.kind == Kind::allgather || me == root;
        got.resize(has ? bytes * size : 0);
        code = step.kind == Kind::allgather
                   ? latecomer_allgather(mine.data(), step.count, type, got.data(), step.count,
                                         type, comm)
                   : latecomer_gather(mine.data(), step.count, type, got.data(), step.count, type,
                                      root, comm);
        for (int rank = 0; has && rank < size; ++rank) {
          const auto part = vector_of(step, number, rank, step.count);
          right.insert(right.end(), part.begin(), part.end());
        }
        break;
      case Kind::scatter: {
        std::vector<char> whole;
        if (me == root) whole = vector_of(step, number, root, step.count * size);
        code = latecomer_scatter(whole.data(), step.count, type, got.data(), step.count, type, root,
                                 comm);
        whole = vector_of(step, number, root, step.count * size);
        right.assign(whole.begin() + static_cast<std::ptrdiff_t>(me * bytes),
                     whole.begin() + static_cast<std::ptrdiff_t>((me + 1) * bytes));
        break;
      }
      default:
        return;
    }
    ++findings_.outcome.calls;
    if (breaks("error")) code = MPI_ERR_OTHER;
    if (breaks("data")) got[bytes - 1] ^= 0x40;  // the exponent of a double
    if (breaks("bits")) got[0] ^= 1;             // its last bit
    const std::string where =
        "step " + std::to_string(number) + ", rank " + std::to_string(scheduler_.me());
    if (code != MPI_SUCCESS) {
      if (world_.dies < 0) findings_.fault(where + ": error: " + latecomer_last_error());
      return;
    }
    if (has) check(step, where, key, got, right);
    latecomer_stats stats{};
    latecomer_get_stats(comm, &stats);
    if (breaks("decision")) ++stats.handled;
    std::ostringstream counts;
    counts << stats.handled << " handled, " << stats.native << " by the library";
    const auto [first, made] = findings_.counts.emplace(key, counts.str());
    if (first->second != counts.str()) {
      findings_.fault(where + ": " + counts.str() + ", where another rank has " + first->second);
    }
  }

  void check(const Step& step, const std::string& where, const std::pair<int, int>& key,
             const std::vector<char>& got, const std::vector<char>& right) {
    const bool sum = step.kind == Kind::allreduce || step.kind == Kind::reduce;
    if (sum ? !agree(step, got, right) : got != right) findings_.fault(where + ": wrong data");
    if (step.kind != Kind::allreduce) return;
    const auto [first, made] = findings_.first.emplace(key, got);
    if (first->second != got) {
      findings_.fault(where + ": other bits than another rank, by " +
                      last_algorithm(key.second, "allreduce", got.size()));
    }
  }

  const std::vector<char>& expected(const Step& step, int number, MPI_Comm comm, int size) {
    auto& right = findings_.expected[{number, comm}];
    if (right.empty()) right = reduced(step, number, size);
    return right;
  }

  const World& world_;
  Scheduler& scheduler_;
  Findings& findings_;
  std::vector<MPI_Comm> comms_;
  MPI_Op compose_ = MPI_OP_NULL;
};

const Globals& library() {
  static const Globals found = [] {
    (void)latecomer_last_error();  // the variables of this thread come into being
    return Globals("liblatecomer_mpich");
  }();
  return found;
}

/// A rank that polls waits in a call of ours; in one of MPI's own it would be silent. Its last
/// report must name a rank that it waits for.
void check_reports(const Scheduler& scheduler, const MpiState& state, Findings& findings) {
  for (int rank = 0; rank < static_cast<int>(state.ranks.size()); ++rank) {
    if (scheduler.ended(rank) || scheduler.dead(rank) || !state.ranks[rank].polls) continue;
    const std::string own = "\n" + std::to_string(rank) + ": latecomer: ";
    const std::string said = "\n" + scheduler.said();
    const auto begin = said.rfind(own);
    const std::string line = begin == std::string::npos
                                 ? "nothing"
                                 : said.substr(begin + 1, said.find('\n', begin + 1) - begin);
    static const std::regex named(R"(waiting for .*\b(rank|node) [0-9]+)");
    if (!std::regex_search(line, named)) {
      findings.fault("rank " + std::to_string(rank) + ": waits in step " +
                     std::to_string(findings.at[rank]) + ", and says " + line);
    }
  }
}

void check_remains(const MpiState& state, std::ptrdiff_t most_comms, Findings& findings) {
  for (std::size_t rank = 0; rank < state.ranks.size(); ++rank) {
    const RankState& mine = state.ranks[rank];
    const auto left = [&](const std::string& what, std::size_t number) {
      if (number > 0) {
        findings.fault("rank " + std::to_string(rank) + ": leaves " + std::to_string(number) + " " +
                       what);
      }
    };
    for (const auto& [context, all] : mine.arrived) {
      for (const auto& message : all) {
        // Nobody waits for the last control messages (transports/mpi/leftovers.hpp), nor for
        // questions to a rank that has come meanwhile.
        if ((message.tag == kControl || message.tag == kFailures) && message.size <= 64) continue;
        left("message of " + std::to_string(message.size) + " B from rank " +
                 std::to_string(message.source) + ", tag " + std::to_string(message.tag),
             1);
      }
    }
    std::size_t receives = 0;
    for (const auto& [context, all] : mine.posted) receives += all.size();
    left("receives that nobody serves", receives);
    left("groups", mine.groups.size());
    left("datatypes", mine.types.size());
    // The library keeps its own communicators for later ones of the same ranks: one of each.
    const auto own = std::count_if(mine.comms.begin(), mine.comms.end(), [](const auto& each) {
      return each.second.alive && (each.first & 0xff000000) == 0x84000000;
    });
    if (own > most_comms) left("communicators", own);
  }
}

}  // namespace

Outcome play(const World& world) {
  Findings findings;
  findings.at.resize(world.ranks);
  {
    Scheduler scheduler(world.ranks, library(), world.seed);
    MpiState state(scheduler, world.net, world.ranks);
    set_here(&state);
    std::vector<Rank> ranks;
    ranks.reserve(world.ranks);
    for (int rank = 0; rank < world.ranks; ++rank) {
      ranks.emplace_back(world, scheduler, findings);
      state.ranks[rank].host = "host" + std::to_string(rank / world.per_host);
      auto environment = world.environment;
      if (rank == world.other_settings) environment.emplace_back("LATECOMER_REPRODUCIBLE=1");
      scheduler.start(rank, [&ranks, rank] { ranks[rank].live(); }, environment);
      if (!world.drifts.empty()) {
        scheduler.set_clock(rank, kSecond * (rank + 1), world.drifts[rank]);
      }
    }
    // An hour for a world that ends; what is said about a dead rank is said within minutes.
    const End end = scheduler.run((world.dies < 0 ? 3600 : 300) * kSecond);
    for (const auto& fault : state.faults) findings.fault(fault);
    if (end != End::all && world.dies < 0) {
      std::ostringstream text;
      text << (end == End::stuck ? "stuck" : "an hour of the world's time is over") << ":";
      for (int rank = 0; rank < world.ranks; ++rank) {
        if (scheduler.ended(rank)) continue;
        text << " rank " << rank << " in " << state.ranks[rank].last_call << " of step "
             << findings.at[rank] << ";";
      }
      findings.fault(text.str());
    }
    if (end != End::all && world.dies >= 0) check_reports(scheduler, state, findings);
    if (end == End::all && world.dies < 0) {
      check_remains(state,
                    1 + std::count_if(world.steps.begin(), world.steps.end(),
                                      [](const Step& each) { return each.kind == Kind::split; }),
                    findings);
    }
    findings.outcome.messages = state.messages;
    findings.outcome.said = scheduler.said();
    for (int rank = 0; rank < world.ranks; ++rank) {
      findings.outcome.took = std::max(findings.outcome.took, scheduler.clock(rank));
    }
  }
  return findings.outcome;
}

}  // namespace latecomer::worlds
