// Routing, training, clustering and search on small random problems: invariants, and every access under sanitizers.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "cluster/balanced.hpp"
#include "labels/pifa.hpp"
#include "linear/route.hpp"
#include "linear/train.hpp"
#include "search/pack.hpp"
#include "search/reach.hpp"
#include "search/searches.hpp"
#include "search/together.hpp"
#include "search/unpack.hpp"

using namespace xtrellis;

namespace {

struct Matrix {
    std::vector<Offset> offsets{0};
    std::vector<Id> ids;
    std::vector<float> values;
    Offset columns = 0;
    Csr view() const {
        return {static_cast<Offset>(offsets.size()) - 1, columns, offsets.data(), ids.data(), values.data()};
    }
};

Matrix random_matrix(Rng& rng, int rows, int columns, std::uint32_t one_in) {
    Matrix m;
    m.columns = columns;
    for (int r = 0; r < rows; ++r) {
        for (int c = 0; c < columns; ++c) {
            if (rng.below(one_in) == 0) {
                m.ids.push_back(c);
                m.values.push_back(rng.unit() + 0.1f);
            }
        }
        m.offsets.push_back(static_cast<Offset>(m.ids.size()));
    }
    return m;
}

// The trained classifier must leave no row's margin wrong by more than its slack allows: the gradient of the primal is
// 0.
void check_optimal(const Matrix& X, const std::vector<char>& positive, const linear::Block& block, int child) {
    std::vector<double> w(static_cast<std::size_t>(X.columns), 0.0);
    for (std::size_t f = 0; f + 1 < block.starts.size(); ++f) {
        for (auto e = block.starts[f]; e < block.starts[f + 1]; ++e) {
            if (block.children[e] == child) w[static_cast<std::size_t>(block.features[f])] = block.weights[e];
        }
    }
    const double bias = block.biases[static_cast<std::size_t>(child)];
    std::vector<double> gradient = w;
    double bias_gradient = bias;
    for (std::size_t r = 0; r < positive.size(); ++r) {
        const SparseRow x = X.view()[static_cast<Offset>(r)];
        const double y = positive[r] ? 1 : -1;
        double z = bias;
        for (std::size_t i = 0; i < x.size(); ++i) z += w[static_cast<std::size_t>(x.ids[i])] * x.values[i];
        const double slack = std::max(0.0, 1 - y * z);
        for (std::size_t i = 0; i < x.size(); ++i)
            gradient[static_cast<std::size_t>(x.ids[i])] -= 2 * slack * y * x.values[i];
        bias_gradient -= 2 * slack * y;
    }
    for (const double g : gradient) CHECK(std::fabs(g) < 0.02);
    CHECK(std::fabs(bias_gradient) < 0.02);
}

void training() {
    Rng rng(1);
    for (const int children : {1, 5, 16, 23}) {
        const int rows = 40;
        const Matrix X = random_matrix(rng, rows, 15, 3);
        std::vector<Id> ids(rows);
        std::vector<Offset> offsets{0};
        std::vector<Id> positives;
        for (int r = 0; r < rows; ++r) {
            ids[static_cast<std::size_t>(r)] = r;
            for (Id c = 0; c < children; ++c) {
                if (rng.below(5) == 0) positives.push_back(c);
            }
            offsets.push_back(static_cast<Offset>(positives.size()));
        }
        for (int both = 0; both < 2 * (static_cast<int>(best_instruction_set()) + 1); ++both) {
            const auto loss = both % 2 ? linear::Loss::logistic : linear::Loss::squared_hinge;
            const auto variant = static_cast<InstructionSet>(both / 2);
            linear::Settings settings;
            settings.loss = loss;
            settings.tolerance = 1e-4f;
            settings.epochs = 3000;
            const auto block = linear::train_block(X.view(), {ids, offsets.data(), positives.data()}, 0, children, 1.0f,
                                                   settings, {0.0f, 0}, 9, variant);
            CHECK(block.epochs.size() == static_cast<std::size_t>(children) &&
                  block.converged.size() == block.epochs.size());
            CHECK(std::all_of(block.converged.begin(), block.converged.end(), [](auto c) { return c == 1; }));
            CHECK(std::is_sorted(block.features.begin(), block.features.end()));
            CHECK(block.biases.size() == static_cast<std::size_t>(children));
            if (loss == linear::Loss::logistic) continue;
            for (int c = 0; c < children; ++c) {
                std::vector<char> has(rows, 0);
                for (int r = 0; r < rows; ++r) {
                    const auto row = static_cast<std::size_t>(r);
                    for (auto i = offsets[row]; i < offsets[row + 1]; ++i) {
                        has[row] |= positives[static_cast<std::size_t>(i)] == c;
                    }
                }
                check_optimal(X, has, block, c);
            }
        }
        linear::Settings quick;
        const auto few = linear::train_block(X.view(), {ids, offsets.data(), positives.data()}, 0, children, 0.0f,
                                             quick, {0.0f, 2}, 9);
        std::vector<int> kept(static_cast<std::size_t>(children), 0);
        for (const auto child : few.children) ++kept[child];
        for (const int k : kept) CHECK(k <= 2);
    }
}

void clustering() {
    Rng rng(2);
    ColumnMap scratch;
    const Matrix rows_of = random_matrix(rng, 30, 50, 4), X = random_matrix(rng, 50, 20, 3);
    const auto v = labels::pifa(rows_of.view(), X.view(), 0, 30);
    CHECK(v.offsets.size() == 31);
    const Csr vectors{30, 20, v.offsets.data(), v.ids.data(), v.values.data()};
    for (const std::size_t n : {0u, 1u, 2u, 3u, 30u}) {
        std::vector<Id> members(n);
        for (std::size_t i = 0; i < n; ++i) members[i] = static_cast<Id>(i);
        cluster::split_balanced(vectors, members, {}, n, scratch);
        std::sort(members.begin(), members.end());
        for (std::size_t i = 0; i < n; ++i) CHECK(members[i] == static_cast<Id>(i));
        CHECK(std::all_of(scratch.begin(), scratch.end(), [](Id x) { return x == 0; }));
    }
}

// A root with two nodes and a label; node 1 has labels 1, 2 and node 2 labels 0, 2: ragged, one label twice.
template <class Value>
void searching(search::Storage storage) {
    const std::vector<Offset> offsets{0, 3, 5, 7};
    const std::vector<Id> children{1, 2, ~3, ~1, ~2, ~0, ~2};
    const std::vector<Offset> blocks{0, 1, 2, 3};
    const std::vector<float> biases{0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f};
    const std::vector<Id> features{0, 2, 4};
    const std::vector<std::uint32_t> starts{0, 1, 3, 4};
    const std::vector<std::uint8_t> entry_children{0, 0, 1, 1};
    const std::vector<float> values{1.5f, -0.5f, 2.0f, 0.7f};
    std::vector<Offset> bucket_offsets{0}, byte_offsets{0};
    std::vector<std::uint32_t> buckets;
    std::vector<std::uint8_t> bytes;
    std::vector<float> scales;
    for (int b = 0; b < 3; ++b) {
        const auto packed = search::pack_block<Value>(features.data(), starts.data(), b == 1 ? 0 : 3,
                                                      entry_children.data(), values.data(), 3);
        buckets.insert(buckets.end(), packed.buckets.begin(), packed.buckets.end());
        bytes.insert(bytes.end(), packed.bytes.begin(), packed.bytes.end());
        scales.push_back(packed.scale);
        bucket_offsets.push_back(static_cast<Offset>(buckets.size()));
        byte_offsets.push_back(static_cast<Offset>(bytes.size()));
    }
    bytes.resize(bytes.size() + search::padding);
    search::Model m;
    m.tree = {3, offsets.data(), children.data()};
    m.weights = {blocks.data(),
                 bucket_offsets.data(),
                 byte_offsets.data(),
                 buckets.data(),
                 bytes.data(),
                 scales.data(),
                 biases.data(),
                 storage,
                 3};
    m.most_copies = 2;
    CHECK(search::unpack_block(m.weights, 0).features == features);
    CHECK(search::unpack_block(m.weights, 1).features.empty());
    Rng rng(3);
    const Matrix X = random_matrix(rng, 20, 5, 2);
    const std::vector<Id> owner{0, 0, 0, 1, 1, 2, 2}, node_slot{-1, 0, 1}, label_slots{5, 3, 4, 6, 2},
        wanted{0, 1, 2, 3};
    const std::vector<Offset> label_offsets{0, 1, 2, 4, 5};
    for (int round = 0; round < 300; ++round) {
        m.copies = round % 2 ? search::Copies::mean : search::Copies::best;
        for (const Id beam : {0, 1, 5}) {
            for (const Id k : {1, 4}) {
                const search::Request request{beam, k, nullptr, 0};
                std::vector<Id> many(static_cast<std::size_t>(20 * k)), one(static_cast<std::size_t>(k)),
                    two(one.size());
                std::vector<float> many_scores(many.size()), one_scores(one.size()), two_scores(one.size());
                search::beam_batch(m, X.view(), 0, 20, request, many.data(), many_scores.data());
                for (Offset r = 0; r < 20; ++r) {
                    search::best_first(m, X.view()[r], request, one.data(), one_scores.data());
                    for (Id i = 0; i < k; ++i) {
                        CHECK(one[static_cast<std::size_t>(i)] >= -1 && one[static_cast<std::size_t>(i)] < 4);
                        if (round < 2)
                            CHECK(one[static_cast<std::size_t>(i)] == many[static_cast<std::size_t>(r * k + i)]);
                    }
                    float scores[4];
                    search::given(m, {owner.data(), node_slot.data(), label_offsets.data(), label_slots.data()},
                                  X.view()[r], wanted, scores);
                    // The same tree twice: the mean is what one of them says.
                    const search::Places places{owner.data(), node_slot.data(), label_offsets.data(),
                                                label_slots.data()};
                    const search::Member members[]{{&m, places, beam, 0}, {&m, places, beam, 0}};
                    for (const bool precise : {false, true}) {
                        search::together(members, X.view()[r], {k, k, 4, 4, nullptr, precise}, two.data(),
                                         two_scores.data());
                        for (Id i = 0; i < k; ++i) CHECK(two[static_cast<std::size_t>(i)] >= -1);
                        if (round < 2) CHECK(std::equal(two_scores.begin(), two_scores.end(), one_scores.begin()));
                    }
                    search::best_first(m, X.view()[r], request, one.data(), one_scores.data());
                    if (round < 2 && beam == 0)
                        CHECK(std::fabs(one_scores[0] - *std::max_element(scores, scores + 4)) < 1e-5f);
                }
            }
        }
        // From here on the bytes are damaged: answers may be anything, accesses must stay inside.
        for (int i = 0; i < 3 && round > 0; ++i) {
            bytes[rng.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<std::uint8_t>(rng.below(256));
            buckets[rng.below(static_cast<std::uint32_t>(buckets.size()))] = rng.below(4) ? rng.below(40) : 0xFFFFFFFFu;
        }
        search::unpack_block(m.weights, 0);
    }
}

// A narrow root above a node of 200 labels: dense and sparse blocks take turns in one table, and every bucket may claim
// the whole block. Answers may be anything, accesses must stay inside.
template <class Value>
void searching_damaged(search::Storage storage) {
    constexpr int bits = 6, wide = 200;
    Rng rng(4);
    std::vector<Offset> offsets{0, 2, 2 + wide}, blocks{0, 1, 2}, bucket_offsets{0}, byte_offsets{0};
    std::vector<Id> children{1, ~wide};
    for (Id label = 0; label < wide; ++label) children.push_back(~label);
    std::vector<float> biases(children.size(), 0.1f), scales;
    std::vector<std::uint32_t> buckets;
    std::vector<std::uint8_t> bytes;
    for (const std::uint32_t n_children : {2u, static_cast<std::uint32_t>(wide)}) {
        std::vector<Id> features;
        std::vector<std::uint32_t> starts{0};
        std::vector<std::uint8_t> entry_children;
        std::vector<float> values;
        for (Id f = 0; f < 64; ++f) {
            features.push_back(f);
            for (std::uint32_t c = 0; c < n_children; c += 1 + rng.below(3)) {
                entry_children.push_back(static_cast<std::uint8_t>(c));
                values.push_back(rng.unit() - 0.5f);
            }
            starts.push_back(static_cast<std::uint32_t>(values.size()));
        }
        const auto packed =
            search::pack_block<Value>(features.data(), starts.data(), 64, entry_children.data(), values.data(), bits);
        buckets.insert(buckets.end(), packed.buckets.begin(), packed.buckets.end());
        bytes.insert(bytes.end(), packed.bytes.begin(), packed.bytes.end());
        scales.push_back(packed.scale);
        bucket_offsets.push_back(static_cast<Offset>(buckets.size()));
        byte_offsets.push_back(static_cast<Offset>(bytes.size()));
    }
    bytes.resize(bytes.size() + search::padding);
    search::Model m;
    m.tree = {2, offsets.data(), children.data()};
    m.weights = {blocks.data(), bucket_offsets.data(), byte_offsets.data(), buckets.data(),
                 bytes.data(),  scales.data(),         biases.data(),       storage,
                 bits};
    const Matrix X = random_matrix(rng, 9, 64, 3);
    std::vector<Id> labels(9 * 5);
    std::vector<float> scores(labels.size());
    for (int round = 0; round < 200; ++round) {
        search::beam_batch(m, X.view(), 0, 9, {10, 5, nullptr, 0}, labels.data(), scores.data());
        for (const Id label : labels) CHECK(label >= -1 && label <= wide);
        search::best_first(m, X.view()[0], {10, 5, nullptr, 0}, labels.data(), scores.data());
        search::unpack_block(m.weights, 1);
        const auto size = static_cast<std::uint32_t>(byte_offsets[2] - byte_offsets[1]);
        for (int i = 0; i < 4; ++i) {
            bytes[rng.below(static_cast<std::uint32_t>(bytes.size()))] = static_cast<std::uint8_t>(rng.below(256));
            buckets[rng.below(static_cast<std::uint32_t>(buckets.size()))] = rng.below(2) ? 0 : size;
        }
    }
}

void routing() {
    const std::vector<Offset> offsets{0, 3, 5, 7}, label_offsets{0, 1, 2, 4, 5}, y_offsets{0, 0, 1, 3, 4};
    const std::vector<Id> owner{0, 0, 0, 1, 1, 2, 2}, node_slot{-1, 0, 1}, label_slots{5, 3, 4, 6, 2}, y{2, 0, 1, 3};
    const linear::Slots tree{
        3, 4, offsets.data(), owner.data(), node_slot.data(), label_offsets.data(), label_slots.data()};
    const auto root = linear::route(y_offsets.data(), y.data(), 4, tree, 0, 1, true, {});
    CHECK((root.node_offsets == std::vector<Offset>{0, 4}));
    CHECK((root.rows == Spilling<Id>{0, 1, 2, 3}));
    CHECK((root.positive_offsets == Spilling<Offset>{0, 0, 2, 4, 5}));
    CHECK((root.positives == Spilling<Id>{0, 1, 0, 1, 2}));
    const auto below = linear::route(y_offsets.data(), y.data(), 4, tree, 1, 3, true, {});
    CHECK((below.node_offsets == std::vector<Offset>{0, 2, 4}));
    CHECK((below.rows == Spilling<Id>{1, 2, 1, 2}));
    CHECK((below.positives == Spilling<Id>{1, 0, 1, 0}));
    // Row 0 (no labels) and row 1 reach node 2, row 3 (its label sits at the root) reaches both; row 2 reaches nothing.
    const std::vector<Offset> reached_offsets{0, 1, 2, 2, 4};
    const std::vector<Id> reached{2, 2, 1, 2};
    const auto met =
        linear::route(y_offsets.data(), y.data(), 4, tree, 1, 3, false, {reached_offsets.data(), reached.data()});
    CHECK((met.node_offsets == std::vector<Offset>{0, 1, 4}));
    CHECK((met.rows == Spilling<Id>{3, 0, 1, 3}));
    CHECK((met.positives == Spilling<Id>{1}));
    const auto both =
        linear::route(y_offsets.data(), y.data(), 4, tree, 2, 3, true, {reached_offsets.data(), reached.data()});
    CHECK((both.node_offsets == std::vector<Offset>{0, 4}));
    CHECK((both.rows == Spilling<Id>{0, 1, 2, 3}));
    CHECK((both.positives == Spilling<Id>{1, 0}));
}

// A beam as wide as the level holds all of it; a narrower one the best of them.
void reaching() {
    const std::vector<Offset> offsets{0, 2, 5};
    const std::vector<Id> children{7, ~3, 8, 9, ~1};
    const std::vector<Offset> blocks{0, 1, 2};
    const std::vector<Id> features{1, 2};
    const std::vector<std::uint32_t> starts{0, 2, 4};
    const std::vector<std::uint8_t> entry_children{0, 1, 0, 1};
    const std::vector<float> values{0.5f, -0.5f, 2.0f, 0.7f}, biases{0.1f, 0.2f, 0.3f, 0.4f, 0.5f};
    const auto packed =
        search::pack_block<float>(features.data(), starts.data(), 2, entry_children.data(), values.data(), 3);
    auto buckets = packed.buckets;
    auto bytes = packed.bytes;
    buckets.insert(buckets.end(), packed.buckets.begin(), packed.buckets.end());
    bytes.insert(bytes.end(), packed.bytes.begin(), packed.bytes.end());
    bytes.resize(bytes.size() + search::padding);
    const auto n_buckets = static_cast<Offset>(packed.buckets.size()),
               n_bytes = static_cast<Offset>(packed.bytes.size());
    const std::vector<Offset> bucket_offsets{0, n_buckets, 2 * n_buckets}, byte_offsets{0, n_bytes, 2 * n_bytes};
    const std::vector<float> scales{1, 1};
    search::Model level;
    level.tree = {2, offsets.data(), children.data()};
    level.weights = {blocks.data(),
                     bucket_offsets.data(),
                     byte_offsets.data(),
                     buckets.data(),
                     bytes.data(),
                     scales.data(),
                     biases.data(),
                     search::Storage::float32,
                     3};
    Rng rng(5);
    const Matrix X = random_matrix(rng, 6, 5, 2);
    const std::vector<Offset> held_offsets{0, 2, 3, 3, 5, 6, 8};
    const std::vector<Id> held{3, 4, 4, 3, 4, 2, 3, 4};  // node 2 is of another run
    const std::vector<float> scores(8, -0.5f);
    const auto all = search::reach(level, 3, X.view(), 0, 6, {held_offsets.data(), held.data(), scores.data()}, 100);
    CHECK((all.offsets == std::vector<Offset>{0, 3, 5, 5, 8, 8, 11}));
    CHECK((all.nodes == std::vector<Id>{7, 8, 9, 8, 9, 7, 8, 9, 7, 8, 9}));
    const auto best = search::reach(level, 3, X.view(), 3, 6, {held_offsets.data(), held.data(), scores.data()}, 1);
    CHECK((best.offsets == std::vector<Offset>{0, 1, 1, 2}));
    CHECK(best.scores[0] == *std::max_element(all.scores.begin() + 5, all.scores.begin() + 8));
}

}  // namespace

int main() {
    training();
    clustering();
    searching<float>(search::Storage::float32);
    searching<Half>(search::Storage::float16);
    searching<std::int8_t>(search::Storage::int8);
    searching_damaged<float>(search::Storage::float32);
    searching_damaged<Half>(search::Storage::float16);
    searching_damaged<std::int8_t>(search::Storage::int8);
    routing();
    reaching();
}
