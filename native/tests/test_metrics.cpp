// Small cases with known answers; parity with NumPy is tested from Python.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "metrics/metrics.hpp"

using namespace xtrellis;

int main() {
    const std::vector<Offset> offsets{0, 2, 2, 5};
    const std::vector<Id> ids{1, 4, 0, 2, 3};
    const std::vector<Id> labels{4, 0, -1, 1, 2, 3, 3, 1, 0};
    const std::vector<float> scores{3, 2, 0, 3, 2, 1, 5, 5, 1};

    auto found = check_ranking(labels.data(), scores.data(), 3, 3, 5);
    CHECK(found.fault == Fault::none && found.pads_last);
    const std::vector<Id> gap{4, -1, 0};
    found = check_ranking(gap.data(), scores.data(), 1, 3, 5);
    CHECK(found.fault == Fault::none && !found.pads_last);
    found = check_ranking(labels.data(), scores.data(), 3, 3, 3);
    CHECK(found.fault == Fault::label_out_of_range && found.row == 0 && found.label == 4);
    const std::vector<float> nan{1, std::nanf(""), 0};
    CHECK(check_ranking(labels.data(), nan.data(), 1, 3, 5).fault == Fault::not_a_number);
    std::vector<Id> many(40);
    for (Id i = 0; i < 40; ++i) many[static_cast<std::size_t>(i)] = i;
    const std::vector<float> flat(40, 1.0f);
    CHECK(check_ranking(many.data(), flat.data(), 1, 40, 40).pads_last);
    many[39] = 7;
    found = check_ranking(many.data(), flat.data(), 1, 40, 40);
    CHECK(found.fault == Fault::repeated_label && found.label == 7);
    CHECK(check_ranking(many.data(), flat.data(), 4, 10, 40).fault == Fault::none);

    std::vector<std::uint8_t> out(6);
    mark_hits(offsets.data(), ids.data(), labels.data(), 3, 2, 3, out.data());
    CHECK((out == std::vector<std::uint8_t>{1, 0, 1, 0, 0, 0}));

    const std::vector<double> weights{1, 2, 3, 4, 5};
    std::vector<double> best(6);
    largest_weights(offsets.data(), ids.data(), weights.data(), 3, 2, best.data());
    CHECK((best == std::vector<double>{5, 0, 4, 2, 0, 3}));

    const std::vector<double> values{1, 1, 7, 9, 9};
    std::vector<Id> top(6);
    std::vector<float> top_scores(6);
    rank_rows(offsets.data(), ids.data(), values.data(), 3, 2, top.data(), top_scores.data());
    CHECK((top == std::vector<Id>{1, 4, -1, -1, 2, 3}));
    CHECK((top_scores == std::vector<float>{1, 1, 0, 0, 9, 9}));
}
