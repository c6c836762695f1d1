// The seconds that finding out takes on each rank in a rehearsal. They are charged to the calls.
#pragma once

#include <map>
#include <string>

#include "choose/pricer.hpp"

namespace latecomer {

struct Charges {
  /// By the name of a row; `other` for rows that are not named.
  struct ByRow {
    std::map<std::string, Seconds, std::less<>> of;
    Seconds other = 0;
  };

  Seconds connect = 0;  // making the resources of the communicator, once
  Seconds look = 0;     // expecting arrivals, deciding and learning, without plans and prices
  ByRow plan;           // making a plan, and building a rank's program
  ByRow price;          // pricing a plan for given arrivals

  /// Returns the seconds of the planning that was done between two moments.
  [[nodiscard]] Seconds of(const PlanningDone& before, const PlanningDone& now) const;
};

}  // namespace latecomer
