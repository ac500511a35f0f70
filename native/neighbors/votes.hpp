// What the nearest rows' labels are worth: a row votes for its labels with similarity^power, a label's score is its
// share of all votes, times the label's own weight.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "neighbors/search.hpp"

namespace xtrellis::neighbors {

struct Ballot {
    double power = 1;
    Id labels = 0;
    std::span<const float> weights;         // of each label; empty: all 1
    std::span<const Offset> counts;         // rows of each label: of equal scores the more frequent label is better
    std::span<const std::uint8_t> allowed;  // labels that answers are restricted to; empty: all
};

struct Voting {
    Scratch search;
    std::vector<double> votes;  // for each label: zero between calls
    std::vector<Id> named;
    std::vector<Scored> found;
};

inline const Segment& segment_of(std::span<const Segment> segments, Id row) {
    std::size_t i = segments.size() - 1;
    while (segments[i].first > row) --i;
    return segments[i];
}

// The votes for each label, by the rows in voting.search.nearest, which is emptied. Returns the sum of all rows' votes.
inline double collect(std::span<const Segment> segments, const Ballot& ballot, Voting& voting) {
    if (voting.votes.size() < static_cast<std::size_t>(ballot.labels))
        voting.votes.resize(static_cast<std::size_t>(ballot.labels), 0.0);
    double total = 0;
    voting.named.clear();
    voting.search.nearest.drain([&](std::size_t, const Scored& near) {
        const double near_by = static_cast<double>(near.score);  // its square is exact
        const double vote = ballot.power == 2 ? near_by * near_by : std::pow(near_by, ballot.power);
        total += vote;
        const Segment& segment = segment_of(segments, near.label);
        for (const Id label : segment.labels_of(near.label - segment.first)) {
            if (static_cast<std::uint32_t>(label) >= static_cast<std::uint32_t>(ballot.labels)) continue;  // damaged
            double& votes = voting.votes[static_cast<std::size_t>(label)];
            if (votes == 0) voting.named.push_back(label);
            votes += vote;
        }
    });
    return total;
}

inline float score_of(const Ballot& ballot, double votes, double total, Id label) {
    if (!(total > 0)) return 0;
    const double weight = ballot.weights.empty() ? 1.0 : ballot.weights[static_cast<std::size_t>(label)];
    return static_cast<float>(votes / total * weight);
}

inline void clear(Voting& voting) {
    for (const Id label : voting.named) voting.votes[static_cast<std::size_t>(label)] = 0;
}

// The best labels, and -1 after them.
inline void elect(std::span<const Segment> segments, const Ballot& ballot, Voting& voting, std::span<Id> labels,
                  std::span<float> scores) {
    const double total = collect(segments, ballot, voting);
    auto& found = voting.found;
    found.clear();
    for (const Id label : voting.named) {
        if (!ballot.allowed.empty() && !ballot.allowed[static_cast<std::size_t>(label)]) continue;
        const float score = score_of(ballot, voting.votes[static_cast<std::size_t>(label)], total, label);
        if (score > 0) found.push_back({score, label});
    }
    clear(voting);
    const std::size_t k = std::min(labels.size(), found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(k), found.end(),
                      [&](const Scored& a, const Scored& b) {
                          if (a.score != b.score) return a.score > b.score;
                          const Offset more = ballot.counts[static_cast<std::size_t>(a.label)] -
                                              ballot.counts[static_cast<std::size_t>(b.label)];
                          return more != 0 ? more > 0 : a.label < b.label;
                      });
    std::fill(labels.begin(), labels.end(), -1);
    std::fill(scores.begin(), scores.end(), 0.0f);
    for (std::size_t i = 0; i < k; ++i) {
        labels[i] = found[i].label;
        scores[i] = found[i].score;
    }
}

// The scores of given labels; 0 for those that no near row has.
inline void score_given(std::span<const Segment> segments, const Ballot& ballot, Voting& voting,
                        std::span<const Id> wanted, float* scores) {
    const double total = collect(segments, ballot, voting);
    for (std::size_t i = 0; i < wanted.size(); ++i)
        scores[i] = score_of(ballot, voting.votes[static_cast<std::size_t>(wanted[i])], total, wanted[i]);
    clear(voting);
}

}  // namespace xtrellis::neighbors
