#include "neighbors/search.hpp"

#include <limits>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace xtrellis::neighbors {

namespace {

constexpr std::size_t all_keys = 1 << 16;
constexpr double slack = 1e-6;            // far more than rounding can do, far less than codes are coarse
constexpr std::size_t first_groups = 48;  // by which a search learns what it is looking for
constexpr float tiny = std::numeric_limits<float>::min();
constexpr std::size_t ahead = 3;  // blocks that are fetched before they are looked into

// To 8 sums what their codes add.
void add_eight(std::uint16_t* sums, const std::uint8_t* codes, std::uint16_t weight) {
#if defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128();
    auto* at = reinterpret_cast<__m128i*>(sums);
    const __m128i high = _mm_unpacklo_epi8(zero, _mm_loadl_epi64(reinterpret_cast<const __m128i*>(codes)));
    const __m128i more = _mm_add_epi16(_mm_set1_epi16(1), _mm_cmpeq_epi16(high, zero));
    const __m128i added = _mm_mulhi_epu16(high, _mm_set1_epi16(static_cast<short>(weight)));
    _mm_storeu_si128(at, _mm_add_epi16(_mm_loadu_si128(at), _mm_add_epi16(added, more)));
#else
    for (int i = 0; i < 8; ++i) sums[i] = static_cast<std::uint16_t>(sums[i] + adds(weight, codes[i]));
#endif
}

class Search {
public:
    Search(const Segment& segment, SparseRow query, Id exclude, Scratch& scratch)
        : segment_(segment), exclude_(exclude < 0 ? -1 : exclude - segment.first), s_(scratch),
          end_(segment.bytes + segment.byte(segment.blocks())) {
        const auto features = static_cast<std::size_t>(segment.features);
        if (s_.query.size() < features) s_.query.resize(features, 0.0f);
        if (s_.sums.empty()) s_.sums.resize(most_blocks, 0), s_.wanted.weights.resize(all_keys, 0);
        gather(query);
    }
    ~Search() {
        for (const Id feature : s_.written) {
            s_.query[static_cast<std::size_t>(feature)] = 0;
            s_.wanted.weights[static_cast<std::uint16_t>(feature)] = 0;
        }
    }
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    void run() {
        if (segment_.negative || s_.terms.size() > most_terms) return all_blocks();
        if (s_.terms.empty()) return;
        add_up();
        best_first();
        std::fill_n(s_.sums.begin(), segment_.padded_blocks(), std::uint16_t{0});
    }

private:
    void gather(SparseRow query) {
        s_.terms.clear();
        s_.written.clear();
        s_.wanted.keys.clear();
        const float rounding = 1.0f + static_cast<float>(query.size() + 8) * 0x1p-23f;  // up, whatever sums may lose
        for (std::size_t i = 0; i < query.size(); ++i) {
            const float value = query.values[i];
            const Id feature = value == 0 ? -1 : segment_.local(query.ids[i]);
            if (feature < 0) continue;
            Term term{value * ceiling(segment_.norm, segment_.ceilings[feature]), feature, -1, 0};
            if (segment_.list_begin[feature] == segment_.list_begin[feature + 1] && !segment_.negative) {
                const auto ids = segment_.dense_ids;
                const auto at = std::lower_bound(ids.begin(), ids.end(), feature);
                if (at == ids.end() || *at != feature) continue;  // no row has it
                term.dense = static_cast<Id>(at - ids.begin());
            }
            s_.query[static_cast<std::size_t>(feature)] = value;
            s_.written.push_back(feature);
            want(feature, std::max(value, 0.0f) * rounding);
            if (term.most > 0) s_.terms.push_back(term);  // others add nothing above 0
        }
        s_.wanted.make_sieves();
    }

    void want(Id feature, float weight) {
        const auto key = static_cast<std::uint16_t>(feature);
        if (s_.wanted.weights[key] == 0) s_.wanted.keys.push_back(key);
        s_.wanted.weights[key] += std::max(weight, tiny);
    }

