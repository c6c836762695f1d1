#include "runtime/connection/sleeping.hpp"

#include <atomic>
#include <string>

#include "base/error.hpp"
#include "runtime/settings/environment.hpp"

namespace latecomer {
namespace {

constexpr const char* kWaitVariable = "LATECOMER_WAIT";

std::atomic<double> all_slept{0};

}  // namespace

Sleeping sleeping_of_rank(bool oversubscribed) {
  const std::string text = environment(kWaitVariable).value_or("auto");
  if (text == "sleep") return oversubscribed ? Sleeping::on_shared_core : Sleeping::asked;
  if (text == "poll") return Sleeping::never;
  if (text != "auto") {
    report_unused(kWaitVariable, Error("wait", text, "auto, poll or sleep").what());
  }
  return oversubscribed ? Sleeping::on_shared_core : Sleeping::on_slow_polls;
}

void note_slept(Seconds seconds) { all_slept.fetch_add(seconds, std::memory_order_relaxed); }

Seconds slept() { return all_slept.load(std::memory_order_relaxed); }

}  // namespace latecomer
