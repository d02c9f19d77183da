// Kernels of inference on a CPU with AVX-512 VNNI: linear layers with int8 weights, attention of few queries, and the
// distribution of a pointer-generator.
//
// Compiled by `.ci/hatch_build.py`, called by `kernels.py`; needs no library but OpenMP, which is the one that torch has
// loaded.

#include <immintrin.h>
#include <stdint.h>

constexpr int64_t LANES = 16;              // numbers of a vector
constexpr int VECTORS = 4;                 // of a block of outputs
constexpr int64_t BLOCK = LANES * VECTORS; // outputs whose weights are packed together
constexpr int ROWS = 6;                    // multiplied at a time: sums fill 24 of 32 registers
constexpr int QUERIES = 4;                 // that read keys and values together
constexpr int64_t CHUNK = 192;             // rows whose inputs stay in the cache
constexpr int64_t WORK = 1 << 17;          // products from which threads share them
constexpr int64_t FEATURES = 8;            // of keys that a pointer multiplies together
constexpr int64_t GROUP = 8;               // rows that a thread multiplies with the keys of a document

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

// Map x (rows, inputs) to y (rows, outputs): a linear layer with int8 weights and dynamic per-row quantization of the
// input.
//
// Rows are quantized, multiplied, scaled and shifted by the bias in one call, which reads the weights once for a few
// rows. Every result has the bits of the operators of torch that `Int8Linear` uses elsewhere.
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

// exp of numbers that are not positive, to within 2 units in the last place; 0 below -104.
static __m512 exponential(__m512 x) {
    x = _mm512_max_ps(_mm512_set1_ps(-110.0f), x); // -inf would become NaN; NaN stays, as the second operand
    const __m512 power = _mm512_roundscale_ps(_mm512_mul_ps(x, _mm512_set1_ps(1.44269504f)), _MM_FROUND_TO_NEAREST_INT);
    // The logarithm of 2 in two parts, of which the first has few bits (Cody and Waite).
    __m512 rest = _mm512_fnmadd_ps(power, _mm512_set1_ps(0.693359375f), x);
    rest = _mm512_fnmadd_ps(power, _mm512_set1_ps(-2.12194440e-4f), rest);
    constexpr float taylor[] = {1.0f / 720, 1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f};
    __m512 sum = _mm512_set1_ps(1.0f / 5040);
#pragma GCC unroll 7
    for (float factor : taylor) sum = _mm512_fmadd_ps(sum, rest, _mm512_set1_ps(factor));
    return _mm512_scalef_ps(sum, power);
}

