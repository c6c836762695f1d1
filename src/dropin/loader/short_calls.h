/* What the loader knows of short calls, so that it passes them on to the MPI library by itself.
 * Where the program or other ranks have displaced them from the caches, each further page of code
 * or data costs a call more than its instructions, and the way through a family's library has
 * several (docs/overhead.md). One line of the cache holds all of this. */
#ifndef LATECOMER_DROPIN_LOADER_SHORT_CALLS_H
#define LATECOMER_DROPIN_LOADER_SHORT_CALLS_H

#include <stdint.h>

enum { latecomer_common_types = 3 };

struct latecomer_short_calls {
  void (*allreduce)(void);
  void (*reduce)(void);
  void (*bcast)(void);
  uintptr_t types[latecomer_common_types]; /* handles as words */
  int below[latecomer_common_types];       /* fewer elements of the type are short; INT_MIN: none */
  int unused_bits;                         /* the upper bits of a word, beyond a handle's */
} __attribute__((aligned(64)));

#endif
