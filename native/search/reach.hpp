// One step of beam search for many rows: from the nodes they hold on one level to those they will hold on the next.
// Training uses it between levels: the rows that reach a node are the ones its classifiers must tell apart.
#pragma once

#include <vector>

#include "search/model.hpp"

namespace xtrellis::search {

// Row r holds the nodes offsets[r] .. offsets[r+1), ascending, with the logarithms of their scores.
struct BeamsView {
    const Offset* offsets;
    const Id* nodes;
    const float* scores;
};

struct Beams {
    std::vector<Offset> offsets;
    std::vector<Id> nodes;
    std::vector<float> scores;
};

// Rows first .. last of X (`held` is indexed by the same rows). `level` is a model of some nodes of one level only: its
// node v is node first_node + v of the tree, its children are numbered as in the tree. What a row holds outside these
// nodes is ignored. Labels among the children are not nodes and do not compete with them, just as in search.
Beams reach(const Model& level, Id first_node, const Csr& X, Offset first, Offset last, BeamsView held, Id beam);

}  // namespace xtrellis::search
