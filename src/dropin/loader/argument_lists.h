/* Lists of so many arguments: TYPES and MORE with their types, alone and after others; WORDS and
 * AND without. */
#ifndef LATECOMER_DROPIN_LOADER_ARGUMENT_LISTS_H
#define LATECOMER_DROPIN_LOADER_ARGUMENT_LISTS_H

#define TYPES0 void
#define TYPES1 long a
#define TYPES2 long a, long b
#define TYPES3 long a, long b, long c
#define TYPES4 long a, long b, long c, long d
#define TYPES5 long a, long b, long c, long d, long e
#define TYPES6 long a, long b, long c, long d, long e, long f
#define TYPES7 long a, long b, long c, long d, long e, long f, long g
#define TYPES8 long a, long b, long c, long d, long e, long f, long g, long h
#define TYPES9 long a, long b, long c, long d, long e, long f, long g, long h, long i
#define TYPES10 long a, long b, long c, long d, long e, long f, long g, long h, long i, long j
#define TYPES11 \
  long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k
#define TYPES12 \
  long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l
#define TYPES13                                                                                   \
  long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l, \
      long m
#define MORE0
#define MORE1 , long a
#define MORE2 , long a, long b
#define MORE3 , long a, long b, long c
#define MORE4 , long a, long b, long c, long d
#define MORE5 , long a, long b, long c, long d, long e
#define MORE6 , long a, long b, long c, long d, long e, long f
#define MORE7 , long a, long b, long c, long d, long e, long f, long g
#define MORE8 , long a, long b, long c, long d, long e, long f, long g, long h
#define MORE9 , long a, long b, long c, long d, long e, long f, long g, long h, long i
#define MORE10 , long a, long b, long c, long d, long e, long f, long g, long h, long i, long j
#define MORE11 \
  , long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k
#define MORE12 \
  , long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, long l
#define MORE13                                                                              \
  , long a, long b, long c, long d, long e, long f, long g, long h, long i, long j, long k, \
      long l, long m
#define WORDS0
#define WORDS1 a
#define WORDS2 a, b
#define WORDS3 a, b, c
#define WORDS4 a, b, c, d
#define WORDS5 a, b, c, d, e
#define WORDS6 a, b, c, d, e, f
#define WORDS7 a, b, c, d, e, f, g
#define WORDS8 a, b, c, d, e, f, g, h
#define WORDS9 a, b, c, d, e, f, g, h, i
#define WORDS10 a, b, c, d, e, f, g, h, i, j
#define WORDS11 a, b, c, d, e, f, g, h, i, j, k
#define WORDS12 a, b, c, d, e, f, g, h, i, j, k, l
#define WORDS13 a, b, c, d, e, f, g, h, i, j, k, l, m
#define AND0
#define AND1 , a
#define AND2 , a, b
#define AND3 , a, b, c
#define AND4 , a, b, c, d
#define AND5 , a, b, c, d, e
#define AND6 , a, b, c, d, e, f
#define AND7 , a, b, c, d, e, f, g
#define AND8 , a, b, c, d, e, f, g, h
#define AND9 , a, b, c, d, e, f, g, h, i
#define AND10 , a, b, c, d, e, f, g, h, i, j
#define AND11 , a, b, c, d, e, f, g, h, i, j, k
#define AND12 , a, b, c, d, e, f, g, h, i, j, k, l
#define AND13 , a, b, c, d, e, f, g, h, i, j, k, l, m

#endif
