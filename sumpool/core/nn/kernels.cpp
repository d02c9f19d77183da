// Kernels of inference on a CPU with AVX-512 VNNI: linear layers, a decoding step of all layers, the distribution of a
// pointer-generator, and draws from distributions.
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
constexpr float EPSILON = 1e-5f;           // added to variances, as by `torch.nn.LayerNorm`
constexpr int64_t FEATURES = 8;            // of a matrix in single precision that are multiplied together
constexpr int64_t GROUP = 8;               // rows that a thread multiplies with it
constexpr int64_t DRAWN = 128;             // tokens whose probabilities are added up before one of them is drawn

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

// Softmax of scaled scores plus a bias, if there is one, in place and without its division; returns the sum.
static float softmax(float* scores, const float* bias, int64_t keys, float scale) {
    __m512 largest = _mm512_set1_ps(-__builtin_inff()), sum = _mm512_setzero_ps();
    for (int64_t k = 0; k < keys; k += LANES) {
        const __mmask16 exist = keys - k >= LANES ? 0xffff : (1 << (keys - k)) - 1;
        const __m512 shift = bias ? _mm512_maskz_loadu_ps(exist, bias + k) : _mm512_setzero_ps();
        const __m512 part = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(exist, scores + k), _mm512_set1_ps(scale), shift);
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

// A tensor (documents, heads, rows, features) with strides in numbers; the features are contiguous.
struct Heads {
    float* data;
    int64_t document, head, row;

    Heads from(int64_t d, int64_t h, int64_t r) const {
        return {data + d * document + h * head + r * row, document, head, row};
    }
};

// Attend from R queries of a head, to V vectors of features at a time. Each sum has the same order whatever the other
// queries and the padding.
template <int R, int V>
static void attend_from(Heads query, Heads key, Heads value, Heads bias, Heads mixed, int64_t keys, int64_t features,
                        float* scores) {
    for (int64_t k = 0; k < keys; k++) {
        __m512 sums[QUERIES] = {};
        for (int64_t f = 0; f < features; f += LANES) {
            const __m512 part = _mm512_loadu_ps(key.data + k * key.row + f);
            _mm_prefetch((const char*)(value.data + k * value.row + f), _MM_HINT_T1);
#pragma GCC unroll 4
            for (int r = 0; r < R; r++)
                sums[r] = _mm512_fmadd_ps(_mm512_loadu_ps(query.data + r * query.row + f), part, sums[r]);
        }
        const __m128 summed = sum_lanes(sums);
        for (int r = 0; r < R; r++) scores[r * keys + k] = summed[r];
    }
    const float scale = 1 / __builtin_sqrtf(features);
    float totals[R];
    for (int r = 0; r < R; r++) totals[r] = softmax(scores + r * keys, bias.data + r * bias.row, keys, scale);
    for (int64_t f = 0; f < features; f += V * LANES) {
        __m512 sums[R][V] = {};
        for (int64_t k = 0; k < keys; k++)
#pragma GCC unroll 6
            for (int v = 0; v < V; v++) {
                const __m512 part = _mm512_loadu_ps(value.data + k * value.row + f + v * LANES);
#pragma GCC unroll 4
                for (int r = 0; r < R; r++)
                    sums[r][v] = _mm512_fmadd_ps(_mm512_set1_ps(scores[r * keys + k]), part, sums[r][v]);
            }
#pragma GCC unroll 4
        for (int r = 0; r < R; r++)
#pragma GCC unroll 6
            for (int v = 0; v < V; v++)
                _mm512_storeu_ps(mixed.data + r * mixed.row + f + v * LANES,
                                 _mm512_div_ps(sums[r][v], _mm512_set1_ps(totals[r])));
    }
}

template <int V> static constexpr decltype(&attend_from<1, V>) ATTEND[QUERIES] = {
    attend_from<1, V>, attend_from<2, V>, attend_from<3, V>, attend_from<4, V>};

// Scaled dot-product attention of queries (documents, heads, queries, features) to keys and values (documents, heads,
// keys, features), with a bias (documents, heads, queries, keys) of the scores: mixed (documents, heads, queries,
// features). Features are a multiple of 32.
//
// scores: room for documents * heads * queries * keys numbers.
static void attend(Heads query, Heads key, Heads value, Heads bias, Heads mixed, int64_t documents, int64_t heads,
                   int64_t queries, int64_t keys, int64_t features, float* scores) {
    const auto* functions = features % (6 * LANES) == 0 ? ATTEND<6> : features % (4 * LANES) ? ATTEND<2> : ATTEND<4>;
#pragma omp parallel for if (documents * heads * queries * keys * features >= WORK)
    for (int64_t index = 0; index < documents * heads; index++)
        for (int64_t row = 0, d = index / heads, h = index % heads; row < queries; row += QUERIES)
            functions[queries - row < QUERIES ? queries - row - 1 : QUERIES - 1](
                query.from(d, h, row), key.from(d, h, 0), value.from(d, h, 0), bias.from(d, h, row),
                mixed.from(d, h, row), keys, features, scores + (index * queries + row) * keys);
}

// Layer normalisation of rows whose size is a multiple of 16.
static void normalise(const float* rows, int64_t count, int64_t dim, const float* weight, const float* bias,
                      float* normalised) {
#pragma omp parallel for if (count * dim >= WORK)
    for (int64_t r = 0; r < count; r++) {
        __m512 sum = _mm512_setzero_ps(), squares = sum;
        for (int64_t f = r * dim; f < (r + 1) * dim; f += LANES) sum = _mm512_add_ps(sum, _mm512_loadu_ps(rows + f));
        const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(sum) / dim);
        for (int64_t f = r * dim; f < (r + 1) * dim; f += LANES) {
            const __m512 centred = _mm512_sub_ps(_mm512_loadu_ps(rows + f), mean);
            squares = _mm512_fmadd_ps(centred, centred, squares);
        }
        const __m512 scale = _mm512_set1_ps(1 / __builtin_sqrtf(_mm512_reduce_add_ps(squares) / dim + EPSILON));
        for (int64_t f = 0; f < dim; f += LANES) {
            const __m512 centred = _mm512_sub_ps(_mm512_loadu_ps(rows + r * dim + f), mean);
            const __m512 factor = _mm512_mul_ps(scale, _mm512_loadu_ps(weight + f));
            _mm512_storeu_ps(normalised + r * dim + f, _mm512_fmadd_ps(centred, factor, _mm512_loadu_ps(bias + f)));
        }
    }
}

