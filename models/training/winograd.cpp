// Computes 3x3 convolutions on boards of 8x8 squares by Winograd's F(4x4, 3x3) (Lavin and Gray, arXiv:1509.09308): a quarter of
// the multiplications, forward and backward. The cheap work around a convolution (batch norm, ReLU, skip) is done while the
// numbers are in the cache.
//
// Boards are [positions][8][8][channels], float32; channels are multiples of 16 and at most 1024. A board has four tiles of 4x4
// results, each made of 6x6 inputs. Transformed weights are [36][inputs][outputs]. Each call uses one thread.
//
// c++ -O3 -march=native -ffast-math -shared -fPIC winograd.cpp -o libwinograd.so     (winograd.py does that)

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace {

typedef float Vec __attribute__((vector_size(64), aligned(4), may_alias));
constexpr int LANES = 16, POINTS = 36, TILES = 4, SQUARES = 64, MAX_CHANNELS = 1024;
/// Positions that are worked on at a time, so that all of it stays in the second-level cache.
constexpr int BLOCK = 12;

inline Vec load(const float* p) { return *reinterpret_cast<const Vec*>(p); }
inline void store(float* p, Vec v) { *reinterpret_cast<Vec*>(p) = v; }
inline Vec relu(Vec v) { return v > 0 ? v : Vec{}; }

/// Memory that a thread keeps for the next call.
struct Scratch {
    float* data = nullptr;
    size_t size = 0;
    float* get(size_t count) {
        if (count > size) {
            free(data);
            data = static_cast<float*>(aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64));
            size = count;
        }
        return data;
    }
    ~Scratch() { free(data); }
};
thread_local Scratch scratch_v, scratch_m, scratch_d;

/// An optional ReLU(scale * x + offset) per channel that stands before a convolution.
struct Affine {
    const float *scale, *offset;
    inline Vec operator()(Vec v, int c) const { return scale ? relu(load(scale + c) * v + load(offset + c)) : v; }
};

inline void input_points(const Vec d[6], Vec o[6]) {
    Vec a = d[4] - 4 * d[2], b = d[3] - 4 * d[1], c = d[4] - d[2], e = 2 * (d[3] - d[1]);
    o[0] = 4 * d[0] - 5 * d[2] + d[4];
    o[1] = a + b;
    o[2] = a - b;
    o[3] = c + e;
    o[4] = c - e;
    o[5] = 4 * d[1] - 5 * d[3] + d[5];
}

inline void output_points(const Vec m[6], Vec o[4]) {
    Vec s = m[1] + m[2], d = m[1] - m[2], u = m[3] + m[4], v = m[3] - m[4];
    o[0] = m[0] + s + u;
    o[1] = d + 2 * v;
    o[2] = s + 4 * u;
    o[3] = d + 8 * v + m[5];
}

/// The transpose of `output_points`.
inline void gradient_points(const Vec d[4], Vec o[6]) {
    Vec e = d[0] + d[2], f = d[1] + d[3], g = d[0] + 4 * d[2], h = 2 * d[1] + 8 * d[3];
    o[0] = d[0];
    o[1] = e + f;
    o[2] = e - f;
    o[3] = g + h;
    o[4] = g - h;
    o[5] = d[3];
}

/// A kernel's line at the six points.
inline void kernel_points(const Vec k[3], Vec o[6]) {
    Vec a = (k[0] + k[2]) / -6, b = k[1] / -6, c = k[0] / 24 + k[2] / 6, d = k[1] / 12;
    o[0] = k[0] / 4;
    o[1] = a + b;
    o[2] = a - b;
    o[3] = c + d;
    o[4] = c - d;
    o[5] = k[2];
}

/// The transpose of `kernel_points`.
inline void kernel_gradient(const Vec o[6], Vec k[3]) {
    Vec a = (o[1] + o[2]) / -6, b = (o[1] - o[2]) / -6, c = o[3] + o[4], d = o[3] - o[4];
    k[0] = o[0] / 4 + a + c / 24;
    k[1] = b + d / 12;
    k[2] = a + c / 6 + o[5];
}

