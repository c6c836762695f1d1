// Executes a rank's part of a plan by running a program on the engine.
#pragma once

#include <span>
#include <utility>

#include "engine/engine.hpp"

namespace latecomer {

class ProgramParty final : public Party {
 public:
  /// `eager`: elements of the longest message whose receive may be posted ahead of its turn.
  explicit ProgramParty(Program program, Count eager = ProgramIndex::kNothingLong)
      : program_(std::move(program)), index_(program_, eager) {}
  ProgramParty(const ProgramParty&) = delete;
  ProgramParty& operator=(const ProgramParty&) = delete;

  [[nodiscard]] const Program& program() const { return program_; }
  [[nodiscard]] const Frame& frame() const override { return program_; }
  [[nodiscard]] std::unique_ptr<Protocol> join(Transport& transport,
                                               const ProtocolOptions& options) const override {
    return std::make_unique<Engine>(index_, transport, options);
  }

 private:
  Program program_;
  ProgramIndex index_;
};

[[nodiscard]] inline Parties parties_of(std::span<const Program> programs,
                                        Count eager = ProgramIndex::kNothingLong) {
  Parties parties;
  for (const Program& program : programs) {
    parties.push_back(std::make_unique<ProgramParty>(program, eager));
  }
  return parties;
}

}  // namespace latecomer
