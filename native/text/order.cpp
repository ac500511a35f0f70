#include "text/order.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace xtrellis::text {

namespace {

std::uint32_t prefix_of(std::uint64_t pair) { return static_cast<std::uint32_t>(pair >> 32); }
std::uint32_t last_of(std::uint64_t pair) { return static_cast<std::uint32_t>(pair); }

// Marks, beside the n-grams that are `wanted`, all that they are made of (which always has smaller numbers).
std::vector<char> with_parts(const Counter& counter, std::vector<char> wanted) {
    for (auto gram = counter.gram_count(); gram-- > 0;) {
        const auto pair = counter.pair(gram);
        if (wanted[gram] && prefix_of(pair) != none) wanted[prefix_of(pair)] = wanted[last_of(pair)] = 1;
    }
    return wanted;
}

// N-grams of one length, sorted: by parent (its place in the level above), then by last word.
struct Level {
    Numbers gram, parent, last, position;
};

struct Item {
    std::uint64_t key;
    std::uint32_t gram;
};

}  // namespace

// Most comparisons end in the first 8 bytes, kept beside the number.
Numbers sorted_by_bytes(const Strings& strings, const Numbers& ids) {
    struct Head {
        std::uint64_t bytes;
        std::uint32_t id;
    };
    Roomy<Head> items;
    items.reserve(ids.size());
    for (const auto id : ids) {
        std::uint64_t head = 0;
        for (std::size_t i = 0; i < 8; ++i) head = head << 8 | (i < strings.length(id) ? strings.data(id)[i] : 0u);
        items.push_back({head, id});
    }
    std::sort(items.begin(), items.end(), [&](const Head& a, const Head& b) {
        if (a.bytes != b.bytes) return a.bytes < b.bytes;
        const auto la = strings.length(a.id), lb = strings.length(b.id);
        const int order = std::memcmp(strings.data(a.id), strings.data(b.id), std::min(la, lb));
        return order != 0 ? order < 0 : la < lb;
    });
    Numbers out;
    out.reserve(items.size());
    for (const auto& item : items) out.push_back(item.id);
    return out;
}

// A space sorts before every word character, so the order of texts is the order of word sequences by word rank: sort
// each level by (parent's place, last word's rank), then lay subtrees one after the other.
Ordered detail::in_text_order(const Counter& counter, const std::vector<char>& kept) {
    const auto n = counter.gram_count();
    const auto needed = with_parts(counter, kept);
    std::vector<Numbers> numbers(1);  // of each level; words by their own number
    std::vector<std::uint8_t> depth(n, 0);
    for (std::uint32_t gram = 0; gram < n; ++gram) {
        const auto pair = counter.pair(gram);
        if (prefix_of(pair) != none) depth[gram] = static_cast<std::uint8_t>(depth[prefix_of(pair)] + 1);
        if (!needed[gram]) continue;
        if (numbers.size() <= depth[gram]) numbers.resize(depth[gram] + std::size_t{1});
        numbers[depth[gram]].push_back(depth[gram] == 0 ? last_of(pair) : gram);
    }

    Ordered out;
    out.words = sorted_by_bytes(counter.words(), numbers[0]);
    std::vector<Level> levels(numbers.size());
    Numbers place(n, 0);  // of a word or n-gram in its level
    for (std::uint32_t rank = 0; rank < out.words.size(); ++rank) {
        const auto gram = counter.gram_of_word(out.words[rank]);
        place[gram] = rank;
        levels[0].gram.push_back(gram);
        levels[0].parent.push_back(none);
        levels[0].last.push_back(rank);
    }
    const auto rank_bits = static_cast<unsigned>(std::bit_width(out.words.size()));
    Roomy<Item> items, scratch;
    for (std::size_t k = 1; k < levels.size(); ++k) {
        items.clear();
        items.reserve(numbers[k].size());
        for (const auto gram : numbers[k]) {
            const auto pair = counter.pair(gram);
            items.push_back({std::uint64_t{place[prefix_of(pair)]} << rank_bits | place[last_of(pair)], gram});
        }
        radix_sort<11>(items, scratch, rank_bits + static_cast<unsigned>(std::bit_width(levels[k - 1].gram.size())),
                       [](const Item& item) { return item.key; });
        auto& level = levels[k];
        level.gram.reserve(items.size());
        level.parent.reserve(items.size());
        level.last.reserve(items.size());
        for (const auto& item : items) {
            level.gram.push_back(item.gram);
            level.parent.push_back(static_cast<std::uint32_t>(item.key >> rank_bits));
            level.last.push_back(static_cast<std::uint32_t>(item.key & ((1ull << rank_bits) - 1)));
        }
        if (k + 1 < levels.size())
            for (std::uint32_t i = 0; i < items.size(); ++i) place[items[i].gram] = i;
    }

    // Sizes of subtrees from the leaves up, then positions from the roots down: `position` serves for both.
    for (auto& level : levels) level.position.assign(level.gram.size(), 1);
    for (auto k = levels.size(); k-- > 1;)
        for (std::size_t i = 0; i < levels[k].gram.size(); ++i)
            levels[k - 1].position[levels[k].parent[i]] += levels[k].position[i];
    std::size_t total = 0;
    for (const auto& level : levels) total += level.gram.size();
    out.gram.resize(total);
    out.parent.resize(total);
    out.last.resize(total);
    out.kept.resize(total);
    for (std::size_t k = 0; k < levels.size(); ++k) {
        auto& level = levels[k];
        std::uint32_t next = 0, parent = none;
        for (std::size_t i = 0; i < level.gram.size(); ++i) {
            if (level.parent[i] != parent) {  // the first child follows its parent
                parent = level.parent[i];
                next = levels[k - 1].position[parent] + 1;
            }
            const auto size = level.position[i];
            level.position[i] = next;
            out.gram[next] = level.gram[i];
            out.parent[next] = k == 0 ? none : levels[k - 1].position[parent];
            out.last[next] = level.last[i];
            out.kept[next] = kept[level.gram[i]];
            next += size;
        }
    }
    return out;
}

}  // namespace xtrellis::text
