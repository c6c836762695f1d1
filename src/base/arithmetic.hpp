// The floating-point state of a thread: how it rounds, what it traps, and what has happened. It is
// the program's. Ranks that round in different ways would decide in different ways.
#pragma once

#if defined __SSE2__
#include <xmmintrin.h>
#else
#include <cfenv>
#endif

namespace latecomer {

/// While the object lives, the thread computes as programs do at their begin: it rounds to the
/// nearest, and traps nothing. Afterwards the state is the one before, flags included.
class OwnArithmetic {
 public:
  OwnArithmetic() : outer_(current_), programs_(state()) {
    set_default();
    current_ = this;
  }
  ~OwnArithmetic() {
    set(programs_);
    current_ = outer_;
  }
  OwnArithmetic(const OwnArithmetic&) = delete;
  OwnArithmetic& operator=(const OwnArithmetic&) = delete;

  /// Within: the program's state again, for its operators and for the MPI library's collectives.
  class Programs {
   public:
    Programs() : own_(current_) {
      if (own_ != nullptr) set(own_->programs_);
    }
    ~Programs() {
      if (own_ == nullptr) return;
      own_->programs_ = state();
      set_default();
    }
    Programs(const Programs&) = delete;
    Programs& operator=(const Programs&) = delete;

   private:
    OwnArithmetic* own_;
  };

 private:
#if defined __SSE2__
  using State = unsigned;
  static State state() { return _mm_getcsr(); }
  static void set(State state) { _mm_setcsr(state); }
  static void set_default() { _mm_setcsr(0x1f80); }  // all masked, no flags, to the nearest
#else
  using State = std::fenv_t;
  static State state() {
    State found;
    std::fegetenv(&found);
    return found;
  }
  static void set(const State& state) { std::fesetenv(&state); }
  static void set_default() { std::fesetenv(FE_DFL_ENV); }
#endif

  static inline constinit thread_local OwnArithmetic* current_ = nullptr;
  OwnArithmetic* outer_;
  State programs_;
};

}  // namespace latecomer
