#include "neighbors/table.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "neighbors/scan.hpp"

namespace xtrellis::neighbors {

namespace {

constexpr double slack = 1e-6;            // far more than rounding can do, far less than codes are coarse
constexpr std::size_t many = 16;          // a feature that one of so many rows has gets a code for every row
constexpr std::size_t first_groups = 48;  // by which a search learns what it is looking for
constexpr std::size_t ahead = 2;          // rows that are fetched before they are compared

std::uint8_t code_of(float value, float ceiling) {
    if (!(value > 0) || !(ceiling > 0)) return 0;  // not a number: damaged
    return static_cast<std::uint8_t>(std::min(255.0, std::ceil(levels * (double{value} / double{ceiling}))));
}

Tile tile_of(const Csr& rows, const std::vector<float>& ceilings, Offset first, Offset last) {
    Tile tile;
    tile.first = first, tile.rows = static_cast<std::size_t>(last - first);
    const std::size_t features = ceilings.size();
    std::vector<std::uint32_t> counts(features, 0);
    for (Offset i = rows.offsets[first]; i < rows.offsets[last]; ++i) ++counts[static_cast<std::size_t>(rows.ids[i])];
    tile.begins.resize(features + 1, 0);
    tile.numbers.resize(features, -1);
    for (std::size_t f = 0; f < features; ++f) {
        const bool dense = counts[f] * many > tile.rows && tile.dense < 0xFFFF;
        if (dense) tile.numbers[f] = static_cast<Id>(tile.dense++);
        tile.begins[f + 1] = tile.begins[f] + (dense ? 0 : counts[f]);
    }
    tile.places.resize(tile.begins.back());
    tile.list_codes.resize(tile.begins.back());
    tile.codes.resize(tile.groups() * tile.dense * lane_rows, 0);
    std::vector<std::uint32_t> next(tile.begins.begin(), tile.begins.end() - 1);
    for (Offset row = first; row < last; ++row) {
        const auto place = static_cast<std::size_t>(row - first);
        std::uint8_t* group = tile.codes.data() + place / lane_rows * tile.dense * lane_rows + place % lane_rows;
        for (Offset i = rows.offsets[row]; i < rows.offsets[row + 1]; ++i) {
            const auto feature = static_cast<std::size_t>(rows.ids[i]);
            const std::uint8_t code = code_of(rows.values[i], ceilings[feature]);
            if (const Id number = tile.numbers[feature]; number >= 0) {
                group[static_cast<std::size_t>(number) * lane_rows] = code;
            } else {
                const std::uint32_t at = next[feature]++;
                tile.places[at] = static_cast<std::uint16_t>(place);
                tile.list_codes[at] = code;
            }
        }
    }
    return tile;
}

class Search {
public:
    Search(const Table& table, SparseRow query, Id exclude, TableScratch& own, Scratch& scratch)
        : table_(table), exclude_(exclude), s_(own), nearest_(scratch.nearest), scratch_(scratch), query_(query) {
        if (s_.query.size() < table.ceilings.size()) s_.query.resize(table.ceilings.size(), 0.0f);
        if (s_.sums.empty()) s_.sums.resize(static_cast<std::size_t>(tile_rows), 0);
        s_.terms.clear();
        std::size_t written = 0;
        for (std::size_t i = 0; i < query.size(); ++i) {
            if (!known(query.ids[i])) continue;
            const auto feature = static_cast<std::size_t>(query.ids[i]);
            s_.query[feature] = query.values[i];
            ++written;
            const double most = double{query.values[i]} * double{table.ceilings[feature]};
            if (most > 0) s_.terms.push_back({most, query.ids[i], -1, 0});  // others add nothing above 0
            total_ += std::max(most, 0.0);
        }
        unit_ = total_ / (65'000.0 - 3.0 * static_cast<double>(written));  // no sum leaves 16 bits
        if (!std::isfinite(total_)) return;
        for (Term& term : s_.terms)
            term.weight = static_cast<std::uint16_t>(std::ceil(term.most / levels / unit_ * 256 * (1 + 1e-9)));
    }
    ~Search() {
        for (std::size_t i = 0; i < query_.size(); ++i)
            if (known(query_.ids[i])) s_.query[static_cast<std::size_t>(query_.ids[i])] = 0;
    }
    Search(const Search&) = delete;
    Search& operator=(const Search&) = delete;

    void run() {
        if (s_.terms.empty() || !std::isfinite(total_)) return;  // the latter: damaged
        for (const Tile& tile : table_.tiles) {
            add_up(tile);
            best_first(tile);
            std::fill_n(s_.sums.begin(), tile.groups() * lane_rows, std::uint16_t{0});
        }
    }

private:
    bool known(Id feature) const { return static_cast<std::size_t>(feature) < table_.ceilings.size(); }

    // Bounds of all rows.
    void add_up(const Tile& tile) {
        const std::size_t groups = tile.groups();
        s_.dense.clear();
        for (const Term& term : s_.terms) {
            const auto feature = static_cast<std::size_t>(term.feature);
            if (const Id number = tile.numbers[feature]; number >= 0) {
                s_.dense.push_back({static_cast<std::uint16_t>(number), term.weight});
                continue;
            }
            const std::uint32_t begin = tile.begins[feature];
            const std::size_t n = tile.begins[feature + 1] - begin;
            add_list(s_.sums.data(), tile.places.data() + begin, tile.list_codes.data() + begin, n, term.weight,
                     groups * lane_rows);
            scratch_.postings += static_cast<std::int64_t>(n);
        }
        s_.tops.resize(groups);
        for (std::size_t g = 0; g < groups; ++g)
            s_.tops[g] = add_group(s_.sums.data() + g * lane_rows, tile.codes.data() + g * lane_rows * tile.dense,
                                   s_.dense.data(), s_.dense.size());
        scratch_.postings += static_cast<std::int64_t>(groups * lane_rows * s_.dense.size());
    }

    // The smallest bound of an answer.
    std::uint32_t least() const {
        if (!nearest_.full()) return 1;
        const double threshold = static_cast<double>(nearest_.worst().score);
        const double sum = (threshold - slack * (threshold + total_)) / unit_;
        return sum > 1 ? static_cast<std::uint32_t>(std::min(sum, 65'535.0)) : 1;
    }

    // A few of the best rows, so that it is known what an answer must reach, then all that reach it.
    void best_first(const Tile& tile) {
        std::uint32_t below = 65'536;
        least_ = least();
        for (std::size_t wanted = first_groups; below > least_; wanted *= 8) {
            const std::uint32_t low = nearest_.full() ? least_ : reached_by(wanted, below);
            find(tile, low, below);
            for (std::size_t i = 0; i < s_.found.size(); ++i) {
                if (i + ahead < s_.found.size()) fetch(tile.first + s_.found[i + ahead]);
                if (s_.sums[s_.found[i]] >= least_ && compare(tile.first + s_.found[i])) least_ = least();
            }
            below = low;
        }
    }

    // A bound that so many groups reach, and not many more if there is such a one.
    std::uint32_t reached_by(std::size_t wanted, std::uint32_t below) const {
        std::uint32_t low = 1, high = below;
        while (high - low > 1) {
            const std::uint32_t middle = (low + high) / 2;
            const std::size_t found =
                count_reaching(s_.tops.data(), s_.tops.size(), static_cast<std::uint16_t>(middle));
            (found < wanted ? high : low) = middle;
            if (found >= wanted && found <= wanted + wanted / 4) break;
        }
        return low;
    }

    // The rows whose bounds reach `low` but not `below`.
    void find(const Tile& tile, std::uint32_t low, std::uint32_t below) {
        s_.found.clear();
        for (std::size_t g = 0; g < s_.tops.size(); ++g) {
            if (s_.tops[g] < low) continue;
            std::uint64_t rows = rows_reaching(s_.sums.data() + g * lane_rows, static_cast<std::uint16_t>(low));
            for (; rows; rows &= rows - 1) {
                const std::size_t row = g * lane_rows + static_cast<std::size_t>(std::countr_zero(rows));
                if (s_.sums[row] < below && row < tile.rows) s_.found.push_back(static_cast<std::uint32_t>(row));
            }
        }
    }

    void fetch(Offset row) const {
        const Offset begin = table_.rows.offsets[row], end = table_.rows.offsets[row + 1];
        for (Offset i = begin; i < end; i += 16) {
            __builtin_prefetch(table_.rows.ids + i);
            __builtin_prefetch(table_.rows.values + i);
        }
    }

    // Products in double in the order of the features, as in segments. True if it is an answer.
    bool compare(Offset row) {
        double sum = 0;
        for (Offset i = table_.rows.offsets[row]; i < table_.rows.offsets[row + 1]; ++i)
            sum += double{s_.query[static_cast<std::size_t>(table_.rows.ids[i])]} * double{table_.rows.values[i]};
        ++scratch_.compared;
        const auto similarity = static_cast<float>(sum);
        if (!(similarity > 0) || row == exclude_) return false;
        nearest_.offer({similarity, static_cast<Id>(row)});
        return true;
    }

    const Table& table_;
    Id exclude_;
    TableScratch& s_;
    TopKHeap& nearest_;
    Scratch& scratch_;
    SparseRow query_;
    double unit_ = 1, total_ = 0;
    std::uint32_t least_ = 1;
};

}  // namespace

Table::Table(Csr given) : rows(given), ceilings(static_cast<std::size_t>(given.columns), 0.0f) {
    for (Offset i = 0; i < rows.offsets[rows.rows]; ++i) {
        float& most = ceilings[static_cast<std::size_t>(rows.ids[i])];
        if (rows.values[i] > most) most = rows.values[i];
    }
    for (Offset first = 0; first < rows.rows; first += tile_rows)
        tiles.push_back(tile_of(rows, ceilings, first, std::min<Offset>(rows.rows, first + tile_rows)));
}

void nearest(const Table& table, SparseRow query, std::size_t k, Id exclude, TableScratch& own, Scratch& scratch) {
    scratch.nearest.reset(k);
    if (k) Search(table, query, exclude, own, scratch).run();
}

}  // namespace xtrellis::neighbors
