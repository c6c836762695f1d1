#include "delays.hpp"

#include <fstream>
#include <sstream>

#include "mpi.hpp"
#include "options.hpp"

namespace bench {
namespace {

std::vector<double> parse_line(const std::string& line, int number) {
  std::istringstream words(line.substr(0, line.find('#')));
  std::vector<double> delays;
  std::string word;
  while (words >> word) {
    std::size_t end = 0;
    double value = -1;
    try {
      value = std::stod(word, &end);
    } catch (const std::exception&) {
      end = 0;
    }
    if (end != word.size() || !(value >= 0 && value < 86400)) {
      throw UsageError("--delays, line " + std::to_string(number) + ": '" + word +
                       "' is not usable; right would be seconds, 0 or more");
    }
    delays.push_back(value);
  }
  return delays;
}

Delays parse(const std::string& text) {
  Delays all;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; std::getline(lines, line); ++number) {
    auto delays = parse_line(line, number);
    if (delays.empty()) continue;
    if (delays.size() != static_cast<std::size_t>(ranks())) {
      throw UsageError("--delays, line " + std::to_string(number) + ": " +
                       std::to_string(delays.size()) + " delays are not usable; right would be " +
                       std::to_string(ranks()) + ", one a rank");
    }
    all.push_back(std::move(delays));
  }
  if (all.empty()) throw UsageError("--delays: a file without lines is not usable");
  return all;
}

}  // namespace

Delays read_delays(const std::string& file) {
  std::string text;
  int readable = 1;
  if (rank() == 0) {
    std::ifstream input(file);
    std::ostringstream content;
    readable = input ? 1 : 0;
    if (input) content << input.rdbuf();
    text = content.str();
  }
  MPI_Bcast(&readable, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (readable == 0) {
    throw UsageError("--delays: '" + file + "' is not usable; right would be a file that rank 0 " +
                     "can read");
  }
  return parse(broadcast(text));
}

}  // namespace bench