enum Activation : int64_t { RELU, GELU, SILU };

static __m512 activate(__m512 x, Activation activation) {
    const __m512 zero = _mm512_setzero_ps(), one = _mm512_set1_ps(1.0f);
    if (activation == RELU) return _mm512_max_ps(zero, x); // NaN stays, as the second operand
    const __m512 magnitude = _mm512_abs_ps(x);
    const __mmask16 negative = _mm512_cmp_ps_mask(x, zero, _CMP_LT_OQ);
    __m512 probability; // times x
    if (activation == SILU) {
        const __m512 power = exponential(_mm512_sub_ps(zero, magnitude));
        probability = _mm512_div_ps(_mm512_mask_blend_ps(negative, one, power), _mm512_add_ps(one, power));
    } else {
        // The complementary error function of |x| / sqrt(2), to within 1.5e-7 (Abramowitz and Stegun, 7.1.26).
        const __m512 t = _mm512_div_ps(one, _mm512_fmadd_ps(magnitude, _mm512_set1_ps(0.231641888f), one));
        constexpr float coefficients[] = {-1.453152027f, 1.421413741f, -0.284496736f, 0.254829592f};
        __m512 sum = _mm512_set1_ps(1.061405429f);
#pragma GCC unroll 4
        for (float coefficient : coefficients) sum = _mm512_fmadd_ps(sum, t, _mm512_set1_ps(coefficient));
        const __m512 half_square = _mm512_mul_ps(_mm512_mul_ps(x, x), _mm512_set1_ps(-0.5f));
        const __m512 tail =
            _mm512_mul_ps(_mm512_mul_ps(sum, t), _mm512_mul_ps(exponential(half_square), _mm512_set1_ps(0.5f)));
        probability = _mm512_mask_blend_ps(negative, _mm512_sub_ps(one, tail), tail);
    }
    return _mm512_mul_ps(x, probability);
}

// Of a decoder layer: packed weights of `int8_linear`; weight and bias of the normalisation of each residual connection;
// keys and values of earlier tokens (2, caches, heads, capacity, features); those of the memory (documents, heads, keys,
// features), and the bias of their scores (documents, bias_heads, keys).
struct Layer {
    const int8_t *project, *out, *cross_query, *cross_out, *widen, *narrow;
    const float* norms[3][2];
    float *cached, *key, *value, *bias;
};

// The rows of a document have caches of their own, as samples, or share one, as beams. `used` slots of `capacity` are
// read.
struct Shape {
    int64_t layers, pre;
    Activation activation;
    int64_t heads, features, width, documents, rows, keys, bias_heads, caches, capacity, used;
};

