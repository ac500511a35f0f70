// What the user asked for, as kernels see it.
#pragma once

#include <cstddef>
#include <memory>

#include "text/unicode.hpp"

namespace xtrellis::text {

class Forms;

struct Settings {
    std::size_t ngrams = 1;         // words in the longest n-gram; 0: no word features
    std::size_t char_shortest = 0;  // 0: no character features
    std::size_t char_longest = 0;
    std::size_t min_points = 2;  // of a word
    bool lowercase = true;
    bool fold_accents = false;
    bool sublinear_tf = false;
    bool idf = true;
    bool normalize = true;
    bool any_script = true;              // words as any_script.hpp finds them; else runs of word characters
    std::shared_ptr<const Forms> forms;  // what words become; null: they stay

    const Rewriting& rewriting() const { return Rewriting::get(lowercase, fold_accents); }
};

}  // namespace xtrellis::text
