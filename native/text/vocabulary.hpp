// A fitted vocabulary as plain arrays that can be stored and memory-mapped, and how to look things up in them.
//
//   words    every word that occurs in a feature, sorted by bytes: text, offsets, a hash table, and the feature that
//            the word alone is (-1: none)
//   grams    a hash table of n-grams of two words and more; a slot is (prefix, last, node, feature), where `prefix` is
//            a word or another n-gram's node, and the feature may be `none` for one that only leads to longer ones
//   names    the text of every feature: n-grams of words in byte order, then character pieces in byte order
//   pieces   a hash table of the latter
//
// Tables are open-addressing with linear probing, a power of two in size, with at least one empty slot.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/csr.hpp"
#include "text/hash.hpp"

namespace xtrellis::text {

// Byte strings by hash. A slot is the hash's high half, then the string's number; all ones if empty.
struct StringIndex {
    const Byte* text = nullptr;
    const Offset* offsets = nullptr;  // of the first indexed string
    const std::uint64_t* slots = nullptr;
    std::uint64_t mask = 0;

    static constexpr std::uint64_t empty = ~0ull;
    static std::uint64_t slot(std::uint64_t hash, std::uint32_t id) { return (hash & 0xFFFFFFFF00000000ull) | id; }

    void prefetch(std::uint64_t hash) const { __builtin_prefetch(slots + (hash & mask)); }
    std::uint32_t find(std::uint64_t hash, const Byte* data, std::size_t length) const {
        for (auto at = hash & mask; slots[at] != empty; at = (at + 1) & mask) {
            if ((slots[at] ^ hash) >> 32) continue;
            const auto id = static_cast<std::uint32_t>(slots[at]);
            const auto begin = offsets[id];
            if (static_cast<std::size_t>(offsets[id + 1] - begin) == length &&
                std::memcmp(text + begin, data, length) == 0)
                return id;
        }
        return none;
    }
};

struct GramSlot {
    std::uint32_t prefix;  // none: the slot is empty
    std::uint32_t last;
    std::uint32_t node;
    std::uint32_t feature;
};

struct Vocabulary {
    StringIndex words;
    const Id* word_features = nullptr;
    const GramSlot* grams = nullptr;
    std::uint64_t gram_mask = 0;
    StringIndex pieces;
    Id first_piece = 0;  // its feature number
    const float* idf = nullptr;

    std::uint64_t home(std::uint32_t prefix, std::uint32_t last) const {
        return hash_pair(pair_of(prefix, last)) & gram_mask;
    }
    // The n-gram, or null.
    const GramSlot* find_gram(std::uint32_t prefix, std::uint32_t last) const {
        for (auto at = home(prefix, last); grams[at].prefix != none; at = (at + 1) & gram_mask)
            if (grams[at].prefix == prefix && grams[at].last == last) return grams + at;
        return nullptr;
    }
};

}  // namespace xtrellis::text
