// The names of all labels as plain arrays that can be stored and memory-mapped.
//
//   words    every word of a name, sorted by bytes: text, offsets, a hash table (text/vocabulary.hpp), a weight (how
//            much it says) and the words that are like it (near.hpp)
//   forms    a name as a list of words: first `main` that are looked for, then those that only tell it from others of
//            the same main words ("fish (food)", "biology:translation"); the labels that have this name
//   posts    word -> the forms that are looked at where a text has the word, each with what the
//            word and the heaviest other say of it, so that most need not be looked at
//
// Whoever makes or loads them has checked that numbers stay inside their arrays.
#pragma once

#include "core/csr.hpp"
#include "text/vocabulary.hpp"

namespace xtrellis::names {

using text::Byte;
using text::none;

struct Index {
    text::StringIndex words;
    Id n_words = 0;
    const float* weights = nullptr;
    const float* points = nullptr;  // code points of each word
    const Id* by_start = nullptr;   // 65,537: where the words begin whose first two bytes are these (near.hpp)
    const Offset* near_offsets = nullptr;
    const Id* near_words = nullptr;
    const float* near_likeness = nullptr;

    Id n_forms = 0;
    const Offset* form_offsets = nullptr;
    const Id* form_words = nullptr;
    const Id* form_main = nullptr;
    const float* form_ambiguity = nullptr;
    const float* masses = nullptr;  // weight of each form's main words
    const Offset* label_offsets = nullptr;
    const Id* labels = nullptr;
    Id n_labels = 0;

    const Offset* post_offsets = nullptr;
    const Id* posts = nullptr;
    const float* post_shares = nullptr;  // of the form's weight: this word's
    const Id* post_others = nullptr;     // the heaviest other word of the form; -1: there is none
    const float* post_other_shares = nullptr;

    float partial = 0.5f;   // share of a form's weight that must be found
    float likeness = 0.7f;  // least likeness of two words; above 1: only equal ones count
};

}  // namespace xtrellis::names
