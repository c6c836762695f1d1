// Communicators, groups, attributes, types, operators, errors, and the life of a rank.
#include <algorithm>
#include <cstring>

#include "worlds/mpi_state.hpp"

namespace latecomer::worlds {
namespace {

constexpr Time kCall = 50;  // ns that a function takes

/// The call of an MPI function.
struct Entered : Within {
  explicit Entered(const char* name) : Within(name, kCall) {}
};

int put_group(MpiState& state, std::vector<int> members) {
  const int handle = static_cast<int>(0x88000000U) | state.mine().next++;
  state.mine().groups[handle] = std::move(members);
  return handle;
}

void put_text(const std::string& text, char* to, int* length) {
  std::memcpy(to, text.c_str(), text.size() + 1);
  *length = static_cast<int>(text.size());
}

/// The program's own code in an MPI function. An exception would leave by the C functions of MPI.
template <class Code>
int called_back(MpiState& state, const char* name, const Code& code) try {
  const HeapOwner owner(state.scheduler.me());
  return code();
} catch (...) {
  state.faults.push_back("rank " + std::to_string(state.scheduler.me()) + ": an exception leaves " +
                         name);
  return MPI_ERR_OTHER;
}

int remove_attribute(MpiState& state, MPI_Comm handle, LocalComm& comm, int key) {
  RankState& rank = state.mine();
  const auto found = comm.attributes.find(key);
  if (found == comm.attributes.end()) return MPI_SUCCESS;
  void* const value = found->second;
  comm.attributes.erase(found);
  const auto keyval = rank.keyvals.find(key);
  if (keyval == rank.keyvals.end() || keyval->second.remove == MPI_COMM_NULL_DELETE_FN) {
    return MPI_SUCCESS;
  }
  return called_back(state, "a delete function", [&] {
    return keyval->second.remove(handle, key, value, keyval->second.extra);
  });
}

LocalComm* free_attributes(MpiState& state, MPI_Comm handle) {
  Comm* const comm = state.find(handle);
  if (comm == nullptr) return nullptr;
  auto& known = state.local(*comm);
  while (!known.attributes.empty()) {
    remove_attribute(state, handle, known, known.attributes.rbegin()->first);
  }
  return &known;
}

int free_comm(MpiState& state, MPI_Comm handle) {
  LocalComm* const known = free_attributes(state, handle);
  if (known == nullptr) return MPI_ERR_COMM;
  known->alive = false;
  return MPI_SUCCESS;
}

Type type_of(MpiState& state, MPI_Datatype type) {
  const auto found = state.mine().types.find(type);
  if (found != state.mine().types.end()) return found->second;
  const std::int64_t size = state.size_of(type);
  return {size, 0, size};
}

}  // namespace
}  // namespace latecomer::worlds

using namespace latecomer::worlds;  // NOLINT: the functions below belong to no namespace

