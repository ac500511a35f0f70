#include "neighbors/search.hpp"

#include "neighbors/scan.hpp"

namespace xtrellis::neighbors {

namespace {

constexpr std::size_t first_postings = 4096;  // of the first lists, by which a search learns what it is looking for
constexpr std::size_t most_terms = 30'000;    // more would leave too little of 16 bits to each
constexpr double slack = 1e-6;                // far more than rounding can do, far less than codes are coarse
constexpr Id whole = 64;                      // sums are read and written in so many at once
constexpr std::size_t prefetch = 4;
constexpr std::size_t piece = 256;  // rows that are compared before the others are looked at again
// What things cost, in postings; measured.
constexpr std::size_t comparing = 64;
constexpr std::size_t dense_rows = 16;  // rows of a dense list that cost as much as one posting

class Search {
public:
    Search(const Segment& segment, SparseRow query, std::size_t k, Id exclude, Scratch& scratch)
        : segment_(segment), k_(k), exclude_(exclude < 0 ? -1 : exclude - segment.first), s_(scratch) {
        const auto features = static_cast<std::size_t>(segment.features);
        const auto places = std::bit_ceil(static_cast<std::size_t>(std::max(segment.rows, stretch)));
        if (s_.query.size() < features) s_.query.resize(features, 0.0f);
        if (s_.sums.size() < places) s_.sums.resize(places, 0), s_.seen.resize(places / 64, 0);
        mask_ = static_cast<std::uint32_t>(places - 1);
        gather(query);
    }
    ~Search() {
        for (const Id feature : s_.written) s_.query[static_cast<std::size_t>(feature)] = 0;
    }
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    void run() {
        Plan& plan = s_.plan;
        if (segment_.negative || plan.terms.size() > most_terms) return look_at_all();
        if (plan.terms.empty()) return;
        weigh();
        const std::size_t taken = first_lists();
        double threshold = raised(0);
        if (taken < plan.terms.size()) threshold = seed();
        // Can rows that the first lists do not name be among the answers? And if not, are there few that can?
        if ((taken == plan.terms.size() || reach(plan, taken) < threshold) && few(taken, threshold))
            compare(plan, taken, threshold);
        else blocks(taken, threshold);
        for (const auto place : s_.touched) s_.sums[place] = 0;
        for (const auto place : s_.seeds) s_.seen[place / 64] = 0;
    }

private:
    void gather(SparseRow query) {
        s_.plan.terms.clear();
        s_.written.clear();
        for (std::size_t i = 0; i < query.size(); ++i) {
            const float value = query.values[i];
            const Id feature = value == 0 ? -1 : segment_.local(query.ids[i]);
            if (feature < 0) continue;
            s_.query[static_cast<std::size_t>(feature)] = value;
            s_.written.push_back(feature);
            if (value < 0) continue;  // it adds nothing above 0
            Term term{value, value * ceiling(segment_.norm, segment_.ceilings[feature]), feature, 0, Kind::few, 0, 0};
            term.length = segment_.short_begin[feature + 1] - segment_.short_begin[feature];
            if ((term.length || long_or_dense(term)) && term.most > 0) s_.plan.terms.push_back(term);
        }
    }

    bool long_or_dense(Term& term) const {
        const auto find = [&](std::span<const Id> ids) {
            const auto at = std::lower_bound(ids.begin(), ids.end(), term.feature);
            return at != ids.end() && *at == term.feature ? static_cast<Id>(at - ids.begin()) : -1;
        };
        term.list = find(segment_.long_ids);
        if (term.list >= 0) {
            term.kind = Kind::many;
            term.length = segment_.long_begin[at(term, segment_.blocks())] - segment_.long_begin[at(term, 0)];
            return true;
        }
        term.list = find(segment_.dense_ids);
        term.kind = Kind::most;
        term.length = static_cast<std::uint32_t>(segment_.rows);
        return term.list >= 0;
    }

