/* Memory of devices: whole aligned words, one access each. memcpy may take others, which devices do not have. Memory
 * has what was written before a register is, and is read behind a register. */
#include <stddef.h>
#include <stdint.h>

#if defined(__aarch64__) || (defined(__ARM_ARCH) && __ARM_ARCH >= 7)
#define IN_ORDER() __asm__ volatile("dsb sy" ::: "memory")
#else
#define IN_ORDER() __sync_synchronize()
#endif

uint32_t device_read32(const volatile uint32_t *from)
{
    uint32_t value = *from;
    IN_ORDER();
    return value;
}

void device_write32(volatile uint32_t *to, uint32_t value)
{
    IN_ORDER();
    *to = value;
}

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