extern "C" {

int PMPI_Init_thread(int*, char***, int required, int* provided) {
  Entered("MPI_Init")->mine().initialized = true;
  *provided = std::min(required, MPI_THREAD_FUNNELED);
  return MPI_SUCCESS;
}
int PMPI_Init(int* count, char*** words) {
  int provided = 0;
  return PMPI_Init_thread(count, words, MPI_THREAD_SINGLE, &provided);
}
int PMPI_Initialized(int* flag) {
  *flag = Within()->mine().initialized ? 1 : 0;
  return MPI_SUCCESS;
}
int PMPI_Finalized(int* flag) {
  *flag = Within()->mine().finalized ? 1 : 0;
  return MPI_SUCCESS;
}
int PMPI_Query_thread(int* provided) {
  *provided = MPI_THREAD_FUNNELED;
  return MPI_SUCCESS;
}
int PMPI_Finalize() {
  const Entered state("MPI_Finalize");
  state->mine().finalizing = state->scheduler.now();
  free_comm(*state, MPI_COMM_SELF);         // the standard's hook: its attributes go first
  free_attributes(*state, MPI_COMM_WORLD);  // as MPICH and Open MPI do next
  state->meet(*state->end, "MPI_Finalize", {}, [](int) { return true; });
  state->part(*state->end);
  state->mine().finalized = true;
  return MPI_SUCCESS;
}
int PMPI_Get_version(int* version, int* part) {
  *version = MPI_VERSION;
  *part = MPI_SUBVERSION;
  return MPI_SUCCESS;
}
int PMPI_Get_library_version(char* text, int* length) {
  put_text("MPICH Version: 4.3.0 (virtual time)", text, length);
  return MPI_SUCCESS;
}
int PMPI_Get_processor_name(char* text, int* length) {
  put_text(Within()->mine().host, text, length);
  return MPI_SUCCESS;
}

int PMPI_Comm_rank(MPI_Comm comm, int* rank) {
  Comm* const found = Within()->find(comm);
  if (found == nullptr) return MPI_ERR_COMM;
  *rank = Within()->me_in(*found);
  return MPI_SUCCESS;
}
int PMPI_Comm_size(MPI_Comm comm, int* size) {
  Comm* const found = Within()->find(comm);
  if (found == nullptr) return MPI_ERR_COMM;
  *size = static_cast<int>(found->members.size());
  return MPI_SUCCESS;
}
int PMPI_Comm_test_inter(MPI_Comm comm, int* flag) {
  *flag = 0;
  return Within()->find(comm) == nullptr ? MPI_ERR_COMM : MPI_SUCCESS;
}
int PMPI_Comm_group(MPI_Comm comm, MPI_Group* group) {
  const Within state;
  Comm* const found = state->find(comm);
  if (found == nullptr) return MPI_ERR_COMM;
  *group = put_group(*state, found->members);
  return MPI_SUCCESS;
}
/// No communicator here has two groups.
int PMPI_Comm_remote_group(MPI_Comm, MPI_Group*) { return MPI_ERR_COMM; }
int PMPI_Group_size(MPI_Group group, int* size) {
  *size = static_cast<int>(Within()->mine().groups.at(group).size());
  return MPI_SUCCESS;
}
int PMPI_Group_free(MPI_Group* group) {
  Within()->mine().groups.erase(*group);
  *group = MPI_GROUP_NULL;
  return MPI_SUCCESS;
}
int PMPI_Group_translate_ranks(MPI_Group from, int count, const int* ranks, MPI_Group to,
                               int* results) {
  const Within state;
  auto& groups = state->mine().groups;
  for (int i = 0; i < count; ++i) {
    const auto& target = groups.at(to);
    const auto found = std::find(target.begin(), target.end(), groups.at(from).at(ranks[i]));
    results[i] = found == target.end() ? MPI_UNDEFINED : static_cast<int>(found - target.begin());
  }
  return MPI_SUCCESS;
}
int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
  const Entered state("MPI_Comm_split");
  Comm* const parent = state->find(comm);
  if (parent == nullptr) return MPI_ERR_COMM;
  Meeting::Part mine;
  mine.words = {color, key};
  Meeting& meeting = state->meet(*parent, "MPI_Comm_split", mine, [](int) { return true; });
  const auto size = static_cast<int>(parent->members.size());
  if (std::any_of(meeting.parts.begin(), meeting.parts.end(),
                  [](const auto& part) { return part->words.size() != 2; })) {
    state->part(*parent);  // after a wrong call: others are in another function
    *made = MPI_COMM_NULL;
    return MPI_ERR_OTHER;
  }
  if (meeting.result.empty()) {
    meeting.result.assign(size, MPI_COMM_NULL);
    std::map<std::int64_t, std::vector<std::pair<std::int64_t, int>>> colors;
    for (int i = 0; i < size; ++i) {
      const auto& words = meeting.parts[i]->words;
      if (words[0] != MPI_UNDEFINED) colors[words[0]].emplace_back(words[1], i);
    }
    for (auto& [each, ranks] : colors) {
      std::sort(ranks.begin(), ranks.end());
      std::vector<int> members;
      for (const auto& [order, i] : ranks) members.push_back(parent->members[i]);
      const int handle = state->make_comm(members)->handle;
      for (const auto& [order, i] : ranks) meeting.result[i] = handle;
    }
  }
  *made = static_cast<int>(meeting.result[state->me_in(*parent)]);
  state->part(*parent);
  if (*made != MPI_COMM_NULL) {
    auto& known = state->local(*state->comms[*made]);
    known.alive = true;
    known.errhandler = state->local(*parent).errhandler;
  }
  return MPI_SUCCESS;
}
int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
  Comm* const parent = Within()->find(comm);
  if (parent == nullptr) return MPI_ERR_COMM;
  return PMPI_Comm_split(comm, 0, Within()->me_in(*parent), made);
}
int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
  const Entered state("MPI_Comm_create");
  Comm* const parent = state->find(comm);
  if (parent == nullptr) return MPI_ERR_COMM;
  const auto& members = state->mine().groups.at(group);
  const auto place = std::find(members.begin(), members.end(), state->scheduler.me());
  const bool within = place != members.end();
  return PMPI_Comm_split(comm, within ? 0 : MPI_UNDEFINED,
                         static_cast<int>(place - members.begin()), made);
}
int PMPI_Comm_free(MPI_Comm* comm) {
  const int code = free_comm(*Entered("MPI_Comm_free"), *comm);
  *comm = MPI_COMM_NULL;
  return code;
}
int PMPI_Comm_set_name(MPI_Comm comm, const char* name) {
  const Within state;
  Comm* const found = state->find(comm);
  if (found == nullptr) return MPI_ERR_COMM;
  state->local(*found).name = name;
  return MPI_SUCCESS;
}
int PMPI_Comm_get_name(MPI_Comm comm, char* name, int* length) {
  const Within state;
  Comm* const found = state->find(comm);
  if (found == nullptr) return MPI_ERR_COMM;
  put_text(state->local(*found).name, name, length);
  return MPI_SUCCESS;
}

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function* copy,
                            MPI_Comm_delete_attr_function* remove, int* key, void* extra) {
  const Within state;
  RankState& rank = state->mine();
  *key = 0x24000000 | rank.next++;
  rank.keyvals[*key] = {copy, remove, extra};
  return MPI_SUCCESS;
}
int PMPI_Comm_free_keyval(int* key) {
  *key = MPI_KEYVAL_INVALID;  // attributes that still have it are deleted with it all the same
  return MPI_SUCCESS;
}
int PMPI_Comm_set_attr(MPI_Comm comm, int key, void* value) {
  const Within state;
  Comm* const found = state->find(comm);
  if (found == nullptr) return MPI_ERR_COMM;
  remove_attribute(*state, comm, state->local(*found), key);
  state->local(*found).attributes[key] = value;
  return MPI_SUCCESS;
}
int PMPI_Comm_get_attr(MPI_Comm comm, int key, void* value, int* flag) {
  static int highest_tag = (1 << 28) - 1;
  const Within state;
  Comm* const found = state->find(comm);
  if (found == nullptr) return MPI_ERR_COMM;
  if (key == MPI_TAG_UB) {
    *static_cast<void**>(value) = &highest_tag;
    *flag = 1;
    return MPI_SUCCESS;
  }
  const auto& all = state->local(*found).attributes;
  const auto attribute = all.find(key);
  *flag = attribute == all.end() ? 0 : 1;
  if (*flag != 0) *static_cast<void**>(value) = attribute->second;
  return MPI_SUCCESS;
}

