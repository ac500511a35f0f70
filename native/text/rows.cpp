#include "text/rows.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace xtrellis::text {

void sort_counts(std::vector<Count>& counts, std::vector<Count>& scratch) {
    if (counts.size() < 48) {
        std::sort(counts.begin(), counts.end());
        return;
    }
    Count largest = 0;
    for (const auto count : counts) largest = std::max(largest, count);
    const auto bits = static_cast<unsigned>(std::bit_width(largest >> 32));
    const auto feature = [](Count count) { return count >> 32; };
    if (counts.size() < 2000) radix_sort<8>(counts, scratch, bits, feature);
    else radix_sort<11>(counts, scratch, bits, feature);
}

void append_row(const std::vector<Count>& counts, const float* idf, const Settings& settings, Rows& rows) {
    const auto begin = rows.ids.size();
    double squares = 0;
    for (std::size_t i = 0; i < counts.size();) {
        const auto feature = static_cast<std::uint32_t>(counts[i] >> 32);
        std::uint64_t times = 0;
        for (; i < counts.size() && counts[i] >> 32 == feature; ++i) times += static_cast<std::uint32_t>(counts[i]);
        double value = static_cast<double>(times);
        if (settings.sublinear_tf && times > 1) value = 1 + std::log(value);
        if (settings.idf) value *= static_cast<double>(idf[feature]);
        squares += value * value;
        rows.ids.push_back(static_cast<Id>(feature));
        rows.values.push_back(static_cast<float>(value));
    }
    if (settings.normalize && squares > 0) {
        const auto scale = 1 / std::sqrt(squares);
        for (auto i = begin; i < rows.values.size(); ++i)
            rows.values[i] = static_cast<float>(static_cast<double>(rows.values[i]) * scale);
    }
    rows.offsets.push_back(static_cast<Offset>(rows.ids.size()));
}

}  // namespace xtrellis::text
