/* memcpy, memset and memcmp by words, where words are aligned: those of picolibc take a transfer for each byte. */
#include <stddef.h>
#include <stdint.h>

#define WORD sizeof(uint32_t)

/* Data of any type. */
typedef uint32_t __attribute__((may_alias)) word;

static int aligned(const void *one, const void *other) { return ((uintptr_t)one | (uintptr_t)other) % WORD == 0; }

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    uint8_t *at = to;
    const uint8_t *there = from;
    if (aligned(at, there))
        for (; bytes >= WORD; bytes -= WORD, at += WORD, there += WORD)
            *(word *)at = *(const word *)there;
    while (bytes--)
        *at++ = *there++;
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    uint8_t *at = to;
    if (aligned(at, at))
        for (; bytes >= WORD; bytes -= WORD, at += WORD)
            *(word *)at = (uint8_t)value * 0x01010101u;
    while (bytes--)
        *at++ = (uint8_t)value;
    return to;
}

int memcmp(const void *one, const void *other, size_t bytes)
{
    const uint8_t *at = one, *there = other;
    if (aligned(at, there))
        while (bytes >= WORD && *(const word *)at == *(const word *)there)
            bytes -= WORD, at += WORD, there += WORD;
    for (; bytes--; at++, there++)
        if (*at != *there)
            return *at - *there;
    return 0;
}
