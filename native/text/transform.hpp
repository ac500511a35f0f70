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

// Feature features[i] covers code points [begins[i], ends[i]) of the text.
struct Places {
    Roomy<Offset> begins;
    Roomy<Offset> ends;
    Roomy<Id> features;
};

// Of all features, or of those that are `wanted` (a byte for each feature).
Places explain(const Byte* begin, const Byte* end, const Vocabulary& vocabulary, const Settings& settings,
               const Byte* wanted = nullptr);

}  // namespace xtrellis::text