/// Boards to [36][tiles][channels].
void transform_inputs(const float* boards, Affine before, int positions, int channels, float* out) {
    const size_t plane = size_t(positions) * TILES * channels;
    for (int p = 0; p < positions; p++)
        for (int tile = 0; tile < TILES; tile++) {
            const int y0 = 4 * (tile / 2) - 1, x0 = 4 * (tile % 2) - 1;
            const float* board = boards + size_t(p) * SQUARES * channels;
            float* target = out + (size_t(p) * TILES + tile) * channels;
            for (int c = 0; c < channels; c += LANES) {
                Vec rows[6][6], column[6], points[6];
                for (int j = 0; j < 6; j++) {
                    for (int i = 0; i < 6; i++) {
                        const int y = y0 + i, x = x0 + j;
                        const bool inside = unsigned(y) < 8 && unsigned(x) < 8;
                        column[i] = inside ? before(load(board + (y * 8 + x) * channels + c), c) : Vec{};
                    }
                    input_points(column, points);
                    for (int i = 0; i < 6; i++) rows[i][j] = points[i];
                }
                for (int i = 0; i < 6; i++) {
                    input_points(rows[i], points);
                    for (int j = 0; j < 6; j++) store(target + (i * 6 + j) * plane + c, points[j]);
                }
            }
        }
}

/// Gradients of boards to [36][tiles][channels].
void transform_gradients(const float* boards, int positions, int channels, float* out) {
    const size_t plane = size_t(positions) * TILES * channels;
    for (int p = 0; p < positions; p++)
        for (int tile = 0; tile < TILES; tile++) {
            const float* board = boards + (size_t(p) * SQUARES + 32 * (tile / 2) + 4 * (tile % 2)) * channels;
            float* target = out + (size_t(p) * TILES + tile) * channels;
            for (int c = 0; c < channels; c += LANES) {
                Vec rows[6][4], column[4], points[6];
                for (int j = 0; j < 4; j++) {
                    for (int i = 0; i < 4; i++) column[i] = load(board + (i * 8 + j) * channels + c);
                    gradient_points(column, points);
                    for (int i = 0; i < 6; i++) rows[i][j] = points[i];
                }
                for (int i = 0; i < 6; i++) {
                    gradient_points(rows[i], points);
                    for (int j = 0; j < 6; j++) store(target + (i * 6 + j) * plane + c, points[j]);
                }
            }
        }
}

/// [36][tiles][channels] to boards; `finish(position, square, channel, value)` stores them.
template <class Finish>
void transform_outputs(const float* in, int positions, int channels, Finish finish) {
    const size_t plane = size_t(positions) * TILES * channels;
    for (int p = 0; p < positions; p++)
        for (int tile = 0; tile < TILES; tile++) {
            const float* source = in + (size_t(p) * TILES + tile) * channels;
            const int first = 32 * (tile / 2) + 4 * (tile % 2);
            for (int c = 0; c < channels; c += LANES) {
                Vec rows[4][6], column[6], points[4];
                for (int j = 0; j < 6; j++) {
                    for (int i = 0; i < 6; i++) column[i] = load(source + (i * 6 + j) * plane + c);
                    output_points(column, points);
                    for (int i = 0; i < 4; i++) rows[i][j] = points[i];
                }
                for (int i = 0; i < 4; i++) {
                    output_points(rows[i], points);
                    for (int j = 0; j < 4; j++) finish(p, first + i * 8 + j, c, points[j]);
                }
            }
        }
}

/// R rows and V vectors of C (+)= A B; A[r][k] is a[r * row + k * step].
template <int R, int V>
inline void micro(const float* a, size_t row, size_t step, const float* b, size_t columns, float* c, int depth,
                  bool add) {
    Vec sum[R][V];
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) sum[r][v] = add ? load(c + r * columns + v * LANES) : Vec{};
    for (int k = 0; k < depth; k++) {
        Vec line[V];
        for (int v = 0; v < V; v++) line[v] = load(b + k * columns + v * LANES);
        for (int r = 0; r < R; r++) {
            const float x = a[r * row + k * step];
            for (int v = 0; v < V; v++) sum[r][v] += x * line[v];
        }
    }
    for (int r = 0; r < R; r++)
        for (int v = 0; v < V; v++) store(c + r * columns + v * LANES, sum[r][v]);
}

template <int V>
void panel(const float* a, size_t row, size_t step, const float* b, size_t columns, float* c, int rows, int depth,
           bool add) {
    int r = 0;
    for (; r + 6 <= rows; r += 6) micro<6, V>(a + r * row, row, step, b, columns, c + r * columns, depth, add);
    for (; r + 4 <= rows; r += 4) micro<4, V>(a + r * row, row, step, b, columns, c + r * columns, depth, add);
    for (; r < rows; r++) micro<1, V>(a + r * row, row, step, b, columns, c + r * columns, depth, add);
}

/// C [rows][columns] (+)= A B with B [depth][columns].
void multiply(const float* a, size_t row, size_t step, const float* b, float* c, int rows, int columns, int depth,
              bool add) {
    int j = 0;
    for (; j + 4 * LANES <= columns; j += 4 * LANES)
        panel<4>(a, row, step, b + j, columns, c + j, rows, depth, add);
    for (; j < columns; j += LANES) panel<1>(a, row, step, b + j, columns, c + j, rows, depth, add);
}

