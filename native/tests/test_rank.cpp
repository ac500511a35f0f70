// Classifiers of single labels, their margins, the calibration's tree and the best candidates: on small random
// problems, under sanitizers.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "core/rng.hpp"
#include "linear/each.hpp"
#include "rank/best.hpp"
#include "rank/calibrate.hpp"
#include "rank/margins.hpp"

using namespace xtrellis;

namespace {

constexpr int n = 60, columns = 40, labels = 7, width = 5;

void test_train_and_score(Rng& rng) {
    std::vector<Offset> offsets{0}, own_offsets{0};
    std::vector<Id> ids, rows;
    std::vector<float> values;
    std::vector<std::uint8_t> positive;
    for (int r = 0; r < n; ++r) {
        for (int c = 0; c < columns; ++c) {
            if (rng.below(4) == 0 || c == r % labels)
                ids.push_back(c), values.push_back(c == r % labels ? 2.0f : rng.unit());
        }
        offsets.push_back(static_cast<Offset>(ids.size()));
    }
    const Csr X{n, columns, offsets.data(), ids.data(), values.data()};
    for (int l = 0; l < labels; ++l) {  // the last label has no positive row, the one before no rows at all
        for (int r = 0; r < n && l != labels - 2; ++r) {
            if (r % labels != l && rng.below(2)) continue;
            rows.push_back(r);
            positive.push_back(r % labels == l && l < labels - 1);
        }
        own_offsets.push_back(static_cast<Offset>(rows.size()));
    }
    linear::Settings settings;
    settings.tolerance = 0.001f;
    settings.epochs = 1000;
    const auto found = linear::train_each(X, {own_offsets.data(), rows.data(), positive.data()}, 0, labels, 1.0f,
                                          settings, {0.0f, 0}, 1);
    CHECK(found.offsets.size() == labels + 1 && found.biases.size() == labels);
    CHECK(found.offsets[labels] == found.offsets[labels - 2] && found.biases[labels - 1] == -1.0f &&
          found.biases[labels - 2] == -1.0f);
    // In two pieces the same: a label's classifier does not depend on who else is trained.
    const auto tail = linear::train_each(X, {own_offsets.data(), rows.data(), positive.data()}, 3, labels, 1.0f,
                                         settings, {0.0f, 0}, 1);
    CHECK(tail.biases[0] == found.biases[3] &&
          tail.weights[0] == found.weights[static_cast<std::size_t>(found.offsets[3])]);
    const auto few = linear::train_each(X, {own_offsets.data(), rows.data(), positive.data()}, 0, labels, 1.0f,
                                        settings, {0.0f, 2}, 1);
    CHECK(few.offsets[1] == 2);

    std::vector<Id> wanted(n * width);
    for (Id& label : wanted) label = static_cast<Id>(rng.below(labels + 1)) - 1;
    std::vector<float> margins(wanted.size(), 99.0f);
    rank::margins({found.offsets.data(), found.features.data(), found.weights.data(), found.biases.data()}, X, 0, n,
                  wanted.data(), width, margins.data());
    for (int r = 0; r < n; ++r) {
        for (int j = 0; j < width; ++j) {
            const Id label = wanted[static_cast<std::size_t>(r * width + j)];
            const float got = margins[static_cast<std::size_t>(r * width + j)];
            if (label < 0) {
                CHECK(got == 99.0f);
                continue;
            }
            double sum = found.biases[static_cast<std::size_t>(label)];
            for (Offset w = found.offsets[label]; w < found.offsets[label + 1]; ++w) {
                for (Offset i = offsets[r]; i < offsets[r + 1]; ++i) {
                    if (ids[i] == found.features[w]) sum += double(values[i]) * found.weights[w];
                }
            }
            CHECK(std::fabs(sum - got) < 1e-4);
        }
    }
    for (int l = 0; l < labels - 2; ++l) {  // the feature that gives the label away has learned to do so
        for (Offset i = own_offsets[l]; i < own_offsets[l + 1]; ++i) {
            const Id one[1] = {l};
            std::vector<float> out(static_cast<std::size_t>(n), 0.0f);
            std::vector<Id> same(n, one[0]);
            rank::margins({found.offsets.data(), found.features.data(), found.weights.data(), found.biases.data()}, X,
                          rows[i], rows[i] + 1, same.data(), 1, out.data());
            CHECK((out[static_cast<std::size_t>(rows[i])] > 0) == (positive[i] != 0));
        }
    }
}

void test_calibrate() {
    const Id feature[] = {2, -1, 3, -1, -1}, left[] = {1, -1, 3, -1, -1}, right[] = {2, -1, 4, -1, -1};
    const double threshold[] = {0.25, 0, 10, 0, 0};
    const float value[] = {0, 0.1f, 0, 0.5f, 0.9f}, p[] = {0.5f, 0.6f, 1, 1}, q[] = {0.5f, 1, 1, 1},
                frequency[] = {3, 30};
    const Id label[] = {0, 0, 1, -1};
    float out[] = {7, 7, 7, 7};
    rank::calibrate({feature, threshold, left, right, value}, 0, 4, p, q, label, frequency, out);
    CHECK(out[0] == 0.1f && out[1] == 0.5f && out[2] == 0.9f && out[3] == 7);
}

void test_best() {
    const Id label[] = {4, -1, 2, 9, -1, -1, -1, 1};
    const float score[] = {0.5f, 9, 0.5f, 0.7f, 9, 9, 9, -1};
    Id found[6];
    float kept[6];
    rank::best(label, score, 4, 0, 2, 3, found, kept);
    CHECK(found[0] == 9 && found[1] == 2 && found[2] == 4 && kept[2] == 0.5f);
    CHECK(found[3] == 1 && kept[3] == -1 && found[4] == -1 && kept[4] == 0);
}

}  // namespace

int main() {
    Rng rng(3);
    for (int i = 0; i < 5; ++i) test_train_and_score(rng);
    test_calibrate();
    test_best();
    return 0;
}
