#include "report.hpp"

#include <algorithm>
#include <cstdio>

namespace raytracer {
namespace {

template <class... Values>
std::string text(const char* form, Values... values) {
  char buffer[128];
  std::snprintf(buffer, sizeof buffer, form, values...);
  return buffer;
}

template <class Get>
std::string list(const std::vector<Times>& times, Get get) {
  std::string all;
  for (const Times& t : times) all += (all.empty() ? "" : ",") + text("%.6f", get(t));
  return '[' + all + ']';
}

double after_last(const std::vector<Times>& times) {
  Times last;
  for (const Times& t : times) {
    last = {std::max(last.arrival, t.arrival), std::max(last.exit, t.exit)};
  }
  return last.exit - last.arrival;
}

double mean_inside(const std::vector<Times>& times) {
  double sum = 0;
  for (const Times& t : times) sum += t.exit - t.arrival;
  return sum / static_cast<double>(times.size());
}

}  // namespace

std::string line(const Frame& frame) {
  std::string all = text("frame %d, ", frame.number) + frame.algorithm + ": drawing ms";
  for (const Times& t : frame.times) all += text(" %.0f", 1e3 * t.arrival);
  all += text("; compositing ms: mean %.1f, after the last %.1f", 1e3 * mean_inside(frame.times),
              1e3 * after_last(frame.times));
  if (frame.from_alone) all += text("; differs from one rank's image by %.2g", *frame.from_alone);
  return all + '\n';
}

std::string json(const Frame& frame) {
  const auto number = [](const std::optional<float>& value) {
    return value ? text("%.9g", *value) : "null";
  };
  return text("{\"frame\":%d,\"algorithm\":\"", frame.number) + frame.algorithm +
         "\",\"arrival\":" + list(frame.times, [](const Times& t) { return t.arrival; }) +
         ",\"exit\":" + list(frame.times, [](const Times& t) { return t.exit; }) +
         ",\"from_first\":" + number(frame.from_first) +
         ",\"from_alone\":" + number(frame.from_alone) + "}\n";
}

}  // namespace raytracer
