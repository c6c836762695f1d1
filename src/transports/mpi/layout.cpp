#include "transports/mpi/layout.hpp"

#include <optional>
#include <vector>

namespace latecomer {
namespace {

// An MPICH older than that of the build may lack them.
#if MPI_VERSION >= 4
#pragma weak PMPI_Type_get_envelope_c
#pragma weak PMPI_Type_get_contents_c
#endif

/// The number of integers, addresses and datatypes that made a datatype. If they were given as
/// MPI_Count, only the functions for MPI_Count may be asked.
struct Envelope {
  MPI_Count integers = 0, addresses = 0, large = 0, types = 0;
  int combiner = MPI_COMBINER_NAMED;

  explicit Envelope(MPI_Datatype type) {
#if MPI_VERSION >= 4
    if (PMPI_Type_get_envelope_c != nullptr) {
      PMPI_Type_get_envelope_c(type, &integers, &addresses, &large, &types, &combiner);
      return;
    }
#endif
    int numbers[3] = {0, 0, 0};
    PMPI_Type_get_envelope(type, &numbers[0], &numbers[1], &numbers[2], &combiner);
    integers = numbers[0];
    addresses = numbers[1];
    types = numbers[2];
  }
};

/// True for MPI's own datatypes, which have no contents and are not freed.
bool predefined_by(int combiner) {
  return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_INTEGER ||
         combiner == MPI_COMBINER_F90_REAL || combiner == MPI_COMBINER_F90_COMPLEX;
}

/// The contents of a datatype. Whichever type they were given in, its numbers are in one order: the
/// number of blocks, their lengths, their distances.
class Contents {
 public:
  Contents(MPI_Datatype type, const Envelope& envelope) : types_(place(envelope.types)) {
    std::vector<int> integers(place(envelope.integers));
    std::vector<MPI_Aint> addresses(place(envelope.addresses));
    std::vector<MPI_Count> large(place(envelope.large));
#if MPI_VERSION >= 4
    if (PMPI_Type_get_contents_c != nullptr) {
      PMPI_Type_get_contents_c(type, envelope.integers, envelope.addresses, envelope.large,
                               envelope.types, integers.data(), addresses.data(), large.data(),
                               types_.data());
    } else
#endif
    {
      PMPI_Type_get_contents(type, static_cast<int>(envelope.integers),
                             static_cast<int>(envelope.addresses), static_cast<int>(envelope.types),
                             integers.data(), addresses.data(), types_.data());
    }
    numbers_.assign(large.begin(), large.end());
    numbers_.insert(numbers_.end(), integers.begin(), integers.end());
    numbers_.insert(numbers_.end(), addresses.begin(), addresses.end());
  }
  ~Contents() {
    for (MPI_Datatype& type : types_) {
      if (!predefined_by(combiner_of(type))) PMPI_Type_free(&type);
    }
  }
  Contents(const Contents&) = delete;
  Contents& operator=(const Contents&) = delete;

  [[nodiscard]] Count number(Count i) const { return numbers_[place(i)]; }
  [[nodiscard]] MPI_Datatype type(Count i = 0) const { return types_[place(i)]; }

 private:
  static std::size_t place(Count i) { return static_cast<std::size_t>(i); }

  std::vector<Count> numbers_;
  std::vector<MPI_Datatype> types_;
};

/// Data that follow each other in memory in the order in which MPI sends them.
struct Run {
  Count begin = 0;
  Count bytes = 0;
};
/// A run, if there is one and it is known.
using Maybe = std::optional<Run>;

Maybe run_of(MPI_Datatype type);

/// A datatype inside of another one.
struct Inner {
  explicit Inner(MPI_Datatype type) : layout(type), run(run_of(type)) {}
  Layout layout;
  Maybe run;
};

/// Adds `count` elements from `place` on, behind the others.
void add(Maybe& all, Count place, Count count, const Inner& inner) {
  if (!all || count == 0 || inner.layout.size == 0) return;
  const bool follow = count == 1 || inner.layout.size == inner.layout.extent;
  const bool fits = inner.run && follow &&
                    (all->bytes == 0 || place + inner.run->begin == all->begin + all->bytes);
  if (!fits) return all.reset();
  if (all->bytes == 0) all->begin = place + inner.run->begin;
  all->bytes += count * inner.run->bytes;
}

/// Blocks of one length and one distance, which is counted in `unit` bytes.
Maybe strided(const Contents& contents, bool in_elements) {
  const Inner inner(contents.type());
  const Count unit = in_elements ? inner.layout.extent : 1;
  Maybe all = Run{};
  for (Count i = 0; i < contents.number(0) && all; ++i) {
    add(all, i * contents.number(2) * unit, contents.number(1), inner);
  }
  return all;
}

/// Blocks at places of their own; `lengths`: they have such, too.
Maybe scattered(const Contents& contents, bool lengths, bool in_elements) {
  const Inner inner(contents.type());
  const Count unit = in_elements ? inner.layout.extent : 1;
  const Count blocks = contents.number(0);
  Maybe all = Run{};
  for (Count i = 0; i < blocks && all; ++i) {
    const Count length = contents.number(lengths ? 1 + i : 1);
    add(all, contents.number(lengths ? 1 + blocks + i : 2 + i) * unit, length, inner);
  }
  return all;
}

Maybe structured(const Contents& contents) {
  const Count blocks = contents.number(0);
  Maybe all = Run{};
  for (Count i = 0; i < blocks && all; ++i) {
    add(all, contents.number(1 + blocks + i), contents.number(1 + i), Inner(contents.type(i)));
  }
  return all;
}

Maybe repeated(const Contents& contents) {
  Maybe all = Run{};
  add(all, 0, contents.number(0), Inner(contents.type()));
  return all;
}

Maybe run_of(MPI_Datatype type) {
  const Envelope envelope(type);
  if (predefined_by(envelope.combiner)) {
    const Layout layout(type);
    return layout.size == layout.true_extent ? Maybe(Run{layout.true_lb, layout.size}) : Maybe();
  }
  switch (envelope.combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_RESIZED:
      return run_of(Contents(type, envelope).type());
    case MPI_COMBINER_CONTIGUOUS:
      return repeated(Contents(type, envelope));
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
      return strided(Contents(type, envelope), envelope.combiner == MPI_COMBINER_VECTOR);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
      return scattered(Contents(type, envelope), true, envelope.combiner == MPI_COMBINER_INDEXED);
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
      return scattered(Contents(type, envelope), false,
                       envelope.combiner == MPI_COMBINER_INDEXED_BLOCK);
    case MPI_COMBINER_STRUCT:
      return structured(Contents(type, envelope));
    default:
      return {};
  }
}

}  // namespace

Layout::Layout(MPI_Datatype datatype) : type(datatype) {
  MPI_Count bytes = 0;
  PMPI_Type_size_x(type, &bytes);
  size = bytes;
  MPI_Aint lower = 0;
  PMPI_Type_get_extent(type, &lower, &extent);
  PMPI_Type_get_true_extent(type, &true_lb, &true_extent);
}

int combiner_of(MPI_Datatype type) { return Envelope(type).combiner; }

bool is_committed(MPI_Datatype type, MPI_Comm comm) {
  if (predefined_by(combiner_of(type))) return true;
  // MPICH does not look at the datatype of no data. Nothing is read.
  const char nothing = 0;
  return PMPI_Send(&nothing, 1, type, MPI_PROC_NULL, 0, comm) == MPI_SUCCESS;
}

bool in_a_row(const Layout& layout) { return layout.contiguous() && run_of(layout.type); }

}  // namespace latecomer
