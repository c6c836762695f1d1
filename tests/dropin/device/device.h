/* A device without hardware: its memory is mapped so that the processor cannot touch it. */
#ifndef DEVICE_H
#define DEVICE_H

#include <stddef.h>

/* Memory of the device, cleared. */
void* device_allocate(size_t bytes);
/* 1: the processor can touch the device's memory, as an MPI library does by the runtime's help. 0:
 * a touch ends the program. */
void device_open(int open);
/* The errors that the program would see after calls of its own. */
int device_last_error(void);

#endif
