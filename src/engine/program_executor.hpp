// Executes a rank's part of a plan by running a program on the engine.
#pragma once

#include <span>
#include <utility>

#include "engine/engine.hpp"

namespace latecomer {

class ProgramExecutor final : public Executor {
 public:
  /// `eager`: elements of the longest message whose receive may be posted ahead of its turn.
  explicit ProgramExecutor(Program program, Count eager = ProgramIndex::kNothingLong)
      : program_(std::move(program)), index_(program_, eager) {}
  ProgramExecutor(const ProgramExecutor&) = delete;
  ProgramExecutor& operator=(const ProgramExecutor&) = delete;

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const RankContext& context() const override { return program_; }
  [[nodiscard]] std::unique_ptr<Protocol> create_protocol(
      Transport& transport, const ProtocolOptions& options) const override {
    return std::make_unique<Engine>(index_, transport, options);
  }

 private:
  Program program_;
  ProgramIndex index_;
};

[[nodiscard]] inline Executors executors_of(std::span<const Program> programs,
                                            Count eager = ProgramIndex::kNothingLong) {
  Executors executors;
  for (const Program& program : programs) {
    executors.push_back(std::make_unique<ProgramExecutor>(program, eager));
  }
  return executors;
}

}  // namespace latecomer