void accumulate(double* totals, const float* values, int count) {
    for (int i = 0; i < count; i++) totals[i] += values[i];
}

}  // namespace

extern "C" {

/// Kernels [3][3][count] to [6][6][count]: G k G^T.
void winograd_weights(const float* kernels, int count, float* out) {
    for (int c = 0; c < count; c += LANES) {
        Vec rows[6][3];
        for (int j = 0; j < 3; j++) {
            Vec column[3], points[6];
            for (int i = 0; i < 3; i++) column[i] = load(kernels + size_t(i * 3 + j) * count + c);
            kernel_points(column, points);
            for (int i = 0; i < 6; i++) rows[i][j] = points[i];
        }
        for (int i = 0; i < 6; i++) {
            Vec points[6];
            kernel_points(rows[i], points);
            for (int j = 0; j < 6; j++) store(out + size_t(i * 6 + j) * count + c, points[j]);
        }
    }
}

/// The transpose of `winograd_weights`, for gradients: [6][6][count] to [3][3][count].
void winograd_weights_back(const float* points, int count, float* out) {
    for (int c = 0; c < count; c += LANES) {
        Vec rows[3][6];
        for (int j = 0; j < 6; j++) {
            Vec column[6], kernel[3];
            for (int i = 0; i < 6; i++) column[i] = load(points + size_t(i * 6 + j) * count + c);
            kernel_gradient(column, kernel);
            for (int i = 0; i < 3; i++) rows[i][j] = kernel[i];
        }
        for (int i = 0; i < 3; i++) {
            Vec kernel[3];
            kernel_gradient(rows[i], kernel);
            for (int j = 0; j < 3; j++) store(out + size_t(i * 3 + j) * count + c, kernel[j]);
        }
    }
}

/// y = conv(ReLU(scale * x + offset)), or conv(x) where `scale` is null. Unless `sums` is null: `sums[n][c]` becomes the sum
/// over a board's squares, and the sum of squares over everything is added to `squares[c]`.
void winograd_forward(const float* x, const float* scale, const float* offset, const float* weights, int positions,
                      int inputs, int outputs, float* y, float* sums, double* squares) {
    float* v = scratch_v.get(size_t(POINTS) * TILES * BLOCK * inputs);
    float* m = scratch_m.get(size_t(POINTS) * TILES * BLOCK * outputs);
    if (sums) memset(sums, 0, sizeof(float) * positions * outputs);
    float block_squares[MAX_CHANNELS];
    for (int first = 0; first < positions; first += BLOCK) {
        const int count = std::min(BLOCK, positions - first), tiles = count * TILES;
        transform_inputs(x + size_t(first) * SQUARES * inputs, {scale, offset}, count, inputs, v);
        for (int i = 0; i < POINTS; i++)
            multiply(v + size_t(i) * tiles * inputs, inputs, 1, weights + size_t(i) * inputs * outputs,
                     m + size_t(i) * tiles * outputs, tiles, outputs, inputs, false);
        float* target = y + size_t(first) * SQUARES * outputs;
        if (!sums) {
            transform_outputs(m, count, outputs, [&](int p, int square, int c, Vec value) {
                store(target + (p * SQUARES + square) * outputs + c, value);
            });
            continue;
        }
        memset(block_squares, 0, sizeof(float) * outputs);
        float* block_sums = sums + size_t(first) * outputs;
        transform_outputs(m, count, outputs, [&](int p, int square, int c, Vec value) {
            store(target + (p * SQUARES + square) * outputs + c, value);
            store(block_sums + p * outputs + c, load(block_sums + p * outputs + c) + value);
            store(block_squares + c, load(block_squares + c) + value * value);
        });
        accumulate(squares, block_squares, outputs);
    }
}

/// The way back through y = conv(ReLU(scale * x + offset)) and what follows it.
///
/// The gradient of y is alpha[n][c] * h + beta[n][c] + gamma[c] * y with h = g, or h = g where mask > 0 and 0 elsewhere; where
/// `alpha` is null, it is h itself. `weight_gradients` [36][inputs][outputs] is added to. Unless `dx` is null it becomes the
/// gradient of x. Where `scale` is given, it is the gradient of scale * x + offset instead, and its sums and those of its
/// products with x are added to `sums` and `products`, by channel; else, where `skip` is given, `skip` is added to it where
/// `skip_mask` > 0.
void winograd_backward(const float* g, const float* mask, const float* alpha, const float* beta, const float* gamma,
                       const float* y, const float* x, const float* scale, const float* offset,
                       const float* back_weights, int positions, int inputs, int outputs, float* weight_gradients,
                       float* dx, const float* skip, const float* skip_mask, double* sums, double* products) {
    const int widest = std::max(inputs, outputs);
    float* v = scratch_v.get(size_t(POINTS) * TILES * BLOCK * widest);
    float* m = scratch_m.get(size_t(POINTS) * TILES * BLOCK * widest);
    float* d = scratch_d.get(size_t(2) * BLOCK * SQUARES * outputs);
    float block_sums[MAX_CHANNELS], block_products[MAX_CHANNELS];
    for (int first = 0; first < positions; first += BLOCK) {
        const int count = std::min(BLOCK, positions - first), tiles = count * TILES;
        const size_t start = size_t(first) * SQUARES * outputs;
        const float* h = g + start;
        if (mask) {
            float* masked = d + size_t(BLOCK) * SQUARES * outputs;
            for (size_t i = 0; i < size_t(count) * SQUARES * outputs; i += LANES)
                store(masked + i, load(mask + start + i) > 0 ? load(h + i) : Vec{});
            h = masked;
        }
        const float* dy = h;
        if (alpha) {
            for (int p = 0; p < count; p++)
                for (int c = 0; c < outputs; c += LANES) {
                    const size_t line = size_t(first + p) * outputs + c;
                    const Vec factor = load(alpha + line), term = load(beta + line), slope = load(gamma + c);
                    for (int square = 0; square < SQUARES; square++) {
                        const size_t i = (size_t(p) * SQUARES + square) * outputs + c;
                        store(d + i, factor * load(h + i) + term + slope * load(y + start + i));
                    }
                }
            dy = d;
        }
        const float* block_x = x + size_t(first) * SQUARES * inputs;
        transform_inputs(block_x, {scale, offset}, count, inputs, v);
        transform_gradients(dy, count, outputs, m);
        for (int i = 0; i < POINTS; i++)
            multiply(v + size_t(i) * tiles * inputs, 1, inputs, m + size_t(i) * tiles * outputs,
                     weight_gradients + size_t(i) * inputs * outputs, inputs, outputs, tiles, true);
        if (!dx) continue;
        transform_inputs(dy, {nullptr, nullptr}, count, outputs, v);
        for (int i = 0; i < POINTS; i++)
            multiply(v + size_t(i) * tiles * outputs, outputs, 1, back_weights + size_t(i) * inputs * outputs,
                     m + size_t(i) * tiles * inputs, tiles, inputs, outputs, false);
        float* target = dx + size_t(first) * SQUARES * inputs;
        if (scale) {
            memset(block_sums, 0, sizeof(float) * inputs);
            memset(block_products, 0, sizeof(float) * inputs);
            transform_outputs(m, count, inputs, [&](int p, int square, int c, Vec value) {
                const size_t i = (size_t(p) * SQUARES + square) * inputs + c;
                const Vec in = load(block_x + i);
                value = load(scale + c) * in + load(offset + c) > 0 ? value : Vec{};
                store(target + i, value);
                store(block_sums + c, load(block_sums + c) + value);
                store(block_products + c, load(block_products + c) + value * in);
            });
            accumulate(sums, block_sums, inputs);
            accumulate(products, block_products, inputs);
        } else {
            transform_outputs(m, count, inputs, [&](int p, int square, int c, Vec value) {
                const size_t i = (size_t(p) * SQUARES + square) * inputs + c;
                if (skip) {
                    const size_t j = size_t(first) * SQUARES * inputs + i;
                    value += load(skip_mask + j) > 0 ? load(skip + j) : Vec{};
                }
                store(target + i, value);
            });
        }
    }
}

/// y = ReLU(x + scale[n][c] * z + offset[n][c]).
void winograd_join(const float* x, const float* z, const float* scale, const float* offset, int positions, int channels,
                   float* y) {
    for (int p = 0; p < positions; p++)
        for (int square = 0; square < SQUARES; square++)
            for (int c = 0; c < channels; c += LANES) {
                const size_t i = (size_t(p) * SQUARES + square) * channels + c, j = size_t(p) * channels + c;
                store(y + i, relu(load(x + i) + load(scale + j) * load(z + i) + load(offset + j)));
            }
}

/// Sums over a board's squares of h and h * z, h = g where y > 0, else 0.
void winograd_join_sums(const float* g, const float* y, const float* z, int positions, int channels, float* sums,
                        float* products) {
    for (int p = 0; p < positions; p++)
        for (int c = 0; c < channels; c += LANES) {
            Vec sum{}, product{};
            for (int square = 0; square < SQUARES; square++) {
                const size_t i = (size_t(p) * SQUARES + square) * channels + c;
                const Vec h = load(y + i) > 0 ? load(g + i) : Vec{};
                sum += h;
                product += h * load(z + i);
            }
            store(sums + size_t(p) * channels + c, sum);
            store(products + size_t(p) * channels + c, product);
        }
}
}
