// Numbers against from_chars, rows against what was formatted, and mutated text that must never leave its bytes.
#include <charconv>
#include <cstring>
#include <memory>
#include <string>

#include "check.hpp"
#include "core/rng.hpp"
#include "data/answers.hpp"
#include "data/numbers.hpp"
#include "data/rows.hpp"

using namespace xtrellis;
using namespace xtrellis::data;

namespace {

// A copy of exactly the right size on the heap: the sanitizer sees any read past the end.
Rows parse(const std::string& text, const RowLayout& layout) {
    const auto bytes = std::make_unique<char[]>(text.size());
    std::memcpy(bytes.get(), text.data(), text.size());
    return parse_rows({bytes.get(), text.size()}, layout);
}

void check_number(const std::string& text) {
    const std::string line = text + "\n";
    float ours = 0, theirs = 0;
    const char* p = line.data();
    const auto outcome = parse_float(p, ours);
    const auto read = std::from_chars(text.data(), text.data() + text.size(), theirs);
    CHECK(outcome == Number::ok && p == line.data() + text.size());
    CHECK(read.ec == std::errc() && ours == theirs);
}

void numbers() {
    Rng rng(1);
    for (int i = 0; i < 200000; ++i) {
        std::string text = rng.below(2) ? "-" : "";
        for (auto n = 1 + rng.below(9); n; --n) text.push_back(static_cast<char>('0' + rng.below(10)));
        text.push_back('.');
        for (auto n = rng.below(12); n; --n) text.push_back(static_cast<char>('0' + rng.below(10)));
        if (rng.below(4) == 0) text += "e-" + std::to_string(rng.below(20));
        check_number(text);
    }
    check_number("16777217");  // half way between two floats: to even
    check_number("16777219");
    check_number("16777217.00000001");  // just above half way: the slow path must see the last digit
    check_number("1.17549435e-38");
    for (const std::string tiny : {"1e-99", "1e-99999999999999999999", "0.1e-400", "10000e-9999"}) {
        const std::string line = tiny + "\n";
        const char* p = line.data();
        float value = 1;
        CHECK(parse_float(p, value) == Number::ok && value == 0 && *p == '\n');
    }
    const std::string zeros = "0." + std::string(500, '0') + "1\n", nines = std::string(500, '9') + "\n";
    float value = 1;
    const char* p = zeros.data();
    CHECK(parse_float(p, value) == Number::ok && value == 0);
    p = nines.data();
    CHECK(parse_float(p, value) == Number::out_of_range);
}

void rows() {
    const auto good = parse("1,0,1 3:0.5 1:2\n 2:1\n2:-1e1\n7\n\n", {true, false, 8, 4, 0});
    CHECK(good.fault == Fault::none && good.lines == 5 && good.duplicate_labels == 1);
    CHECK((good.label_offsets == std::vector<Offset>{0, 2, 2, 2, 3, 3}));
    CHECK((good.labels == std::vector<Id>{0, 1, 7}));
    CHECK((good.offsets == std::vector<Offset>{0, 2, 3, 4, 4, 4}));
    CHECK((good.features == std::vector<Id>{1, 3, 2, 2}));
    CHECK((good.values == std::vector<float>{2, 0.5f, 1, -10}));
    CHECK(parse("", {}).fault == Fault::none);
    CHECK(parse("1", {true, false, 9, 9, 0}).fault == Fault::unfinished);
    CHECK(parse("9 1:1\n", {true, false, 9, 9, 0}).fault == Fault::label_range);
    CHECK(parse("1 9:1\n", {true, false, 9, 9, 0}).fault == Fault::feature_range);
    CHECK(parse("1 0:1\n", {true, false, 9, 9, 1}).fault == Fault::feature_range);
    CHECK(parse("1 9:1\n", {true, false, 9, 9, 1}).fault == Fault::none);
    CHECK(parse("1 1:nan\n", {true, false, 9, 9, 0}).fault == Fault::value_junk);
    CHECK(parse("1 1:1e99\n", {true, false, 9, 9, 0}).fault == Fault::value_range);
    CHECK(parse("1 1:1 1:2\n", {true, false, 9, 9, 0}).fault == Fault::feature_duplicate);
    CHECK(parse("# 1\n1 1:1 # x:y\n", {true, true, 9, 9, 0}).offsets.size() == 2);
}

void mutations() {
    const std::string seed = "12,3 0:0.25 17:1e-3 40:-12.5\n 5:1.0000001 6:3\n1,2,3\n\n7 8:123456789.123456789 # c\n";
    static const char alphabet[] = "0123456789:., \t\r\n-+eE#naif\0\xff";
    Rng rng(2);
    std::int64_t faults = 0;
    for (int i = 0; i < 100000; ++i) {
        std::string text = seed;
        for (auto n = 1 + rng.below(4); n; --n) {
            const auto at = rng.below(static_cast<std::uint32_t>(text.size()));
            const char byte = alphabet[rng.below(sizeof alphabet - 1)];
            switch (rng.below(3)) {
                case 0: text[at] = byte; break;
                case 1: text.insert(at, 1, byte); break;
                default:
                    text.erase(at, 1);
                    if (text.empty()) text.push_back('\n');  // assigning "\n" trips -Wrestrict of GCC 12 on ARM
            }
        }
        const auto got = parse(text, {rng.below(2) == 0, rng.below(2) == 0, 13, 41, rng.below(2)});
        faults += got.fault != Fault::none;
        CHECK(got.where >= 0 && got.where <= static_cast<std::int64_t>(text.size()));
        for (const auto id : got.features) CHECK(id >= 0 && id < 41);
        for (const auto id : got.labels) CHECK(id >= 0 && id < 13);
    }
    CHECK(faults > 1000);
}

void round_trip() {
    Rng rng(3);
    for (int i = 0; i < 200; ++i) {
        std::vector<Offset> label_offsets{0}, offsets{0};
        std::vector<Id> labels, features;
        std::vector<float> values;
        for (int row = 0; row < 20; ++row) {
            for (Id l = 0; l < 9; ++l)
                if (rng.below(4) == 0) labels.push_back(l);
            for (Id f = 0; f < 9; ++f) {
                const auto value = std::bit_cast<float>(static_cast<std::uint32_t>(rng.next()));
                if (rng.below(2) && std::isfinite(value)) features.push_back(f), values.push_back(value);
            }
            label_offsets.push_back(static_cast<Offset>(labels.size()));
            offsets.push_back(static_cast<Offset>(features.size()));
        }
        const std::vector<float> ones(labels.size(), 1);
        const Csr Y{20, 9, label_offsets.data(), labels.data(), ones.data()};
        const Csr X{20, 9, offsets.data(), features.data(), values.data()};
        const auto got = parse(format_rows(Y, X, true, 1, 0, 20), {true, false, 9, 9, 1});
        CHECK(got.fault == Fault::none);
        CHECK(got.label_offsets == label_offsets && got.labels == labels);
        CHECK(got.offsets == offsets && got.features == features && got.values == values);
    }
}

void answers() {
    const Id labels[] = {1, -1, 0, -1, -1, -1};
    const float scores[] = {0.5f, 0, 1e-5f, 0, 0, 0};
    const Offset names[] = {0, 1, 3}, before[] = {0, 1, 1};
    const Strings named{"abb", names}, first{"f", before}, none;
    CHECK(format_answers(Shape::lists, labels, scores, nullptr, 2, 3, named, first, none) ==
          "{f\"labels\": [bb, a], \"scores\": [0.5, 9.99999975e-06]}\n{\"labels\": [], \"scores\": []}\n");
    CHECK(format_answers(Shape::tags, labels, scores, nullptr, 1, 1, named, none, first) ==
          "{\"tags\": [{\"label\": bb, \"score\": 0.5}]f}\n");
    CHECK(format_answers(Shape::pairs, labels, scores, nullptr, 2, 3, none, none, none) ==
          "1:0.5 0:9.99999975e-06\n\n");
    const float chances[] = {1, 0, 0.25f, 0, 0, 0};
    CHECK(format_answers(Shape::served, labels, scores, chances, 2, 3, named, first, none) ==
          "{f\"tags\":[{bb,\"score\":0.5,\"probability\":1.0},"
          "{a,\"score\":9.999999747378752e-06,\"probability\":0.25}]}\n{\"tags\":[]}\n");
    CHECK(format_answers(Shape::served, labels, scores, nullptr, 1, 1, named, none, none) ==
          "{\"tags\":[{bb,\"score\":0.5,\"probability\":null}]}\n");
}

}  // namespace

int main() {
    answers();
    numbers();
    rows();
    mutations();
    round_trip();
}
