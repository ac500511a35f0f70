// The arithmetic of a training step, on one thread's share of the dimensions.
//
// Dimensions come in chunks of 8 floats and chunks in shards, whose number depends on the dimension only. A thread owns
// some shards of every vector: no two threads ever touch the same parameter, and nothing is added in an order that
// depends on how many they are. All that threads tell each other are the shards' parts of the scores.
//
// Legend: E = embeddings, W = output vectors (units), h = a row's hidden vector, z = a unit's score w·h, g = its step.
//
// This file is compiled once an instruction set (variant.inc), and the linker keeps only one copy of every inline
// function it finds: what is here must be inlined entirely (XTRELLIS_INLINE) and use no library templates.
#pragma once

#include <cstdint>

#include "core/csr.hpp"
#include "core/lanes.hpp"

namespace xtrellis::softmax {

constexpr int kChunk = 8;
constexpr int kMostShards = 8;

// A decision on the way to a slot. `choice` < 0: a logistic unit whose child ~choice (0 or 1) is wanted; else the child
// that is wanted of `count` whose units begin at `unit`.
struct Decision {
    Id unit;
    Id choice;
    Id count;
};

// h = scale · (Σ v_f E_f + bias · E_last): the last embedding belongs to the constant feature that every row has.
struct RowWeights {
    float scale = 0;
    float bias = 0;
};

// One thread's share: `width` floats of every vector, in `shards` pieces that begin at chunk edges[s].
struct Share {
    float* embeddings = nullptr;
    float* units = nullptr;
    int width = 0;
    int shards = 0;
    int first_shard = 0;
    int edges[kMostShards + 1] = {};
};

// Some visits whose scores are computed from the same parameters.
struct Visit {
    const Decision* decisions;
    int length;      // decisions
    int row;         // its place among the block's rows
    int first_unit;  // its place among the block's scores; those of the rows (h·h) follow after all of them
};
struct BlockRow {
    const Id* ids;
    const float* values;  // null: all 1
    Offset size;
    RowWeights weights;
};
struct Block {
    const Visit* visits;
    int count;
    const BlockRow* rows;
    int row_count;
    int unit_count;
    Id bias_id;
};

// What a thread works in; `scores` is shared by all: shard-major, unit_stride a shard.
struct Scratch {
    float* hidden;     // rows × width
    float* gradients;  // rows × width
    float* steps;      // one a score
    float* scores;
    Offset unit_stride;
};

struct Ops {
    void (*scores)(const Block& block, const Share& share, const Scratch& scratch);
    void (*update)(const Block& block, const Share& share, const Scratch& scratch, int all_shards, float rate);
};

using L8 = Lanes<kChunk>;

XTRELLIS_INLINE float sum_lanes(L8::Floats v) {
    typedef float Half __attribute__((vector_size(16)));
    Half parts[2];
    __builtin_memcpy(parts, &v, sizeof parts);
    const Half four = parts[0] + parts[1];
    return (four[0] + four[2]) + (four[1] + four[3]);
}

XTRELLIS_INLINE void add_scaled(float* to, float a, const float* from, int width) {
    const auto all = L8::all(a);
    for (int i = 0; i < width; i += kChunk) L8::store(to + i, L8::load(to + i) + all * L8::load(from + i));
}

// e^x for |x| ≤ 80 within 3 ulp or so; written without branches, so that a loop over it becomes vectors.
XTRELLIS_INLINE float exp_small(float x) {
    x = x > -80.0f ? x : -80.0f;  // so written, NaN becomes a number
    x = x < 80.0f ? x : 80.0f;
    const int n = static_cast<int>(x * 1.44269504f + 128.5f) - 128;
    const float r = x - static_cast<float>(n) * 0.693147181f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
    const std::int32_t bits = (n + 127) << 23;
    float power;
    __builtin_memcpy(&power, &bits, sizeof power);
    return p * power;
}

XTRELLIS_INLINE void prefetch(const float* p, int width) {
    for (int i = 0; i < width; i += 16) __builtin_prefetch(p + i, 1, 3);
}

// a·b, a part for each of this share's shards.
XTRELLIS_INLINE void dots(const float* a, const float* b, const Share& share, const Scratch& scratch, int place) {
    float* out = scratch.scores + share.first_shard * scratch.unit_stride + place;
    for (int s = 0; s < share.shards; ++s) {
        L8::Floats sum{};
        for (int i = share.edges[s]; i < share.edges[s + 1]; i += kChunk) sum += L8::load(a + i) * L8::load(b + i);
        out[s * scratch.unit_stride] = sum_lanes(sum);
    }
}

// h of every row, then the parts of all scores that this share's dimensions give.
XTRELLIS_INLINE void compute_scores(const Block& block, const Share& share, const Scratch& scratch) {
    constexpr Offset kAhead = 6;
    const int width = share.width;
    for (int r = 0; r < block.row_count; ++r) {
        const BlockRow& row = block.rows[r];
        float* h = scratch.hidden + static_cast<Offset>(r) * width;
        const float* last = share.embeddings + static_cast<Offset>(block.bias_id) * width;
        const auto bias = L8::all(row.weights.bias);
        for (int i = 0; i < width; i += kChunk) L8::store(h + i, bias * L8::load(last + i));
        for (Offset f = 0; f < row.size; ++f) {
            if (f + kAhead < row.size)
                prefetch(share.embeddings + static_cast<Offset>(row.ids[f + kAhead]) * width, width);
            add_scaled(h, row.values ? row.values[f] : 1.0f, share.embeddings + static_cast<Offset>(row.ids[f]) * width,
                       width);
        }
        const auto scale = L8::all(row.weights.scale);
        for (int i = 0; i < width; i += kChunk) L8::store(h + i, scale * L8::load(h + i));
        dots(h, h, share, scratch, block.unit_count + r);
    }
    for (int v = 0; v < block.count; ++v) {
        const Visit& visit = block.visits[v];
        const float* h = scratch.hidden + static_cast<Offset>(visit.row) * width;
        int out = visit.first_unit;
        if (v + 1 < block.count) {
            const Visit& next = block.visits[v + 1];
            for (int d = 0; d < next.length; ++d)
                prefetch(share.units + static_cast<Offset>(next.decisions[d].unit) * width, width);
        }
        for (int d = 0; d < visit.length; ++d) {
            const Decision& decision = visit.decisions[d];
            for (Id c = 0; c < decision.count; ++c, ++out) {
                dots(share.units + static_cast<Offset>(decision.unit + c) * width, h, share, scratch, out);
            }
        }
    }
}

// From scores to steps: rate · (wanted − probability) / (1 + rate·h·h / 4). Every thread does it for itself.
//
// The divisor makes it an implicit step (Toulis and Airoldi 2017, to first order): the logistic loss curves by at most
// h·h / 4, so a step never goes past where it aims, however long h has grown. Without it high rates end in infinity.
XTRELLIS_INLINE void compute_steps(const Block& block, const Scratch& scratch, int all_shards, float full_rate) {
    float* g = scratch.steps;
    const int count = block.unit_count + block.row_count;
    for (int u = 0; u < count; ++u) g[u] = scratch.scores[u];
    for (int s = 1; s < all_shards; ++s) {
        const float* part = scratch.scores + s * scratch.unit_stride;
        for (int u = 0; u < count; ++u) g[u] += part[u];
    }
    for (int v = 0; v < block.count; ++v) {
        const Visit& visit = block.visits[v];
        float* z = g + visit.first_unit;
        const float rate = full_rate / (1.0f + 0.25f * full_rate * g[block.unit_count + visit.row]);
        for (int d = 0; d < visit.length; ++d) {
            const Decision& decision = visit.decisions[d];
            if (decision.choice < 0) {
                const float t = exp_small(-*z);  // wanted: child 0 is σ(z) → 1, child 1 → 0
                *z++ = rate * ((decision.choice == ~0 ? 1.0f : 0.0f) - 1.0f / (1.0f + t));
                continue;
            }
            float most = z[0], total = 0;
            for (Id c = 1; c < decision.count; ++c) most = z[c] > most ? z[c] : most;
            for (Id c = 0; c < decision.count; ++c) z[c] = exp_small(z[c] - most);
            for (Id c = 0; c < decision.count; ++c) total += z[c];
            const float by = -rate / total;
            for (Id c = 0; c < decision.count; ++c) z[c] *= by;
            z[decision.choice] += rate;
            z += decision.count;
        }
    }
}

XTRELLIS_INLINE void apply(const Block& block, const Share& share, const Scratch& scratch, int all_shards, float rate) {
    const int width = share.width;
    compute_steps(block, scratch, all_shards, rate);
    for (Offset i = 0; i < static_cast<Offset>(block.row_count) * width; i += kChunk)
        L8::store(scratch.gradients + i, L8::Floats{});
    for (int v = 0; v < block.count; ++v) {
        const Visit& visit = block.visits[v];
        const float* h = scratch.hidden + static_cast<Offset>(visit.row) * width;
        float* gradient = scratch.gradients + static_cast<Offset>(visit.row) * width;
        const float* g = scratch.steps + visit.first_unit;
        for (int d = 0; d < visit.length; ++d) {
            const Decision& decision = visit.decisions[d];
            for (Id c = 0; c < decision.count; ++c, ++g) {
                float* w = share.units + static_cast<Offset>(decision.unit + c) * width;
                const auto step = L8::all(*g);
                for (int i = 0; i < width; i += kChunk) {
                    const auto unit = L8::load(w + i);
                    L8::store(gradient + i, L8::load(gradient + i) + step * unit);
                    L8::store(w + i, unit + step * L8::load(h + i));
                }
            }
        }
    }
    for (int r = 0; r < block.row_count; ++r) {
        const BlockRow& row = block.rows[r];
        const float* gradient = scratch.gradients + static_cast<Offset>(r) * width;
        const float scale = row.weights.scale;
        add_scaled(share.embeddings + static_cast<Offset>(block.bias_id) * width, scale * row.weights.bias, gradient,
                   width);
        for (Offset f = 0; f < row.size; ++f) {
            add_scaled(share.embeddings + static_cast<Offset>(row.ids[f]) * width,
                       scale * (row.values ? row.values[f] : 1.0f), gradient, width);
        }
    }
}

}  // namespace xtrellis::softmax
