#include "dropin/messages.hpp"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "dropin/next.hpp"
#include "runtime/trace/stamps.hpp"
#include "transports/mpi/communicators.hpp"

namespace latecomer::messages {

void begin() {
  if (!loader_has_messages()) return;
  if (trace::is_on()) {
    trace::recorder()->look_at_messages();
    fast_path.messages = Messages::traced;
  } else if (fast_path.observes && stamps::are_kept()) {
    unseen::begin_total();
    fast_path.messages = Messages::timed;
  }
  if (are_measured()) outside::begin();
}

void end() {
  const Messages were = fast_path.messages;
  unseen::write();
  fast_path.messages = Messages::untouched;
  if (were != Messages::traced) return;
  recording([&] {
    for (PendingTable* table : {&requests(), &matched()}) {
      table->for_each([](const Pending& each) { lose(each, nullptr); });
    }
  });
}

Inside::Inside(trace::Doing doing, What what, int peer, int tag, std::int64_t since,
               const void* site) {
  trace::Status status;
  status.doing = doing;
  status.what = static_cast<std::uint8_t>(what);
  status.since = since;
  status.peer = peer == MPI_ANY_SOURCE ? -1 : peer;
  status.sequence = tag == MPI_ANY_TAG ? -1 : tag;
  trace::recorder()->enter(status, site);
}

Inside::~Inside() {
  if (!recorded) trace::recorder()->leave();
  outside::left();
}

Posting post() {
  outside::entered();
  unseen::write();
  recorded = false;
  return {trace::now_ns(), unseen::next_message.fetch_add(1, std::memory_order_relaxed)};
}

void ended(std::int64_t begin, std::uint8_t calls) {
  if (!recorded) unseen::add(calls, begin, trace::now_ns());
}

Posting post_with(const Posting& first) {
  return {first.time, unseen::next_message.fetch_add(1, std::memory_order_relaxed)};
}

namespace {

void sent(trace::Message record, const Posting& posting, const Data& data, const To& to,
          const Ending& ending) {
  recording([&] {
    if (!are_data(data, to.tag) || to.peer == MPI_ANY_SOURCE || !describe(record, posting, to))
      return;
    record.bytes = bytes_of(data);
    write(record, ending);
  });
}

void received(const Posting& posting, const To& from, const MPI_Status& status,
              const Ending& ending) {
  recording([&] {
    trace::Message record;
    record.what = What::receive;
    const std::optional<int> first = describe(record, posting, from);
    if (!first) return;
    set_wildcards(record, from);
    set_from(record, status, *first);
    write(record, ending);
  });
}

}  // namespace

void sent(What what, const Posting& posting, const Data& data, const To& to, const void* site) {
  trace::Message record;
  record.what = what;
  sent(record, posting, data, to, {posting.time, trace::now_ns(), site});
}

void sent_with_receive(const Posting& posting, const Data& data, const To& to, const void* site) {
  const std::int64_t now = trace::now_ns();
  trace::Message record;
  record.flags = trace::nonblocking;
  sent(record, posting, data, to, {now, now, site});
}

void received(const Posting& posting, const To& from, const MPI_Status& status, const void* site) {
  received(posting, from, status, {posting.time, trace::now_ns(), site});
}

void exchanged(const Posting& out, const Data& data, const To& to, const Posting& in,
               const To& from, const MPI_Status& status, const void* site) {
  const Ending ending{out.time, trace::now_ns(), site};
  sent(trace::Message{}, out, data, to, ending);
  received(in, from, status, ending);
}

void begun_to_send(What what, int flags, const Posting& posting, const Data& data, const To& to,
                   const MPI_Request* request) {
  recording([&] {
    Pending fresh = begun(flags, posting, to, request);
    fresh.record.what = what;
    fresh.silent = fresh.silent || !are_data(data, to.tag) || to.peer == MPI_ANY_SOURCE;
    if (!fresh.silent) fresh.record.bytes = bytes_of(data);
    add(fresh);
  });
}

void begun_to_receive(int flags, const Posting& posting, const To& from,
                      const MPI_Request* request) {
  recording([&] {
    Pending fresh = begun(flags, posting, from, request);
    fresh.record.what = What::receive;
    set_wildcards(fresh.record, from);
    add(fresh);
  });
}

void lost_with_send(const Posting& posting, const To& from, const MPI_Request* request) {
  recording([&] {
    Pending fresh = begun(trace::nonblocking, posting, from, request);
    if (!fresh.silent) trace::recorder()->lose_message(posting.order);
    fresh.silent = true;
    add(fresh);
  });
}

namespace {

/// A collective whose request the program got just now.
Pending collective_of(int flags, std::int64_t time, const MPI_Request* request) {
  Pending fresh;
  fresh.key = key_of(*request);
  fresh.place = place_of(request);
  fresh.record.flags = static_cast<std::uint8_t>(flags);
  fresh.active = (flags & trace::persistent) == 0;
  fresh.record.posted = time;
  return fresh;
}

}  // namespace

void begun_together(const char* collective, int flags, int root, std::int64_t time, MPI_Comm comm,
                    const MPI_Request* request, const void* site) {
  recording([&] {
    Pending fresh = collective_of(flags, time, request);
    const trace::TracedComm known = trace::comm_of_messages(comm);
    fresh.record.communicator = known.id;
    fresh.silent = known.id == trace::TracedComm::kNone || known.two_groups;
    if (*request == MPI_REQUEST_NULL) {  // it is complete: other ranks count it
      if (!fresh.silent && fresh.active) ++*trace::calls_on(comm);
      return;
    }
    if (!fresh.silent) fresh.begun = {collective, root, trace::calls_on(comm), 0, nullptr};
    if (!fresh.silent && fresh.active) fresh.begun.begin(site);
    add(fresh);
  });
}

namespace {

std::vector<Neighbour> listed(const std::vector<int>& ranks) {
  std::vector<Neighbour> made;
  for (std::size_t part = 0; part < ranks.size(); ++part) {
    if (ranks[part] != MPI_PROC_NULL) made.push_back({ranks[part], part});
  }
  return made;
}

/// In each dimension the one before, then the one behind. Where both are one rank, what is sent to
/// the one comes from the other.
Neighbours in_grid(MPI_Comm comm) {
  int dimensions = 0;
  PMPI_Cartdim_get(comm, &dimensions);
  std::vector<int> from;
  for (int each = 0; each < dimensions; ++each) {
    int before = MPI_PROC_NULL;
    int behind = MPI_PROC_NULL;
    PMPI_Cart_shift(comm, each, 1, &before, &behind);
    from.insert(from.end(), {before, behind});
  }
  Neighbours made{listed(from), listed(from)};
  std::ranges::sort(made.to, {}, [](const Neighbour& each) { return each.part ^ 1; });
  return made;
}

Neighbours in_graph(MPI_Comm comm) {
  const int rank = rank_in(comm);
  int count = 0;
  PMPI_Graph_neighbors_count(comm, rank, &count);
  std::vector<int> ranks(static_cast<std::size_t>(count));
  PMPI_Graph_neighbors(comm, rank, count, ranks.data());
  return {listed(ranks), listed(ranks)};
}

Neighbours in_distributed_graph(MPI_Comm comm) {
  int in = 0;
  int out = 0;
  int weighted = 0;
  PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
  std::vector<int> from(static_cast<std::size_t>(in));
  std::vector<int> to(static_cast<std::size_t>(out));
  std::vector<int> weights(from.size() + to.size());
  PMPI_Dist_graph_neighbors(comm, in, from.data(), weights.data(), out, to.data(),
                            weights.data() + in);
  return {listed(to), listed(from)};
}

}  // namespace

Neighbours neighbours_of(MPI_Comm comm) {
  int kind = MPI_UNDEFINED;
  PMPI_Topo_test(comm, &kind);
  if (kind == MPI_CART) return in_grid(comm);
  if (kind == MPI_GRAPH) return in_graph(comm);
  if (kind == MPI_DIST_GRAPH) return in_distributed_graph(comm);
  return {};
}

void begun_among(OwnMessages messages, int flags, std::int64_t time, const MPI_Request* request) {
  Pending fresh = collective_of(flags, time, request);
  for (trace::Message& each : messages) each.flags = fresh.record.flags;
  fresh.record.order = next_orders(messages.size());
  fresh.silent = messages.empty();
  fresh.among = std::make_shared<const OwnMessages>(std::move(messages));
  add(fresh);
}

void received_matched(const Posting& posting, MPI_Message message, const MPI_Message* place,
                      const MPI_Status& status, const void* site) {
  if (message == MPI_MESSAGE_NO_PROC) return;
  const std::int64_t end = trace::now_ns();
  recording([&] {
    auto known = matched().erase(key_of(message), place_of(place));
    if (!known) return trace::recorder()->lose_message(0);
    known->record.posted = posting.time;
    write(*known, &status, {posting.time, end, site});
  });
}

void begun_to_receive_matched(const Posting& posting, MPI_Message message, const MPI_Message* place,
                              const MPI_Request* request) {
  recording([&] {
    Pending fresh;
    fresh.silent = true;
    if (message != MPI_MESSAGE_NO_PROC) {
      const auto known = matched().erase(key_of(message), place_of(place));
      if (known) fresh = *known;
      if (!known) trace::recorder()->lose_message(0);
    }
    fresh.key = key_of(*request);
    fresh.place = place_of(request);
    fresh.record.flags |= trace::nonblocking;
    fresh.record.posted = posting.time;
    add(fresh);
  });
}

// Probes: waits for a message that another call receives.

namespace {

/// A message that a probe has found. Its receive gets a number now, since now it is matched.
void found(const Posting& posting, const To& from, MPI_Message message, const MPI_Message* place) {
  if (message == MPI_MESSAGE_NO_PROC || message == MPI_MESSAGE_NULL) return;
  Pending fresh;
  fresh.key = key_of(message);
  fresh.place = place_of(place);
  fresh.record.what = What::receive;
  fresh.record.flags = trace::matched_probe;
  set_wildcards(fresh.record, from);
  const std::optional<int> first = describe(fresh.record, posting, from);
  fresh.silent = !first;
  fresh.first = first.value_or(0);
  if (!matched().add(fresh)) lose(fresh, nullptr);
}

/// `since`: what it waited from.
void probed(const Posting& posting, const To& from, const MPI_Status& status,
            const unseen::Polled& since, const void* site) {
  const Ending wait = ending(since, site);
  trace::Message record;
  record.what = What::probe;
  const std::optional<int> first = describe(record, posting, from);
  if (!first) return;
  set_wildcards(record, from);
  set_from(record, status, *first);
  write(record, wait);
}

/// A probe that did not wait, with its number: it may be the last of several that did together.
Posting post_polled(const unseen::Polled& since) {
  return post_with({since.begin - since.between, 0});
}

}  // namespace

int probe(decltype(&PMPI_Probe) native, int source, int tag, MPI_Comm comm, MPI_Status* status,
          const void* site) {
  const OneStatus told(status);
  const Posting posting = post();
  const Inside inside(trace::Doing::probe, What::probe, source, tag, posting.time, site);
  const int code = native(source, tag, comm, told);
  if (code == MPI_SUCCESS) {
    recording([&] { probed(posting, {source, tag, comm}, *told, {posting.time, 0}, site); });
  }
  ended(posting.time);
  return code;
}

int mprobe(decltype(&PMPI_Mprobe) native, int source, int tag, MPI_Comm comm, MPI_Message* message,
           MPI_Status* status, const void* site) {
  const OneStatus told(status);
  const Posting posting = post();
  const Inside inside(trace::Doing::probe, What::probe, source, tag, posting.time, site);
  const int code = native(source, tag, comm, message, told);
  if (has_set(code, message)) {
    recording([&] {
      probed(posting, {source, tag, comm}, *told, {posting.time, 0}, site);
      found(post_with(posting), {source, tag, comm}, *message, message);
    });
  }
  ended(posting.time);
  return code;
}

int iprobe(decltype(&PMPI_Iprobe) native, int source, int tag, MPI_Comm comm, int* flag,
           MPI_Status* status, const void* site) {
  const OneStatus told(status);
  const std::int64_t begin = enter_test();
  const unseen::Polled since = unseen::polled(begin);
  const int code = native(source, tag, comm, flag, told);
  if (is_true(code, flag)) {
    recording([&] { probed(post_polled(since), {source, tag, comm}, *told, since, site); });
  }
  tested(begin);
  return code;
}

int improbe(decltype(&PMPI_Improbe) native, int source, int tag, MPI_Comm comm, int* flag,
            MPI_Message* message, MPI_Status* status, const void* site) {
  const OneStatus told(status);
  const std::int64_t begin = enter_test();
  const unseen::Polled since = unseen::polled(begin);
  const int code = native(source, tag, comm, flag, message, told);
  if (is_true(code, flag) && message != nullptr) {
    recording([&] {
      const To from{source, tag, comm};
      probed(post_polled(since), from, *told, since, site);
      found(post_with({begin, 0}), from, *message, message);
    });
  }
  tested(begin);
  return code;
}

}  // namespace latecomer::messages
