// Goes through all orders of events of a small world.
#pragma once

#include <cstddef>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

namespace latecomer::testing {

/// Visits every world that can be reached from `start`, once, until `look(world, events)` returns
/// false. Returns how many it visited. A world has `events()`, all that can happen next;
/// `happen(event)`; and `key()`, equal for worlds with the same future.
template <class World, class Look>
std::size_t explore(World start, Look&& look) {
  std::unordered_set<std::string> seen = {start.key()};
  std::vector<World> open;
  open.push_back(std::move(start));
  std::size_t worlds = 0;
  while (!open.empty()) {
    const World world = std::move(open.back());
    open.pop_back();
    const auto events = world.events();
    ++worlds;
    if (!look(world, events)) break;
    for (const auto& event : events) {
      World next = world;
      next.happen(event);
      if (seen.insert(next.key()).second) open.push_back(std::move(next));
    }
  }
  return worlds;
}

}  // namespace latecomer::testing
