#include "neighbors/signed.hpp"

#include <cmath>

#include "core/dispatch.hpp"

namespace xtrellis::neighbors {

namespace {

constexpr double largest = 1e30;  // of a product that float shall hold

double length(SparseRow row) {
    double sum = 0;
    for (std::size_t i = 0; i < row.size(); ++i) sum += static_cast<double>(row.values[i]) * row.values[i];
    return std::sqrt(sum);
}

// The products of one row of the matrix with several queries.
XTRELLIS_CLONES void multiply(const float* matrix, std::size_t rows, std::size_t width, const float* queries,
                              std::size_t n_queries, float* out) {
    for (std::size_t r = 0; r < rows; ++r) {
        const float* row = matrix + r * width;
        for (std::size_t q = 0; q < n_queries; ++q) {
            const float* query = queries + q * width;
            float sums[lanes] = {};
            for (std::size_t i = 0; i < width; i += lanes)
                for (std::size_t j = 0; j < lanes; ++j) sums[j] += row[i + j] * query[i + j];
            float sum = 0;
            for (const float lane : sums) sum += lane;
            out[q * rows + r] = sum;
        }
    }
}

XTRELLIS_CLONES void add_list(float* sums, const Id* places, const float* values, std::size_t n, float weight) {
    for (std::size_t i = 0; i < n; ++i) sums[places[i]] += weight * values[i];
}

}  // namespace

Signed::Signed(Csr all) : rows(all), columns(static_cast<std::size_t>(all.columns), -1) {
    const auto features = static_cast<std::size_t>(rows.columns);
    std::vector<Offset> counts(features, 0);
    const auto n = static_cast<Offset>(rows.rows);
    for (Offset r = 0; r < n; ++r) {
        const SparseRow row = rows[r];
        const double here = length(row);
        longest = here < largest ? std::max(longest, here) : INFINITY;  // damaged rows may hold anything
        for (const Id id : row.ids) ++counts[static_cast<std::size_t>(id)];
    }
    begins.assign(features + 1, 0);
    std::size_t dense = 0;
    for (std::size_t f = 0; f < features; ++f) {
        const bool most = 2 * counts[f] >= n;
        if (most) columns[f] = static_cast<Id>(dense++);
        begins[f + 1] = begins[f] + (most ? 0 : counts[f]);
    }
    width = (dense + lanes - 1) / lanes * lanes;
    matrix.assign(static_cast<std::size_t>(n) * width, 0.0f);
    places.resize(static_cast<std::size_t>(begins.back()));
    values.resize(places.size());
    std::vector<Offset> next(begins.begin(), begins.end() - 1);
    for (Offset r = 0; r < n; ++r) {
        const SparseRow row = rows[r];
        for (std::size_t i = 0; i < row.size(); ++i) {
            const auto f = static_cast<std::size_t>(row.ids[i]);
            if (columns[f] >= 0) {
                matrix[static_cast<std::size_t>(r) * width + static_cast<std::size_t>(columns[f])] = row.values[i];
            } else {
                const auto at = static_cast<std::size_t>(next[f]++);
                places[at] = static_cast<Id>(r);
                values[at] = row.values[i];
            }
        }
    }
}

void walk(const Signed& self, const Csr& X, Offset r, Offset last, SignedScratch& own) {
    if (r < own.last) return;
    own.first = r, own.last = std::min(last, r + walked_together);
    const auto n = static_cast<std::size_t>(own.last - r);
    own.queries.assign(n * self.width, 0.0f);
    for (std::size_t q = 0; q < n; ++q) {
        const SparseRow row = X[r + static_cast<Offset>(q)];
        for (std::size_t i = 0; i < row.size(); ++i) {
            if (row.ids[i] >= self.rows.columns) continue;
            const Id column = self.columns[static_cast<std::size_t>(row.ids[i])];
            if (column >= 0) own.queries[q * self.width + static_cast<std::size_t>(column)] = row.values[i];
        }
    }
    const auto rows = static_cast<std::size_t>(self.rows.rows);
    own.products.resize(n * rows);
    multiply(self.matrix.data(), rows, self.width, own.queries.data(), n, own.products.data());
}

bool nearest(const Signed& self, SparseRow query, Offset r, std::size_t k, Id exclude, SignedScratch& own,
             Scratch& scratch) {
    const double most = length(query) * self.longest;  // of any product, or part of one
    if (!(most < largest)) return false;
    scratch.nearest.reset(k);
    if (!k) return true;
    const auto rows = static_cast<std::size_t>(self.rows.rows);
    const float* products = own.products.data() + static_cast<std::size_t>(r - own.first) * rows;
    own.sums.assign(products, products + rows);
    own.query.resize(std::max(own.query.size(), static_cast<std::size_t>(self.rows.columns)), 0.0f);
    for (std::size_t i = 0; i < query.size(); ++i) {
        if (query.ids[i] >= self.rows.columns) continue;
        const auto f = static_cast<std::size_t>(query.ids[i]);
        own.query[f] = query.values[i];
        const auto begin = static_cast<std::size_t>(self.begins[f]), end = static_cast<std::size_t>(self.begins[f + 1]);
        add_list(own.sums.data(), self.places.data() + begin, self.values.data() + begin, end - begin, query.values[i]);
    }
    // What rounding may do to a sum, twice over; the least float is for products below all normal ones.
    const double off = static_cast<double>(query.size() + lanes + 8) * (most * 0x1p-23 + 0x1p-126);
    if (exclude >= 0 && static_cast<std::size_t>(exclude) < rows)
        own.sums[static_cast<std::size_t>(exclude)] = -INFINITY;
    own.best.reset(k);
    for (std::size_t i = 0; i < rows; ++i) {
        if (!own.best.full() || own.sums[i] > own.best.worst().score) own.best.offer({own.sums[i], static_cast<Id>(i)});
    }
    double bar = -off;  // similarities above 0 only
    std::size_t n_best = 0;
    float worst = INFINITY;
    own.best.drain([&](std::size_t, const Scored& one) { ++n_best, worst = std::min(worst, one.score); });
    if (n_best == k) bar = std::max(bar, static_cast<double>(worst) - 2 * off);
    for (std::size_t i = 0; i < rows; ++i) {
        if (!(static_cast<double>(own.sums[i]) >= bar)) continue;
        const SparseRow row = self.rows[static_cast<Offset>(i)];
        double sum = 0;  // as blocks add it: in the order of the features, those of the query alone
        for (std::size_t j = 0; j < row.size(); ++j) {
            const float value = own.query[static_cast<std::size_t>(row.ids[j])];
            if (value != 0) sum += static_cast<double>(value) * static_cast<double>(row.values[j]);
        }
        ++scratch.compared;
        if (const auto similarity = static_cast<float>(sum); similarity > 0) {
            scratch.nearest.offer({similarity, static_cast<Id>(i)});
        }
    }
    for (const Id id : query.ids)
        if (id < self.rows.columns) own.query[static_cast<std::size_t>(id)] = 0;
    return true;
}

}  // namespace xtrellis::neighbors
