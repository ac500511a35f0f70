#include "search/together.hpp"

#include <cmath>
#include <vector>

#include "search/join.hpp"

namespace xtrellis::search {
namespace {

// What is kept of a row in each tree. Vectors keep their room from row to row.
std::vector<Seen>& begin(std::span<const Member> members) {
    thread_local std::vector<Seen> seen;
    if (seen.size() < members.size()) seen.resize(members.size());
    return seen;
}

// Less than a score by more than rounding takes, as a logarithm.
float log_below(float score) { return score > 0 ? std::log(score) - 1e-4f : -INFINITY; }

template <class Sum>
Join<Sum>& joined() {
    thread_local Join<Sum> join;
    return join;
}

template <class Sum>
void search_all(std::span<const Member> members, const SparseRow& x, const Question& question, Id* labels,
                float* scores) {
    thread_local std::vector<Id> found;
    thread_local std::vector<float> found_scores;
    auto& seen = begin(members);
    auto& all = joined<Sum>();
    for (std::size_t t = 0; t < members.size(); ++t) seen[t].begin(*members[t].model, x);
    for (Id wide = question.wide;;
         wide = question.most / question.deeper < wide ? question.most : wide * question.deeper) {
        found.resize(static_cast<std::size_t>(wide));
        found_scores.resize(found.size());
        all.begin(members.size(), question.k, question.ranks);
        for (std::size_t t = 0; t < members.size(); ++t) {
            const Request request{members[t].beam, wide, nullptr, members[t].slack};
            best_first_seen(*members[t].model, x, request, found.data(), found_scores.data(), seen[t]);
            all.add(found.data(), found_scores.data(), wide);
        }
        all.finish([&](std::size_t t, Id label, float least) {
            return given_seen(*members[t].model, members[t].places, x, label, log_below(least), seen[t]);
        });
        const float unseen = all.write(labels, scores);
        if (wide >= question.most || question.k == 0 || scores[question.k - 1] >= unseen) return;
    }
}

template <class Sum>
float join_answers(std::span<const Member> members, const SparseRow& x, const Question& question, const Id* found,
                   const float* found_scores, Offset width, Offset stride, Id* labels, float* scores) {
    auto& seen = begin(members);
    auto& all = joined<Sum>();
    thread_local std::vector<char> begun;
    begun.assign(members.size(), 0);
    all.begin(members.size(), question.k, question.ranks);
    for (std::size_t t = 0; t < members.size(); ++t) {
        const Offset at = static_cast<Offset>(t) * stride;
        all.add(found + at, found_scores + at, width);
    }
    all.finish([&](std::size_t t, Id label, float least) {
        if (!begun[t]) seen[t].begin(*members[t].model, x);
        begun[t] = 1;
        return given_seen(*members[t].model, members[t].places, x, label, log_below(least), seen[t]);
    });
    return all.write(labels, scores);
}

}  // namespace

void together(std::span<const Member> members, const SparseRow& x, const Question& question, Id* labels,
              float* scores) {
    if (question.precise) search_all<double>(members, x, question, labels, scores);
    else search_all<float>(members, x, question, labels, scores);
}

float join(std::span<const Member> members, const SparseRow& x, const Question& question, const Id* found,
           const float* found_scores, Offset width, Offset stride, Id* labels, float* scores) {
    const auto way = question.precise ? join_answers<double> : join_answers<float>;
    return way(members, x, question, found, found_scores, width, stride, labels, scores);
}

}  // namespace xtrellis::search
