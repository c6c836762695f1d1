// The requests of a call that may complete several of them.
#pragma once

#include <algorithm>
#include <memory>
#include <new>

#include "dropin/message_records.hpp"

namespace latecomer::messages {

/// So many of anything, on the stack if they are few: a thread of the program may have a small one.
template <class Each>
class Some {  // NOLINT(cppcoreguidelines-pro-type-member-init): MPI or a copy fills what is used
 public:
  [[nodiscard]] Each* make(std::size_t count) {
    if (count <= kFew) return few_;
    many_.reset(new (std::nothrow) Each[count]);
    return many_.get();
  }

 private:
  static constexpr std::size_t kFew = 16;
  Each few_[kFew];
  std::unique_ptr<Each[]> many_;
};

/// The requests of a call that may complete several of them, as they were before it.
class Several {
 public:
  Several(int count, MPI_Request* requests, MPI_Status* statuses)
      : count_(static_cast<std::size_t>(count)), requests_(requests), statuses_(statuses) {
    before_ = copies_.make(count_);
    if (before_ == nullptr) return;
    std::copy_n(requests, count_, before_);
    if (statuses_ != MPI_STATUSES_IGNORE) return;
    MPI_Status* const ours = own_.make(count_);
    if (ours != nullptr) statuses_ = ours;
  }

  /// The program's statuses, or ours where it has none.
  [[nodiscard]] MPI_Status* statuses() const { return statuses_; }

  /// The call has completed this request, whose status is at `at`.
  void end(int code, std::size_t request, std::size_t at, const Ending& ending) {
    if (before_ == nullptr || before_[request] == MPI_REQUEST_NULL) return;
    const MPI_Request* const place = requests_ + request;
    const MPI_Status* const status = statuses_ == MPI_STATUSES_IGNORE ? nullptr : statuses_ + at;
    if (code == MPI_SUCCESS) return completed(before_[request], place, status, ending);
    if (code == MPI_ERR_IN_STATUS && status != nullptr) {
      if (status->MPI_ERROR == MPI_SUCCESS) completed(before_[request], place, status, ending);
      if (status->MPI_ERROR == MPI_SUCCESS || status->MPI_ERROR == MPI_ERR_PENDING) return;
      return failed(before_[request], place);
    }
    if (*place != before_[request]) failed(before_[request], place);
  }
  /// The call has completed all of them.
  void end_all(int code, const Ending& ending) {
    recording([&] {
      for (std::size_t i = 0; i < count_; ++i) end(code, i, i, ending);
    });
  }
  /// It has completed these.
  void end_some(int code, int completed, const int* indices, const Ending& ending) {
    if (completed == MPI_UNDEFINED || (code != MPI_SUCCESS && code != MPI_ERR_IN_STATUS)) return;
    recording([&] {
      for (int i = 0; i < completed; ++i) {
        end(code, static_cast<std::size_t>(indices[i]), static_cast<std::size_t>(i), ending);
      }
    });
  }
  /// It has completed this one.
  void end_one(int index, const MPI_Status* status, const Ending& ending) {
    if (index == MPI_UNDEFINED || before_ == nullptr) return;
    recording([&] { completed(before_[index], requests_ + index, status, ending); });
  }

 private:
  std::size_t count_;
  MPI_Request* requests_;
  MPI_Status* statuses_;
  Some<MPI_Request> copies_;
  Some<MPI_Status> own_;
  MPI_Request* before_ = nullptr;  // null: there is no memory
};

[[nodiscard]] inline bool is_usable(int count, const MPI_Request* requests) {
  return count > 0 && requests != nullptr;
}

}  // namespace latecomer::messages
