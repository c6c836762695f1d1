// Plays a process that uses NCCL: loads the profiler plug-in and calls it as a script says. Its
// clock is made up, so that any number of processes can be played one after the other.
//
//   nccl_host PLUGIN VERSION < SCRIPT                 VERSION: 4, 5 or 6
//   nccl_host bench PLUGIN VERSION CALLS CHANNELS
//   nccl_host threads PLUGIN VERSION CALLS
//
// The lines of a script, whose names of communicators and events are words:
// - calendar NS              what the clock of the calendar is ahead of the other one
// - at NS                    the clock shows this from now on
// - device N                 the one that CUDA says this process has chosen; by default none
// - thread N                 the next lines are carried out by this thread
// - init COMM HASH NAME RANKS RANK      NAME -: none; prints the mask, and if there is a context
// - finalize COMM
// - group EVENT COMM         the device has one kernel for what is of it
// - coll EVENT COMM FUNC COUNT TYPE CHANNELS ROOT GROUP      GROUP -: none
// - p2p EVENT COMM FUNC COUNT TYPE CHANNELS PEER GROUP
// - other EVENT COMM KIND    an event that nobody asked for; its handle must be null
// - kernel EVENT PARENT COMM CHANNEL NS      by the device's clock
// - done EVENT NS            the state of a kernel; NS -: no arguments
// - stop EVENT
// - unload                   as NCCL does after its last communicator
// - fork                     a child ends by exit()
// - die                      the process ends at once
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "api.hpp"
#include "worker.hpp"

namespace {

std::atomic<std::int64_t> made_up_ns{-1};  // -1: the system's clock
std::atomic<std::int64_t> calendar_ns{0};
std::atomic<int> chosen_device{-1};

[[noreturn]] void fail(const std::string& why) {
  std::fprintf(stderr, "nccl_host: %s\n", why.c_str());
  std::_Exit(3);
}
void check(int code) {
  if (code != 0) fail("the plug-in returned " + std::to_string(code));
}

/// The plug-in by any version of the interface.
class Plugin {
 public:
  virtual ~Plugin() = default;
  virtual void* init(std::uint64_t hash, const char* name, int ranks, int rank, int& mask) = 0;
  virtual void* coll(void* context, const api::Coll4& coll, void* group) = 0;
  virtual void* p2p(void* context, const api::P2p4& p2p, void* group) = 0;
  virtual void* other(void* context, std::uint64_t kind) = 0;
  virtual void* kernel(void* context, void* parent, int channel, std::uint64_t ns) = 0;
  virtual void done(void* event, const std::uint64_t* ns) = 0;
  virtual void stop(void* event) = 0;
  virtual void finalize(void* context) = 0;
};

template <class Profiler, class Event>
class PluginOf : public Plugin {
 public:
  explicit PluginOf(void* symbol) : own_(static_cast<Profiler*>(symbol)) {
    if (std::strcmp(own_->name, "latecomer") != 0) fail("its name is " + std::string(own_->name));
  }
  void* init(std::uint64_t hash, const char* name, int ranks, int rank, int& mask) override {
    void* context = this;
    if constexpr (kIsFour) {
      check(own_->init(&context, &mask, name, hash, 1, ranks, rank, nullptr));
    } else {
      check(own_->init(&context, hash, &mask, name, 1, ranks, rank, nullptr));
    }
    return context;
  }
  void* coll(void* context, const api::Coll4& coll, void* group) override {
    Event event = fresh(api::coll, kIsFour ? group : this);  // of a captured graph, it may be gone
    static_cast<api::Coll4&>(event.coll) = coll;
    if constexpr (!kIsFour) event.coll.parentGroup = group;
    return start(context, event);
  }
  void* p2p(void* context, const api::P2p4& p2p, void* group) override {
    Event event = fresh(api::p2p, kIsFour ? group : this);
    static_cast<api::P2p4&>(event.p2p) = p2p;
    if constexpr (!kIsFour) event.p2p.parentGroup = group;
    return start(context, event);
  }
  void* other(void* context, std::uint64_t kind) override {
    Event event = fresh(kind, nullptr);
    return start(context, event);
  }
  void* kernel(void* context, void* parent, int channel, std::uint64_t ns) override {
    Event event = fresh(api::kernel_ch, parent);
    event.kernelCh = {static_cast<std::uint8_t>(channel), ns};
    return start(context, event);
  }
  void done(void* event, const std::uint64_t* ns) override {
    api::StateArgs args{};
    if (ns != nullptr) args.kernelCh.pTimer = *ns;
    check(own_->recordEventState(event, api::kernel_ch_stop, ns != nullptr ? &args : nullptr));
  }
  void stop(void* event) override { check(own_->stopEvent(event)); }
  void finalize(void* context) override { check(own_->finalize(context)); }

