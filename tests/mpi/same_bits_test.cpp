// Every all-reduce of the registry x every datatype x every operator x awkward elements: all ranks
// must get the same bits, whatever the MPI library makes of them. In reproducible mode every call
// must, and every reduce.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "algorithms/registry.hpp"
#include "awkward.hpp"
#include "base/reproducible.hpp"
#include "communicator.hpp"
#include "latecomer/latecomer_mpi.h"
#include "runner.hpp"
#include "runtime/call/datatypes.hpp"
#include "variable.hpp"

namespace latecomer::testing {
namespace {

/// Without `auto` outside of reproducible mode, since it may take the MPI library's own all-reduce,
/// which gives only the bits that this library promises.
std::vector<std::string> own_algorithms(bool reproducible) {
  std::vector<std::string> names;
  for (const Algorithm& row : registry(Collective::allreduce)) {
    const bool decides = row.kind == latecomer::Kind::protocol;
    if (row.kind == latecomer::Kind::native || (reproducible ? decides : row.name == "auto"))
      continue;
    names.emplace_back(row.name);
  }
  names.emplace_back("generalized:group=cyclic");
  names.emplace_back("generalized:steps=1");
  names.emplace_back("generalized:piece=3");
  names.emplace_back("nodes:cells=1:pieces=2");
  names.emplace_back("nodes:among=generalized");
  if (!reproducible) names.emplace_back("online_nodes:blocks=6");
  return names;
}

std::vector<std::string> reproducible_reductions() {
  std::vector<std::string> names;
  for (const Algorithm& row : registry(Collective::reduce)) {
    if (row.kind != latecomer::Kind::native && row.kind != latecomer::Kind::protocol)
      names.emplace_back(row.name);
  }
  return names;
}

struct Circumstances {
  Collective collective = Collective::allreduce;
  std::string algorithm;
  bool reproducible = false;
  std::uint64_t seed = 0;      // of the elements
  std::uint64_t arrivals = 0;  // the seed of the moments at which ranks come
};

/// Some ranks come to some calls a little later.
void come_late(Random& random) {
  const std::uint64_t drawn = random.next();
  if (drawn % 64 != 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(drawn >> 8U & 0x1ffU));
}

/// What a rank got in a call, and which call it was.
struct Got {
  std::uint64_t hash = 0;
  std::string about;
};

/// One call for each kind of elements. Of a reduced set for every eighth one: others with other
/// algorithms and numbers of ranks, so that 2 to 9 ranks of each MPI library try each of them once.
std::vector<Got> results(const Context& context, const std::vector<Awkward>& kinds,
                         const Circumstances& circumstances) {
  const bool on_nodes = circumstances.algorithm.find("nodes") != std::string::npos;
  const Variable nodes("LATECOMER_NODES", on_nodes ? "2" : "1000");
  const Communicator comm;
  const std::string collective(to_string(circumstances.collective));
  const bool is_rooted = rooted(circumstances.collective);
  CHECK_EQ(latecomer_set_algorithm(comm, collective.c_str(), circumstances.algorithm.c_str()),
           MPI_SUCCESS);
  CHECK_EQ(latecomer_set_reproducible(comm, circumstances.reproducible ? 1 : 0), MPI_SUCCESS);
  CHECK_EQ(latecomer_set_estimate(comm, "online"), MPI_SUCCESS);
  const auto rank = static_cast<std::uint64_t>(context.rank);
  Random arrivals(circumstances.arrivals * 1000003 + rank);
  Random shared(circumstances.seed);
  Random own(circumstances.seed * 1000003 + rank);
  std::vector<Got> all;
  const std::size_t step = context.quick ? 8 : 1;
  const std::size_t begin =
      fnv1a(circumstances.algorithm) + static_cast<std::size_t>(context.ranks);
  note_progress();
  for (std::size_t i = begin % step; i < kinds.size(); i += step) {
    const Awkward& kind = kinds[i];
    const int ranks = context.ranks;
    const int counts[] = {1, ranks - 1, ranks + 1, 19, 203, 40 * ranks + 7};
    const int count = counts[shared.below(std::size(counts))];
    const int root = is_rooted ? static_cast<int>(shared.below(static_cast<std::uint64_t>(ranks)))
                               : context.rank;
    const bool in_place = shared.below(2) == 1 && root == context.rank;
    Elements elements(kind, count);
    Elements result(kind, count);
    elements.draw(own);
    if (in_place) result = elements;
    come_late(arrivals);
    const void* const sent = in_place ? MPI_IN_PLACE : elements.data();
    const int code =
        is_rooted ? latecomer_reduce(sent, result.data(), count, kind.type, kind.op, root, comm)
                  : latecomer_allreduce(sent, result.data(), count, kind.type, kind.op, comm);
    CHECK_EQ(code, MPI_SUCCESS);
    const std::vector<char> bytes = result.bytes();
    all.push_back({fnv1a({bytes.data(), bytes.size()}),
                   collective + ", " + circumstances.algorithm + ", " + kind.name + ", count " +
                       std::to_string(count) + (in_place ? ", in place" : "") + ", seed " +
                       std::to_string(circumstances.seed)});
  }
  const bool chooses = circumstances.algorithm == "auto";  // the library, too
  if (context.ranks > 1 && !chooses) CHECK_EQ(stats_of(comm).handled, all.size());
  return all;
}

std::uint64_t hash_of(const void* data, std::size_t bytes) {
  return fnv1a({static_cast<const char*>(data), bytes});
}

std::vector<std::uint64_t> hashes(const std::vector<Got>& all) {
  std::vector<std::uint64_t> found;
  for (const Got& each : all) found.push_back(each.hash);
  return found;
}

void check_equal(const std::vector<Got>& mine, const std::vector<std::uint64_t>& others,
                 const char* whose) {
  for (std::size_t i = 0; i < mine.size(); ++i) {
    CHECK_TEXT(mine[i].hash == others[i], mine[i].about + ": other bits than " + whose);
  }
}

void check_same_on_all_ranks(const std::vector<Got>& mine) {
  std::vector<std::uint64_t> of_rank_0 = hashes(mine);
  PMPI_Bcast(of_rank_0.data(), static_cast<int>(of_rank_0.size()), MPI_UINT64_T, 0, MPI_COMM_WORLD);
  check_equal(mine, of_rank_0, "on rank 0");
}

/// All kinds of elements, while a user's operator lives.
class AllKinds {
 public:
  AllKinds() {
    MPI_Op_create(mix, 1, &users_);
    kinds_ = awkward_kinds(users_);
  }
  ~AllKinds() { MPI_Op_free(&users_); }
  AllKinds(const AllKinds&) = delete;
  AllKinds& operator=(const AllKinds&) = delete;

