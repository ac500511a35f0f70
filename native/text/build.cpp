#include "text/build.hpp"

#include <algorithm>
#include <cstring>

#include "text/order.hpp"

namespace xtrellis::text {

namespace {

void append(Roomy<Byte>& text, const Strings& strings, std::uint32_t id) {
    text.insert(text.end(), strings.data(id), strings.data(id) + strings.length(id));
}

void put(Roomy<std::uint64_t>& table, std::uint64_t hash, std::uint32_t id) {
    const auto mask = table.size() - 1;
    auto at = hash & mask;
    while (table[at] != StringIndex::empty) at = (at + 1) & mask;
    table[at] = StringIndex::slot(hash, id);
}

// Of the kept n-grams, then `pieces`, leaves those that occur most; ties go to the earlier.
void keep_most_frequent(const Counter& counter, Ordered& grams, Numbers& pieces, std::uint64_t most) {
    struct Item {
        std::uint64_t times;
        std::uint64_t place;
    };
    Roomy<Item> items;
    const auto n = grams.gram.size();
    for (std::size_t p = 0; p < n; ++p)
        if (grams.kept[p]) items.push_back({counter.gram_tally(grams.gram[p]).times, p});
    for (std::size_t i = 0; i < pieces.size(); ++i) items.push_back({counter.piece_tally(pieces[i]).times, n + i});
    if (items.size() <= most) return;
    const auto cut = items.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(items.begin(), cut, items.end(), [](const Item& a, const Item& b) {
        return a.times != b.times ? a.times > b.times : a.place < b.place;
    });
    std::vector<char> keep(n + pieces.size(), 0);
    for (auto item = items.begin(); item != cut; ++item) keep[item->place] = 1;
    std::copy_n(keep.begin(), n, grams.kept.begin());
    std::size_t kept = 0;
    for (std::size_t i = 0; i < pieces.size(); ++i)
        if (keep[n + i]) pieces[kept++] = pieces[i];
    pieces.resize(kept);
}

// Names of the kept n-grams, and the numbers of features.
void name(const Counter& counter, const Ordered& grams, Built& out) {
    const auto& strings = counter.words();
    const auto n = grams.gram.size();
    std::size_t bytes = 0, kept = 0;
    Roomy<std::size_t> length(n);
    for (std::size_t p = 0; p < n; ++p) {
        length[p] = strings.length(grams.words[grams.last[p]]);
        if (grams.parent[p] != none) length[p] += 1 + length[grams.parent[p]];
        if (!grams.kept[p]) continue;
        bytes += length[p];
        ++kept;
    }
    if (kept > 0x7FFFFFFEu) throw std::length_error("more than 2^31 features");
    out.gram_features.assign(counter.gram_count(), -1);
    out.rows.reserve(kept);
    out.name_offsets.reserve(kept + 1);
    out.name_text.resize(bytes);
    std::size_t end = 0;
    for (std::size_t p = 0; p < n; ++p) {
        if (p + 24 < n) {  // two reads that jump about; everything else here runs from front to back
            __builtin_prefetch(&counter.gram_tally(grams.gram[p + 24]));
            __builtin_prefetch(&out.gram_features[grams.gram[p + 24]], 1);
        }
        if (!grams.kept[p]) continue;
        end += length[p];
        auto at = end;  // written from its last word to its first
        for (auto q = static_cast<std::uint32_t>(p); q != none; q = grams.parent[q]) {
            if (q != p) out.name_text[--at] = ' ';
            const auto word = grams.words[grams.last[q]];
            at -= strings.length(word);
            std::memcpy(out.name_text.data() + at, strings.data(word), strings.length(word));
        }
        out.name_offsets.push_back(static_cast<Offset>(end));
        out.gram_features[grams.gram[p]] = static_cast<Id>(out.rows.size());
        out.rows.push_back(counter.gram_tally(grams.gram[p]).rows);
    }
}

// Words and n-grams that lead to a feature, in tables.
void lay_out(const Counter& counter, const Ordered& grams, Built& out) {
    const auto n = grams.gram.size();
    auto wanted = grams.kept;
    std::vector<char> word_wanted(grams.words.size(), 0);
    std::size_t long_grams = 0;
    for (auto p = n; p-- > 0;) {
        if (!wanted[p]) continue;
        word_wanted[grams.last[p]] = 1;
        if (grams.parent[p] == none) continue;
        wanted[grams.parent[p]] = 1;
        ++long_grams;
    }
    Numbers word_id(grams.words.size(), none);
    for (std::size_t rank = 0; rank < grams.words.size(); ++rank) {
        if (!word_wanted[rank]) continue;
        word_id[rank] = static_cast<std::uint32_t>(out.word_features.size());
        out.word_features.push_back(out.gram_features[counter.gram_of_word(grams.words[rank])]);
        append(out.word_text, counter.words(), grams.words[rank]);
        out.word_offsets.push_back(static_cast<Offset>(out.word_text.size()));
    }
    const auto words = static_cast<std::uint32_t>(out.word_features.size());
    out.word_table.assign(table_size(words), StringIndex::empty);
    for (std::size_t rank = 0; rank < grams.words.size(); ++rank)
        if (word_id[rank] != none) put(out.word_table, counter.words().hash(grams.words[rank]), word_id[rank]);

    // N-grams wait a few turns between the fetching of their slot and the writing.
    const auto slots = table_size(long_grams);
    out.gram_table.assign(4 * slots, none);
    struct Entry {
        GramSlot slot;
        std::uint64_t home;
    };
    constexpr std::size_t turns = 16;
    Entry waiting[turns];
    const auto write = [&](const Entry& entry) {
        auto at = entry.home;
        while (out.gram_table[4 * at] != none) at = (at + 1) & (slots - 1);
        std::memcpy(out.gram_table.data() + 4 * at, &entry.slot, sizeof(GramSlot));
    };
    Numbers node(n, none);
    std::uint32_t feature = 0;
    std::size_t count = 0;
    for (std::size_t p = 0; p < n; ++p) {
        const auto number = grams.kept[p] ? feature++ : none;
        if (grams.parent[p] == none) {
            node[p] = word_id[grams.last[p]];
        } else if (wanted[p]) {
            node[p] = words + static_cast<std::uint32_t>(count);
            const GramSlot slot{node[grams.parent[p]], word_id[grams.last[p]], node[p], number};
            const auto home = hash_pair(pair_of(slot.prefix, slot.last)) & (slots - 1);
            __builtin_prefetch(out.gram_table.data() + 4 * home, 1);
            auto& entry = waiting[count % turns];
            if (count >= turns) write(entry);
            entry = {slot, home};
            ++count;
        }
    }
    for (auto i = count - std::min(count, turns); i < count; ++i) write(waiting[i % turns]);
}

void lay_out_pieces(const Counter& counter, const Numbers& pieces, Built& out) {
    if (out.rows.size() + pieces.size() > 0x7FFFFFFEu) throw std::length_error("more than 2^31 features");
    out.first_piece = static_cast<Id>(out.rows.size());
    out.piece_features.assign(counter.pieces().size(), -1);
    out.piece_table.assign(table_size(pieces.size()), StringIndex::empty);
    for (std::uint32_t i = 0; i < pieces.size(); ++i) {
        out.piece_features[pieces[i]] = static_cast<Id>(out.rows.size());
        out.rows.push_back(counter.piece_tally(pieces[i]).rows);
        append(out.name_text, counter.pieces(), pieces[i]);
        out.name_offsets.push_back(static_cast<Offset>(out.name_text.size()));
        put(out.piece_table, counter.pieces().hash(pieces[i]), i);
    }
}

}  // namespace

Built build(const Counter& counter, const Limits& limits) {
    const auto fits = [&](const Tally& tally) {
        return tally.rows >= limits.least_rows && tally.rows <= limits.most_rows;
    };
    auto grams = in_text_order(counter, fits);
    Numbers pieces;
    for (std::uint32_t piece = 0; piece < counter.pieces().size(); ++piece)
        if (fits(counter.piece_tally(piece))) pieces.push_back(piece);
    pieces = sorted_by_bytes(counter.pieces(), pieces);
    if (limits.most_features != ~0ull) keep_most_frequent(counter, grams, pieces, limits.most_features);

    Built out;
    name(counter, grams, out);
    lay_out(counter, grams, out);
    lay_out_pieces(counter, pieces, out);
    return out;
}

Rows weigh(const Offset* offsets, Offset rows, const Count* counts, const Id* gram_features, const Id* piece_features,
           const float* idf, const Settings& settings) {
    Rows out;
    const auto most = static_cast<std::size_t>(offsets[rows]);
    out.offsets.reserve(static_cast<std::size_t>(rows) + 1);
    out.ids.reserve(most);
    out.values.reserve(most);
    std::vector<Count> row, scratch;
    for (Offset i = 0; i < rows; ++i) {
        row.clear();
        for (auto at = offsets[i]; at < offsets[i + 1]; ++at) {
            const auto item = static_cast<std::uint32_t>(counts[at] >> 32);
            const auto feature = item & piece_bit ? piece_features[item & ~piece_bit] : gram_features[item];
            if (feature >= 0)
                row.push_back(count_of(static_cast<std::uint32_t>(feature), static_cast<std::uint32_t>(counts[at])));
        }
        sort_counts(row, scratch);
        append_row(row, idf, settings, out);
    }
    return out;
}

}  // namespace xtrellis::text
