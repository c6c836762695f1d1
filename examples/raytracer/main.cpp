// A ray tracer of the sort-last kind: the scene is divided among the ranks, each draws its part of
// it into an image of full size, and the images are composited. Drawing takes longer where there is
// more to draw, so the ranks do not arrive together in the reduction.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <deque>
#include <fstream>
#include <thread>

#include "compositor.hpp"
#include "options.hpp"
#include "picture.hpp"
#include "report.hpp"

namespace raytracer {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

int rank_of_this() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int number_of_ranks() {
  int ranks = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  return ranks;
}

/// Until all ranks are done. Sleeps, since ranks that still draw may share the cores: most MPI
/// libraries' own barriers would poll.
void wait_for_all() {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibarrier(MPI_COMM_WORLD, &request);
  int done = 0;
  while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && done == 0) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

/// Throws UsageError on all ranks if the root found a fault.
void agree(bool works, int root, const std::string& what, const std::string& value,
           const std::string& remedy) {
  int good = works ? 1 : 0;
  MPI_Bcast(&good, 1, MPI_INT, root, MPI_COMM_WORLD);
  if (good == 0) refuse(what, value, remedy);
}

class Film {
 public:
  explicit Film(const Options& options)
      : options_(options),
        rank_(rank_of_this()),
        ranks_(number_of_ranks()),
        scene_(make_scene(options.seed)) {
    for (const std::string& name : options.algorithms) {
      compositors_.emplace_back(name, options.network);
    }
    if (is_root()) whole_.resize(static_cast<std::size_t>(options.size.pixels()));
    if (is_root() && !options.times.empty()) times_.open(options.times);
    agree(static_cast<bool>(times_), options.root, "--times", options.times,
          "a file that the root can write");
  }

  void shoot() {
    for (int frame = 0; frame < options_.frames; ++frame) {
      if (is_root() && options_.check) render(scene_, eye_at(frame), {0, 1}, options_.size, alone_);
      for (Compositor& compositor : compositors_) shoot(frame, compositor);
    }
  }

 private:
  [[nodiscard]] bool is_root() const { return rank_ == options_.root; }

  /// All ranks begin a frame together.
  void shoot(int number, Compositor& compositor) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = now();
    render(scene_, eye_at(number), {rank_, ranks_}, options_.size, own_);
    const double arrival = now();
    compositor.composite(own_, whole_, options_.root);
    const Times mine{arrival - begin, now() - begin};
    wait_for_all();
    Frame frame{number,
                compositor.algorithm(),
                std::vector<Times>(static_cast<std::size_t>(ranks_)),
                {},
                {}};
    MPI_Gather(&mine, 2, MPI_DOUBLE, frame.times.data(), 2, MPI_DOUBLE, options_.root,
               MPI_COMM_WORLD);
    keep(frame, &compositor == &compositors_.front());
  }

  /// Compares images and writes the files that the options ask for.
  void keep(Frame& frame, bool first) {
    bool written = true;
    if (is_root()) {
      if (first) first_ = whole_;
      frame.from_first = difference(whole_, first_);
      if (options_.check) frame.from_alone = difference(whole_, alone_);
      if (first && !options_.out.empty()) {
        written = write_picture(options_.out, frame.number, options_.size, whole_);
      }
      std::fputs(line(frame).c_str(), stdout);
      std::fflush(stdout);
      if (times_.is_open()) times_ << json(frame) << std::flush;
    }
    agree(written, options_.root, "--out", options_.out, "a folder in which the root can write");
  }

  const Options& options_;
  int rank_;
  int ranks_;
  std::vector<Sphere> scene_;
  std::deque<Compositor> compositors_;
  Image own_;
  Image whole_, first_, alone_;  // on the root
  std::ofstream times_;
};

int run(int argc, char** argv) try {
  const Options options = parse_options(argc, argv, number_of_ranks());
  if (options.help) {
    if (rank_of_this() == 0) std::fputs(kUsage, stdout);
    return 0;
  }
  Film(options).shoot();
  return 0;
} catch (const UsageError& error) {
  if (rank_of_this() == 0) std::fprintf(stderr, "latecomer_raytracer: %s\n", error.what());
  return 2;
}

}  // namespace
}  // namespace raytracer

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int result = raytracer::run(argc, argv);
  MPI_Finalize();
  return result;
}
