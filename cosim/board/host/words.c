/* Memory of devices: whole aligned words, one access each. memcpy may take others, which devices do not have. */
#include <stddef.h>
#include <stdint.h>

uint32_t device_read32(const volatile uint32_t *from) { return *from; }

void device_write32(volatile uint32_t *to, uint32_t value) { *to = value; }

void device_read(const volatile uint64_t *from, uint64_t *to, size_t words)
{
    while (words--)
        *to++ = *from++;
}

void device_write(volatile uint64_t *to, const uint64_t *from, size_t words)
{
    while (words--)
        *to++ = *from++;
}
