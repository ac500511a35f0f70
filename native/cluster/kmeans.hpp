// Spherical k-means of sparse unit vectors into clusters of any size (Bonsai's splits).
//
// Alternates: every member goes to the cluster whose centre it is most similar to (of equals, the smaller number; who
// has nothing in common with any is dealt out) → an empty cluster takes the worst-fitting member of all → sums follow
// the members that moved. With unit centres the objective Σ_i v_i·μ_c(i) equals Σ_c |S_c|, S_c the sum of cluster c's
// members; no step lets it fall.
//
// Sums are kept feature-major on compacted columns (local column × cluster, padded to the vector width), so a member
// is compared with all centres by contiguous multiply-adds; they are never scaled: a centre is S_c times 1/|S_c|.
// The steps are separate calls, so that a large set can be shared between threads: `assign` by ranges of members,
// `update` by groups of clusters. Neither the ranges nor their order change a single bit of the result.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/compact.hpp"
#include "core/rng.hpp"
#include "core/roomy.hpp"

namespace xtrellis::cluster {

class KMeans {
public:
    static constexpr Id lanes = 16;  // clusters that move together

    // `members` (rows of `vectors`, none of length zero, at least k) start from k of them, distinct, drawn by `key`.
    KMeans(const Csr& vectors, std::span<const Id> members, Id k, std::uint64_t key, ColumnMap& scratch);

    std::size_t size() const { return clusters_.size(); }
    Id k() const { return k_; }
    Id groups() const { return static_cast<Id>(stride_) / lanes; }
    std::span<const Id> clusters() const { return clusters_; }

    // The most similar centre of members first .. last.
    void assign(std::size_t first, std::size_t last);
    // After all members are assigned: fills empty clusters. Returns how many members have moved.
    std::size_t repair();
    // After `repair`: brings the sums and centres of the 16 clusters of a group up to date.
    void update(Id group);
    // After all groups are updated: the objective; the next `assign` may follow.
    double objective();

    // All of it on this thread: at most `iterations` rounds, ended when the mean gain in similarity is below
    // `tolerance`. Returns the objective.
    double run(int iterations, double tolerance);

private:
    Compact v_;
    Id k_;
    std::size_t stride_;              // k, padded
    Roomy<float> sums_;               // width × stride
    std::vector<float> scale_;        // 1/|S_c|; 0 for a sum of no direction
    std::vector<float> floor_;        // 0; -inf for the padding, which nobody may choose
    std::vector<double> length_;      // |S_c|
    std::vector<Id> clusters_, old_;  // of each member, now and in the sums (-1: not yet)
    std::vector<float> similarity_;
    bool started_ = false;  // false: the sums are still the starting vectors
};

}  // namespace xtrellis::cluster