    // The order of the lists, and units so large that no sum leaves 16 bits.
    void weigh() {
        auto& terms = s_.plan.terms;
        std::sort(terms.begin(), terms.end(), [](const Term& a, const Term& b) {
            if (a.kind != b.kind) return a.kind < b.kind;
            return a.length != b.length ? a.length < b.length : a.feature < b.feature;
        });
        s_.plan.before = 0;
        s_.plan.sum_up();
        total_ = s_.plan.rest_most[0];
        unit_ = total_ / (65'200.0 - 2.0 * static_cast<double>(terms.size()));
        for (Term& term : terms) {
            const int levels = term.kind == Kind::few ? segment_.short_levels() : long_levels;
            term.weight = static_cast<std::uint32_t>(std::ceil(term.most / levels / unit_ * 256 * (1 + 1e-9)));
        }
    }

    // What rows can have of the lists from `i` on alone.
    double reach(const Plan& plan, std::size_t i) const {
        return std::min(segment_.norm * std::sqrt(plan.rest_squares[i]), plan.rest_most[i]) * (1 + slack);
    }

    double raised(double threshold) const {
        return s_.nearest.full() ? std::max(threshold, static_cast<double>(s_.nearest.worst().score)) : threshold;
    }

    // All short lists, and long ones until there are enough postings. The places that they name go to `touched`.
    std::size_t first_lists() {
        const double known = raised(0);
        std::size_t postings = 0, taken = 0;
        n_touched_ = 0;
        s_.touched.clear();
        s_.seeds.clear();
        for (const Term& term : s_.plan.terms) {
            if (term.kind == Kind::most) break;
            if (term.kind == Kind::many) {
                const bool enough = taken > 0 && postings + term.length > first_postings;
                if (enough || reach(s_.plan, taken) < known) break;
            }
            ++taken;
            postings += term.length;
            const std::size_t room = n_touched_ + 2 * std::size_t{term.length};  // bits: two codes a word
            if (s_.touched.size() < room) s_.touched.resize(room);
            term.kind == Kind::few ? short_list(term) : long_list(term);
        }
        s_.touched.resize(n_touched_);
        s_.postings += static_cast<std::int64_t>(postings);
        return taken;
    }

    void touch(std::uint32_t place, std::uint32_t added) {
        std::uint16_t& sum = s_.sums[place];
        s_.touched[n_touched_] = place;
        n_touched_ += (sum == 0) & (added != 0);
        sum = static_cast<std::uint16_t>(sum + added);
    }

    void short_list(const Term& term) {
        const int bits = segment_.row_bits();
        const std::uint32_t places = ((std::uint32_t{1} << bits) - 1) & mask_;
        const std::uint8_t* end = segment_.short_postings + std::size_t{3} * segment_.short_begin[term.feature + 1];
        for (auto p = segment_.short_postings + std::size_t{3} * segment_.short_begin[term.feature]; p < end; p += 3) {
            std::uint32_t posting;
            std::memcpy(&posting, p, 4);
            posting &= 0xFFFFFF;
            touch(posting & places, adds(term.weight, posting >> bits));
        }
    }

    void long_list(const Term& term) {
        for (Id block = 0; block < segment_.blocks(); ++block) {
            std::uint32_t place = static_cast<std::uint32_t>(block) << block_bits;
            if (by_bits(term, block)) {
                each_bit(postings(term, block), segment_.rows_in(block), [&](std::uint32_t i, std::uint32_t code) {
                    touch((place + i) & mask_, adds(term.weight, code));
                });
                continue;
            }
            for (const std::uint16_t posting : postings(term, block)) {
                place += posting & 255;
                touch(place & mask_, adds(term.weight, posting >> 8));
            }
        }
    }

    std::size_t at(const Term& term, Id block) const {
        return static_cast<std::size_t>(term.list) * static_cast<std::size_t>(segment_.blocks()) +
               static_cast<std::size_t>(block);
    }

    std::span<const std::uint16_t> postings(const Term& term, Id block) const {
        const auto i = at(term, block);
        return segment_.long_postings.subspan(segment_.long_begin[i],
                                              segment_.long_begin[i + 1] - segment_.long_begin[i]);
    }

    bool by_bits(const Term& term, Id block) const { return segment_.long_form[at(term, block)] != 0; }

    // Moves the candidates of the largest sums, k or a few more, to the front, and says how many these are.
    std::size_t best_first() {
        auto& places = s_.candidates;
        std::uint32_t counts[256] = {};
        for (const auto place : places) ++counts[s_.sums[place] >> 8];
        std::size_t above = 0, front = 0;
        std::uint32_t cut = 256;
        while (cut > 0 && above < k_) above += counts[--cut];
        for (std::size_t i = 0; i < places.size() && front < 2 * k_; ++i) {
            if (s_.sums[places[i]] >> 8 >= cut) std::swap(places[front++], places[i]);
        }
        return front;
    }

    // The rows with the largest sums so far, compared exactly: the k-th best of them is no better than that of all.
    double seed() {
        if (s_.touched.size() < k_) return raised(0);
        s_.candidates.assign(s_.touched.begin(), s_.touched.end());
        const std::size_t front = best_first();
        compare_each(0, front);
        s_.seeds.assign(s_.candidates.begin(), s_.candidates.begin() + static_cast<std::ptrdiff_t>(front));
        for (const auto place : s_.seeds) s_.seen[place / 64] |= std::uint64_t{1} << place % 64;
        return raised(0);
    }

    void compare_each(std::size_t begin, std::size_t end) {
        const auto& places = s_.candidates;
        const auto rows = static_cast<std::uint32_t>(segment_.rows);
        for (std::size_t i = begin; i < end; ++i) {
            if (i + prefetch < end && places[i + prefetch] < rows) {
                const auto ahead = segment_.begin(static_cast<Id>(places[i + prefetch]));
                __builtin_prefetch(segment_.values + ahead);
                __builtin_prefetch(segment_.gaps + ahead);
            }
            if (places[i] < rows && !(s_.seen[places[i] / 64] >> places[i] % 64 & 1))
                exactly(static_cast<Id>(places[i]));
        }
    }

    // Similarities above 0 only; a damaged model may hold NaN.
    void exactly(Id place) {
        const Id number = segment_.number(place);
        if (number == exclude_ || segment_.is_removed(number)) return;
        ++s_.compared;
        const float similarity = dot(segment_, place, s_.query.data());
        if (similarity > 0) s_.nearest.offer({similarity, segment_.first + number});
    }

    // The smallest sum with which a row may reach the threshold, when lists from `end` on are left out.
    std::uint32_t least(const Plan& plan, std::size_t end, double threshold) const {
        const double rest = plan.rest_squares[end], taken = plan.before + plan.rest_squares[0] - rest;
        double sum = threshold - plan.rest_most[end];
        if (rest > 0 && taken > 0) {
            const double ratio = 1 + rest / taken, norm = segment_.norm;
            const double inside = threshold * threshold - ratio * (threshold * threshold - rest * norm * norm);
            // Below 0: nothing can be so similar, but for rounding.
            const double top = taken * norm / std::sqrt(taken + rest);
            sum = std::max(sum, inside > 0 ? (threshold - std::sqrt(inside)) / ratio : top);
        }
        sum -= slack * (threshold + total_);
        return sum > 0 ? std::max<std::uint32_t>(1, static_cast<std::uint32_t>(std::min(sum / unit_, 65'535.0))) : 1;
    }

    // Leaves those candidates from `begin` on that may reach the threshold when lists from `end` on were left out.
    void keep(const Plan& plan, std::size_t begin, std::size_t end, double threshold) {
        const std::uint32_t bar = least(plan, end, threshold);
        const auto common = static_cast<std::uint32_t>(segment_.rows) >> common_shift;
        // If only common features are left out, the row's part of these bounds what they add.
        const bool short_of = end < plan.terms.size() && plan.terms[end].length > common;
        const double rest = short_of ? std::sqrt(plan.rest_squares[end]) * segment_.norm / 255 / unit_ : 0;
        const double sum = short_of ? (threshold - slack * (threshold + total_)) / unit_ : 0;
        s_.candidates.resize(begin + kept(s_.candidates.data() + begin, s_.candidates.size() - begin, s_.sums.data(),
                                          short_of ? segment_.common : nullptr, bar,
                                          static_cast<float>(rest * (1 + slack)),
                                          static_cast<float>(sum * (1 - slack))));
    }

    // The candidates, the most promising first: what they turn out to be spares many of the others.
    void compare(const Plan& plan, std::size_t end, double threshold) {
        std::size_t begin = 0;
        if (s_.candidates.size() > 2 * k_) {
            begin = best_first();
            compare_each(0, begin);
        }
        while (begin < s_.candidates.size()) {
            keep(plan, begin, end, raised(threshold));
            const std::size_t stop = std::min(begin + piece, s_.candidates.size());
            compare_each(begin, stop);
            begin = stop;
        }
    }

    // Comparing what the first lists leave costs less than the next list. The candidates are these then.
    bool few(std::size_t end, double threshold) {
        s_.candidates.assign(s_.touched.begin(), s_.touched.end());
        keep(s_.plan, 0, end, threshold);
        if (end == s_.plan.terms.size()) return true;
        const std::size_t scan = static_cast<std::size_t>(segment_.rows) / dense_rows;
        const Term& next = s_.plan.terms[end];
        return s_.candidates.size() * comparing < (next.kind == Kind::most ? scan : next.length) + 2 * scan;
    }

    // Block of rows by block of rows, the most promising first: sums stay in the nearest cache.
    void blocks(std::size_t taken, double threshold) {
        bound_blocks(taken, threshold);
        for (const Scored& next : s_.blocks) {
            threshold = raised(threshold);
            if (next.score < threshold) break;
            // Lists that no row of the block has are none; the others are worth what the block's rows have.
            s_.here.terms.clear();
            for (std::size_t i = taken; i < s_.plan.terms.size(); ++i) {
                const std::uint8_t most = block_codes(s_.plan.terms[i])[next.label];
                if (!most) continue;
                s_.here.terms.push_back(s_.plan.terms[i]);
                s_.here.terms.back().most *= static_cast<double>(most) / long_levels;
            }
            s_.here.before = s_.plan.rest_squares[0] - s_.plan.rest_squares[taken];
            s_.here.sum_up();
            one_block(next.label, threshold);
        }
    }

    const std::uint8_t* block_codes(const Term& term) const {
        return (term.kind == Kind::most ? segment_.dense_max : segment_.long_max) + at(term, 0);
    }

    // The blocks that can hold answers, by what their rows can have at most.
    void bound_blocks(std::size_t taken, double threshold) {
        const auto n = static_cast<std::size_t>(segment_.blocks());
        s_.block_sum.assign(std::max(n, (s_.sums.size() >> block_bits) + 1), 0);
        for (const auto place : s_.touched) {
            std::uint16_t& most = s_.block_sum[place >> block_bits];
            most = std::max(most, s_.sums[place]);
        }
        s_.block_most.assign(n, 0.0f);
        s_.block_squares.assign(n, 0.0f);
        for (std::size_t i = taken; i < s_.plan.terms.size(); ++i) {
            const Term& term = s_.plan.terms[i];
            add_bounds(block_codes(term), n, static_cast<float>(term.most / long_levels),
                       static_cast<float>(term.value * term.value), s_.block_most.data(), s_.block_squares.data());
        }
        s_.blocks.clear();
        for (std::size_t b = 0; b < n; ++b) {
            const double rest = std::min<double>(segment_.norm * std::sqrt(s_.block_squares[b]), s_.block_most[b]);
            const double bound = (s_.block_sum[b] * unit_ + rest) * (1 + 10 * slack) + 10 * slack * total_;
            if (bound >= threshold) s_.blocks.push_back({static_cast<float>(bound), static_cast<Id>(b)});
        }
        std::sort(s_.blocks.begin(), s_.blocks.end(), better);
    }

    void one_block(Id block, double threshold) {
        const Plan& plan = s_.here;
        const Id first = block << block_bits, count = segment_.rows_in(block);
        std::uint16_t* sums = s_.sums.data() + first;
        std::size_t end = 0;
        while (end < plan.terms.size() && !(reach(plan, end) < threshold)) add(plan.terms[end++], block, sums, count);
        // Further lists, as long as they cost less than comparing the rows that they may rule out.
        const auto many = [&] {
            return count_reaching(sums, count, static_cast<std::uint16_t>(least(plan, end, threshold)));
        };
        std::size_t left = many();
        while (end < plan.terms.size() && left * comparing > cost(plan.terms[end], block, count)) {
            add(plan.terms[end++], block, sums, count);
            left = many();
        }
        std::uint32_t below = 65'536;
        if (left > 4 * k_) {  // those above all others first
            below = top_of(sums, count, least(plan, end, threshold));
            collect(sums, count, below, 65'536, first);
            compare(plan, end, threshold);
            threshold = raised(threshold);
        }
        collect(sums, count, least(plan, end, threshold), below, first);
        compare(plan, end, threshold);
        std::memset(sums, 0, (static_cast<std::size_t>(count) + stretch - 1) / stretch * stretch * sizeof *sums);
    }

    std::size_t cost(const Term& term, Id block, Id count) const {
        const std::size_t scan = static_cast<std::size_t>(count) / dense_rows;
        const bool at_once = term.kind == Kind::most || by_bits(term, block);
        return scan + (at_once ? scan : postings(term, block).size());
    }

    void add(const Term& term, Id block, std::uint16_t* sums, Id count) {
        if (term.kind == Kind::most) {
            const auto begin = static_cast<std::size_t>(term.list) * segment_.padded_rows() +
                               (static_cast<std::size_t>(block) << block_bits);
            return add_dense(sums, segment_.dense_codes + begin, count, static_cast<std::uint16_t>(term.weight));
        }
        const auto list = postings(term, block);
        if (by_bits(term, block)) add_bits(sums, list, segment_.long_postings, count, term.weight);
        else add_long(sums, list.data(), list.size(), term.weight, std::min<std::uint32_t>(mask_, block_rows - 1));
        const bool bits = by_bits(term, block) && list.size() >= bit_words(count);
        s_.postings += static_cast<std::int64_t>(bits ? 2 * (list.size() - bit_words(count)) : list.size());
    }

    // A sum that k rows of the block reach, and not many more if there is such a one above `least`.
    std::uint32_t top_of(const std::uint16_t* sums, Id count, std::uint32_t least) const {
        std::uint32_t low = least, high = 65'535;  // k rows reach low; fewer high
        for (int step = 0; step < 12 && high - low > 1; ++step) {
            const std::uint32_t middle = (low + high) / 2;
            const std::size_t found = count_reaching(sums, count, static_cast<std::uint16_t>(middle));
            (found < k_ ? high : low) = middle;
            if (found >= k_ && found <= 2 * k_) break;
        }
        return low;
    }

    void collect(const std::uint16_t* sums, Id count, std::uint32_t least, std::uint32_t below, Id first) {
        const auto room = static_cast<std::size_t>(count + stretch);
        if (s_.candidates.size() < room) s_.candidates.resize(room);
        s_.candidates.resize(
            reaching(sums, count, least, below, static_cast<std::uint32_t>(first), s_.candidates.data()));
    }

    void look_at_all() {
        for (Id place = 0; place < segment_.rows; ++place) exactly(place);
    }

    const Segment& segment_;
    std::size_t k_;
    Id exclude_;
    Scratch& s_;
    std::size_t n_touched_ = 0;
    std::uint32_t mask_ = 0;
    double unit_ = 1, total_ = 0;
};

}  // namespace

void nearest(std::span<const Segment> segments, SparseRow query, std::size_t k, Id exclude, Scratch& scratch) {
    scratch.nearest.reset(k);
    if (!k) return;
    for (const Segment& segment : segments) Search(segment, query, k, exclude, scratch).run();
}

}  // namespace xtrellis::neighbors
