! Two ranks pass messages by each of Fortran's three ways to MPI: BINDING as in collectives.F90.
! Rank 0 prints the mistakes of both.
program messages
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
  type(MPI_Request) :: requests(4), kept(2)
  type(MPI_Status) :: status, statuses(4)
#else
  integer :: requests(4), kept(2), status(MPI_STATUS_SIZE), statuses(MPI_STATUS_SIZE, 4)
#endif
  integer :: rank, other, error, i, mistakes, all_mistakes, done, places(4), count
  logical :: flag
  double precision :: mine(8), theirs(8, 4)

  mistakes = 0
  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  other = 1 - rank
  mine = [(dble(i + 10 * rank), i = 1, 8)]
  theirs = 0

  if (rank == 0) then
    call MPI_Send(mine, 3, MPI_DOUBLE_PRECISION, 1, 5, MPI_COMM_WORLD, error)
    call MPI_Ssend(mine, 0, MPI_DOUBLE_PRECISION, 1, 6, MPI_COMM_WORLD, error)
  else
    call MPI_Recv(theirs, 8, MPI_DOUBLE_PRECISION, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &
                  status, error)
    call check_status(0, 5, 3)
    call MPI_Recv(theirs(1, 2), 8, MPI_DOUBLE_PRECISION, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE, &
                  error)
    call check(theirs(1, 1) == 1 .and. theirs(3, 1) == 3)
  end if

  call MPI_Sendrecv(mine, 2, MPI_DOUBLE_PRECISION, other, 7, theirs, 8, MPI_DOUBLE_PRECISION, &
                    other, 7, MPI_COMM_WORLD, status, error)
  call check_status(other, 7, 2)

  do i = 1, 2
    call MPI_Irecv(theirs(1, i), 8, MPI_DOUBLE_PRECISION, other, i, MPI_COMM_WORLD, requests(i), &
                   error)
    call MPI_Isend(mine, i, MPI_DOUBLE_PRECISION, other, i, MPI_COMM_WORLD, requests(2 + i), error)
  end do
  call MPI_Waitall(4, requests, statuses, error)
#if BINDING == 3
  call check(statuses(2)%MPI_TAG == 2)
  call check(requests(1) == MPI_REQUEST_NULL)
#else
  call check(statuses(MPI_TAG, 2) == 2)
  call check(requests(1) == MPI_REQUEST_NULL)
#endif

  do i = 1, 2
    call MPI_Irecv(theirs(1, i), 8, MPI_DOUBLE_PRECISION, other, i, MPI_COMM_WORLD, requests(i), &
                   error)
    call MPI_Isend(mine, i, MPI_DOUBLE_PRECISION, other, i, MPI_COMM_WORLD, requests(2 + i), error)
  end do
  done = 0
  do while (done < 3)
    call MPI_Waitsome(4, requests, count, places, MPI_STATUSES_IGNORE, error)
    done = done + count
  end do
  do i = done + 1, 4
    call MPI_Waitany(4, requests, places(1), MPI_STATUS_IGNORE, error)
  end do

  call MPI_Recv_init(theirs, 8, MPI_DOUBLE_PRECISION, other, 9, MPI_COMM_WORLD, kept(1), error)
  call MPI_Send_init(mine, 8, MPI_DOUBLE_PRECISION, other, 9, MPI_COMM_WORLD, kept(2), error)
  do i = 1, 2
    theirs = 0
    call MPI_Startall(2, kept, error)
    flag = .false.
    do while (.not. flag)
      call MPI_Testall(2, kept, flag, MPI_STATUSES_IGNORE, error)
    end do
    call check(theirs(8, 1) == 8 + 10 * other)
  end do
  call MPI_Request_free(kept(1), error)
  call MPI_Request_free(kept(2), error)

  call MPI_Reduce(mistakes, all_mistakes, 1, MPI_INTEGER, MPI_SUM, 0, MPI_COMM_WORLD, error)
  if (rank == 0) print '(a, i0)', 'mistakes: ', all_mistakes
  call MPI_Finalize(error)

contains

  subroutine check(right)
    logical, intent(in) :: right
    if (.not. right) mistakes = mistakes + 1
  end subroutine check

  subroutine check_status(from, tag, elements)
    integer, intent(in) :: from, tag, elements
    integer :: found
    call MPI_Get_count(status, MPI_DOUBLE_PRECISION, found, error)
#if BINDING == 3
    call check(status%MPI_SOURCE == from .and. status%MPI_TAG == tag .and. found == elements)
#else
    call check(status(MPI_SOURCE) == from .and. status(MPI_TAG) == tag .and. found == elements)
#endif
  end subroutine check_status

end program messages
