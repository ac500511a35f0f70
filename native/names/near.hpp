// Words that are like another: inflected ("boat", "boats"), or the beginning of a compound.
//
// The likeness of two words is the length of what they begin with alike, by that of the longer one, in code points. At
// least three must be alike, and below five one word must be all of the beginning: "car" is like "cars", "care" is not
// like "cart". Work is bounded: a few look-ups of shorter words, and a few neighbours on either side in the sorted
// list.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "names/index.hpp"
#include "text/hash.hpp"

namespace xtrellis::names {

struct Near {
    Id word;
    float likeness;
};

struct NearWords {
    static constexpr std::size_t most = 4;
    std::array<Near, most> words;
    std::size_t size = 0;

    void offer(Near found) {
        for (std::size_t i = 0; i < size; ++i)
            if (words[i].word == found.word) return;
        const auto better = [](const Near& a, const Near& b) {
            return a.likeness != b.likeness ? a.likeness > b.likeness : a.word < b.word;
        };
        if (size == most) {
            if (!better(found, words[most - 1])) return;
            --size;
        }
        auto at = size++;
        for (; at > 0 && better(found, words[at - 1]); --at) words[at] = words[at - 1];
        words[at] = found;
    }
};

inline std::size_t count_points(const Byte* data, std::size_t length) {
    std::size_t points = 0;
    for (std::size_t i = 0; i < length; ++i) points += (data[i] & 0xC0) != 0x80;
    return points;
}

// Code points that two words begin with alike.
inline std::size_t common_points(const Byte* a, std::size_t a_length, const Byte* b, std::size_t b_length) {
    const auto end = std::min(a_length, b_length);
    std::size_t i = 0;
    while (i < end && a[i] == b[i]) ++i;
    // Only whole code points: step back if one was cut.
    const auto inside = [](const Byte* p, std::size_t length, std::size_t at) {
        return at < length && (p[at] & 0xC0) == 0x80;
    };
    while (i > 0 && (inside(a, a_length, i) || inside(b, b_length, i))) --i;
    return count_points(a, i);
}

constexpr std::size_t least_common = 3, loose_common = 5, neighbours = 16, longest_like = 256;

// The likeness of two words of so many code points, of which so many are alike; 0: none.
inline float likeness_of(std::size_t common, std::size_t a, std::size_t b) {
    if (common < least_common || (common < loose_common && common != std::min(a, b))) return 0;
    return static_cast<float>(common) / static_cast<float>(std::max(a, b));
}

// The first two bytes of a word, as a number that orders them (a word of one byte: 0 for the second).
inline std::size_t first_two(const Byte* data, std::size_t length) {
    return (length > 0 ? std::size_t{data[0]} << 8 : 0) | (length > 1 ? data[1] : 0u);
}

// What near_words asks of all words again and again, made once.
struct WordFacts {
    std::vector<float> points;
    std::vector<Id> by_start;

    WordFacts() = default;
    WordFacts(const Byte* text, const Offset* offsets, Id n_words) : by_start((1 << 16) + 1, 0) {
        points.reserve(static_cast<std::size_t>(n_words));
        for (Id i = 0; i < n_words; ++i) {
            const auto length = static_cast<std::size_t>(offsets[i + 1] - offsets[i]);
            points.push_back(static_cast<float>(count_points(text + offsets[i], length)));
            ++by_start[first_two(text + offsets[i], length) + 1];
        }
        for (std::size_t i = 1; i < by_start.size(); ++i) by_start[i] += by_start[i - 1];
    }
};

// Of a word whose bytes have slack, as hashing needs it. The word itself is not one of them.
inline NearWords near_words(const Index& index, const Byte* data, std::size_t length) {
    NearWords out;
    if (index.likeness > 1 || length > longest_like) return out;
    const auto points = count_points(data, length);
    if (points < least_common) return out;
    const auto& words = index.words;
    const auto at = [&](Id i) { return words.text + words.offsets[i]; };
    const auto size = [&](Id i) { return static_cast<std::size_t>(words.offsets[i + 1] - words.offsets[i]); };
    const auto offer = [&](Id word, float likeness) {
        if (likeness >= index.likeness) out.offer({word, likeness});
    };

    // So many code points must be alike, whatever the other word is.
    const auto least = std::max(
        least_common, static_cast<std::size_t>(std::ceil(index.likeness * static_cast<float>(points) - 1e-3f)));

    // Shorter words that it begins with.
    auto cut = length;
    for (auto shorter = points - 1; shorter >= least; --shorter) {
        do --cut;
        while ((data[cut] & 0xC0) == 0x80);
        const auto likeness = likeness_of(shorter, shorter, points);
        const auto found = words.find(text::hash_bytes(data, cut), data, cut);
        if (found != none) offer(static_cast<Id>(found), likeness);
    }

    // Its neighbours in the list.
    const auto start = first_two(data, length);
    Id low = index.by_start[start], high = index.by_start[start + 1];
    while (low < high) {
        const auto middle = low + (high - low) / 2;
        const auto n = size(middle);
        const auto order = std::memcmp(at(middle), data, std::min(n, length));
        if (order < 0 || (order == 0 && n < length)) low = middle + 1;
        else high = middle;
    }
    // The further away in the list, the less is alike.
    const auto look = [&](Id word) {
        const auto n = size(word);
        if (n > 2 * longest_like) return true;
        const auto common = common_points(data, length, at(word), n);
        if (common < least) return false;
        if (common == points && n == length) return true;  // itself
        offer(word, likeness_of(common, points, static_cast<std::size_t>(index.points[word])));
        return true;
    };
    std::size_t left = neighbours;
    for (Id i = low; i < index.n_words && left > 0 && look(i); ++i) --left;
    left = neighbours;
    for (Id i = low - 1; i >= 0 && left > 0 && look(i); --i) --left;
    return out;
}

}  // namespace xtrellis::names
