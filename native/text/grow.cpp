#include "text/grow.hpp"

#include <algorithm>
#include <cstring>

#include "text/order.hpp"

namespace xtrellis::text {

namespace {

std::uint64_t hash_of(const Byte* data, std::size_t length, std::vector<Byte>& slack) {
    slack.resize(length + 8);  // hashing reads past the end
    std::copy_n(data, length, slack.begin());
    return hash_bytes(slack.data(), length);
}

void put(Roomy<std::uint64_t>& table, std::uint64_t slot, std::uint64_t hash) {
    const auto mask = table.size() - 1;
    auto at = hash & mask;
    while (table[at] != StringIndex::empty) at = (at + 1) & mask;
    table[at] = slot;
}

// The table of `index`, with room for so many more strings than the `taken` that are in it.
Roomy<std::uint64_t> roomier(const StringIndex& index, std::size_t taken, std::size_t more) {
    const auto size = std::max<std::uint64_t>(index.mask + 1, table_size(taken + more));
    if (size == index.mask + 1) return {index.slots, index.slots + size};
    Roomy<std::uint64_t> out(size, StringIndex::empty);
    std::vector<Byte> slack;
    for (std::uint64_t at = 0; at <= index.mask; ++at) {
        const auto slot = index.slots[at];
        if (slot == StringIndex::empty) continue;
        const auto* offset = index.offsets + static_cast<std::uint32_t>(slot);
        put(out, slot, hash_of(index.text + offset[0], static_cast<std::size_t>(offset[1] - offset[0]), slack));
    }
    return out;
}

std::size_t taken_in(const StringIndex& index) {
    return static_cast<std::size_t>(std::count_if(index.slots, index.slots + index.mask + 1,
                                                  [](std::uint64_t slot) { return slot != StringIndex::empty; }));
}

void put(Roomy<std::uint32_t>& table, const GramSlot& slot) {
    const auto mask = table.size() / 4 - 1;
    auto at = hash_pair(pair_of(slot.prefix, slot.last)) & mask;
    while (table[4 * at] != none) at = (at + 1) & mask;
    std::memcpy(table.data() + 4 * at, &slot, sizeof(GramSlot));
}

// Counted n-grams in text order, what is known of them, and which of them are new features.
class Growth {
public:
    Growth(const Known& known, const Counter& counter, Ordered&& grams)
        : known_(known), counter_(counter), grams_(std::move(grams)), word_(grams_.words.size()),
          node_(grams_.gram.size(), none), feature_(grams_.gram.size(), none) {
        const auto& strings = counter.words();
        for (std::size_t rank = 0; rank < word_.size(); ++rank) {
            const auto id = grams_.words[rank];
            word_[rank] = known.view.words.find(strings.hash(id), strings.data(id), strings.length(id));
        }
        for (std::size_t p = 0; p < node_.size(); ++p) {
            const auto last = word_[grams_.last[p]];
            if (last == none) continue;
            if (grams_.parent[p] == none) {
                node_[p] = last;
                feature_[p] = static_cast<std::uint32_t>(known.view.word_features[last]);  // -1 is none
            } else if (node_[grams_.parent[p]] != none) {
                const auto* slot = known.view.find_gram(node_[grams_.parent[p]], last);
                if (!slot) continue;
                node_[p] = slot->node;
                feature_[p] = slot->feature;
            }
            if (feature_[p] != none) grams_.kept[p] = 0;  // not new
        }
    }

    void name(Built& out) {
        const auto& strings = counter_.words();
        std::vector<std::uint32_t> path;
        for (std::size_t p = 0; p < node_.size(); ++p) {
            if (!grams_.kept[p]) continue;
            path.clear();
            for (auto q = static_cast<std::uint32_t>(p); q != none; q = grams_.parent[q]) path.push_back(q);
            for (auto q = path.rbegin(); q != path.rend(); ++q) {
                if (q != path.rbegin()) out.name_text.push_back(' ');
                const auto word = grams_.words[grams_.last[*q]];
                out.name_text.insert(out.name_text.end(), strings.data(word),
                                     strings.data(word) + strings.length(word));
            }
            out.name_offsets.push_back(static_cast<Offset>(out.name_text.size()));
            feature_[p] = static_cast<std::uint32_t>(known_.features) + static_cast<std::uint32_t>(out.rows.size());
            out.rows.push_back(counter_.gram_tally(grams_.gram[p]).rows);
        }
    }

