// Linear layer with int8 weights and dynamic per-row quantization of the input, with AVX-512 VNNI.
//
// Rows are quantized, multiplied, scaled and shifted by the bias in one call, which reads the weights once for a few
// rows. Every result has the bits of the operators of torch that `Int8Linear` uses elsewhere. Compiled by
// `.ci/hatch_build.py`; needs no library but OpenMP, which is the one that torch has loaded.

#include <immintrin.h>
#include <stdint.h>

constexpr int64_t LANES = 16;              // outputs of a vector
constexpr int VECTORS = 4;                 // of a block of outputs
constexpr int64_t BLOCK = LANES * VECTORS; // outputs whose weights are packed together
constexpr int ROWS = 6;                    // multiplied at a time: sums fill 24 of 32 registers
constexpr int64_t CHUNK = 192;             // rows whose inputs stay in the cache
constexpr int64_t WORK = 1 << 17;          // products from which threads share them

typedef int32_t Int32 __attribute__((aligned(1), may_alias));

// Quantize a row to 127 levels with a zero point of 128; returns its largest magnitude.
static float quantize(const float* row, int64_t inputs, int64_t padded, uint8_t* quantized) {
    union { int32_t bits; float value; } largest = {0}; // magnitudes are ordered as their bits, with NaN as the largest
    for (int64_t k = 0; k < inputs; k++) {
        const int32_t magnitude = ((const Int32*)row)[k] & 0x7fffffff;
        largest.bits = magnitude > largest.bits ? magnitude : largest.bits;
    }
    for (int64_t k = 0; k < inputs; k++) {
        // The sum with 1.5 * 2^23 has the rounded number in its lowest bits. As fbgemm does, 128 is added first.
        union { float value; uint32_t bits; } shifted =
            {__builtin_fmaf(row[k] / largest.value, 127.0f, 128.0f) + 12582912.0f};
        quantized[k] = (uint8_t)shifted.bits;
    }
    for (int64_t k = inputs; k < padded; k++) quantized[k] = 0; // times weights of 0
    return largest.value;
}

// Multiply R rows with the weights of a block, of which `outputs` exist. Loops over sums are unrolled: otherwise GCC keeps
// the sums in memory.
template <int R>
static void multiply(const uint8_t* rows, const float* largest, int64_t inputs, const int8_t* weights,
                     const int32_t* offsets, const float* scales, const float* bias, float* y, int64_t stride,
                     int64_t outputs) {
    __m512i sums[R][VECTORS];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 6
        for (int v = 0; v < VECTORS; v++) sums[r][v] = _mm512_setzero_si512();
    for (int64_t k = 0; k < inputs; k += 4, weights += 4 * BLOCK)
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            const __m512i four = _mm512_set1_epi32(*(const Int32*)(rows + r * inputs + k));
#pragma GCC unroll 6
            for (int v = 0; v < VECTORS; v++)
                sums[r][v] = _mm512_dpbusd_epi32(sums[r][v], four, _mm512_loadu_si512(weights + 4 * LANES * v));
        }
#pragma GCC unroll 6
    for (int v = 0; v < VECTORS; v++) {
        const int64_t first = v * LANES, left = outputs - first;
        const __mmask16 exist = left >= LANES ? 0xffff : left > 0 ? (1 << left) - 1 : 0;
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            const __m512i sum = _mm512_sub_epi32(sums[r][v], _mm512_loadu_si512(offsets + first));
            const __m512 product = _mm512_mul_ps(_mm512_cvtepi32_ps(sum), _mm512_loadu_ps(scales + first));
            const __m512 shifted =
                _mm512_fmadd_ps(product, _mm512_set1_ps(largest[r]), _mm512_loadu_ps(bias + first));
            _mm512_mask_storeu_ps(y + r * stride + first, exist, shifted);
        }
    }
}

// Map x (rows, inputs) to y (rows, outputs).
//
// packed: for outputs padded to blocks, and inputs to a multiple of 4: weights (blocks, inputs / 4, BLOCK, 4), then 128
//     times their sums (int32), scales divided by 127 (float), and bias (float), one of each output.
// scratch: room for the largest magnitude of each row (float), and then for its padded inputs as bytes.
extern "C" void int8_linear(const float* x, int64_t rows, int64_t inputs, const int8_t* packed, int64_t outputs,
                            float* y, float* scratch) {
    const int64_t padded = (inputs + 3) / 4 * 4, blocks = (outputs + BLOCK - 1) / BLOCK;
    const int32_t* offsets = (const int32_t*)(packed + blocks * BLOCK * padded);
    const float* scales = (const float*)(offsets + blocks * BLOCK);
    const float* bias = scales + blocks * BLOCK;
    uint8_t* quantized = (uint8_t*)(scratch + rows);
#pragma omp parallel if (rows * padded * blocks * BLOCK >= WORK)
    for (int64_t start = 0; start < rows; start += CHUNK) {
        const int64_t end = start + CHUNK < rows ? start + CHUNK : rows;
#pragma omp for
        for (int64_t row = start; row < end; row++)
            scratch[row] = quantize(x + row * inputs, inputs, padded, quantized + row * padded);
#pragma omp for
        for (int64_t block = 0; block < blocks; block++) {
            const int64_t first = block * BLOCK;
            for (int64_t row = start; row < end; row += ROWS) {
                const int64_t left = end - row;
                const auto function = left == 1 ? multiply<1> : left == 2 ? multiply<2> : left == 3 ? multiply<3>
                    : left == 4 ? multiply<4> : left == 5 ? multiply<5> : multiply<ROWS>;
                function(quantized + row * padded, scratch + row, padded, packed + first * padded, offsets + first,
                         scales + first, bias + first, y + row * outputs + first, outputs, outputs - first);
            }
        }
    }
}
