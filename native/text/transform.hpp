// Texts to rows by a fitted vocabulary, and where in a text each feature is.
#pragma once

#include "text/rows.hpp"
#include "text/scan.hpp"
#include "text/settings.hpp"
#include "text/vocabulary.hpp"

namespace xtrellis::text {

// Text i is bytes[offsets[i], offsets[i + 1]).
Rows transform(const Byte* bytes, const Offset* offsets, Offset rows, const Vocabulary& vocabulary,
               const Settings& settings);

// Feature `feature` covers code points [begin, end) of the text.
struct Place {
    std::int64_t begin;
    std::int64_t end;
    std::int64_t feature;
};

std::vector<Place> explain(const Byte* begin, const Byte* end, const Vocabulary& vocabulary, const Settings& settings);

}  // namespace xtrellis::text
