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
/// nearest, and traps nothing. Afterwards the state is the one before, flags included. Objects may
/// be nested.
class OwnArithmetic {
 public:
  OwnArithmetic() : begins_(!own_) {
    if (!begins_) return;
    programs_ = state();
    set_default();
    own_ = true;
  }
  ~OwnArithmetic() {
    if (!begins_) return;
    set(programs_);
    own_ = false;
  }
  OwnArithmetic(const OwnArithmetic&) = delete;
  OwnArithmetic& operator=(const OwnArithmetic&) = delete;

  /// Within: the program's state again, for its operators and for the MPI library's collectives.
  /// The program may leave them by longjmp.
  class Programs {
   public:
    Programs() : interrupts_(own_) {
      if (!interrupts_) return;
      set(programs_);
      own_ = false;
    }
    ~Programs() {
      if (!interrupts_) return;
      programs_ = state();
      set_default();
      own_ = true;
    }
    Programs(const Programs&) = delete;
    Programs& operator=(const Programs&) = delete;

   private:
    bool interrupts_;
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

  // Of the thread, and no pointers to objects: longjmp ends those unseen.
  static inline constinit thread_local bool own_ = false;
  static inline thread_local State programs_{};
  bool begins_;
};

}  // namespace latecomer
