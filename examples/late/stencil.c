/* A stencil with random load, an MPI program that knows nothing of latecomer.
 *
 *     mpicc stencil.c -o stencil
 *     mpirun -n 4 ./stencil 60 10 50      60 steps; each rank computes 10 to 50 ms in a step
 *
 * Heat on a grid of 512 x 512, warmed by particles. Particles are dealt out to the ranks, wherever
 * they are, as in particle-in-cell codes; so each step sums the grids of warmth that the ranks'
 * particles leave (an all-reduce of 1 MiB). The grid is parted by rows: each rank relaxes its own
 * by a five-point stencil and swaps the rows at its edges with its neighbours. The work on
 * particles differs from rank to rank and from step to step; it is a pause of a random length, the
 * same in each run, so that hosts that share cores do not disturb each other. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { side = 512, particles = 20000, sweeps = 2 };

static float warmth[side * side], all_warmth[side * side];
static float grid[(side + 2) * side], next[(side + 2) * side]; /* with a row of each neighbour */

static unsigned mixed(unsigned state) {
  for (int i = 0; i < 3; ++i) state = (state ^ state >> 15) * 2246822519u;
  return state;
}

/* Milliseconds from least to most. */
static double load(int step, int rank, double least, double most) {
  const unsigned drawn = mixed(2654435761u * (unsigned)(step * 1000 + rank + 1));
  return least + (most - least) * (drawn >> 8) / (1 << 24);
}

static void deposit(int step, int rank, int ranks) {
  for (int i = 0; i < side * side; ++i) warmth[i] = 0;
  for (int i = rank; i < particles; i += ranks) {
    warmth[mixed((unsigned)(step * particles + i)) % (side * side)] += 1;
  }
}

static void swap_edges(int rank, int ranks, int rows) {
  const int above = rank > 0 ? rank - 1 : MPI_PROC_NULL;
  const int below = rank + 1 < ranks ? rank + 1 : MPI_PROC_NULL;
  MPI_Sendrecv(grid + side, side, MPI_FLOAT, above, 0, grid + (rows + 1) * side, side, MPI_FLOAT,
               below, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Sendrecv(grid + rows * side, side, MPI_FLOAT, below, 1, grid, side, MPI_FLOAT, above, 1,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void relax(int rows) {
  for (int i = 1; i <= rows; ++i) {
    for (int j = 0; j < side; ++j) {
      const float* const at = grid + i * side + j;
      const float left = j > 0 ? at[-1] : 0, right = j + 1 < side ? at[1] : 0;
      next[i * side + j] = 0.6f * at[0] + 0.1f * (at[-side] + at[side] + left + right);
    }
  }
  for (int i = side; i < (rows + 1) * side; ++i) grid[i] = next[i];
}

int main(int argc, char** argv) {
  int rank = 0, ranks = 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int steps = argc > 1 ? atoi(argv[1]) : 40;
  const double least = argc > 2 ? atof(argv[2]) : 10, most = argc > 3 ? atof(argv[3]) : 50;
  if (ranks > side) {
    if (rank == 0) fprintf(stderr, "stencil: %d ranks; right would be at most %d\n", ranks, side);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int first = side * rank / ranks;
  const int rows = side * (rank + 1) / ranks - first;
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = MPI_Wtime();
  for (int step = 0; step < steps; ++step) {
    deposit(step, rank, ranks);
    const double seconds = load(step, rank, least, most) / 1e3;
    const struct timespec pause = {(time_t)seconds,
                                   (long)(1e9 * (seconds - (double)(time_t)seconds))};
    nanosleep(&pause, NULL);
    MPI_Allreduce(warmth, all_warmth, side * side, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int i = 0; i < rows * side; ++i) grid[side + i] += all_warmth[first * side + i];
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      swap_edges(rank, ranks, rows);
      relax(rows);
    }
  }
  const double seconds = MPI_Wtime() - begin;
  double heat = 0, sum = 0;
  for (int i = side; i < (rows + 1) * side; ++i) heat += grid[i];
  MPI_Reduce(&heat, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d steps in %.3f s, heat %.6f\n", steps, seconds, sum);
  return MPI_Finalize();
}
