// The first pass of fitting: reads texts once, gives every distinct n-gram a number, counts rows and occurrences.
//
// An n-gram is a pair (the n-gram without its last word, its last word), both known by number: comparing two n-grams is
// comparing two integers, exact whatever the hash, and bytes are kept once a word. A row's counts are gathered in a
// "sparse set": the table slot that was just probed says where in the row the n-gram's count would be.
//
// Numbers follow the order of arrival and so depend on which texts a counter saw; `vocabulary.hpp` sorts them out.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <vector>

#include "text/rows.hpp"
#include "text/scan.hpp"
#include "text/settings.hpp"
#include "text/strings.hpp"

namespace xtrellis::text {

// Items are n-grams of words, or character pieces: `piece_bit` in an item's number tells.
inline constexpr std::uint32_t piece_bit = 0x80000000u;

struct Tally {
    std::uint64_t times = 0;  // over all texts
    std::uint32_t rows = 0;   // texts that have it
    std::uint32_t place = 0;  // in the row being counted, if it is there
};

// A block's rows: `offsets` into `counts`, whose high half is an item's number.
struct CountedRows {
    std::vector<Offset> offsets{0};
    Roomy<Count> counts;
};

// Where another counter's items went.
struct Renumbering {
    Roomy<std::uint32_t> grams;
    Roomy<std::uint32_t> pieces;
};

class Counter {
public:
    explicit Counter(const Settings& settings) : settings_(settings), slots_(1024) {}

    // Count `rows` texts: text i is bytes[offsets[i], offsets[i + 1]).
    CountedRows add(const Byte* bytes, const Offset* offsets, Offset rows, bool keep_rows);
    // Take over all that `other` has counted.
    Renumbering merge(const Counter& other);

    const Settings& settings() const { return settings_; }
    std::uint32_t gram_count() const { return static_cast<std::uint32_t>(pairs_.size()); }
    // (prefix, last) by number; a single word is (none, its place in `words`).
    std::uint64_t pair(std::uint32_t gram) const { return pairs_[gram]; }
    const Tally& gram_tally(std::uint32_t gram) const { return gram_tallies_[gram]; }
    const Strings& words() const { return words_; }
    const Strings& pieces() const { return pieces_; }
    const Tally& piece_tally(std::uint32_t piece) const { return piece_tallies_[piece]; }
    std::uint32_t gram_of_word(std::uint32_t word) const { return gram_of_word_[word]; }

private:
    struct Slot {
        std::uint64_t pair = ~0ull;
        std::uint32_t gram = none;
        std::uint32_t place = 0;
    };
    void count_words(const Byte* begin, const Byte* end, CountedRows& out, std::size_t row);
    void count_pieces(const Byte* begin, const Byte* end, CountedRows& out, std::size_t row);
    Strings::Slot& word(std::uint64_t hash, const Byte* data, std::size_t length);
    Slot& gram(std::uint64_t pair, std::uint64_t hash);
    std::uint32_t new_gram(std::uint64_t pair);
    std::uint32_t piece(std::uint64_t hash, const Byte* data, std::size_t length);
    void grow();

    Settings settings_;
    Strings words_;
    std::vector<std::uint32_t> gram_of_word_;
    Roomy<Slot> slots_;  // n-grams of two words and more
    std::size_t used_ = 0;
    Roomy<std::uint64_t> pairs_;
    Roomy<Tally> gram_tallies_;

    Strings pieces_;
    Roomy<Tally> piece_tallies_;
    Strings cached_;  // words already cut into pieces …
    std::vector<std::size_t> cached_ends_;
    std::vector<std::uint32_t> cached_pieces_;  // … and these are the pieces

    Words scanned_;
    std::vector<std::uint32_t> row_words_, row_grams_, row_pieces_;
    std::vector<std::size_t> starts_;
};

}  // namespace xtrellis::text
