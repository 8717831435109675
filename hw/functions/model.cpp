// Simulation-only arithmetic, equal to the RTL bit for bit: whole tiles in one DPI-C call.
//
// Tiles come as 32 bit words in token order (row by row, scalars side by side, lowest first).

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "svdpi.h"

namespace {

float number(uint32_t bits) {
    float value;
    std::memcpy(&value, &bits, 4);
    return value;
}

uint32_t pattern(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    return bits;
}

// A subnormal number is a zero of the same sign. The choice also keeps the compiler from fusing product and sum.
inline float flush(float value) { return std::fabs(value) < 0x1p-126f ? std::copysign(0.0f, value) : value; }

uint32_t canonical(float value) { return std::isnan(value) ? 0x7FC00000u : pattern(value); }

uint32_t to_bf16(float value) {
    uint32_t bits = canonical(value);
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16;
}

uint32_t scalar_bits(const uint32_t* tile, int index, int width) {
    return width == 32 ? tile[index] : tile[index / 2] >> index % 2 * 16 & 0xFFFF;
}

float scalar(const uint32_t* tile, int index, int width) {
    uint32_t bits = scalar_bits(tile, index, width);
    return flush(number(width == 32 ? bits : bits << 16));
}

void store(uint32_t* tile, int index, int width, float value) {
    if (width == 32) {
        tile[index] = canonical(value);
        return;
    }
    int at = index % 2 * 16;
    tile[index / 2] = (tile[index / 2] & ~(0xFFFFu << at)) | to_bf16(value) << at;
}

// Of a flushed number 1.f * 2^e; far below all others of zero, and of what is not finite, which decides the sum alone.
int exponent(float value) {
    return value == 0.0f || !std::isfinite(value) ? -4096 : int(pattern(value) >> 23 & 0xFF) - 127;
}

// The fused sum of `terms` products of flushed BF16 numbers; those of the second factor are `stride` apart.
float fused_sum(const float* first, const float* second, int terms, int stride) {
    const int fraction = 24, significand = 24;  // as in step/language/fused.py
    int largest = -8192;
    double special = 0;
    for (int k = 0; k < terms; ++k) {
        largest = std::max(largest, exponent(first[k]) + exponent(second[k * stride]));
        const double product = double(first[k]) * second[k * stride];
        if (!std::isfinite(product)) special += product;
    }
    if (special != 0) return float(special);
    int64_t sum = 0;
    for (int k = 0; k < terms; ++k)
        sum += int64_t(std::ldexp(double(first[k]) * second[k * stride], fraction - largest));
    const int bits = sum ? 64 - __builtin_clzll(std::llabs(sum)) : 0;
    const int64_t cut = bits > significand ? int64_t(1) << (bits - significand) : 1;
    const double result = std::ldexp(double(sum / cut * cut), largest - fraction);
    return std::fabs(result) < 0x1p-126 ? std::copysign(0.0f, float(result)) : float(result);
}

uint32_t* words(svOpenArrayHandle array) { return static_cast<uint32_t*>(svGetArrayPtr(array)); }

}  // namespace

extern "C" {

// result = (keep ? result : 0) + first x second, so many `terms` at once; `width` is that of the result's scalars, 32
// where `keep` is used.
void step_matmul(int rows, int inner, int cols, int transposed, int terms, int keep, int width,
                 const svOpenArrayHandle first, const svOpenArrayHandle second, const svOpenArrayHandle result) {
    const uint32_t *left = words(first), *right = words(second);
    uint32_t* out = words(result);
    thread_local std::vector<float> matrix, sums, values;
    matrix.resize(size_t(inner) * cols);
    sums.resize(cols);
    values.resize(inner);
    for (int k = 0; k < inner; ++k)
        for (int j = 0; j < cols; ++j)
            matrix[size_t(k) * cols + j] = scalar(right, transposed ? j * inner + k : k * cols + j, 16);
    for (int i = 0; i < rows; ++i) {
        for (int j = 0; j < cols; ++j) sums[j] = keep ? number(out[i * cols + j]) : 0.0f;
        for (int k = 0; k < inner; ++k) values[k] = scalar(left, i * inner + k, 16);
        for (int k = 0; k < inner; k += terms) {
            const float* row = &matrix[size_t(k) * cols];
            for (int j = 0; j < cols; ++j) {
                const float added = terms > 1 ? fused_sum(&values[k], &row[j], std::min(terms, inner - k), cols)
                                              : flush(values[k] * row[j]);
                sums[j] = flush(sums[j] + added);
            }
        }
        for (int j = 0; j < cols; ++j) store(out, i * cols + j, width, sums[j]);
    }
}
}