  [[nodiscard]] const std::vector<Awkward>& operator()() const { return kinds_; }

 private:
  MPI_Op users_ = MPI_OP_NULL;
  std::vector<Awkward> kinds_;
};

MPI_TEST(same_bits_on_all_ranks_for_every_datatype_and_operator) {
  const AllKinds kinds;
  Random random(context.seed);
  for (const std::string& algorithm : own_algorithms(false)) {
    check_same_on_all_ranks(results(
        context, kinds(), {Collective::allreduce, algorithm, false, random.next(), random.next()}));
  }
}

/// The moments at which ranks come differ from call to call, and from run to run where
/// TEST_ARRIVALS does. The digest lets runs be compared.
MPI_TEST(same_bits_in_every_reproducible_call) {
  const AllKinds kinds;
  const char* const run = std::getenv("TEST_ARRIVALS");
  Random moments(run == nullptr ? 1 : std::strtoull(run, nullptr, 10));
  Random random(context.seed);
  std::vector<std::uint64_t> digest;
  const auto call_twice = [&](Collective collective, const std::string& algorithm) {
    const std::uint64_t seed = random.next();
    const std::vector<Got> first =
        results(context, kinds(), {collective, algorithm, true, seed, moments.next()});
    if (!rooted(collective)) check_same_on_all_ranks(first);
    const std::vector<std::uint64_t> all = hashes(first);
    digest.push_back(hash_of(all.data(), all.size() * sizeof all[0]));
    check_equal(results(context, kinds(), {collective, algorithm, true, seed, moments.next()}), all,
                "in the call before");
  };
  for (const std::string& algorithm : own_algorithms(true)) {
    call_twice(Collective::allreduce, algorithm);
  }
  for (const std::string& algorithm : reproducible_reductions()) {
    call_twice(Collective::reduce, algorithm);
  }
  const std::uint64_t mine = hash_of(digest.data(), digest.size() * sizeof digest[0]);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(context.ranks));
  PMPI_Gather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
  if (context.rank == 0) {
    std::printf("digest %016" PRIx64 "\n", hash_of(all.data(), all.size() * sizeof all[0]));
  }
}

/// The MPI standard leaves nothing open where it combines bits. Sums of integers that leave their
/// range, and comparisons of a NaN or of two zeros, depend on the order in one library or another.
MPI_TEST(only_operators_on_bits_are_exact) {
  const AllKinds kinds;
  for (const Awkward& kind : kinds()) {
    const bool bits = kind.op == MPI_BAND || kind.op == MPI_BOR || kind.op == MPI_BXOR;
    CHECK_TEXT(exact(kind.op) == bits, kind.name);
  }
}

/// Every second rank names a datatype in another way, as a library in another language may.
MPI_TEST(same_bits_whatever_name_ranks_have_for_a_datatype) {
  const AllKinds all;
  std::vector<Awkward> kinds = all();
  for (Awkward& kind : kinds) {
    if (context.rank % 2 == 1) kind.type = combined_as(kind.op, kind.type);
  }
  Random random(context.seed);
  for (const char* const algorithm : {"recursive_doubling", "generalized:steps=1", "nodes"}) {
    const std::uint64_t seed = random.next();
    check_same_on_all_ranks(
        results(context, kinds, {Collective::allreduce, algorithm, false, seed, random.next()}));
  }
}

/// In this MPI library, in any order and in slices of any length.
MPI_TEST(operators_that_are_exact_give_the_same_bits_in_any_order) {
  constexpr int kCount = 203;
  const AllKinds kinds;
  Random random(context.seed);
  const auto operate = [](const Awkward& kind, const Elements& left, Elements right, int slice) {
    for (int done = 0; done < kCount; done += slice) {
      Elements in = left;
      PMPI_Reduce_local(in.at(done), right.at(done), std::min(slice, kCount - done), kind.type,
                        kind.op);
    }
    return right;
  };
  for (const Awkward& kind : kinds()) {
    if (!exact(kind.op)) continue;
    Elements a(kind, kCount);
    Elements b(kind, kCount);
    Elements c(kind, kCount);
    for (Elements* each : {&a, &b, &c}) each->draw(random);
    const auto expected = operate(kind, operate(kind, a, b, kCount), c, kCount).bytes();
    for (const int slice : {kCount, 64, 7, 1}) {
      const std::string text = kind.name + " in slices of " + std::to_string(slice) + ", seed " +
                               std::to_string(context.seed);
      CHECK_TEXT(operate(kind, a, operate(kind, b, c, slice), slice).bytes() == expected, text);
      CHECK_TEXT(operate(kind, operate(kind, c, a, slice), b, slice).bytes() == expected, text);
    }
  }
}

}  // namespace
}  // namespace latecomer::testing
