// The kernels of a training as its threads call them: spans of one step side by side, on arrays that all of them see.
// Under ThreadSanitizer (`make tsan`) any word that two of them touch is told; whatever it is built with, what several
// threads make must be what one makes, to the bit.
#include <cstring>
#include <functional>
#include <numeric>
#include <thread>
#include <vector>

#include "check.hpp"
#include "neural/bag.hpp"
#include "neural/batch.hpp"
#include "neural/dots.hpp"
#include "neural/labels.hpp"
#include "neural/shortlist.hpp"

using namespace xtrellis;
using namespace xtrellis::neural;

namespace {

constexpr Offset n = 96, features = 200, labels = 120, dim = 19, clusters = 12, width = 30, beam_of = 4, k = 25;
constexpr Offset parts = 16;  // of a step, as in training/layers.py and optim.py
constexpr int turns = 20;

struct Numbers {
    std::uint64_t state;
    std::uint64_t next() {
        state = state * 6364136223846793005u + 1442695040888963407u;
        return state >> 33;
    }
    float real() { return static_cast<float>(next() % 2001) / 1000.0f - 1.0f; }
    Id below(Offset bound) { return static_cast<Id>(next() % static_cast<std::uint64_t>(bound)); }
    std::vector<float> reals(Offset size) {
        std::vector<float> out(static_cast<std::size_t>(size));
        for (float& x : out) x = real();
        return out;
    }
};

struct Matrix {
    std::vector<Offset> offsets{0};
    std::vector<Id> ids;
    std::vector<float> values;
    Offset columns;
    Csr view() const {
        return {static_cast<Offset>(offsets.size()) - 1, columns, offsets.data(), ids.data(), values.data()};
    }
};

// Every `step`th column or so, so that columns are shared by many rows.
Matrix sparse(Numbers& numbers, Offset rows, Offset columns, Offset step) {
    Matrix out;
    out.columns = columns;
    for (Offset row = 0; row < rows; ++row) {
        for (Offset column = numbers.below(step); column < columns; column += 1 + numbers.below(step)) {
            out.ids.push_back(static_cast<Id>(column));
            out.values.push_back(numbers.real());
        }
        out.offsets.push_back(static_cast<Offset>(out.ids.size()));
    }
    return out;
}

using Part = std::function<void(Offset part, Offset first, Offset last)>;

// `work` for parts of 0 .. count, part i on thread i % threads; as the library does, each thread takes whole parts.
void spread(int threads, Offset count, const Part& work) {
    std::vector<std::thread> team;
    for (int t = 0; t < threads; ++t) {
        team.emplace_back([=, &work] {
            for (Offset i = t; i < parts; i += threads) work(i, count * i / parts, count * (i + 1) / parts);
        });
    }
    for (auto& thread : team) thread.join();
}

struct State {
    std::vector<float> W, sums, V, label_sums, U, first, second, out, scores, dots, back;
    std::vector<double> squares;
    std::vector<Id> found, listed;
    std::vector<std::int32_t> paths;
    std::vector<float> log_scores, by_cluster, by_edge;
    bool operator==(const State&) const = default;
};

State train(int threads) {
    Numbers numbers{7};
    const Matrix rows = sparse(numbers, n, features, 20), known = sparse(numbers, n, labels, 40);
    const Csr X = rows.view(), Y = known.view();
    State s;
    s.W = numbers.reals(features * dim);
    s.sums.assign(features, 0.0f);
    s.V = numbers.reals(labels * dim);
    s.label_sums.assign(labels, 0.0f);
    s.U = numbers.reals(labels * dim);
    s.first.assign(static_cast<std::size_t>(labels * dim), 0.0f);
    s.second = s.first;
    s.out.resize(static_cast<std::size_t>(n * dim));
    s.back = s.out;
    s.squares.assign(static_cast<std::size_t>(parts * dim), 0.0);
    s.scores.resize(static_cast<std::size_t>(n * k));
    s.dots = s.scores;
    s.found.resize(static_cast<std::size_t>(n * k));
    s.listed = s.found;
    s.paths.resize(static_cast<std::size_t>(n * k));
    s.log_scores = s.scores;
    s.by_cluster.assign(static_cast<std::size_t>(n * beam_of), 0.0f);
    s.by_edge.assign(static_cast<std::size_t>(parts * clusters * width), 0.0f);

    std::vector<Id> edge_ids(static_cast<std::size_t>(clusters * width), -1);
    for (Offset c = 0; c < clusters; ++c) {
        for (Offset j = 0; j < width - 3; ++j) {
            edge_ids[static_cast<std::size_t>(c * width + j)] = static_cast<Id>((c * 9 + j * 2) % labels);
        }
    }
    const std::vector<float> edge_logs = numbers.reals(clusters * width);
    const Edges edges{edge_ids.data(), edge_logs.data(), nullptr, width, labels};
    const std::vector<float> logits = numbers.reals(n * clusters), logs = numbers.reals(n * beam_of);
    const std::vector<float> G = numbers.reals(n * dim);
    std::vector<Id> beams(static_cast<std::size_t>(n * beam_of)), block(labels);
    std::iota(block.begin(), block.end(), 0);
    const Columns columns = by_column(X);

    for (int turn = 0; turn < turns; ++turn) {
        // Forward: every part reads all weights and writes its own rows.
        spread(threads, n, [&](Offset, Offset a, Offset b) { bag(X, a, b, s.W.data(), dim, s.out.data()); });
        spread(threads, n, [&](Offset part, Offset a, Offset b) {
            const Offset m = b - a;
            const auto at = [&](auto& array, Offset each) { return array.data() + a * each; };
            beam(logits.data() + a * clusters, m, clusters, beam_of, at(beams, beam_of));
            std::vector<Offset> offsets;
            for (Offset r = a; r <= b; ++r) {
                offsets.push_back(Y.offsets[r] - Y.offsets[a]);
            }
            const Csr wanted{m, labels, offsets.data(), known.ids.data() + Y.offsets[a], nullptr};
            shortlist(at(beams, beam_of), logs.data() + a * beam_of, nullptr, m, beam_of, edges, wanted, k,
                      at(s.listed, k), at(s.log_scores, k), at(s.paths, k));
            gather_dots(at(s.out, dim), m, dim, s.U.data(), at(s.listed, k), k, at(s.dots, k));
            gather_sums(at(s.dots, k), m, dim, s.U.data(), at(s.listed, k), k, at(s.back, dim));
            best_of_all(at(s.out, dim), m, s.V.data(), labels, dim, k, at(s.found, k), at(s.scores, k));
            // Each part has gradients of the edges for itself.
            shortlist_back(at(s.dots, k), at(s.paths, k), at(beams, beam_of), m, beam_of, k, width,
                           at(s.by_cluster, beam_of), s.by_edge.data() + part * clusters * width);
        });
        // Backward: every part moves its own rows of the weights; all read the gradients of the rows.
        spread(threads, static_cast<Offset>(columns.ids.size()), [&](Offset part, Offset a, Offset b) {
            update_bag(columns.ids, columns.offsets.data(), columns.rows.data(), columns.values.data(), a, b, G.data(),
                       dim, s.W.data(), s.sums.data(), {0.1f, 1e-8f}, s.squares.data() + part * dim);
        });
        const std::vector<float> push = numbers.reals(labels * dim);
        spread(threads, labels, [&](Offset, Offset a, Offset b) {
            const std::span<const Id> some(block.data() + a, static_cast<std::size_t>(b - a));
            update_unit(some, push.data() + a * dim, dim, s.V.data(), s.label_sums.data(), {0.1f, 1e-8f});
        });
        std::vector<Id> entries;
        std::vector<float> amounts;
        std::vector<Offset> offsets{0};
        for (Offset r = 0; r < n; ++r) {
            for (Offset j = r * k; j < (r + 1) * k; ++j) {
                if (s.listed[static_cast<std::size_t>(j)] < 0) continue;
                entries.push_back(s.listed[static_cast<std::size_t>(j)]);
                amounts.push_back(s.dots[static_cast<std::size_t>(j)]);
            }
            offsets.push_back(static_cast<Offset>(entries.size()));
        }
        const Columns met = by_column({n, labels, offsets.data(), entries.data(), amounts.data()});
        spread(threads, static_cast<Offset>(met.ids.size()), [&](Offset, Offset a, Offset b) {
            update_rows(met.ids, met.offsets.data(), met.rows.data(), met.values.data(), a, b, s.out.data(), dim,
                        s.U.data(), s.first.data(), s.second.data(), {0.01f, 0.9f, 0.999f, 10, 1000, 1e-8f, 0.01f});
        });
    }
    return s;
}

}  // namespace

int main() {
    const State one = train(1);
    for (const int threads : {2, 3, 7}) CHECK(train(threads) == one);
    for (const float x : one.U) CHECK(x == x);
}
