// Writes what NCCL's devices do to this process's trace file (trace/records.hpp), as the library
// writes MPI's calls: a call or a message begins when the first of its channels does on the device,
// and ends with the last.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nccl/operations.hpp"
#include "nccl/profiler.h"
#include "trace/trace_file.hpp"

namespace latecomer::nccl {

class Recorder {
 public:
  /// That of the device which this thread has chosen: each is a rank with a file of its own. The
  /// first call makes it; null: nothing of it is recorded, which a line on stderr has told. `ranks`
  /// and `rank`: of its first communicator, where no launcher says what the job's are.
  [[nodiscard]] static Recorder* of_device(std::int32_t ranks, std::int32_t rank);
  /// True if something is recorded of any device.
  [[nodiscard]] static bool any();

  /// A communicator is made; null: it is not recorded.
  [[nodiscard]] Comm* open(std::uint64_t key, const char* name, std::int32_t ranks,
                           std::int32_t rank);
  /// It is freed.
  static void close(Comm& comm);
  /// The process ends. Nothing is added from now on.
  static void end_all();

  // The rest are events. Handles that are none of ours, or too late, are passed over.

  [[nodiscard]] static void* begin_kernel(Comm& comm);
  /// Counts a call of which NCCL tells no times.
  static void miss(Comm& comm);
  /// `kernel`: the handle of that; null: not known.
  [[nodiscard]] static void* begin(Comm& comm, const NcclEvent& event, bool is_message,
                                   const void* kernel);
  [[nodiscard]] static void* start(const void* operation, std::uint8_t channel,
                                   std::uint64_t device_ns);
  /// `device_ns`: 0: not known.
  static void stop(const void* channel, std::uint64_t device_ns);

 private:
  struct Inside {
    const Operation* operation = nullptr;
    trace::Status status;
  };
  struct Algorithm {
    std::array<char, 48> name;
    std::uint32_t text;
  };

  explicit Recorder(std::unique_ptr<trace::File> file);

  void end();
  [[nodiscard]] std::int64_t time_of(std::uint64_t device_ns);
  [[nodiscard]] trace::Call call_of(const NcclEvent& event, Comm& comm);
  [[nodiscard]] std::uint32_t algorithm(const char* name, const char* protocol);
  void entered(const Comm& comm, const Operation& operation);
  void completed(Comm& comm, Operation& operation, std::uint64_t number);
  void make_room(Comm& comm, std::uint64_t number);
  void left(const Operation& operation, std::int64_t end);
  void write_first(Comm& comm);
  void write(Comm& comm, const Operation& operation);

  std::mutex guard_;
  std::unique_ptr<trace::File> file_;
  trace::Texts texts_;
  bool ended_ = false;
  std::uint64_t open_ = 0;      // communicators
  std::int64_t last_ = 0;       // the last time in the file
  std::uint64_t untimed_ = 0;   // operations that are not in the file: no time is known, or ...
  std::uint64_t full_ = 0;      // ... it is full
  std::vector<Inside> inside_;  // operations that the device works on, the last one last
  std::map<std::uint64_t, std::uint32_t> numbers_;  // of communicators so far, by their key
  std::uint32_t described_ = 0;                     // in the file
  std::atomic<std::int64_t> ahead_{kUnknown};       // of the device's clock: this process's
  static constexpr std::int64_t kUnknown = INT64_MIN;
  std::array<std::uint32_t, 8> collectives_{};  // texts
  std::array<Algorithm, 16> algorithms_{};
  std::atomic<std::size_t> algorithms_known_{0};
  std::atomic<std::uint32_t> order_{0};  // of the next message
};

/// The communicator that an event is of; null: none that is there now.
[[nodiscard]] Comm* comm_of(const Handle& handle);

/// A line on stderr.
void report(const std::string& line);

}  // namespace latecomer::nccl
