// Many texts through the matcher: all candidates with their features, the best labels, or given labels.
#pragma once

#include "core/topk.hpp"
#include "names/score.hpp"

namespace xtrellis::names {

struct Texts {
    const Byte* bytes;
    const Offset* offsets;
    Offset rows;
    const text::Settings* settings;
};

// The labels of the texts' own rows, if these are to be counted, or were counted in training and are to be left out;
// null: they are not.
struct LeftOut {
    const Offset* offsets = nullptr;
    const Id* labels = nullptr;
    bool any() const { return offsets != nullptr; }
    bool has(Offset row, Id label) const {
        return any() && std::binary_search(labels + offsets[row], labels + offsets[row + 1], label);
    }
};

struct Candidates {
    std::vector<Offset> offsets{0};
    std::vector<Id> labels, forms;
    std::vector<std::uint8_t> kinds;
    std::vector<float> features;  // form_features for each
};

template <class Each>
void each_text(const Index& index, const Texts& texts, Scratch& scratch, Each each) {
    const auto lock = text::reading(texts.settings->forms.get());
    for (Offset row = 0; row < texts.rows; ++row) {
        scratch.read(index, texts.bytes + texts.offsets[row], texts.bytes + texts.offsets[row + 1], *texts.settings);
        each(row);
    }
}

inline Candidates candidates(const Index& index, const Texts& texts, Scratch& scratch) {
    Candidates out;
    each_text(index, texts, scratch, [&](Offset) {
        scratch.sort_labels();
        for (const auto& [label, number] : scratch.labels) {
            const auto& match = scratch.matches[number];
            out.labels.push_back(label);
            out.forms.push_back(match.form);
            out.kinds.push_back(match.kind);
            out.features.insert(out.features.end(), match.features.begin(), match.features.end());
        }
        out.offsets.push_back(static_cast<Offset>(out.labels.size()));
    });
    return out;
}

// Adds to `matches` (kinds × labels) the texts that have a label's name, to `hits` those of them that have the label;
// `per_row` gets how many names a text has.
inline void count_names(const Index& index, const Texts& texts, const LeftOut& own, Scratch& scratch, Id* matches,
                        Id* hits, Offset* per_row) {
    each_text(index, texts, scratch, [&](Offset row) {
        for (const auto& [label, number] : scratch.labels) {
            const auto at = static_cast<Offset>(scratch.matches[number].kind) * index.n_labels + label;
            ++matches[at];
            hits[at] += own.has(row, label);
        }
        per_row[row] = static_cast<Offset>(scratch.labels.size());
    });
}

// What every match of the last text is worth before its label is looked at.
inline void match_odds(const Scorer& scorer, const Scratch& scratch, std::vector<double>& out) {
    out.clear();
    Scorer::LastMatch last;
    for (const auto& match : scratch.matches) out.push_back(scorer.match_log_odds(match, last));
}

inline float score_of(const Scorer& scorer, const Scratch& scratch, const std::vector<double>& odds,
                      const LabelMatch& found, const LeftOut& left_out, Offset row) {
    const auto kind = scratch.matches[found.match].kind;
    const bool has = left_out.has(row, found.label);
    return probability(odds[found.match] + scorer.label_log_odds(kind, found.label, left_out.any(), has));
}

// Rows of k labels, the best first; -1 with score 0 where there are no more. Equal scores: the smaller rank first.
// `allowed` has one per label, 0 for those that may not be answered; null: all may.
inline void best(const Index& index, const Texts& texts, const Scorer& scorer, const LeftOut& left_out, const Id* ranks,
                 const std::uint8_t* allowed, std::size_t k, Scratch& scratch, Id* labels, float* scores) {
    std::vector<double> odds;
    TopKHeap heap;
    each_text(index, texts, scratch, [&](Offset row) {
        match_odds(scorer, scratch, odds);
        heap.reset(k, ranks);
        for (const auto& found : scratch.labels) {
            if (allowed && !allowed[found.label]) continue;
            heap.offer({score_of(scorer, scratch, odds, found, left_out, row), found.label});
        }
        auto* to_labels = labels + static_cast<std::size_t>(row) * k;
        auto* to_scores = scores + static_cast<std::size_t>(row) * k;
        std::fill(to_labels, to_labels + k, Id{-1});
        std::fill(to_scores, to_scores + k, 0.0f);
        heap.drain([&](std::size_t i, const Scored& s) {
            to_labels[i] = s.label;
            to_scores[i] = s.score;
        });
    });
}

// Scores of given labels of each row; 0 where the text does not have the name.
inline void given(const Index& index, const Texts& texts, const Scorer& scorer, const LeftOut& left_out,
                  const Offset* pair_offsets, const Id* pair_labels, Scratch& scratch, float* scores) {
    std::vector<double> odds;
    each_text(index, texts, scratch, [&](Offset row) {
        match_odds(scorer, scratch, odds);
        scratch.sort_labels();
        auto found = scratch.labels.begin();
        for (auto i = pair_offsets[row]; i < pair_offsets[row + 1]; ++i) {
            const auto label = pair_labels[i];
            while (found != scratch.labels.end() && found->label < label) ++found;
            const bool there = found != scratch.labels.end() && found->label == label;
            scores[i] = there ? score_of(scorer, scratch, odds, *found, left_out, row) : 0.0f;
        }
    });
}

}  // namespace xtrellis::names
