#include <cstring>

#include "scenes.hpp"

namespace {

struct Scene {
  const char* name;
  int (*run)(int argc, char** argv);
};

constexpr Scene kScenes[] = {
    {"stats", scenes::stats},       {"trouble", scenes::trouble},
    {"threads", scenes::threads},   {"outside", scenes::outside},
    {"sessions", scenes::sessions}, {"disagreement", scenes::disagreement},
    {"finalize", scenes::finalize},
};

}  // namespace

int main(int argc, char** argv) {
  for (const Scene& scene : kScenes) {
    if (argc > 1 && std::strcmp(argv[1], scene.name) == 0) return scene.run(argc - 1, argv + 1);
  }
  std::fprintf(stderr, "usage: mpi_scenes_FAMILY SCENE ...\n");
  return 2;
}
