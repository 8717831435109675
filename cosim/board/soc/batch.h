/* Data that comes in, and what has to come out: tables that `step board` writes into batches.c. */
#ifndef BATCH_H
#define BATCH_H

#include "step_board.h"

/* Values of a tensor or a stream, row-major, and the lengths of a stream. */
typedef struct {
    unsigned number; /* in the tables of the design */
    const void *values;
    size_t bytes;
    const uint32_t *lengths;
    size_t count;
} batch_array;

typedef struct {
    const batch_array *tensors, *sources; /* to write */
    const batch_array *stored, *sinks;    /* to compare with */
    unsigned tensor_count, source_count, stored_count, sink_count;
} batch;

extern const step_design *const design;
extern step_region regions[];
extern const size_t image_bytes; /* of all images */
extern uint32_t results[];       /* room for the largest result with its lengths */
extern const batch batches[];
extern const unsigned batch_count;

/* What the firmware writes the numbers of a stream as: symbols, of which the first one ends a text. */
typedef struct {
    unsigned number; /* in the tables of the design */
    const char *const *symbols;
    size_t count;
} batch_text;

extern const batch_text texts[]; /* the last one has no symbols */

#endif
