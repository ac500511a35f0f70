// Several trees searched as one: the k labels with the best mean score.
#pragma once

#include <span>

#include "search/searches.hpp"

namespace xtrellis::search {

struct Member {
    const Model* model;
    Places places;
    Id beam = 10;
    float slack = 0;
};

// What is asked of all trees.
struct Question {
    Id k = 10;
    Id wide = 20;               // labels that each tree gives at first
    Id most = 20;               // and at most
    Id deeper = 4;              // times as many for rows that these do not decide
    const Id* ranks = nullptr;  // order equals; null: ids do
    bool precise = false;       // scores are added in double precision
};

// One row: each tree is searched best-first. What one search has seen is not looked at again, neither when a label that
// another tree gave is looked up, nor in a deeper search.
void together(std::span<const Member> members, const SparseRow& x, const Question& question, Id* labels, float* scores);

// One row of which the trees' answers (`width` each) are found already: `found` are their labels and scores, those of a
// tree `stride` after those of the one before. Returns what a label that no tree gave can reach.
float join(std::span<const Member> members, const SparseRow& x, const Question& question, const Id* found,
           const float* found_scores, Offset width, Offset stride, Id* labels, float* scores);

}  // namespace xtrellis::search
