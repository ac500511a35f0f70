#include "text/counter.hpp"

#include "text/any_script.hpp"

namespace xtrellis::text {

namespace {

constexpr std::size_t ahead = 12;           // look-ups in flight
constexpr std::size_t longest_cached = 64;  // bytes of a word whose pieces are remembered

// One more of `item` in the row that begins at `row`; `place` is where it would be if it is there.
inline void tick(Roomy<Count>& counts, std::size_t row, std::uint32_t item, std::uint32_t& place) {
    const auto at = row + place;
    if (at < counts.size() && counts[at] >> 32 == item) {
        ++counts[at];
    } else {
        place = static_cast<std::uint32_t>(counts.size() - row);
        counts.push_back(count_of(item, 1));
    }
}

}  // namespace

std::uint32_t Counter::new_gram(std::uint64_t pair) {
    refuse_more(pairs_.size());
    pairs_.push_back(pair);
    gram_tallies_.emplace_back();
    return static_cast<std::uint32_t>(pairs_.size() - 1);
}

Strings::Slot& Counter::word(std::uint64_t hash, const Byte* data, std::size_t length) {
    auto& slot = words_.find_or_add(hash, data, length);
    if (slot.value == none) {
        slot.value = new_gram(pair_of(none, slot.id));
        gram_of_word_.push_back(slot.value);
    }
    return slot;
}

Counter::Slot& Counter::gram(std::uint64_t pair, std::uint64_t hash) {
    auto mask = slots_.size() - 1;
    auto at = hash & mask;
    for (; slots_[at].gram != none; at = (at + 1) & mask)
        if (slots_[at].pair == pair) return slots_[at];
    if (too_full(used_ + 1, slots_.size())) {
        grow();
        mask = slots_.size() - 1;
        for (at = hash & mask; slots_[at].gram != none;) at = (at + 1) & mask;
    }
    ++used_;
    slots_[at] = {pair, new_gram(pair), none};
    return slots_[at];
}

void Counter::grow() {
    Roomy<Slot> larger(slots_.size() * 2);
    const auto mask = larger.size() - 1;
    for (const auto& slot : slots_) {
        if (slot.gram == none) continue;
        auto at = hash_pair(slot.pair) & mask;
        while (larger[at].gram != none) at = (at + 1) & mask;
        larger[at] = slot;
    }
    slots_.swap(larger);
}

void Counter::count_words(const Byte* begin, const Byte* end, CountedRows& out, std::size_t row) {
    scan_words(begin, end, settings_, scanned_, [&](std::uint64_t hash) { words_.prefetch(hash); });
    row_words_.clear();
    for (const auto& found : scanned_.words) {
        auto& slot = word(found.hash, scanned_.at(found), found.length);
        row_words_.push_back(slot.value);
        tick(out.counts, row, slot.value, slot.place);
    }
    row_grams_ = row_words_;
    for (std::size_t order = 2; order <= settings_.ngrams && order <= row_words_.size(); ++order) {
        const auto count = row_words_.size() - order + 1;
        const auto pair_at = [&](std::size_t i) { return pair_of(row_grams_[i], row_words_[i + order - 1]); };
        for (std::size_t i = 0; i < count; ++i) {
            if (i + ahead < count) __builtin_prefetch(&slots_[hash_pair(pair_at(i + ahead)) & (slots_.size() - 1)], 1);
            const auto pair = pair_at(i);
            auto& slot = gram(pair, hash_pair(pair));
            tick(out.counts, row, slot.gram, slot.place);
            __builtin_prefetch(&gram_tallies_[slot.gram], 1);  // for the end of the row
            row_grams_[i] = slot.gram;
        }
    }
}

std::uint32_t Counter::piece(std::uint64_t hash, const Byte* data, std::size_t length) {
    const auto id = pieces_.find_or_add(hash, data, length).id;
    if (id == piece_tallies_.size()) piece_tallies_.emplace_back();
    return id;
}

void Counter::count_pieces(const Byte* begin, const Byte* end, CountedRows& out, std::size_t row) {
    scan<true>(begin, end, settings_.rewriting(), 1, scanned_, [&](std::uint64_t hash) { cached_.prefetch(hash); });
    for (const auto& found : scanned_.words) {
        const auto* data = scanned_.at(found);
        const auto known = cached_.size();
        const bool cache = found.length <= longest_cached;
        const auto id = cache ? cached_.find_or_add(found.hash, data, found.length).id : none;
        row_pieces_.clear();
        if (!cache || id == known) {
            point_starts(data, found.length, starts_);
            text::pieces(starts_.size() - 1, settings_.char_shortest, settings_.char_longest,
                         [&](std::size_t first, std::size_t last) {
                             const auto length = starts_[last] - starts_[first];
                             const auto* at = data + starts_[first];
                             row_pieces_.push_back(piece(hash_bytes(at, length), at, length));
                         });
            if (cache) {
                cached_pieces_.insert(cached_pieces_.end(), row_pieces_.begin(), row_pieces_.end());
                cached_ends_.push_back(cached_pieces_.size());
            }
        } else {
            const auto from = id == 0 ? 0 : cached_ends_[id - 1];
            row_pieces_.assign(cached_pieces_.begin() + static_cast<std::ptrdiff_t>(from),
                               cached_pieces_.begin() + static_cast<std::ptrdiff_t>(cached_ends_[id]));
        }
        for (const auto id_ : row_pieces_) tick(out.counts, row, id_ | piece_bit, piece_tallies_[id_].place);
    }
}

CountedRows Counter::add(const Byte* bytes, const Offset* offsets, Offset rows, bool keep_rows) {
    const auto lock = reading(settings_.forms.get());
    CountedRows out;
    // Address space, not memory: only what is written becomes real, and growing by copies is spared.
    if (keep_rows) out.counts.reserve(static_cast<std::size_t>(offsets[rows] - offsets[0]) / 3);
    for (Offset i = 0; i < rows; ++i) {
        const auto row = out.counts.size();
        if (settings_.ngrams > 0) count_words(bytes + offsets[i], bytes + offsets[i + 1], out, row);
        if (settings_.char_shortest > 0) count_pieces(bytes + offsets[i], bytes + offsets[i + 1], out, row);
        for (auto at = row; at < out.counts.size(); ++at) {
            const auto item = static_cast<std::uint32_t>(out.counts[at] >> 32);
            auto& tally = item & piece_bit ? piece_tallies_[item & ~piece_bit] : gram_tallies_[item];
            tally.times += static_cast<std::uint32_t>(out.counts[at]);
            ++tally.rows;
        }
        if (keep_rows) out.offsets.push_back(static_cast<Offset>(out.counts.size()));
        else out.counts.clear();
    }
    return out;
}

Renumbering Counter::merge(const Counter& other) {
    Renumbering out;
    const auto take = [](Tally& to, const Tally& from) {
        to.times += from.times;
        to.rows += from.rows;
    };
    out.grams.reserve(other.pairs_.size());
    for (std::uint32_t i = 0; i < other.gram_count(); ++i) {
        const auto prefix = static_cast<std::uint32_t>(other.pairs_[i] >> 32);
        const auto last = static_cast<std::uint32_t>(other.pairs_[i]);
        std::uint32_t here;
        if (prefix == none) {
            here = word(other.words_.hash(last), other.words_.data(last), other.words_.length(last)).value;
        } else {  // both parts came before it, so they have been renumbered
            const auto pair = pair_of(out.grams[prefix], out.grams[last]);
            here = gram(pair, hash_pair(pair)).gram;
        }
        out.grams.push_back(here);
        take(gram_tallies_[here], other.gram_tallies_[i]);
    }
    out.pieces.reserve(other.pieces_.size());
    for (std::uint32_t i = 0; i < other.pieces_.size(); ++i) {
        const auto here = piece(other.pieces_.hash(i), other.pieces_.data(i), other.pieces_.length(i));
        out.pieces.push_back(here);
        take(piece_tallies_[here], other.piece_tallies_[i]);
    }
    return out;
}

}  // namespace xtrellis::text