    // New words follow the known ones, so the nodes of n-grams, which follow words, move on by as many.
    void lay_out(Built& out) {
        const auto n = node_.size();
        auto wanted = grams_.kept;
        std::vector<char> word_wanted(word_.size(), 0);
        for (auto p = n; p-- > 0;) {
            if (!wanted[p]) continue;
            word_wanted[grams_.last[p]] = 1;
            if (grams_.parent[p] != none) wanted[grams_.parent[p]] = 1;
        }
        const auto& strings = counter_.words();
        const auto old_words = known_.words;
        out.word_features.assign(known_.view.word_features, known_.view.word_features + old_words);
        auto words = old_words;
        Numbers added;
        for (std::size_t rank = 0; rank < word_.size(); ++rank) {
            if (!word_wanted[rank] || word_[rank] != none) continue;
            const auto id = grams_.words[rank];
            word_[rank] = words++;
            added.push_back(id);
            out.word_features.push_back(-1);
            out.word_text.insert(out.word_text.end(), strings.data(id), strings.data(id) + strings.length(id));
            out.word_offsets.push_back(static_cast<Offset>(out.word_text.size()));
        }
        out.word_table = roomier(known_.view.words, taken_in(known_.view.words), added.size());
        for (std::uint32_t i = 0; i < added.size(); ++i)
            put(out.word_table, StringIndex::slot(strings.hash(added[i]), old_words + i), strings.hash(added[i]));

        Roomy<GramSlot> slots;  // all of them, with the nodes that they have now
        std::uint32_t nodes = 0;
        const auto moved = [&](std::uint32_t node) { return node < old_words ? node : node + (words - old_words); };
        for (std::uint64_t at = 0; at <= known_.view.gram_mask; ++at) {
            auto slot = known_.view.grams[at];
            if (slot.prefix == none) continue;
            nodes = std::max(nodes, slot.node + 1);
            slots.push_back({moved(slot.prefix), slot.last, moved(slot.node), slot.feature});
        }
        auto next = nodes == 0 ? words : moved(nodes);
        std::vector<std::pair<std::uint32_t, std::uint32_t>> became;  // nodes that are known and features only now
        for (std::size_t p = 0; p < n; ++p) {
            const bool is_new = node_[p] == none;
            if (grams_.parent[p] == none) {
                node_[p] = word_[grams_.last[p]];
                if (grams_.kept[p]) out.word_features[node_[p]] = static_cast<Id>(feature_[p]);
            } else if (!is_new) {
                node_[p] = moved(node_[p]);
                if (grams_.kept[p]) became.emplace_back(node_[p], feature_[p]);
            } else if (wanted[p]) {
                node_[p] = next++;
                slots.push_back({node_[grams_.parent[p]], word_[grams_.last[p]], node_[p], feature_[p]});
            }
        }
        std::sort(became.begin(), became.end());
        out.gram_table.assign(4 * table_size(slots.size()), none);
        for (auto& slot : slots) {
            const auto found = std::lower_bound(became.begin(), became.end(), std::pair{slot.node, 0u});
            if (found != became.end() && found->first == slot.node) slot.feature = found->second;
            put(out.gram_table, slot);
        }
    }

private:
    const Known& known_;
    const Counter& counter_;
    Ordered grams_;
    Numbers word_;     // by rank: the word's number
    Numbers node_;     // by place in text order
    Numbers feature_;  // likewise
};

void add_pieces(const Known& known, const Counter& counter, const Limits& limits, Built& out) {
    const auto& strings = counter.pieces();
    Numbers pieces;
    for (std::uint32_t piece = 0; piece < strings.size(); ++piece) {
        const auto& tally = counter.piece_tally(piece);
        if (tally.rows < limits.least_rows || tally.rows > limits.most_rows) continue;
        if (known.view.pieces.find(strings.hash(piece), strings.data(piece), strings.length(piece)) == none)
            pieces.push_back(piece);
    }
    pieces = sorted_by_bytes(strings, pieces);
    out.first_piece = known.view.first_piece;
    out.piece_table = roomier(known.view.pieces, taken_in(known.view.pieces), pieces.size());
    for (const auto piece : pieces) {
        const auto number = static_cast<std::uint32_t>(known.features - known.view.first_piece) +
                            static_cast<std::uint32_t>(out.rows.size());
        put(out.piece_table, StringIndex::slot(strings.hash(piece), number), strings.hash(piece));
        out.name_text.insert(out.name_text.end(), strings.data(piece), strings.data(piece) + strings.length(piece));
        out.name_offsets.push_back(static_cast<Offset>(out.name_text.size()));
        out.rows.push_back(counter.piece_tally(piece).rows);
    }
}

}  // namespace

Built grow(const Known& known, const Counter& counter, const Limits& limits) {
    Built out;
    Growth growth(known, counter, in_text_order(counter, [&](const Tally& tally) {
                      return tally.rows >= limits.least_rows && tally.rows <= limits.most_rows;
                  }));
    growth.name(out);
    growth.lay_out(out);
    add_pieces(known, counter, limits, out);
    if (static_cast<std::uint64_t>(known.features) + out.rows.size() > 0x7FFFFFFEu)
        throw std::length_error("more than 2^31 features");
    return out;
}

Pruned prune(const Known& known, const Byte* gone) {
    Pruned out;
    out.needed.assign(known.words, 0);
    out.word_features.assign(known.view.word_features, known.view.word_features + known.words);
    for (std::uint32_t word = 0; word < known.words; ++word) {
        auto& feature = out.word_features[word];
        if (feature >= 0 && gone[feature]) feature = -1;
        out.needed[word] = feature >= 0;
    }
    Roomy<GramSlot> slots;
    for (std::uint64_t at = 0; at <= known.view.gram_mask; ++at)
        if (known.view.grams[at].prefix != none) slots.push_back(known.view.grams[at]);
    // A node's number is greater than that of what it begins with only within one fit: so by rounds, as many as words
    // in the longest n-gram.
    std::uint64_t nodes = known.words;  // a stored table may say anything
    for (const auto& slot : slots)
        nodes = std::max(nodes, std::uint64_t{std::max({slot.prefix, slot.last, slot.node})} + 1);
    std::vector<Byte> leads(nodes, 0);
    std::vector<char> kept(slots.size(), 0);
    for (bool more = true; more;) {
        more = false;
        for (std::size_t i = 0; i < slots.size(); ++i) {
            auto& slot = slots[i];
            if (slot.feature != none && gone[slot.feature]) slot.feature = none;
            if (kept[i] || (slot.feature == none && !leads[slot.node])) continue;
            kept[i] = 1;
            leads[slot.prefix] = leads[slot.last] = 1;
            more = true;
        }
    }
    const auto left = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), 1));
    out.gram_table.assign(4 * table_size(left), none);
    for (std::size_t i = 0; i < slots.size(); ++i)
        if (kept[i]) put(out.gram_table, slots[i]);
    for (std::uint32_t word = 0; word < known.words; ++word) out.needed[word] |= leads[word];
    return out;
}

Roomy<std::uint64_t> string_table(const Byte* text, const Offset* offsets, const Byte* kept, std::size_t count) {
    const auto used = static_cast<std::size_t>(count - static_cast<std::size_t>(std::count(kept, kept + count, 0)));
    Roomy<std::uint64_t> out(table_size(used), StringIndex::empty);
    std::vector<Byte> slack;
    for (std::size_t i = 0; i < count; ++i) {
        if (!kept[i]) continue;
        const auto hash = hash_of(text + offsets[i], static_cast<std::size_t>(offsets[i + 1] - offsets[i]), slack);
        put(out, StringIndex::slot(hash, static_cast<std::uint32_t>(i)), hash);
    }
    return out;
}

}  // namespace xtrellis::text