// Sum the lanes of four vectors, together in a third of the instructions.
static __m128 sum_lanes(const __m512* sums) {
    const __m512 first = _mm512_add_ps(_mm512_unpacklo_ps(sums[0], sums[1]), _mm512_unpackhi_ps(sums[0], sums[1]));
    const __m512 second = _mm512_add_ps(_mm512_unpacklo_ps(sums[2], sums[3]), _mm512_unpackhi_ps(sums[2], sums[3]));
    const __m512 both = _mm512_add_ps(_mm512_shuffle_ps(first, second, 0x44), _mm512_shuffle_ps(first, second, 0xee));
    const __m256 half = _mm256_add_ps(_mm512_castps512_ps256(both), _mm512_extractf32x8_ps(both, 1));
    return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

// Softmax of scaled scores plus a bias, in place and without its division; returns the sum.
static float softmax(float* scores, const float* bias, int64_t keys, float scale) {
    __m512 largest = _mm512_set1_ps(-__builtin_inff()), sum = _mm512_setzero_ps();
    for (int64_t k = 0; k < keys; k += LANES) {
        const __mmask16 exist = keys - k >= LANES ? 0xffff : (1 << (keys - k)) - 1;
        __m512 part = _mm512_mul_ps(_mm512_maskz_loadu_ps(exist, scores + k), _mm512_set1_ps(scale));
        if (bias) part = _mm512_add_ps(part, _mm512_maskz_loadu_ps(exist, bias + k));
        _mm512_mask_storeu_ps(scores + k, exist, part);
        largest = _mm512_mask_max_ps(largest, exist, largest, part);
    }
    largest = _mm512_set1_ps(_mm512_reduce_max_ps(largest));
    for (int64_t k = 0; k < keys; k += LANES) {
        const __mmask16 exist = keys - k >= LANES ? 0xffff : (1 << (keys - k)) - 1;
        const __m512 part = exponential(_mm512_sub_ps(_mm512_maskz_loadu_ps(exist, scores + k), largest));
        _mm512_mask_storeu_ps(scores + k, exist, part);
        sum = _mm512_mask_add_ps(sum, exist, sum, part);
    }
    return _mm512_reduce_add_ps(sum);
}

// Strides of a tensor of four axes, in numbers; the last axis is contiguous.
struct Strides {
    int64_t document, head, row, one;
};
enum { QUERY, KEY, VALUE, BIAS };

// Attend from R queries of a head, to V vectors of features at a time. Each sum has the same order whatever the other
// queries and the padding.
template <int R, int V>
static void attend_from(const float* query, const float* key, const float* value, const float* bias, int64_t keys,
                        int64_t features, const Strides* strides, float* scores, float* mixed) {
    for (int64_t k = 0; k < keys; k++) {
        __m512 sums[QUERIES] = {};
        for (int64_t f = 0; f < features; f += LANES) {
            const __m512 part = _mm512_loadu_ps(key + k * strides[KEY].row + f);
#pragma GCC unroll 4
            for (int r = 0; r < R; r++)
                sums[r] = _mm512_fmadd_ps(_mm512_loadu_ps(query + r * strides[QUERY].row + f), part, sums[r]);
        }
        const __m128 summed = sum_lanes(sums);
        for (int r = 0; r < R; r++) scores[r * keys + k] = summed[r];
    }
    const float scale = 1 / __builtin_sqrtf(features);
    float totals[R];
    for (int r = 0; r < R; r++)
        totals[r] = softmax(scores + r * keys, bias ? bias + r * strides[BIAS].row : bias, keys, scale);
    for (int64_t f = 0; f < features; f += V * LANES) {
        __m512 sums[R][V] = {};
        for (int64_t k = 0; k < keys; k++)
#pragma GCC unroll 6
            for (int v = 0; v < V; v++) {
                const __m512 part = _mm512_loadu_ps(value + k * strides[VALUE].row + f + v * LANES);
#pragma GCC unroll 4
                for (int r = 0; r < R; r++)
                    sums[r][v] = _mm512_fmadd_ps(_mm512_set1_ps(scores[r * keys + k]), part, sums[r][v]);
            }
#pragma GCC unroll 4
        for (int r = 0; r < R; r++)
#pragma GCC unroll 6
            for (int v = 0; v < V; v++)
                _mm512_storeu_ps(mixed + r * features + f + v * LANES,
                                 _mm512_div_ps(sums[r][v], _mm512_set1_ps(totals[r])));
    }
}

template <int V> static constexpr decltype(&attend_from<1, V>) ATTEND[QUERIES] = {
    attend_from<1, V>, attend_from<2, V>, attend_from<3, V>, attend_from<4, V>};

// Scaled dot-product attention of queries (documents, heads, queries, features) to keys and values (documents, heads,
// keys, features), with a bias (documents, heads, queries, keys) of the scores, or none: mixed (documents, heads,
// queries, features). Features are a multiple of 32.
//
// strides: of query, key, value and bias, whose last axis is contiguous.
// scores: room for documents * heads * queries * keys numbers.
extern "C" void attend(const float* query, const float* key, const float* value, const float* bias, float* scores,
                       float* mixed, int64_t documents, int64_t heads, int64_t queries, int64_t keys, int64_t features,
                       const Strides* strides) {
#pragma omp parallel for if (documents * heads * queries * keys * features >= WORK)
    for (int64_t index = 0; index < documents * heads; index++) {
        const int64_t document = index / heads, head = index % heads;
        const auto first = [&](const float* values, int tensor) {
            return values + document * strides[tensor].document + head * strides[tensor].head;
        };
        for (int64_t row = 0; row < queries; row += QUERIES) {
            const int64_t count = queries - row < QUERIES ? queries - row : QUERIES, done = index * queries + row;
            const auto* functions = features % (6 * LANES) == 0 ? ATTEND<6> : features % (4 * LANES) ? ATTEND<2> : ATTEND<4>;
            functions[count - 1](first(query, QUERY) + row * strides[QUERY].row, first(key, KEY), first(value, VALUE),
                     bias ? first(bias, BIAS) + row * strides[BIAS].row : bias, keys, features, strides,
                     scores + done * keys, mixed + done * features);
        }
    }
}

// Natural logarithm of numbers that are not negative, to within 2 units in the last place.
static __m512 logarithm(__m512 x) {
    __m512 power = _mm512_getexp_ps(x), mantissa = _mm512_getmant_ps(x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_src);
    const __mmask16 large = _mm512_cmp_ps_mask(mantissa, _mm512_set1_ps(1.41421356f), _CMP_GT_OQ);
    power = _mm512_mask_add_ps(power, large, power, _mm512_set1_ps(1.0f));
    mantissa = _mm512_mask_mul_ps(mantissa, large, mantissa, _mm512_set1_ps(0.5f));
    // log(m) = 2 artanh((m - 1) / (m + 1)), whose argument is below .172.
    const __m512 one = _mm512_set1_ps(1.0f);
    const __m512 ratio = _mm512_div_ps(_mm512_sub_ps(mantissa, one), _mm512_add_ps(mantissa, one));
    const __m512 square = _mm512_mul_ps(ratio, ratio);
    constexpr float series[] = {2.0f / 7, 2.0f / 5, 2.0f / 3};
    __m512 sum = _mm512_set1_ps(2.0f / 9);
#pragma GCC unroll 3
    for (float factor : series) sum = _mm512_fmadd_ps(sum, square, _mm512_set1_ps(factor));
    const __m512 rest = _mm512_fmadd_ps(_mm512_mul_ps(sum, square), ratio, _mm512_add_ps(ratio, ratio));
    return _mm512_fmadd_ps(power, _mm512_set1_ps(0.693147181f), rest);
}

// Dot products of rows (rows, features) with keys (features, keys): scores (rows, keys). Features are a multiple of
// FEATURES, of which the keys are read side by side, so that the sums stay in the cache.
static void multiply_keys(const float* rows, int64_t count, const float* key, int64_t keys, int64_t features,
                          float* scores) {
    for (int64_t f = 0; f < features; f += FEATURES)
        for (int64_t k = 0; k < keys; k += LANES) {
            const __mmask16 exist = keys - k >= LANES ? 0xffff : (1 << (keys - k)) - 1;
            __m512 part[FEATURES];
#pragma GCC unroll 8
            for (int n = 0; n < FEATURES; n++) part[n] = _mm512_maskz_loadu_ps(exist, key + (f + n) * keys + k);
            for (int64_t r = 0; r < count; r++) {
                __m512 sum = f ? _mm512_maskz_loadu_ps(exist, scores + r * keys + k) : _mm512_setzero_ps();
#pragma GCC unroll 8
                for (int n = 0; n < FEATURES; n++)
                    sum = _mm512_fmadd_ps(_mm512_set1_ps(rows[r * features + f + n]), part[n], sum);
                _mm512_mask_storeu_ps(scores + r * keys + k, exist, sum);
            }
        }
}

// Add `generate` to the log-softmax of a row of logits, in place.
static void log_softmax(float* logits, int64_t count, float generate) {
    __m512 largest = _mm512_set1_ps(-__builtin_inff()), sum = _mm512_setzero_ps();
    for (int64_t k = 0; k < count; k += LANES) {
        const __mmask16 exist = count - k >= LANES ? 0xffff : (1 << (count - k)) - 1;
        largest = _mm512_mask_max_ps(largest, exist, largest, _mm512_maskz_loadu_ps(exist, logits + k));
    }
    largest = _mm512_set1_ps(_mm512_reduce_max_ps(largest));
    for (int64_t k = 0; k < count; k += LANES) {
        const __mmask16 exist = count - k >= LANES ? 0xffff : (1 << (count - k)) - 1;
        const __m512 part = _mm512_sub_ps(_mm512_maskz_loadu_ps(exist, logits + k), largest);
        sum = _mm512_mask_add_ps(sum, exist, sum, exponential(part));
    }
    const __m512 total = logarithm(_mm512_set1_ps(_mm512_reduce_add_ps(sum)));
    const __m512 shift = _mm512_sub_ps(_mm512_set1_ps(generate), total);
    for (int64_t k = 0; k < count; k += LANES) {
        const __mmask16 exist = count - k >= LANES ? 0xffff : (1 << (count - k)) - 1;
        const __m512 part = _mm512_sub_ps(_mm512_maskz_loadu_ps(exist, logits + k), largest);
        _mm512_mask_storeu_ps(logits + k, exist, _mm512_add_ps(part, shift));
    }
}

// Add the probability of copies to log-probabilities of the tokens of a source: the attention logits `scores`, of which
// those of a token are added up at its first position.
static void add_copies(float* log_probs, float* scores, const float* bias, float copy, const int64_t* ids,
                       const int64_t* first, int64_t keys) {
    const float total = softmax(scores, bias, keys, 1.0f);
    const __m512 share = _mm512_div_ps(exponential(_mm512_set1_ps(copy)), _mm512_set1_ps(total));
    for (int64_t k = 0; k < keys; k++) {
        const float weight = scores[k];
        scores[k] = 0.0f;
        scores[first[k]] += weight;
    }
    for (int64_t k = 0; k < keys; k += LANES / 2) {
        const __mmask8 exist = keys - k >= LANES / 2 ? 0xff : (1 << (keys - k)) - 1;
        const __m512 weight = _mm512_mul_ps(_mm512_maskz_loadu_ps(exist, scores + k), share);
        const __mmask8 copied = _mm512_cmp_ps_mask(weight, _mm512_setzero_ps(), _CMP_NLE_UQ); // or NaN
        if (!copied) continue;
        const __m512i tokens = _mm512_maskz_loadu_epi64(exist, ids + k);
        const __m512 generated =
            _mm512_castps256_ps512(_mm512_mask_i64gather_ps(_mm256_setzero_ps(), copied, tokens, log_probs, 4));
        const __m512 mixed = logarithm(_mm512_add_ps(exponential(generated), weight));
        const __m512 larger = _mm512_max_ps(generated, mixed); // the sum may be below the smallest number
        _mm512_mask_i64scatter_ps(log_probs, copied, tokens, _mm512_castps512_ps256(larger), 4);
    }
}

// Distribution of a pointer-generator (`PointerOutput`), in place of the logits (documents, rows, vocabulary): the log of
// exp(generate) * softmax(logits) + exp(copy) * softmax(query key + bias), the second at the tokens `ids`.
//
// query: (documents, rows, features). key: (documents, features, keys). bias, ids, first position of the same token:
// (documents, keys). generate, copy: (documents, rows). scores: room for documents * rows * keys numbers.
extern "C" void pointer_log_probs(float* logits, const float* query, const float* key, const float* bias,
                                  const float* generate, const float* copy, const int64_t* ids, const int64_t* first,
                                  float* scores, int64_t documents, int64_t rows, int64_t vocabulary, int64_t keys,
                                  int64_t features) {
    const int64_t groups = (rows + GROUP - 1) / GROUP;
#pragma omp parallel for if (documents * rows * keys * features >= WORK)
    for (int64_t index = 0; index < documents * groups; index++) {
        const int64_t document = index / groups, start = index % groups * GROUP;
        const int64_t row = document * rows + start, count = rows - start < GROUP ? rows - start : GROUP;
        multiply_keys(query + row * features, count, key + document * features * keys, keys, features,
                      scores + row * keys);
        for (int64_t r = row; r < row + count; r++) {
            log_softmax(logits + r * vocabulary, vocabulary, generate[r]);
            add_copies(logits + r * vocabulary, scores + r * keys, bias + document * keys, copy[r],
                       ids + document * keys, first + document * keys, keys);
        }
    }
}
