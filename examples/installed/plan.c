/* Simulates an all-reduce of four ranks, one of them late, without MPI. */
#include <latecomer/latecomer.h>
#include <stdio.h>

int main(void) {
  const double arrivals[4] = {0, 0, 5e-3, 0};
  double exits[4];
  latecomer_problem problem = {.collective = "allreduce",
                               .algorithm = "sorted_linear_tree",
                               .ranks = 4,
                               .count = 1 << 20,
                               .element_bytes = 4,
                               .commutative = 1,
                               .arrivals = arrivals};
  if (latecomer_simulate(&problem, exits) != 0) {
    fprintf(stderr, "%s\n", latecomer_last_error());
    return 1;
  }
  printf("latecomer %s: rank 0 leaves after %.1f ms\n", latecomer_version(), 1e3 * exits[0]);
  return 0;
}