int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {
  const Within state;
  Comm* const found = state->find(comm);
  if (found == nullptr) return MPI_ERR_COMM;
  state->local(*found).errhandler = handler;
  return MPI_SUCCESS;
}
int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler* handler) {
  const Within state;
  Comm* const found = state->find(comm);
  if (found == nullptr) return MPI_ERR_COMM;
  *handler = state->local(*found).errhandler;
  return MPI_SUCCESS;
}
int PMPI_Errhandler_free(MPI_Errhandler* handler) {
  *handler = MPI_ERRHANDLER_NULL;
  return MPI_SUCCESS;
}
int PMPI_Comm_call_errhandler(MPI_Comm comm, int code) {
  const Within state;
  Comm* const found = state->find(comm);
  if (found == nullptr || state->local(*found).errhandler == MPI_ERRORS_ARE_FATAL) {
    state->faults.push_back("rank " + std::to_string(state->scheduler.me()) + " aborts with code " +
                            std::to_string(code));
  }
  return MPI_SUCCESS;
}
int PMPI_Error_class(int code, int* kind) {
  *kind = code;
  return MPI_SUCCESS;
}
int PMPI_Add_error_class(int* kind) {
  *kind = 0x40000000 + Within()->mine().next++;
  return MPI_SUCCESS;
}
int PMPI_Add_error_string(int, const char*) { return MPI_SUCCESS; }

