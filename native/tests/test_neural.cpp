// Small cases with known answers under the sanitizers; parity with NumPy is tested from Python.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "neural/bag.hpp"
#include "neural/batch.hpp"
#include "neural/codes.hpp"
#include "neural/dots.hpp"
#include "neural/labels.hpp"
#include "neural/shortlist.hpp"

using namespace xtrellis;
using namespace xtrellis::neural;

int main() {
    const std::vector<Offset> offsets{0, 2, 2, 5};
    const std::vector<Id> ids{1, 4, 0, 1, 3};
    const std::vector<float> values{1, 2, 3, 4, 5};
    const Csr X{3, 5, offsets.data(), ids.data(), values.data()};

    const std::vector<Id> chosen{2, 1};
    const Rows all = take(X, chosen, 1.0, 7);
    CHECK((all.offsets == std::vector<Offset>{0, 3, 3}) && (all.ids == std::vector<Id>{0, 1, 3}));
    CHECK(take(X, chosen, 1e-9, 7).ids.empty());

    const Columns columns = by_column(X);
    CHECK((columns.ids == std::vector<Id>{0, 1, 3, 4}) && (columns.offsets == std::vector<Offset>{0, 1, 3, 4, 5}));
    CHECK((columns.rows == std::vector<Id>{2, 0, 2, 2, 0}) && (columns.values == std::vector<float>{3, 1, 4, 5, 2}));

    constexpr Offset dim = 3;
    std::vector<float> W(5 * dim, 1.0f), out(3 * dim), sums(5, 0.0f);
    bag(X, 0, 3, W.data(), dim, out.data());
    CHECK((out == std::vector<float>{3, 3, 3, 0, 0, 0, 12, 12, 12}));
    const std::vector<float> G(3 * dim, 1.0f);
    std::vector<double> squares(dim, 0.0);
    update_bag(columns.ids, columns.offsets.data(), columns.rows.data(), columns.values.data(), 0, 4, G.data(), dim,
               W.data(), sums.data(), {0.5f, 0.0f}, squares.data());
    CHECK(W[2 * dim] == 1.0f && sums[2] == 0.0f);  // column 2 is in no row
    const float step = 0.5f / std::sqrt(3.0f);
    CHECK(std::abs(W[0] - (1 - step)) < 1e-6f);
    CHECK(std::abs(squares[0] - 4 * (std::pow(1 - step, 2) - 1)) < 1e-5);

    std::vector<float> V{1, 0, 0, 0, 1, 0}, label_sums(2, 0.0f);
    const std::vector<Id> second{1};
    const std::vector<float> push{0, 5, -1};
    update_unit(second, push.data(), dim, V.data(), label_sums.data(), {1.0f, 0.0f});
    CHECK(V[0] == 1 && std::abs(V[4] - V[5]) < 1e-6f && std::abs(V[4] - std::sqrt(0.5f)) < 1e-6f);

    // Labels: row 0 has {1, 4}, row 2 has {0, 1, 3}
    const std::vector<Offset> by_label{0, 1, 3, 3, 4, 5};
    const std::vector<Id> label_rows{2, 0, 2, 2, 0};
    const Csr Y{3, 5, offsets.data(), ids.data(), nullptr}, rows_of{5, 3, by_label.data(), label_rows.data(), nullptr};
    const std::vector<Id> block{1, 2, 3};
    const Pairs pairs = known(Y, chosen, block);
    CHECK((pairs.rows == std::vector<std::int64_t>{0, 0}) && (pairs.positions == std::vector<std::int64_t>{0, 2}));
    const Rows met = together(Y, rows_of, block, 0, 3);
    CHECK((met.offsets == std::vector<Offset>{0, 2, 2, 4}) && (met.ids == std::vector<Id>{0, 2, 0, 2}));
    CHECK((met.values == std::vector<float>{2, 1, 1, 1}));

    const std::vector<float> queries{1, 0, 0, 0, 0, 2}, labels{0, 0, 1, 1, 0, 0, 1, 0, 1, 0, 3, 0, 1, 1, 1};
    std::vector<Id> found(4);
    std::vector<float> scores(4), products_out(10);
    best_of_all(queries.data(), 2, labels.data(), 5, dim, 2, found.data(), scores.data());
    CHECK((found == std::vector<Id>{1, 2, 0, 2}) && (scores == std::vector<float>{1, 1, 2, 2}));
    products(queries.data(), 2, labels.data(), 5, dim, products_out.data());
    CHECK(products_out[1] == 1 && products_out[9] == 2);

    // Codes of 5 labels in 3 dimensions, 2 bits each: 0, 1 and 3 are coded as 1, 2 and 3; the query [0, 0, 2] sees
    // only 3.
    const std::vector<float> levels{-1, 0, 1, 3, -1, 0, 1, 3, -1, 0, 1, 3};
    std::vector<std::uint8_t> coded(2 * 64, 0);
    const auto code_of = [&](Offset label, Offset j) { return labels[static_cast<std::size_t>(label * dim + j)] + 1; };
    for (Offset label = 0; label < 5; ++label) {
        for (Offset j = 0; j < dim; ++j) {
            const int code = std::min(3, static_cast<int>(code_of(label, j)));
            coded[static_cast<std::size_t>(2 * label)] |= static_cast<std::uint8_t>(code << (2 * j));
        }
    }
    scan({coded.data(), 2, levels.data()}, queries.data(), 2, labels.data(), 5, dim, 3, 2, found.data(), scores.data());
    CHECK((found == std::vector<Id>{1, 2, 0, 2}) && (scores == std::vector<float>{1, 1, 2, 2}));
    std::vector<Id> few(12);
    std::vector<float> few_scores(12);
    scan({coded.data(), 2, levels.data()}, queries.data(), 2, labels.data(), 5, dim, 1, 6, few.data(),
         few_scores.data());
    CHECK(few[5] == -1 && few[11] == -1 && few[0] == 1);  // k is more than there are labels

    // Every instruction set gives the same sums, up to the largest that fit.
    constexpr Offset blocks = 3, bytes = 10;
    std::vector<std::uint8_t> many(blocks * bytes * 64), table(bytes * 32);
    for (std::size_t i = 0; i < many.size(); ++i) many[i] = static_cast<std::uint8_t>(i * 37 + i / 64);
    for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<std::uint8_t>(63 - i * 11 % 64);
    std::vector<std::uint16_t> plain(blocks * 64), wide(blocks * 64);
    sum_codes(many.data(), blocks, bytes, table.data(), plain.data(), InstructionSet::base);
    for (const auto most : {InstructionSet::avx2, InstructionSet::avx512}) {
        sum_codes(many.data(), blocks, bytes, table.data(), wide.data(), most);
        CHECK(plain == wide);
    }

    // Two clusters: the first leads to labels 1 and 3, the second to 3 and 0 (one place of three is empty).
    const std::vector<Id> edge_ids{1, 3, -1, 3, 0, -1}, beam_of{0, 1, 1, -1};
    const std::vector<float> edge_logs{-1, -2, 0, -1, -3, 0}, logs{0, -0.5f, 0, 0};
    const std::vector<Offset> wanted_offsets{0, 1, 1};
    const std::vector<Id> wanted_ids{0};
    const Csr wanted{2, 5, wanted_offsets.data(), wanted_ids.data(), nullptr};
    std::vector<Id> listed(4);
    std::vector<float> log_scores(4);
    std::vector<std::int32_t> paths(4);
    const Edges edges{edge_ids.data(), edge_logs.data(), nullptr, 3, 5};
    shortlist(beam_of.data(), logs.data(), nullptr, 2, 2, edges, wanted, 2, listed.data(), log_scores.data(),
              paths.data());
    CHECK((listed == std::vector<Id>{0, 1, 3, 0}) && (log_scores == std::vector<float>{-3.5f, -1, -1, -3}));
    CHECK((paths == std::vector<std::int32_t>{4, 0, 0, 1}));
    // By sums label 3, to which both clusters of the first row lead, is worth more than 1; scores and paths stay.
    const std::vector<float> edge_scores{0.4f, 0.3f, 0, 0.3f, 0.1f, 0}, shares{0.5f, 0.5f, 1, 0};
    const Edges summed_edges{edge_ids.data(), edge_logs.data(), edge_scores.data(), 3, 5};
    std::vector<Id> by_sum(4);
    std::vector<std::int32_t> sum_paths(4);
    shortlist(beam_of.data(), logs.data(), shares.data(), 2, 2, summed_edges, wanted, 2, by_sum.data(),
              log_scores.data(), sum_paths.data());
    CHECK((by_sum == std::vector<Id>{0, 3, 3, 0}) && (log_scores == std::vector<float>{-3.5f, -1.5f, -1, -3}));
    CHECK((sum_paths == std::vector<std::int32_t>{4, 3, 0, 1}));
    const std::vector<float> ones(4, 1.0f);
    std::vector<float> by_cluster(4), by_edge(6, 0.0f);
    shortlist_back(ones.data(), paths.data(), beam_of.data(), 2, 2, 2, 3, by_cluster.data(), by_edge.data());
    CHECK((by_cluster == std::vector<float>{1, 1, 2, 0}) && (by_edge == std::vector<float>{1, 0, 0, 1, 2, 0}));

    const std::vector<Id> some{4, -1, 0, 1, 3, 2, 0, 0, 0, -1};
    std::vector<float> found_dots(10), summed(2 * dim);
    gather_dots(queries.data(), 2, dim, labels.data(), some.data(), 5, found_dots.data());
    CHECK((found_dots == std::vector<float>{1, 0, 0, 1, 0, 2, 2, 2, 2, 0}));
    gather_sums(found_dots.data(), 2, dim, labels.data(), some.data(), 5, summed.data());
    CHECK((summed == std::vector<float>{2, 1, 1, 2, 0, 8}));
    std::vector<float> touched(4 * dim), m(5 * dim, 0.0f), v(5 * dim, 0.0f), moved(5 * dim, 1.0f);
    scatter_sums(columns.offsets.data(), columns.rows.data(), columns.values.data(), 0, 4, G.data(), dim,
                 touched.data());
    CHECK(touched[0] == 3 && touched[dim] == 5);
    update_rows(columns.ids, columns.offsets.data(), columns.rows.data(), columns.values.data(), 0, 4, G.data(), dim,
                moved.data(), m.data(), v.data(), {0.5f, 0.9f, 0.999f, 10, 1000, 1e-8f, 0.0f});
    CHECK(std::abs(moved[0] - 0.5f) < 1e-4f && moved[2 * dim] == 1.0f);
    std::vector<Id> first_ids(6);
    const std::vector<float> grid{1, 3, 2, 5, 5, 4};
    beam(grid.data(), 2, 3, 3, first_ids.data());
    CHECK((first_ids == std::vector<Id>{1, 2, 0, 0, 1, 2}));
    const std::vector<float> zeros(10, 0.0f);
    rank(queries.data(), 2, dim, labels.data(), some.data(), zeros.data(), 5, 2, found.data(), scores.data());
    CHECK(found[0] == 1 && found[1] == 4 && scores[0] < 0);
}
