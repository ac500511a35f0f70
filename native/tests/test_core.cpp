// The heap against sorting, and the generator against the numbers of src/xtrellis/rng.py.
#include <algorithm>
#include <vector>

#include "check.hpp"
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
    for (int i = 0; i < 1000; ++i) {
        CHECK(rng.below(3) < 3);
        const float u = rng.unit();
        CHECK(u >= 0 && u < 1);
    }
}
