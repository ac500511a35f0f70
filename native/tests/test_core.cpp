// The heap against sorting, and the generator against the numbers of src/xtrellis/rng.py.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "core/radix.hpp"
#include "core/rng.hpp"
#include "core/topk.hpp"

using namespace xtrellis;

int main() {
    CHECK(mix(0) == 0xE220A8397B1DCDAFull);  // the first output of splitmix64 seeded with 0
    Rng rng(7);
    for (std::size_t k : {0u, 1u, 3u, 10u, 100u}) {
        std::vector<Scored> all;
        TopKHeap heap(k);
        for (Id label = 0; label < 50; ++label) {
            const Scored s{static_cast<float>(rng.below(8)), label};
            all.push_back(s);
            heap.offer(s);
        }
        std::sort(all.begin(), all.end(), better);
        std::size_t seen = 0;
        heap.drain([&](std::size_t i, const Scored& s) {
            CHECK(s.label == all[i].label && s.score == all[i].score);
            ++seen;
        });
        CHECK(seen == std::min<std::size_t>(k, all.size()));
    }
    // Many offers, so that the best are chosen again and again; labels that come several times count by their best.
    for (const std::size_t k : {5u, 32u, 33u, 50u, 200u}) {
        for (const bool repeats : {false, true}) {
            const Id labels = repeats ? 300 : 2000;
            std::vector<float> best(static_cast<std::size_t>(labels), -1.0f);
            TopKHeap heap(k);
            for (Id i = 0; i < 2000; ++i) {
                const auto label = repeats ? static_cast<Id>(rng.below(300)) : i;
                const Scored s{static_cast<float>(rng.below(100)), label};
                best[static_cast<std::size_t>(label)] = std::max(best[static_cast<std::size_t>(label)], s.score);
                repeats ? heap.offer_once(s) : heap.offer(s);
                heap.offer({NAN, label});
            }
            std::vector<Scored> all;
            for (Id label = 0; label < labels; ++label) {
                if (best[static_cast<std::size_t>(label)] >= 0)
                    all.push_back({best[static_cast<std::size_t>(label)], label});
            }
            std::sort(all.begin(), all.end(), better);
            CHECK(heap.full() && !better(heap.worst(), all[k - 1]));
            std::size_t seen = 0;
            heap.drain([&](std::size_t i, const Scored& s) {
                CHECK(s.label == all[i].label && s.score == all[i].score);
                ++seen;
            });
            CHECK(seen == k && !heap.full());
        }
    }
    for (const std::size_t k : {4u, 40u}) {  // answers are never fewer than what was offered: others rely on that
        TopKHeap heap(k);
        for (std::size_t i = 0; i < k; ++i) heap.offer({i == 1 ? 0.5f : NAN, static_cast<Id>(i)});
        std::size_t seen = 0;
        heap.drain([&](std::size_t i, const Scored& s) { seen += (i == 0) == (s.label == 1); });
        CHECK(seen == k);
    }
    for (const int bits : {1, 8, 13, 32}) {
        std::vector<std::uint32_t> keys;
        for (int i = 0; i < 300; ++i) keys.push_back(static_cast<std::uint32_t>(rng.next() >> 32 >> (32 - bits)));
        const std::vector<std::uint32_t> places = sorted_places(keys, bits);
        CHECK(places.size() == keys.size());
        for (std::size_t i = 1; i < places.size(); ++i) {
            const auto a = places[i - 1], b = places[i];
            CHECK(keys[a] < keys[b] || (keys[a] == keys[b] && a < b));
        }
    }
    CHECK(sorted_places({}, 20).empty());
    for (int i = 0; i < 1000; ++i) {
        CHECK(rng.below(3) < 3);
        const float u = rng.unit();
        CHECK(u >= 0 && u < 1);
    }
}
