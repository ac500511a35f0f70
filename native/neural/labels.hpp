// What a batch asks of the label matrix: which of the batch's labels a row has, and how often two of them meet.
//
// A block is a sorted list of different labels. Nothing here is of the size labels × labels.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "core/csr.hpp"
#include "neural/batch.hpp"

namespace xtrellis::neural {

struct Pairs {
    std::vector<std::int64_t> rows;       // place in the batch
    std::vector<std::int64_t> positions;  // place in the block
};

inline Pairs known(const Csr& Y, std::span<const Id> rows, std::span<const Id> block) {
    Pairs out;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        for (const Id label : Y[rows[i]].ids) {
            const auto at = std::lower_bound(block.begin(), block.end(), label);
            if (at == block.end() || *at != label) continue;
            out.rows.push_back(static_cast<std::int64_t>(i));
            out.positions.push_back(at - block.begin());
        }
    }
    return out;
}

// Rows first .. last of the block's co-occurrence counts A = YᵀY, itself included (how often the label occurs).
// `label_rows` lists the rows of each label; cost: the labels of all rows of the labels asked for.
inline Rows together(const Csr& Y, const Csr& label_rows, std::span<const Id> block, Offset first, Offset last) {
    Rows out;
    thread_local std::vector<Id> place;  // of a label in the block, plus one; all zero between calls
    if (place.size() < static_cast<std::size_t>(Y.columns)) place.resize(static_cast<std::size_t>(Y.columns), 0);
    for (std::size_t i = 0; i < block.size(); ++i) place[static_cast<std::size_t>(block[i])] = static_cast<Id>(i) + 1;
    std::vector<float> counts(block.size(), 0.0f);
    std::vector<Id> seen;
    for (Offset a = first; a < last; ++a) {
        seen.clear();
        for (const Id row : label_rows[block[static_cast<std::size_t>(a)]].ids) {
            for (const Id label : Y[row].ids) {
                const Id at = place[static_cast<std::size_t>(label)];
                if (at == 0) continue;
                float& count = counts[static_cast<std::size_t>(at) - 1];
                if (count == 0) seen.push_back(at - 1);
                count += 1;
            }
        }
        std::sort(seen.begin(), seen.end());
        for (const Id at : seen) {
            out.ids.push_back(at);
            out.values.push_back(counts[static_cast<std::size_t>(at)]);
            counts[static_cast<std::size_t>(at)] = 0;
        }
        out.offsets.push_back(static_cast<Offset>(out.ids.size()));
    }
    for (const Id label : block) place[static_cast<std::size_t>(label)] = 0;
    return out;
}

}  // namespace xtrellis::neural
