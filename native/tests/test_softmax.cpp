// Training and searching a softmax tree on awkward shapes: any number of threads gives the same bits, every access is
// under sanitizers.
#include <cmath>
#include <thread>
#include <vector>

#include "check.hpp"
#include "core/rng.hpp"
#include "softmax/search.hpp"
#include "softmax/train.hpp"

using namespace xtrellis;
using namespace xtrellis::softmax;

namespace {

// Root: a node of two labels, a node of three, one label; the last node has a single child.
const std::vector<Offset> offsets{0, 4, 6, 9, 10};
const std::vector<Id> children{1, 2, 3, ~0, ~1, ~2, ~3, ~4, ~5, ~6};
const std::vector<Id> owner{0, 0, 0, 0, 1, 1, 2, 2, 2, 3};
const std::vector<Id> node_slot{-1, 0, 1, 2};
const std::vector<Id> unit_begin{0, 4, 5, 8, 8};
const Tree tree{4, 10, false, offsets.data(), children.data(), owner.data(), node_slot.data(), unit_begin.data()};

struct Trained {
    std::vector<float> embeddings, units;
    bool operator==(const Trained&) const = default;
};

Trained train(const Csr& X, const std::vector<Id>& rows, const std::vector<Id>& slots, TrainSettings settings) {
    Trainer trainer(X, tree, 8, settings);
    std::vector<std::thread> threads;
    for (int m = 0; m < settings.members; ++m) threads.emplace_back([&, m] { trainer.run(m, rows, slots, 0.5, 0.1); });
    for (auto& thread : threads) thread.join();
    Trained out{std::vector<float>(static_cast<std::size_t>((X.columns + 1) * settings.dim)),
                std::vector<float>(static_cast<std::size_t>(8 * settings.dim))};
    trainer.collect(out.embeddings.data(), out.units.data());
    return out;
}

}  // namespace

int main() {
    Rng rng(3);
    const Id columns = 9;
    std::vector<Offset> x_offsets{0};
    std::vector<Id> ids;
    std::vector<float> values;
    for (int r = 0; r < 30; ++r) {
        for (Id c = 0; c < columns && r != 4; ++c) {
            if (rng.below(3)) continue;
            ids.push_back(c);
            values.push_back(rng.unit() - 0.2f);
        }
        x_offsets.push_back(static_cast<Offset>(ids.size()));
    }
    const Csr X{30, columns, x_offsets.data(), ids.data(), values.data()};
    std::vector<Id> rows, slots;
    for (int i = 0; i < 101; ++i) {
        rows.push_back(static_cast<Id>(rng.below(30)));
        slots.push_back(static_cast<Id>(3 + rng.below(7)));
    }
    for (const int weighing : {0, 1, 2}) {
        for (const int dim : {1, 7, 100, 261}) {
            for (const int batch : {1, 4, 64}) {
                TrainSettings settings{dim, 1, batch, false, static_cast<Weighing>(weighing), 1.0f, 5};
                const Trained alone = train(X, rows, slots, settings);
                settings.members = shard_count(dim);
                const Trained together = train(X, rows, slots, settings);
                CHECK(alone == together);
                settings.members = 1;
                settings.asynchronous = true;
                CHECK(alone == train(X, rows, slots, settings));
                const Model model{tree, alone.embeddings.data(), alone.units.data(), dim, columns, settings.weighing,
                                  1.0f};
                Searching searching;
                for (Offset r = 0; r < X.rows; ++r) {
                    std::vector<Id> labels(9);
                    std::vector<float> scores(9);
                    best_first(model, X[r], {}, labels, scores, searching);
                    CHECK(labels[6] >= 0 && labels[7] == -1 && labels[8] == -1);
                    float total = 0;
                    for (const float s : scores) total += s;
                    CHECK(std::fabs(total - 1) < 1e-4f);
                }
            }
        }
    }
    TrainSettings empty{8, 2, 4, false, Weighing::average, 0.0f, 5};
    train(X, {}, {}, empty);
}
