#include "data/answers.hpp"

#include <charconv>

namespace xtrellis::data {
namespace {

void append(std::string& out, const Strings& strings, Offset i) {
    if (!strings.offsets) return;
    const Offset begin = strings.offsets[i];
    out.append(strings.text + begin, static_cast<std::size_t>(strings.offsets[i + 1] - begin));
}

template <class Number, class... How>
void append_number(std::string& out, Number value, How... how) {
    char digits[32];
    out.append(digits, std::to_chars(digits, digits + sizeof digits, value, how...).ptr);
}

void append_score(std::string& out, float score) {
    append_number(out, static_cast<double>(score), std::chars_format::general, 9);
}

// The shortest digits that give the double back, with a point or an exponent: a number that is no integer.
void append_exact(std::string& out, float value) {
    const std::size_t begin = out.size();
    append_number(out, static_cast<double>(value));
    if (out.find_first_of(".en", begin) == std::string::npos) out += ".0";
}

// Calls use(i) for every answer of a row, and puts `between` between two.
template <class Use>
void each(std::string& out, const Id* labels, Offset k, const char* between, Use use) {
    bool first = true;
    for (Offset i = 0; i < k; ++i) {
        if (labels[i] < 0) continue;
        if (!first) out += between;
        first = false;
        use(i);
    }
}

}  // namespace

std::string format_answers(Shape shape, const Id* labels, const float* scores, const float* chances, Offset rows,
                           Offset k, const Strings& names, const Strings& before, const Strings& after) {
    std::string out;
    for (Offset row = 0; row < rows; ++row, labels += k, scores += k, chances += chances ? k : 0) {
        if (shape == Shape::pairs) {
            each(out, labels, k, " ", [&](Offset i) {
                append_number(out, labels[i]);
                out += ':';
                append_score(out, scores[i]);
            });
            out += '\n';
            continue;
        }
        out += '{';
        append(out, before, row);
        if (shape == Shape::lists) {
            out += "\"labels\": [";
            each(out, labels, k, ", ", [&](Offset i) { append(out, names, labels[i]); });
            out += "], \"scores\": [";
            each(out, labels, k, ", ", [&](Offset i) { append_score(out, scores[i]); });
        } else if (shape == Shape::served) {
            out += "\"tags\":[";
            each(out, labels, k, ",", [&](Offset i) {
                out += '{';
                append(out, names, labels[i]);
                out += ",\"score\":";
                append_exact(out, scores[i]);
                out += ",\"probability\":";
                if (chances) append_exact(out, chances[i]);
                else out += "null";
                out += '}';
            });
        } else {
            out += "\"tags\": [";
            each(out, labels, k, ", ", [&](Offset i) {
                out += "{\"label\": ";
                append(out, names, labels[i]);
                out += ", \"score\": ";
                append_score(out, scores[i]);
                out += '}';
            });
        }
        out += ']';
        append(out, after, row);
        out += "}\n";
    }
    return out;
}

}  // namespace xtrellis::data
