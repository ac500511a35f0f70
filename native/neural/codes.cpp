#include "neural/codes.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

#include "core/topk.hpp"
#include "neural/tile.hpp"

namespace xtrellis::neural {

using Sum = void(const std::uint8_t* blocks, Offset count, Offset bytes, const std::uint8_t* table, std::uint16_t* out);
namespace avx2 { Sum sum_codes; }
namespace avx512 { Sum sum_codes; }

namespace {

constexpr Offset chunk = 16;      // blocks whose sums are held at once
constexpr std::size_t ahead = 4;  // vectors are fetched so many labels before they are needed

void sum_plainly(const std::uint8_t* blocks, Offset count, Offset bytes, const std::uint8_t* table,
                 std::uint16_t* out) {
    for (Offset block = 0; block < count; ++block) {
        std::uint16_t sums[block_labels] = {};
        for (Offset b = 0; b < bytes; ++b) {
            const std::uint8_t* codes = blocks + (block * bytes + b) * block_labels;
            for (Offset i = 0; i < block_labels; ++i) {
                const int share = table[b * 32 + (codes[i] & 15)] + table[b * 32 + 16 + (codes[i] >> 4)];
                const Offset place = i / 2 + i % 2 * 32;
                sums[place] = static_cast<std::uint16_t>(sums[place] + share);
            }
        }
        std::copy(sums, sums + block_labels, out + block * block_labels);
    }
}

Sum* pick(InstructionSet wanted) {
    switch (runnable(wanted)) {
#if defined(__x86_64__)
        case InstructionSet::avx512: return avx512::sum_codes;
        case InstructionSet::avx2: return avx2::sum_codes;
#endif
        default: return sum_plainly;
    }
}

// A query's shares of products by pairs of dimensions, as whole numbers: all in steps of the same size, the smallest
// share of each pair as 0 (which takes as much from every label), so that the largest sum fits 16 bits.
void fill_table(const Codes& codes, const float* query, Offset dim, std::vector<float>& shares, std::uint8_t* table) {
    const Offset pairs = 2 * codes.bytes;
    shares.assign(static_cast<std::size_t>(pairs) * 16, 0.0f);
    float widest_pair = 0;
    for (Offset p = 0; 2 * p < dim; ++p) {
        const Offset j = 2 * p;
        const float* first = codes.levels + j * 4;
        const float* second = first + 4;
        float* row = shares.data() + p * 16;
        for (int code = 0; code < 16; ++code) {
            row[code] = query[j] * first[code & 3] + (j + 1 < dim ? query[j + 1] * second[code >> 2] : 0.0f);
        }
        const auto [least, most] = std::minmax_element(row, row + 16);
        const float smallest = *least;
        widest_pair = std::max(widest_pair, *most - smallest);
        for (int code = 0; code < 16; ++code) row[code] -= smallest;
    }
    const auto highest = static_cast<float>(std::min<Offset>(63, 65534 / pairs));
    const float scale = widest_pair > 0 ? highest / widest_pair : 0.0f;
    for (Offset i = 0; i < pairs * 16; ++i) {
        const float share = shares[static_cast<std::size_t>(i)] * scale;
        table[i] = share > 0 ? static_cast<std::uint8_t>(std::min(share, highest) + 0.5f) : 0;  // NaN: 0
    }
}

// The labels with the `keep` largest sums; of equals, the smaller. Labels come in ascending order.
class Promising {
public:
    void reset(std::size_t keep) {
        keep_ = keep;
        least_ = 0;
        keys_.clear();
    }
    std::uint16_t least() const { return least_; }  // what a newcomer must reach
    void offer(std::uint16_t sum, Id label) {
        keys_.push_back(std::uint64_t{sum} << 32 | (0xffffffffu - static_cast<std::uint32_t>(label)));
        if (keys_.size() >= 3 * keep_ + 64) cut();
    }
    void finish() {
        if (keys_.size() > keep_) cut();
    }
    std::size_t size() const { return keys_.size(); }
    Id label(std::size_t i) const { return static_cast<Id>(0xffffffffu - static_cast<std::uint32_t>(keys_[i])); }

private:
    void cut() {
        const auto last = keys_.begin() + static_cast<std::ptrdiff_t>(keep_ - 1);
        std::nth_element(keys_.begin(), last, keys_.end(), std::greater<>{});
        least_ = static_cast<std::uint16_t>((*last >> 32) + 1);
        keys_.resize(keep_);
    }
    std::size_t keep_ = 1;
    std::uint16_t least_ = 0;
    std::vector<std::uint64_t> keys_;
};

typedef std::uint16_t Sums __attribute__((vector_size(64)));

XTRELLIS_INLINE bool any_reaches(const std::uint16_t* sums, std::uint16_t least) {
    Sums values;
    __builtin_memcpy(&values, sums, sizeof values);
    return Lanes<16>::any(std::bit_cast<Lanes<16>::Ints>(values >= (Sums{} + least)));
}

}  // namespace

void sum_codes(const std::uint8_t* blocks, Offset count, Offset bytes, const std::uint8_t* table, std::uint16_t* out,
               InstructionSet instructions) {
    pick(instructions)(blocks, count, bytes, table, out);
}

XTRELLIS_CLONES void scan(const Codes& codes, const float* queries, Offset n, const float* vectors, Offset labels,
                          Offset dim, Offset keep, Offset k, Id* found, float* scores) {
    Sum* const sum = pick(InstructionSet::avx512);
    std::vector<float> shares;
    std::vector<std::uint8_t> table(static_cast<std::size_t>(codes.bytes) * 32);
    std::vector<std::uint16_t> sums(static_cast<std::size_t>(chunk * block_labels));
    Promising promising;
    TopKHeap best;
    const Offset blocks = (labels + block_labels - 1) / block_labels;
    for (Offset row = 0; row < n; ++row) {
        const float* query = queries + row * dim;
        fill_table(codes, query, dim, shares, table.data());
        promising.reset(
            static_cast<std::size_t>(std::clamp<Offset>(std::max(keep, k), 1, std::max<Offset>(labels, 1))));
        for (Offset block = 0; block < blocks; block += chunk) {
            const Offset count = std::min(chunk, blocks - block), first = block * block_labels;
            sum(codes.blocks + block * codes.bytes * block_labels, count, codes.bytes, table.data(), sums.data());
            for (Offset i = 0; i < count * block_labels; i += 32) {
                if (!any_reaches(sums.data() + i, promising.least())) [[likely]] {
                    continue;
                }
                for (Offset j = i; j < std::min(i + 32, labels - first); ++j) {
                    const std::uint16_t value = sums[static_cast<std::size_t>(j)];
                    if (value >= promising.least()) promising.offer(value, static_cast<Id>(first + j));
                }
            }
        }
        best.reset(static_cast<std::size_t>(k));
        promising.finish();
        const auto vector = [&](std::size_t i) { return vectors + static_cast<Offset>(promising.label(i)) * dim; };
        for (std::size_t i = 0; i < promising.size(); ++i) {
            if (i + ahead < promising.size()) {
                for (Offset j = 0; j < dim; j += 16) __builtin_prefetch(vector(i + ahead) + j);
            }
            best.offer({dot(query, vector(i), dim), promising.label(i)});
        }
        std::fill(found + row * k, found + (row + 1) * k, -1);
        std::fill(scores + row * k, scores + (row + 1) * k, 0.0f);
        best.drain([&](std::size_t i, const Scored& s) {
            found[row * k + static_cast<Offset>(i)] = s.label;
            scores[row * k + static_cast<Offset>(i)] = s.score;
        });
    }
}

}  // namespace xtrellis::neural