int PMPI_Type_size(MPI_Datatype type, int* size) {
  *size = static_cast<int>(type_of(*Within(), type).size);
  return MPI_SUCCESS;
}
int PMPI_Type_size_x(MPI_Datatype type, MPI_Count* size) {
  *size = type_of(*Within(), type).size;
  return MPI_SUCCESS;
}
int PMPI_Type_get_extent(MPI_Datatype type, MPI_Aint* low, MPI_Aint* extent) {
  const Type found = type_of(*Within(), type);
  *low = found.low;
  *extent = found.extent;
  return MPI_SUCCESS;
}
int PMPI_Type_get_true_extent(MPI_Datatype type, MPI_Aint* low, MPI_Aint* extent) {
  *low = 0;
  *extent = type_of(*Within(), type).size;
  return MPI_SUCCESS;
}
int PMPI_Type_create_resized(MPI_Datatype old, MPI_Aint low, MPI_Aint extent, MPI_Datatype* made) {
  const Within state;
  *made = static_cast<int>(0xcc000000U) | state->mine().next++;
  state->mine().types[*made] = {type_of(*state, old).size, low, extent, old};
  return MPI_SUCCESS;
}
int PMPI_Type_commit(MPI_Datatype*) { return MPI_SUCCESS; }
int PMPI_Type_free(MPI_Datatype* type) {
  Within()->mine().types.erase(*type);
  *type = MPI_DATATYPE_NULL;
  return MPI_SUCCESS;
}
int PMPI_Type_get_envelope_c(MPI_Datatype type, MPI_Count* integers, MPI_Count* addresses,
                             MPI_Count* counts, MPI_Count* types, int* combiner) {
  const bool named = !Within()->mine().types.contains(type);
  *integers = 0;
  *addresses = named ? 0 : 2;
  *counts = 0;
  *types = named ? 0 : 1;
  *combiner = named ? MPI_COMBINER_NAMED : MPI_COMBINER_RESIZED;
  return MPI_SUCCESS;
}
int PMPI_Type_get_contents_c(MPI_Datatype type, MPI_Count, MPI_Count, MPI_Count, MPI_Count, int*,
                             MPI_Aint* addresses, MPI_Count*, MPI_Datatype* types) {
  const Type& found = Within()->mine().types.at(type);
  addresses[0] = found.low;
  addresses[1] = found.extent;
  types[0] = found.old;
  return MPI_SUCCESS;
}
int PMPI_Op_create(MPI_User_function* function, int commutes, MPI_Op* made) {
  const Within state;
  RankState& rank = state->mine();
  *made = static_cast<int>(0x98000000U) | rank.next++;
  rank.ops[*made] = {function, commutes != 0};
  return MPI_SUCCESS;
}
int PMPI_Op_commutative(MPI_Op op, int* flag) {
  const auto& ops = Within()->mine().ops;
  const auto found = ops.find(op);
  *flag = found == ops.end() || found->second.commutes ? 1 : 0;
  return MPI_SUCCESS;
}
int PMPI_Reduce_local(const void* in, void* inout, int count, MPI_Datatype type, MPI_Op op) {
  return combine(in, inout, count, type, op);
}

}  // extern "C"
