/* How tensors and streams lie in memory. */
#include "step_board.h"

#include <string.h>

static size_t scalar_bytes(const step_tile *tile) { return tile->bits < 8 ? 1 : tile->bits / 8; }

/* Bytes of scalars in memory, where those of a bit are put together. */
static size_t packed_bytes(const step_tile *tile, size_t scalars) { return (scalars * tile->bits + 7) / 8; }

static size_t up_to(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

/* Put scalars behind `at` others of a tile; bytes that begin are 0. */
static void put(const step_tile *tile, const uint8_t *from, size_t scalars, uint8_t *image, size_t at)
{
    if (tile->bits >= 8) {
        memcpy(image + at * scalar_bytes(tile), from, scalars * scalar_bytes(tile));
        return;
    }
    for (; scalars--; at++, from++) {
        if (at % 8 == 0)
            image[at / 8] = 0;
        image[at / 8] |= (uint8_t)((*from != 0) << at % 8);
    }
}

static void get(const step_tile *tile, const uint8_t *image, size_t at, uint8_t *to, size_t scalars)
{
    if (tile->bits >= 8) {
        memcpy(to, image + at * scalar_bytes(tile), scalars * scalar_bytes(tile));
        return;
    }
    for (; scalars--; at++)
        *to++ = image[at / 8] >> at % 8 & 1;
}

size_t step_matrix_bytes(const step_tensor *tensor)
{
    return (size_t)tensor->height * tensor->width * scalar_bytes(&tensor->tilings->tile);
}

/* Go through a tensor tile by tile, and through each row by row. */
static void each_row(
    const step_tensor *tensor, const step_tiling *tiling, size_t outer, uint8_t *array, uint8_t *image, int writes)
{
    const step_tile *tile = &tiling->tile;
    size_t down = tensor->height / tile->rows, across = tensor->width / tile->columns, size = scalar_bytes(tile);
    size_t used = packed_bytes(tile, (size_t)tile->rows * tile->columns);
    for (size_t at = 0; at < outer * down * across; at++) {
        size_t row = at / across * tile->rows, column = at % across * tile->columns;
        for (size_t each = 0; each < tile->rows; each++) {
            uint8_t *there = array + ((row + each) * tensor->width + column) * size;
            if (writes)
                put(tile, there, tile->columns, image, each * tile->columns);
            else
                get(tile, image, each * tile->columns, there, tile->columns);
        }
        if (writes)
            memset(image + used, 0, tiling->tile_bytes - used);
        image += tiling->tile_bytes;
    }
}

void step_pack_tensor(const step_tensor *tensor, unsigned tiling, uint32_t outer, const void *array, void *image)
{
    each_row(tensor, &tensor->tilings[tiling], outer, (uint8_t *)array, image, 1);
}

void step_unpack_tensor(const step_tensor *tensor, unsigned tiling, uint32_t outer, const void *image, void *array)
{
    each_row(tensor, &tensor->tilings[tiling], outer, array, (uint8_t *)image, 0);
}

/* A walk through a stream: lengths and elements that were met. An image of NULL is only measured. */
typedef struct {
    const step_stream *stream;
    const uint32_t *lengths;
    size_t count, taken; /* of lengths */
    uint8_t *values;
    size_t bytes, used; /* of values */
    uint8_t *image;
    size_t room, filled; /* of the image */
    size_t elements;
    int packs, result;
} walk;

/* Move an element of so many rows between values and image. */
static void element(walk *w, uint32_t rows)
{
    const step_stream *stream = w->stream;
    size_t begin = w->filled;
    w->elements++;
    if (stream->word_bytes == 0)
        return;
    for (unsigned part = 0; part < stream->part_count; part++) {
        const step_tile *tile = &stream->parts[part];
        size_t scalars = (size_t)(tile->rows ? tile->rows : rows) * tile->columns;
        size_t size = scalars * scalar_bytes(tile), used = packed_bytes(tile, scalars);
        size_t whole = up_to(used, stream->word_bytes);
        int fits = w->used + size <= w->bytes && w->filled + whole <= w->room;
        if (fits && w->image && w->packs) {
            put(tile, w->values + w->used, scalars, w->image + w->filled, 0);
            memset(w->image + w->filled + used, 0, whole - used);
        } else if (fits && w->image) {
            get(tile, w->image + w->filled, 0, w->values + w->used, scalars);
        }
        w->used += size;
        w->filled += whole;
    }
    size_t end = begin + up_to(w->filled - begin, stream->unit_bytes);
    if (w->image && w->packs && end <= w->room)
        memset(w->image + w->filled, 0, end - w->filled);
    w->filled = end;
}

static uint32_t next_length(walk *w)
{
    if (w->taken == w->count) {
        w->result = STEP_SHAPE;
        return 0;
    }
    return w->lengths[w->taken++];
}

/* The dimensions from `level` on; a sink has a length for each. */
static void dimensions(walk *w, unsigned level, int all)
{
    if (level == w->stream->rank) {
        element(w, w->stream->has_rows ? next_length(w) : 0);
        return;
    }
    uint32_t extent = w->stream->extents[level];
    if (all || extent == STEP_DYNAMIC)
        extent = next_length(w);
    while (extent-- && w->result == STEP_OK)
        dimensions(w, level + 1, all);
}

static int is_listed(const step_stream *stream)
{
    for (unsigned level = 0; level < stream->rank; level++)
        if (stream->extents[level] == STEP_DYNAMIC)
            return 1;
    return stream->has_rows;
}

int step_pack_stream(
    const step_stream *stream, const void *values, size_t bytes, const uint32_t *lengths, size_t count,
    void *value_image, size_t *value_bytes, void *list_image, size_t *list_bytes)
{
    walk w = {stream, lengths, count, 0, (uint8_t *)values, bytes, 0, value_image, *value_bytes, 0, 0, 1, STEP_OK};
    size_t room = *list_bytes;
    dimensions(&w, 0, 0);
    *value_bytes = up_to(w.filled, stream->request_bytes);
    *list_bytes = is_listed(stream) ? up_to((2 + count) * 4, stream->request_bytes) : 0;
    if (w.result != STEP_OK || w.taken != count || w.used != bytes)
        return STEP_SHAPE;
    if (*value_bytes > w.room || *list_bytes > room || *value_bytes / stream->request_bytes > STEP_MOST_REQUESTS ||
        *list_bytes / stream->request_bytes > STEP_MOST_REQUESTS)
        return STEP_SPACE;
    if (w.image)
        memset(w.image + w.filled, 0, *value_bytes - w.filled);
    if (*list_bytes && list_image) {
        uint32_t head[2] = {(uint32_t)(*list_bytes / stream->request_bytes),
                            (uint32_t)(*value_bytes / stream->request_bytes)};
        uint8_t *list = list_image;
        memset(list, 0, *list_bytes);
        memcpy(list, head, sizeof head);
        if (count)
            memcpy(list + sizeof head, lengths, 4 * count);
    }
    return STEP_OK;
}

/* Lengths that a sink wrote, each where its dimension ends, as they are when each begins: from the back. */
typedef struct {
    const uint8_t *list;
    size_t left; /* of the list, in words */
    uint32_t *lengths;
    size_t place, room; /* of what was written last */
    unsigned has_rows;
    int result;
} turning;

static void turn(turning *t, unsigned levels)
{
    uint32_t length, each;
    if (levels == 0 && !t->has_rows)
        return;
    if (t->left == 0) {
        t->result = STEP_SHAPE;
        return;
    }
    memcpy(&length, t->list + 4 * --t->left, 4);
    for (each = 0; levels && each < length && t->result == STEP_OK; each++)
        turn(t, levels - 1);
    t->place--;
    if (t->place < t->room)
        t->lengths[t->place] = length;
}

int step_unpack_stream(
    const step_stream *stream, const void *value_image, size_t *value_bytes, const void *list_image, size_t list_bytes,
    void *values, size_t *bytes, uint32_t *lengths, size_t *count)
{
    const uint8_t *list = list_image;
    size_t room = *bytes, places = *count;
    uint32_t head[2];
    memcpy(head, list, sizeof head);
    if (head[0] == 0)
        return STEP_UNFINISHED;
    if (stream->request_bytes + 4 * (size_t)head[0] > list_bytes)
        return STEP_SPACE;
    *count = head[0];
    if (places < *count)
        return STEP_SPACE;
    turning t = {list + stream->request_bytes, head[0], lengths, head[0], places, stream->has_rows, STEP_OK};
    turn(&t, stream->rank);
    if (t.result != STEP_OK || t.left != 0)
        return STEP_SHAPE;
    walk w = {stream, lengths, *count, 0, values, room, 0, (uint8_t *)value_image, *value_bytes, 0, 0, 0, STEP_OK};
    dimensions(&w, 0, 1);
    *bytes = w.used;
    *value_bytes = w.filled;
    if (w.result != STEP_OK || w.taken != *count || w.elements != head[1])
        return STEP_SHAPE;
    return w.used > room || w.filled > w.room ? STEP_SPACE : STEP_OK;
}
