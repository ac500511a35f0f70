#include "text/build.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace xtrellis::text {

namespace {

using Numbers = std::vector<std::uint32_t>;

std::uint32_t prefix_of(std::uint64_t pair) { return static_cast<std::uint32_t>(pair >> 32); }
std::uint32_t last_of(std::uint64_t pair) { return static_cast<std::uint32_t>(pair); }

// Numbers of strings in the order of their bytes. Most comparisons end in the first 8 bytes, kept beside the number.
Numbers sorted_by_bytes(const Strings& strings, const Numbers& ids) {
    struct Item {
        std::uint64_t head;
        std::uint32_t id;
    };
    std::vector<Item> items;
    items.reserve(ids.size());
    for (const auto id : ids) {
        std::uint64_t head = 0;
        for (std::size_t i = 0; i < 8; ++i) head = head << 8 | (i < strings.length(id) ? strings.data(id)[i] : 0u);
        items.push_back({head, id});
    }
    std::sort(items.begin(), items.end(), [&](const Item& a, const Item& b) {
        if (a.head != b.head) return a.head < b.head;
        const auto la = strings.length(a.id), lb = strings.length(b.id);
        const int order = std::memcmp(strings.data(a.id), strings.data(b.id), std::min(la, lb));
        return order != 0 ? order < 0 : la < lb;
    });
    Numbers out;
    out.reserve(items.size());
    for (const auto& item : items) out.push_back(item.id);
    return out;
}

// Marks, beside the n-grams that are `wanted`, all that they are made of.
std::vector<char> with_parts(const Counter& counter, std::vector<char> wanted) {
    for (auto gram = counter.gram_count(); gram-- > 0;) {
        const auto pair = counter.pair(gram);
        if (wanted[gram] && prefix_of(pair) != none) wanted[prefix_of(pair)] = wanted[last_of(pair)] = 1;
    }
    return wanted;
}

// The `needed` n-grams in the byte order of their texts. A space sorts before every word character, so this is the
// order of word sequences by word rank: a tree walk, children by their last word. Each level is sorted by
// (parent's place in its level, last word's rank), then places in the walk follow from the sizes of subtrees.
Numbers in_text_order(const Counter& counter, const std::vector<char>& needed) {
    const auto n = counter.gram_count();
    Numbers ids;
    std::vector<Numbers> levels(1);
    std::vector<std::uint8_t> level(n, 0);
    for (std::uint32_t gram = 0; gram < n; ++gram) {
        const auto pair = counter.pair(gram);
        if (prefix_of(pair) != none) level[gram] = static_cast<std::uint8_t>(level[prefix_of(pair)] + 1);
        if (!needed[gram]) continue;
        if (level[gram] == 0) {
            ids.push_back(last_of(pair));
        } else {
            if (levels.size() <= level[gram]) levels.resize(level[gram] + std::size_t{1});
            levels[level[gram]].push_back(gram);
        }
    }
    Numbers place(n, 0);  // in the sorted level; a word's is its rank
    for (const auto word : sorted_by_bytes(counter.words(), ids)) {
        const auto gram = counter.gram_of_word(word);
        place[gram] = static_cast<std::uint32_t>(levels[0].size());
        levels[0].push_back(gram);
    }
    struct Item {
        std::uint64_t key;
        std::uint32_t gram;
    };
    std::vector<Item> items, scratch;
    const auto rank_bits = static_cast<unsigned>(std::bit_width(levels[0].size()));
    for (std::size_t k = 1; k < levels.size(); ++k) {
        items.clear();
        for (const auto gram : levels[k]) {
            const auto pair = counter.pair(gram);
            items.push_back({std::uint64_t{place[prefix_of(pair)]} << rank_bits | place[last_of(pair)], gram});
        }
        const auto bits = rank_bits + static_cast<unsigned>(std::bit_width(levels[k - 1].size()));
        radix_sort(items, scratch, bits, [](const Item& item) { return item.key; });
        for (std::uint32_t i = 0; i < items.size(); ++i) {
            levels[k][i] = items[i].gram;
            place[items[i].gram] = i;
        }
    }
    Numbers size(n, 1), next(n, 0);  // of a subtree; where the next child's subtree goes
    for (auto k = levels.size(); k-- > 1;)
        for (const auto gram : levels[k]) size[prefix_of(counter.pair(gram))] += size[gram];
    Numbers out;
    std::uint32_t total = 0;
    for (const auto gram : levels[0]) total += size[gram];
    out.resize(total);
    std::uint32_t root = 0;
    for (std::size_t k = 0; k < levels.size(); ++k) {
        for (const auto gram : levels[k]) {
            auto& from = k == 0 ? root : next[prefix_of(counter.pair(gram))];
            out[from] = gram;
            next[gram] = from + 1;
            from += size[gram];
        }
    }
    return out;
}

void append(std::vector<Byte>& text, const Strings& strings, std::uint32_t id) {
    text.insert(text.end(), strings.data(id), strings.data(id) + strings.length(id));
}

void append_name(std::vector<Byte>& text, const Counter& counter, std::uint32_t gram) {
    const auto pair = counter.pair(gram);
    if (prefix_of(pair) == none) {
        append(text, counter.words(), last_of(pair));
        return;
    }
    append_name(text, counter, prefix_of(pair));
    text.push_back(' ');
    append(text, counter.words(), last_of(counter.pair(last_of(pair))));
}

void put(std::vector<std::uint64_t>& table, std::uint64_t hash, std::uint32_t id) {
    const auto mask = table.size() - 1;
    auto at = hash & mask;
    while (table[at] != StringIndex::empty) at = (at + 1) & mask;
    table[at] = StringIndex::slot(hash, id);
}

// Of `grams` then `pieces` (both in order), leaves the ones that occur most; ties go to the earlier.
void keep_most_frequent(const Counter& counter, Numbers& grams, Numbers& pieces, std::uint64_t most) {
    if (grams.size() + pieces.size() <= most) return;
    struct Item {
        std::uint64_t times;
        std::uint64_t order;
    };
    std::vector<Item> items;
    for (const auto gram : grams) items.push_back({counter.gram_tally(gram).times, items.size()});
    for (const auto piece : pieces) items.push_back({counter.piece_tally(piece).times, items.size()});
    const auto cut = items.begin() + static_cast<std::ptrdiff_t>(most);
    std::nth_element(items.begin(), cut, items.end(), [](const Item& a, const Item& b) {
        return a.times != b.times ? a.times > b.times : a.order < b.order;
    });
    std::vector<char> keep(items.size(), 0);
    for (auto item = items.begin(); item != cut; ++item) keep[item->order] = 1;
    const auto first_piece = grams.size();
    const auto filter = [&](Numbers& numbers, std::size_t from) {
        std::size_t kept = 0;
        for (std::size_t i = 0; i < numbers.size(); ++i)
            if (keep[from + i]) numbers[kept++] = numbers[i];
        numbers.resize(kept);
    };
    filter(grams, 0);
    filter(pieces, first_piece);
}

void lay_out_words_and_grams(const Counter& counter, const Numbers& order, const Numbers& grams, Built& out) {
    const auto n = counter.gram_count();
    out.gram_features.assign(n, -1);
    std::vector<char> wanted(n, 0);
    for (const auto gram : grams) {
        wanted[gram] = 1;
        out.gram_features[gram] = static_cast<Id>(out.rows.size());
        out.rows.push_back(counter.gram_tally(gram).rows);
        append_name(out.name_text, counter, gram);
        out.name_offsets.push_back(static_cast<Offset>(out.name_text.size()));
    }
    wanted = with_parts(counter, std::move(wanted));
    Numbers node(n, none);
    Numbers long_grams;
    for (const auto gram : order) {
        if (!wanted[gram]) continue;
        const auto pair = counter.pair(gram);
        if (prefix_of(pair) != none) {
            long_grams.push_back(gram);
            continue;
        }
        node[gram] = static_cast<std::uint32_t>(out.word_features.size());
        out.word_features.push_back(out.gram_features[gram]);
        append(out.word_text, counter.words(), last_of(pair));
        out.word_offsets.push_back(static_cast<Offset>(out.word_text.size()));
    }
    const auto words = static_cast<std::uint32_t>(out.word_features.size());
    out.word_table.assign(table_size(words), StringIndex::empty);
    for (const auto gram : order)
        if (node[gram] != none) put(out.word_table, counter.words().hash(last_of(counter.pair(gram))), node[gram]);

    const auto slots = table_size(long_grams.size());
    out.gram_table.assign(4 * slots, none);
    for (std::uint32_t i = 0; i < long_grams.size(); ++i) node[long_grams[i]] = words + i;
    for (const auto gram : long_grams) {
        const auto prefix = node[prefix_of(counter.pair(gram))], last = node[last_of(counter.pair(gram))];
        auto at = hash_pair(pair_of(prefix, last)) & (slots - 1);
        while (out.gram_table[4 * at] != none) at = (at + 1) & (slots - 1);
        auto* slot = out.gram_table.data() + 4 * at;
        slot[0] = prefix;
        slot[1] = last;
        slot[2] = node[gram];
        slot[3] = static_cast<std::uint32_t>(out.gram_features[gram]);
    }
}

void lay_out_pieces(const Counter& counter, const Numbers& pieces, Built& out) {
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
    const auto fits = [&](const Tally& tally) { return tally.rows >= limits.least_rows && tally.rows <= limits.most_rows; };
    std::vector<char> kept(counter.gram_count(), 0);
    for (std::uint32_t gram = 0; gram < counter.gram_count(); ++gram) kept[gram] = fits(counter.gram_tally(gram));
    const auto order = in_text_order(counter, with_parts(counter, kept));
    Numbers grams, pieces;
    for (const auto gram : order)
        if (kept[gram]) grams.push_back(gram);
    for (std::uint32_t piece = 0; piece < counter.pieces().size(); ++piece)
        if (fits(counter.piece_tally(piece))) pieces.push_back(piece);
    pieces = sorted_by_bytes(counter.pieces(), pieces);
    keep_most_frequent(counter, grams, pieces, limits.most_features);

    if (grams.size() + pieces.size() > 0x7FFFFFFEu) throw std::length_error("more than 2^31 features");
    Built out;
    lay_out_words_and_grams(counter, order, grams, out);
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
            if (feature >= 0) row.push_back(count_of(static_cast<std::uint32_t>(feature), static_cast<std::uint32_t>(counts[at])));
        }
        sort_counts(row, scratch);
        append_row(row, idf, settings, out);
    }
    return out;
}

}  // namespace xtrellis::text