    // Bounds of all groups, in units so large that no sum leaves 16 bits.
    void add_up() {
        total_ = 0;
        for (const Term& term : s_.terms) total_ += term.most;
        unit_ = total_ / (65'000.0 - 3.0 * static_cast<double>(s_.written.size()));
        const std::size_t groups = segment_.groups();
        s_.tops.assign(groups, 0);
        s_.dense.clear();
        for (Term& term : s_.terms) {
            term.weight = static_cast<std::uint16_t>(std::ceil(term.most / levels / unit_ * 256 * (1 + 1e-9)));
            if (term.dense >= 0) {
                add_dense(s_.tops.data(), segment_.dense_tops + static_cast<std::size_t>(term.dense) * groups, groups,
                          term.weight);
                s_.dense.push_back(term);
                s_.postings += static_cast<std::int64_t>(groups);
            } else {
                const std::uint32_t begin = segment_.list_begin[term.feature];
                const std::size_t n = segment_.list_begin[term.feature + 1] - begin;
                add_list(s_.sums.data(), segment_.list_blocks + begin, segment_.list_codes + begin, n, term.weight,
                         segment_.padded_blocks());
                s_.postings += static_cast<std::int64_t>(n);
            }
        }
        add_largest(s_.tops.data(), s_.sums.data(), groups);
    }

    // The smallest bound of an answer.
    std::uint32_t least() const {
        if (!s_.nearest.full()) return 1;
        const double threshold = static_cast<double>(s_.nearest.worst().score);
        const double sum = (threshold - slack * (threshold + total_)) / unit_;
        return sum > 1 ? static_cast<std::uint32_t>(std::min(sum, 65'535.0)) : 1;
    }

    // A few of the best groups, so that it is known what an answer must reach, then all that reach it.
    void best_first() {
        least_ = least();
        s_.groups.resize(std::max(s_.groups.size(), segment_.groups()));
        std::uint32_t below = 65'536;
        for (std::size_t wanted = first_groups; below > least_; wanted *= 8) {
            const std::uint32_t low = s_.nearest.full() ? least_ : reached_by(wanted, below);
            open_groups(reaching(s_.tops.data(), segment_.groups(), low, below, s_.groups.data()));
            by_falling_bounds();
            look_into_best();
            below = low;
        }
    }

    // A bound that so many groups reach, and not many more if there is such a one; others are not below `below`.
    std::uint32_t reached_by(std::size_t wanted, std::uint32_t below) const {
        std::uint32_t low = 1, high = below;
        while (high - low > 1) {
            const std::uint32_t middle = (low + high) / 2;
            const std::size_t found =
                count_reaching(s_.tops.data(), segment_.groups(), static_cast<std::uint16_t>(middle));
            (found < wanted ? high : low) = middle;
            if (found >= wanted && found <= 2 * wanted) break;
        }
        return low;
    }

    // The bounds of the blocks of the first n groups.
    void open_groups(std::size_t n) {
        s_.blocks.clear();
        const auto blocks = static_cast<std::uint32_t>(segment_.blocks());
        for (std::size_t g = 0; g < n; ++g) {
            const std::uint32_t first = s_.groups[g] << group_bits;
            std::uint16_t sums[group_blocks];
            std::copy_n(s_.sums.data() + first, group_blocks, sums);
            for (const Term& term : s_.dense) {
                const auto begin = static_cast<std::size_t>(term.dense) * segment_.padded_blocks();
                add_eight(sums, segment_.dense_codes + begin + first, term.weight);
            }
            s_.postings += static_cast<std::int64_t>(s_.dense.size()) * group_blocks;
            for (std::uint32_t i = 0; i < group_blocks && first + i < blocks; ++i) {
                if (sums[i] < least_) continue;
                s_.blocks.push_back(std::uint32_t{sums[i]} << 16 | (first + i));
                __builtin_prefetch(segment_.begins + 2 * (first + i));
            }
        }
    }

    // By their upper bytes: as good as in order, and quicker.
    void by_falling_bounds() {
        constexpr int shift = 24;
        std::uint32_t begins[257] = {};
        for (const std::uint32_t block : s_.blocks) ++begins[256 - (block >> shift)];
        for (std::size_t i = 1; i < 257; ++i) begins[i] += begins[i - 1];
        s_.ordered.resize(s_.blocks.size());
        for (const std::uint32_t block : s_.blocks) s_.ordered[begins[255 - (block >> shift)]++] = block;
    }

    void look_into_best() {
        for (std::size_t i = 0; i < s_.ordered.size(); ++i) {
            if (i + ahead < s_.ordered.size() && s_.ordered[i + ahead] >> 16 >= least_)
                fetch(static_cast<Id>(s_.ordered[i + ahead] & 0xFFFF));
            if (s_.ordered[i] >> 24 < least_ >> 8) break;  // so are all that follow
            if (s_.ordered[i] >> 16 < least_) continue;
            const auto number = static_cast<Id>(s_.ordered[i] & 0xFFFF);
            const Block block = segment_.block(number);
            float sums[block_rows];
            const std::size_t found = look_into(block, sums);
            const float bar = s_.nearest.full() ? s_.nearest.worst().score - tiny : 0.0f;  // sums may have lost as much
            std::uint32_t rows = 0;
            for (Id row = 0; row < block_rows; ++row) rows |= std::uint32_t{sums[row] >= bar} << row;
            if (!rows) continue;
            compare(number, block, rows, found);
            least_ = least();
        }
    }

    void all_blocks() {
        float sums[block_rows];
        for (Id number = 0; number < segment_.blocks(); ++number) {
            const Block block = segment_.block(number);
            compare(number, block, (1u << block_rows) - 1, look_into(block, sums));
        }
    }

    // What is read of a block to bound its rows.
    void fetch(Id number) const {
        const Block block = segment_.block(number);
        for (const auto* at = block.keys; at < block.lowers; at += 64) __builtin_prefetch(at);
    }

    // Bounds of the block's rows; returns the number of hits.
    std::size_t look_into(const Block& block, float* sums) {
        if (s_.hits.size() < block.entries) s_.hits.resize(block.entries);
        const auto behind = static_cast<std::size_t>(end_ - block.lowers);
        return bound_rows(block, s_.wanted, behind, s_.hits.data(), sums);
    }

    void compare(Id number, const Block& block, std::uint32_t rows, std::size_t n_hits) {
        double sums[block_rows];
        products(block, s_.hits.data(), n_hits, rows, s_.query.data(), segment_.features, sums);
        const Id first = number << block_bits;
        s_.compared += std::popcount(rows);
        each_bit(rows, [&](int row) {
            if (first + row < segment_.rows) offer(first + row, static_cast<float>(sums[row]));
        });
    }

    // Similarities above 0 only; a damaged model may hold NaN.
    void offer(Id place, float similarity) {
        if (!(similarity > 0)) return;
        const Id number = segment_.number(place);
        if (number == exclude_ || segment_.is_removed(number)) return;
        s_.nearest.offer({similarity, segment_.first + number});
    }

    const Segment& segment_;
    Id exclude_;
    Scratch& s_;
    const std::uint8_t* end_;  // of the blocks
    double unit_ = 1, total_ = 0;
    std::uint32_t least_ = 1;
};

}  // namespace

void nearest(std::span<const Segment> segments, SparseRow query, std::size_t k, Id exclude, Scratch& scratch) {
    scratch.nearest.reset(k);
    if (!k) return;
    for (const Segment& segment : segments) Search(segment, query, exclude, scratch).run();
}

}  // namespace xtrellis::neighbors
