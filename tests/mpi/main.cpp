#include "runner.hpp"

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  const int result = latecomer::testing::run_all(argc, argv);
  MPI_Finalize();
  return result;
}
