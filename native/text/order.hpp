// Counted n-grams in the byte order of their texts, as a tree laid out by a walk from parents to children.
#pragma once

#include <cstdint>
#include <vector>

#include "core/roomy.hpp"
#include "text/counter.hpp"

namespace xtrellis::text {

using Numbers = Roomy<std::uint32_t>;

// Node p's text is its parent's text, a space, and word `last`; a parent comes before its children. Arrays in this
// order are walked from front to back, while the counter's numbers jump about in memory: they are read here once.
struct Ordered {
    Numbers gram;            // the counter's number
    Numbers parent;          // none: a single word
    Numbers last;            // place in `words`
    std::vector<char> kept;  // not only here because a longer one needs it
    Numbers words;           // the counter's word numbers, sorted by bytes
};

// All n-grams for which keep(tally) holds, and what they are made of.
template <class Keep>
Ordered in_text_order(const Counter& counter, Keep keep);

Numbers sorted_by_bytes(const Strings& strings, const Numbers& ids);

namespace detail { Ordered in_text_order(const Counter& counter, const std::vector<char>& kept); }

template <class Keep>
Ordered in_text_order(const Counter& counter, Keep keep) {
    std::vector<char> kept(counter.gram_count());
    for (std::uint32_t gram = 0; gram < counter.gram_count(); ++gram) kept[gram] = keep(counter.gram_tally(gram));
    return detail::in_text_order(counter, kept);
}

}  // namespace xtrellis::text
