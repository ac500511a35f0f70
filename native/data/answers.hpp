// Answers as lines of text: names and scores in JSON, or the `label:score` pairs of the XMC repository.
#pragma once

#include <string>

#include "core/csr.hpp"

namespace xtrellis::data {

// Strings end to end: string i is text[offsets[i], offsets[i + 1]). Null offsets: all are empty.
struct Strings {
    const char* text = nullptr;
    const Offset* offsets = nullptr;
};

enum class Shape : int {
    lists = 0,   // {BEFORE"labels": [NAME, …], "scores": [SCORE, …]AFTER}
    tags = 1,    // {BEFORE"tags": [{"label": NAME, "score": SCORE}, …]AFTER}
    pairs = 2,   // LABEL:SCORE …
    served = 3,  // {BEFORE"tags":[{NAME,"score":SCORE,"probability":CHANCE},…]AFTER}
};

// One line for each of `rows` rows of `k` labels and scores; labels below 0 are none. `names` are written as they are;
// `before` and `after` have one string a row. Scores have as many digits as a float needs to be read back: %.9g; served
// ones as many as a double needs, as JSON encoders write them. `chances` may be null: probabilities are null then.
std::string format_answers(Shape shape, const Id* labels, const float* scores, const float* chances, Offset rows,
                           Offset k, const Strings& names, const Strings& before, const Strings& after);

}  // namespace xtrellis::data