 private:
  static constexpr bool kIsFour = std::is_same_v<Profiler, api::Profiler4>;
  static Event fresh(std::uint64_t kind, void* parent) {
    Event event;
    std::memset(static_cast<void*>(&event), 0xa5, sizeof event);  // what is not set is not read
    event.type = static_cast<decltype(event.type)>(kind);
    event.parentObj = parent;
    event.rank = 0;
    return event;
  }
  void* start(void* context, Event& event) {
    void* handle = this;
    check(own_->startEvent(context, &handle, &event));
    return handle;
  }
  Profiler* own_;
};

struct Loaded {
  void* library;
  std::unique_ptr<Plugin> plugin;
};

Loaded load(const char* path, int version) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) fail(dlerror());
  void* const symbol = dlsym(library, ("ncclProfiler_v" + std::to_string(version)).c_str());
  if (symbol == nullptr) fail("no symbol of version " + std::to_string(version));
  if (version == 4)
    return {library, std::make_unique<PluginOf<api::Profiler4, api::Event4>>(symbol)};
  if (version == 5)
    return {library, std::make_unique<PluginOf<api::Profiler5, api::Event5>>(symbol)};
  return {library, std::make_unique<PluginOf<api::Profiler6, api::Event6>>(symbol)};
}

class Player {
 public:
  Player(const char* path, int version)
      : path_(path), version_(version), own_(load(path, version)) {}

  void play(std::istream& script) {
    std::string line;
    std::map<int, Worker> workers;
    int thread = 0;
    while (std::getline(script, line)) {
      if (line.starts_with("thread ")) {
        thread = std::stoi(line.substr(7));
      } else if (thread == 0) {
        carry_out(line);
      } else {
        workers[thread].hand([&] { carry_out(line); });
      }
    }
  }

 private:
  void carry_out(const std::string& line) {
    std::istringstream words(line);
    std::string verb, name, comm, function, type, parent, time;
    std::uint64_t number = 0;
    int channels = 0, rank = 0, ranks = 0;
    Plugin& plugin = *own_.plugin;
    words >> verb;
    if (verb == "at") {
      std::int64_t now = 0;
      words >> now;
      made_up_ns = now;
    } else if (verb == "device") {
      words >> rank;
      chosen_device = rank;
    } else if (verb == "calendar") {
      std::int64_t ahead = 0;
      words >> ahead;
      calendar_ns = ahead;
    } else if (verb == "init") {
      words >> comm >> number >> name >> ranks >> rank;
      int mask = -1;
      // NCCL gives names that it frees afterwards.
      const auto given = std::make_unique<std::string>(name);
      comms_[comm] = plugin.init(number, name == "-" ? nullptr : given->c_str(), ranks, rank, mask);
      std::printf("%s: mask %d, %s\n", comm.c_str(), mask,
                  comms_[comm] ? "recorded" : "not recorded");
    } else if (verb == "finalize") {
      words >> comm;
      if (comms_.at(comm) != nullptr) plugin.finalize(comms_.at(comm));
    } else if (verb == "coll" || verb == "p2p") {
      words >> name >> comm >> function >> number >> type >> channels >> rank >> parent;
      void* const kernel = parent.empty() || parent == "-" ? nullptr : events_.at(parent);
      const auto few = static_cast<std::uint8_t>(channels);
      events_[name] =
          verb == "coll"
              ? plugin.coll(comms_.at(comm),
                            {7, function.c_str(), &words, &words, number, rank, type.c_str(), few,
                             4, "RING", "LL128"},
                            kernel)
              : plugin.p2p(comms_.at(comm),
                           {function.c_str(), &words, type.c_str(), number, rank, few}, kernel);
    } else if (verb == "group") {
      words >> name >> comm;
      events_[name] = plugin.other(comms_.at(comm), api::group);
    } else if (verb == "other") {
      words >> name >> comm >> number;
      if (plugin.other(comms_.at(comm), number) != nullptr) fail("a handle of an unwanted event");
    } else if (verb == "kernel") {
      words >> name >> parent >> comm >> channels >> number;
      events_[name] = plugin.kernel(comms_.at(comm), events_.at(parent), channels, number);
    } else if (verb == "done") {
      words >> name >> time;
      number = time == "-" ? 0 : std::stoull(time);
      // NCCL asks for no state of an event without a handle.
      if (void* const event = events_.at(name)) plugin.done(event, time == "-" ? nullptr : &number);
    } else if (verb == "stop") {
      words >> name;
      if (void* const event = events_.at(name)) plugin.stop(event);
    } else if (verb == "unload") {
      dlclose(own_.library);
      own_ = load(path_, version_);
    } else if (verb == "fork") {
      const pid_t child = fork();
      if (child == 0) std::exit(0);
      int status = 0;
      waitpid(child, &status, 0);
      if (status != 0) fail("a child ended with " + std::to_string(status));
    } else if (verb == "die") {
      std::fflush(stdout);
      _exit(0);
    } else if (!verb.empty()) {
      fail("no such line: " + line);
    }
  }

