// Sparse rows as text: `label,label feature:value feature:value`, one row a line.
//
// One parser serves XMC repository files (labels may be missing: the line then begins with a blank or with a feature),
// both halves of split XMC files (no labels at all) and svmlight (`#` begins a comment). Python cuts a file into pieces
// at newlines and parses them on several threads; a piece's outcome depends on nothing but its bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/csr.hpp"

namespace xtrellis::data {

struct RowLayout {
    bool labelled = true;       // the first field may hold labels
    bool comments = false;      // '#' hides the rest of a line; a line that is nothing but a comment is not a row
    std::int64_t labels = 0;    // label ids are below this
    std::int64_t features = 0;  // feature ids, after `base` is taken off, are below this
    std::int64_t base = 0;      // the number of the first feature in the file
};

// What is wrong with a line; Python words it (src/xtrellis/data/rows.py).
enum class Fault : int {
    none = 0,
    label_junk,         // something else where a label number should be
    label_range,        // a label number outside the layout
    feature_junk,       // something else where feature:value should be
    feature_range,      // a feature number outside the layout
    value_junk,         // no number behind the colon
    value_range,        // too large for float32
    feature_duplicate,  // `number` occurs twice in the row
    unfinished,         // the piece does not end with a newline
};

struct Rows {
    std::vector<Offset> label_offsets{0}, offsets{0};
    std::vector<Id> labels, features;
    std::vector<float> values;
    std::int64_t lines = 0;             // lines read, comments included; at a fault, those before the faulty one
    std::int64_t duplicate_labels = 0;  // a label named twice in a row is kept once
    Fault fault = Fault::none;
    std::int64_t where = 0;   // at a fault: the byte where the trouble begins
    std::int64_t number = 0;  // at a fault: the index it is about, in the file's own counting
};

// Parses every line of `text`, which must end with a newline; stops at the first fault.
Rows parse_rows(std::span<const char> text, const RowLayout& layout);

// The inverse for rows [begin, end): numbers in the shortest form that reads back as the same float32.
std::string format_rows(const Csr& labels, const Csr& features, bool labelled, std::int64_t base, Offset begin,
                        Offset end);

}  // namespace xtrellis::data
