// A packed model as search sees it: a tree of slots and, for each node, blocks of weights stored by feature.
#pragma once

#include <cmath>
#include <cstdint>

#include "core/csr.hpp"
#include "core/half.hpp"

namespace xtrellis::search {

// How a margin becomes a score in (0, 1]. Search works with logarithms: sums along a path, one exp for each answer.
enum class Transform : int { l2_hinge = 0, l3_hinge = 1, sigmoid = 2 };

inline float log_score(Transform transform, float margin) {
    if (transform == Transform::sigmoid && margin == margin)
        return margin >= 0 ? -std::log1p(std::exp(-margin)) : margin - std::log1p(std::exp(margin));
    if (margin != margin) return -INFINITY;  // sums of huge values: never the best answer
    const float gap = margin < 1 ? 1 - margin : 0;
    return transform == Transform::l3_hinge ? -gap * gap * gap : -gap * gap;
}

struct Tree {
    Offset nodes = 0;
    const Offset* offsets = nullptr;  // slots of node v: offsets[v] .. offsets[v+1)
    const Id* children = nullptr;     // node ≥ 0, or ~label
};

constexpr int max_block = 256;  // children in a block: a child's place is one byte

// How weights are stored. int8 and float16 are widened when they are used; int8 has one scale a block.
enum class Storage : int { float32 = 0, float16 = 1, int8 = 2 };

// A *block* holds the weights of up to 256 children of one node, by feature. To find a feature in a block without a
// search, feature ids are scattered by a bijection of `bits`-bit numbers; the high bits of the scattered id name a
// bucket of the block, the low ones are the feature's key within the bucket. A bucket is a tiny sparse matrix in one
// piece, so that a look-up touches one or two cache lines:
//
//     n (uint8)   keys (n × uint8 or uint16)   counts (n × uint8)   children (t × uint8)   values (t × Storage)
//
// where row i has counts[i] + 1 entries, after those of the rows before it, and t is what fills the bucket. Keys are
// wide in blocks with so few buckets that more than 8 bits are left for them. Nothing is aligned.
struct Weights {
    const Offset* block_offsets = nullptr;   // nodes + 1: blocks of node v
    const Offset* bucket_offsets = nullptr;  // blocks + 1: where a block's buckets are listed
    const Offset* byte_offsets = nullptr;    // blocks + 1: where a block's bytes lie
    const std::uint32_t* buckets = nullptr;  // first byte of each bucket within its block, and one more to close it
    const std::uint8_t* bytes = nullptr;     // followed by `padding` unused ones
    const float* scales = nullptr;           // one a block; 1 except for int8
    const float* biases = nullptr;           // one per slot
    Storage storage = Storage::float32;
    int bits = 0;  // scattered ids are below 2^bits
};

constexpr int padding = 16;  // keys and counts are read sixteen bytes at a time

constexpr bool narrow(int key_bits) { return key_bits <= 8; }

constexpr std::uint32_t multiplier = 0x9E3779B1u;  // odd, so that multiplying is a bijection

inline std::uint32_t scatter(Id feature, int bits) {
    return (static_cast<std::uint32_t>(feature) * multiplier) &
           static_cast<std::uint32_t>((std::uint64_t{1} << bits) - 1);
}

// What a label that is found in several places scores: there are none such, the best place counts, or their mean.
enum class Copies : int { none = 0, best = 1, mean = 2 };

struct Model {
    Tree tree;
    Weights weights;
    Transform transform = Transform::l3_hinge;
    Copies copies = Copies::none;
    Id most_copies = 1;               // places of a label at most
    const Id* label_ranks = nullptr;  // orders labels of equal scores; null: by their ids
    // Added to the logarithm of a label's score, 0 or less so that a node still bounds what is below it; null: nothing.
    const float* label_offsets = nullptr;
};

}  // namespace xtrellis::search