  const char* path_;
  int version_;
  Loaded own_;
  std::map<std::string, void*> comms_;
  std::map<std::string, void*> events_;
};

std::int64_t processor_ns() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return used.tv_sec * 1'000'000'000LL + used.tv_nsec;
}

/// The operations of a communicator, as its host thread and NCCL's proxy thread tell of them. The
/// number of events: each start, state and stop. `alone`: no other thread tells of the
/// communicator, so that its kernels follow each other.
std::uint64_t tell(Plugin& plugin, void* context, int calls, int channels, std::int64_t since,
                   bool alone) {
  std::uint64_t events = 0;
  std::vector<void*> parts(static_cast<std::size_t>(channels));
  for (int call = 0; call < calls; ++call) {
    const auto few = static_cast<std::uint8_t>(channels);
    void* const kernel = alone ? plugin.other(context, api::group) : nullptr;
    void* const event =
        call % 8 == 7 ? plugin.p2p(context, {"Send", nullptr, "ncclInt8", 1024, 1, few}, kernel)
                      : plugin.coll(context,
                                    {7, "AllReduce", nullptr, nullptr, 1024, 0, "ncclFloat32", few,
                                     4, "RING", "LL128"},
                                    kernel);
    plugin.stop(event);
    plugin.stop(kernel);
    auto device = static_cast<std::uint64_t>(since + call * 1000);
    for (int channel = 0; channel < channels; ++channel) {
      parts[static_cast<std::size_t>(channel)] = plugin.kernel(context, event, channel, device);
    }
    device += 500;
    for (void* const part : parts) {
      plugin.done(part, &device);
      plugin.stop(part);
    }
    events += 4 + 3 * static_cast<std::uint64_t>(channels);
  }
  return events;
}

std::int64_t now_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000'000LL + now.tv_nsec;
}

int bench(const char* path, int version, int calls, int channels) {
  const Loaded own = load(path, version);
  int mask = 0;
  void* const context = own.plugin->init(1, "bench", 2, 0, mask);
  if (context == nullptr) fail("nothing is recorded");
  constexpr int kParts = 20;
  double least = 1e30;
  for (int part = 0; part < kParts; ++part) {
    const std::int64_t begin = processor_ns();
    const std::uint64_t events =
        tell(*own.plugin, context, calls / kParts, channels, now_ns(), true);
    const double each = static_cast<double>(processor_ns() - begin) / static_cast<double>(events);
    if (each < least) least = each;
  }
  std::printf("%.1f ns of processor time an event, the least of %d parts; %d channels a call\n",
              least, kParts, channels);
  own.plugin->finalize(context);
  return 0;
}

/// Four communicators, each told of by two threads at one time.
int threads(const char* path, int version, int calls) {
  const Loaded own = load(path, version);
  std::vector<void*> contexts;
  for (int comm = 0; comm < 4; ++comm) {
    int mask = 0;
    contexts.push_back(own.plugin->init(static_cast<std::uint64_t>(comm), "all", 2, 0, mask));
  }
  std::vector<std::thread> all;
  const std::int64_t since = now_ns();
  for (int thread = 0; thread < 8; ++thread) {
    all.emplace_back([&, thread] {
      tell(*own.plugin, contexts[static_cast<std::size_t>(thread % 4)], calls, 4, since, false);
    });
  }
  for (auto& each : all) each.join();
  for (void* const each : contexts) own.plugin->finalize(each);
  return 0;
}

}  // namespace

/// The plug-in finds this one, and not the system's.
extern "C" int clock_gettime(clockid_t clock, timespec* into) noexcept {
  using Clock = int (*)(clockid_t, timespec*);
  static const auto real = reinterpret_cast<Clock>(dlsym(RTLD_NEXT, "clock_gettime"));
  const bool is_made_up = clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
  if (made_up_ns < 0 || !is_made_up) return real(clock, into);
  const std::int64_t now = made_up_ns + (clock == CLOCK_REALTIME ? calendar_ns.load() : 0);
  *into = {now / 1'000'000'000, now % 1'000'000'000};
  return 0;
}

/// As CUDA's driver has it.
extern "C" __attribute__((visibility("default"))) int cuCtxGetDevice(int* into) {
  *into = chosen_device;
  return *into < 0 ? 201 : 0;
}

int main(int count, char** words) {
  const std::vector<std::string> all(words + 1, words + count);
  if (all.size() == 5 && all[0] == "bench") {
    return bench(words[2], std::stoi(all[2]), std::stoi(all[3]), std::stoi(all[4]));
  }
  if (all.size() == 4 && all[0] == "threads") {
    return threads(words[2], std::stoi(all[2]), std::stoi(all[3]));
  }
  if (all.size() != 2) fail("give PLUGIN VERSION, or bench or threads: see the file's beginning");
  Player(words[1], std::stoi(all[1])).play(std::cin);
  return 0;
}