// Apply all layers of a decoder to the newest tokens (documents * rows, heads * features), in place.
//
// slots: (documents * rows), that of each newest token in its cache. ancestry: (documents * rows, capacity), bias of the
// scores of earlier tokens.
// scratch: room for the rows of all documents times 3 * dim + max(3 * dim, width) + heads * max(used, keys) + 1 +
//     max(dim, width) / 4 numbers.
extern "C" void decode(const Layer* layers, const Shape* shape, const int64_t* slots, float* ancestry, float* states,
                       float* scratch) {
    const auto [count, pre, activation, heads, features, width, documents, queries, keys, bias_heads, caches, capacity,
                used] = *shape;
    const int64_t dim = heads * features, rows = documents * queries, beams = rows / caches;
    const int64_t wide = width > 3 * dim ? width : 3 * dim;
    float *input = scratch, *mixed = input + rows * dim, *output = mixed + rows * dim, *widened = output + rows * dim;
    float *scores = widened + rows * wide, *quantized = scores + rows * heads * (used > keys ? used : keys);
    for (const Layer* layer = layers; layer < layers + count; layer++) {
        const auto enter = [&](int residual) {
            if (!pre) return (const float*)states;
            normalise(states, rows, dim, layer->norms[residual][0], layer->norms[residual][1], input);
            return (const float*)input;
        };
        const auto leave = [&](int residual) {
            for (int64_t f = 0; f < rows * dim; f += LANES)
                _mm512_storeu_ps(states + f, _mm512_add_ps(_mm512_loadu_ps(states + f), _mm512_loadu_ps(output + f)));
            if (!pre) normalise(states, rows, dim, layer->norms[residual][0], layer->norms[residual][1], states);
        };
        int8_linear(enter(0), rows, dim, layer->project, 3 * dim, widened, quantized);
        const Heads earlier = {layer->cached, heads * capacity * features, capacity * features, features};
        const Heads later = {earlier.data + caches * earlier.document, earlier.document, earlier.head, earlier.row};
        for (int64_t row = 0; row < rows; row++)
            for (int64_t f = 0; f < dim; f += LANES) {
                const float* newest = widened + row * 3 * dim + dim + f;
                const int64_t cache = row / beams, head = f / features, feature = f % features;
                _mm512_storeu_ps(earlier.from(cache, head, slots[row]).data + feature, _mm512_loadu_ps(newest));
                _mm512_storeu_ps(later.from(cache, head, slots[row]).data + feature, _mm512_loadu_ps(newest + dim));
            }
        attend({widened, beams * 3 * dim, features, 3 * dim}, earlier, later, {ancestry, beams * capacity, 0, capacity},
               {mixed, beams * dim, features, dim}, caches, heads, beams, used, features, scores);
        int8_linear(mixed, rows, dim, layer->out, dim, output, quantized);
        leave(0);
        int8_linear(enter(1), rows, dim, layer->cross_query, dim, widened, quantized);
        const Heads key = {layer->key, heads * keys * features, keys * features, features};
        attend({widened, queries * dim, features, dim}, key, {layer->value, key.document, key.head, key.row},
               {layer->bias, bias_heads * keys, bias_heads > 1 ? keys : 0, 0}, {mixed, queries * dim, features, dim},
               documents, heads, queries, keys, features, scores);
        int8_linear(mixed, rows, dim, layer->cross_out, dim, output, quantized);
        leave(1);
        int8_linear(enter(2), rows, dim, layer->widen, width, widened, quantized);
#pragma omp parallel for if (rows * width >= WORK)
        for (int64_t f = 0; f < rows * width; f += LANES)
            _mm512_storeu_ps(widened + f, activate(_mm512_loadu_ps(widened + f), activation));
        int8_linear(widened, rows, width, layer->narrow, dim, output, quantized);
        leave(2);
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

// Multiply rows (rows, features) with a matrix (features, columns) and add an offset to each column: products (rows,
// columns). Features are a multiple of FEATURES, of which the matrix is read side by side: the sums stay in the cache.
static void multiply_columns(const float* rows, int64_t count, const float* matrix, const float* offsets,
                             int64_t columns, int64_t features, float* products) {
    for (int64_t f = 0; f < features; f += FEATURES)
        for (int64_t k = 0; k < columns; k += LANES) {
            const __mmask16 exist = columns - k >= LANES ? 0xffff : (1 << (columns - k)) - 1;
            __m512 part[FEATURES];
#pragma GCC unroll 8
            for (int n = 0; n < FEATURES; n++) part[n] = _mm512_maskz_loadu_ps(exist, matrix + (f + n) * columns + k);
            for (int64_t r = 0; r < count; r++) {
                __m512 sum = _mm512_maskz_loadu_ps(exist, (f ? products + r * columns : offsets) + k);
#pragma GCC unroll 8
                for (int n = 0; n < FEATURES; n++)
                    sum = _mm512_fmadd_ps(_mm512_set1_ps(rows[r * features + f + n]), part[n], sum);
                _mm512_mask_storeu_ps(products + r * columns + k, exist, sum);
            }
        }
}

// Map x (rows, inputs) to y (rows, outputs): a linear layer with weights (inputs, outputs), of few outputs. Inputs are a
// multiple of FEATURES.
extern "C" void small_linear(const float* x, int64_t rows, int64_t inputs, const float* weights, const float* bias,
                             int64_t outputs, float* y) {
#pragma omp parallel for if (rows * inputs * outputs >= WORK)
    for (int64_t row = 0; row < rows; row += GROUP)
        multiply_columns(x + row * inputs, rows - row < GROUP ? rows - row : GROUP, weights, bias, outputs, inputs,
                         y + row * outputs);
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
static void add_copies(float* log_probs, float* scores, float copy, const int64_t* ids, const int64_t* first,
                       int64_t keys) {
    const float total = softmax(scores, nullptr, keys, 1.0f);
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
        multiply_columns(query + row * features, count, key + document * features * keys, bias + document * keys, keys,
                         features, scores + row * keys);
        for (int64_t r = row; r < row + count; r++) {
            log_softmax(logits + r * vocabulary, vocabulary, generate[r]);
            add_copies(logits + r * vocabulary, scores + r * keys, copy[r], ids + document * keys,
                       first + document * keys, keys);
        }
    }
}

// Sum of some weights, in single precision.
static float sum_weights(const float* weights, int64_t count) {
    __m512 sum = _mm512_setzero_ps();
    for (int64_t k = 0; k < count; k += LANES) {
        const __mmask16 exist = count - k >= LANES ? 0xffff : (1 << (count - k)) - 1;
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(exist, weights + k));
    }
    return _mm512_reduce_add_ps(sum);
}

// Draw a token for each row of log-probabilities (rows, vocabulary), which are overwritten, at a temperature: that at
// which the cumulative distribution exceeds the number in `draws` (rows). Without any, it is `none`; with a NaN, -1.
extern "C" void draw(float* log_probs, const float* draws, int64_t rows, int64_t vocabulary, float temperature,
                     int64_t none, int64_t* tokens) {
#pragma omp parallel for if (rows * vocabulary >= WORK)
    for (int64_t row = 0; row < rows; row++) {
        float* weights = log_probs + row * vocabulary;
        __m512 largest = _mm512_set1_ps(-__builtin_inff());
        __mmask16 undefined = 0;
        for (int64_t k = 0; k < vocabulary; k += LANES) {
            const __mmask16 exist = vocabulary - k >= LANES ? 0xffff : (1 << (vocabulary - k)) - 1;
            const __m512 part = _mm512_maskz_loadu_ps(exist, weights + k);
            undefined |= _mm512_cmp_ps_mask(part, part, _CMP_UNORD_Q);
            largest = _mm512_mask_max_ps(largest, exist, largest, part);
        }
        const float best = _mm512_reduce_max_ps(largest);
        tokens[row] = undefined ? -1 : none;
        if (undefined || best == -__builtin_inff()) continue;
        const auto size = [&](int64_t first) { return vocabulary - first < DRAWN ? vocabulary - first : DRAWN; };
        double total = 0;
        for (int64_t first = 0; first < vocabulary; first += DRAWN) {
            for (int64_t k = first; k < first + size(first); k += LANES) {
                const int64_t left = first + size(first) - k;
                const __mmask16 exist = left >= LANES ? 0xffff : (1 << left) - 1;
                const __m512 part = _mm512_sub_ps(_mm512_maskz_loadu_ps(exist, weights + k), _mm512_set1_ps(best));
                _mm512_mask_storeu_ps(weights + k, exist,
                                      exponential(_mm512_div_ps(part, _mm512_set1_ps(temperature))));
            }
            total += sum_weights(weights + first, size(first));
        }
        double goal = draws[row] * total; // the numbers are below 1
        int64_t first = 0;
        for (float sum; first < vocabulary && goal >= (sum = sum_weights(weights + first, size(first))); first += DRAWN)
            goal -= sum;
        // By rounding, the sum of a block may exceed that of its tokens, of which the last with a weight is drawn then.
        for (int64_t k = first; k < first + size(first) && goal >= 0; k++) {
            if (weights[k] > 0) tokens[row] = k;
            goal -= weights[k];
        }
    }
}
