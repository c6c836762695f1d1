! A Fortran program that knows nothing of latecomer. Compiled with BINDING as one of Fortran's three
! ways to MPI: 1: mpif.h, 2: use mpi, 3: use mpi_f08. Rank 0 prints the mistakes of all ranks.
program collectives
#if BINDING == 2
  use mpi
#elif BINDING == 3
  use mpi_f08
#endif
  implicit none
#if BINDING == 1
  include 'mpif.h'
#endif
#if BINDING == 3
  type(MPI_Comm) :: half
#else
  integer :: half
#endif
  integer, parameter :: n = 1500
  integer :: rank, ranks, error, call, i, root, mistakes, all_mistakes, provided
  double precision, allocatable :: mine(:), sum(:), parts(:), copy(:)
  integer, allocatable :: lengths(:), begins(:)

  call MPI_Init_thread(MPI_THREAD_SINGLE, provided, error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  allocate(mine(n), sum(n), parts(n * ranks), copy(n * ranks), lengths(ranks), begins(ranks))
  lengths = n
  begins = [(i * n, i = 0, ranks - 1)]
  mistakes = 0
  do call = 1, 20
    root = mod(call, ranks)
    mine = [(dble(i + rank * call), i = 1, n)]

    call MPI_Allreduce(mine, sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call check(sum, total(call, ranks))
    sum = mine
    call MPI_Allreduce(MPI_IN_PLACE, sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call check(sum, total(call, ranks))
    sum = -1
    call MPI_Reduce(mine, sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, root, MPI_COMM_WORLD, error)
    if (rank == root) call check(sum, total(call, ranks))

    sum = mine
    call MPI_Bcast(sum, n, MPI_DOUBLE_PRECISION, root, MPI_COMM_WORLD, error)
    call check(sum, [(dble(i + root * call), i = 1, n)])

    parts = -1
    call MPI_Allgather(mine, n, MPI_DOUBLE_PRECISION, parts, n, MPI_DOUBLE_PRECISION, &
                       MPI_COMM_WORLD, error)
    call check(parts, everything(call, ranks))
    parts = -1
    parts(rank * n + 1:(rank + 1) * n) = mine
    call MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DOUBLE_PRECISION, parts, lengths, begins, &
                        MPI_DOUBLE_PRECISION, MPI_COMM_WORLD, error)
    call check(parts, everything(call, ranks))
    parts = -1
    call MPI_Gather(mine, n, MPI_DOUBLE_PRECISION, parts, n, MPI_DOUBLE_PRECISION, root, &
                    MPI_COMM_WORLD, error)
    if (rank == root) call check(parts, everything(call, ranks))
    sum = -1
    copy = everything(call, ranks)
    call MPI_Scatter(copy, n, MPI_DOUBLE_PRECISION, sum, n, MPI_DOUBLE_PRECISION, root, &
                     MPI_COMM_WORLD, error)
    call check(sum, mine)
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end do

  call MPI_Comm_split(MPI_COMM_WORLD, mod(rank, 2), rank, half, error)
  sum = 1
  call MPI_Allreduce(MPI_IN_PLACE, sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, half, error)
  call check(sum, [(dble((ranks + 1 - mod(rank, 2)) / 2), i = 1, n)])
  call MPI_Comm_free(half, error)

  call MPI_Reduce(mistakes, all_mistakes, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a,i0)', 'mistakes: ', all_mistakes
  call MPI_Finalize(error)

contains

  subroutine check(is, should)
    double precision, intent(in) :: is(:), should(:)
    if (any(is /= should)) mistakes = mistakes + 1
  end subroutine

  function total(call, ranks)
    integer, intent(in) :: call, ranks
    double precision :: total(n)
    integer :: i
    total = [(dble(i * ranks + call * (ranks * (ranks - 1) / 2)), i = 1, n)]
  end function

  function everything(call, ranks)
    integer, intent(in) :: call, ranks
    double precision :: everything(n * ranks)
    integer :: i, of
    everything = [((dble(i + of * call), i = 1, n), of = 0, ranks - 1)]
  end function

end program
