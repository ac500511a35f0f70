// A fitted vocabulary that changes: what later texts bring is added, what nobody may know any more is taken out.
// Features keep their numbers either way.
#pragma once

#include "text/build.hpp"

namespace xtrellis::text {

// A vocabulary, and how much is in it.
struct Known {
    Vocabulary view;
    std::uint32_t words = 0;
    Id features = 0;
};

// What `counter` has counted and `known` lacks: `name_text` and `rows` are of the new features alone, in text order,
// n-grams of words before pieces; `word_text` is of new words, which follow those that are known; `word_features` and
// the tables are of all. `gram_features` and `piece_features` stay empty.
Built grow(const Known& known, const Counter& counter, const Limits& limits);

// What is left when some features (a byte each: not 0) go: words that lead to another one are `needed`.
struct Pruned {
    std::vector<Byte> needed;
    Roomy<Id> word_features;
    Roomy<std::uint32_t> gram_table;
};
Pruned prune(const Known& known, const Byte* gone);

// A table of those strings that have a `kept` byte, by their places.
Roomy<std::uint64_t> string_table(const Byte* text, const Offset* offsets, const Byte* kept, std::size_t count);

}  // namespace xtrellis::text
