#include "softmax/train.hpp"

#include <algorithm>

#include "core/cpu.hpp"
#include "core/rng.hpp"

namespace xtrellis::softmax {

namespace base { extern const Ops ops; }
namespace avx2 { extern const Ops ops; }
namespace avx512 { extern const Ops ops; }

namespace {

constexpr Offset kMostUnits = 4096;  // scores of a block, unless one path alone has more

const Ops* pick() {
    switch (best_instruction_set()) {
#if defined(__x86_64__)
        case InstructionSet::avx512: return &avx512::ops;
        case InstructionSet::avx2: return &avx2::ops;
#endif
        default: return &base::ops;
    }
}

int chunk_count(int dim) { return (dim + kChunk - 1) / kChunk; }

}  // namespace

int shard_count(int dim) { return std::min(chunk_count(dim), dim < 256 ? 4 : kMostShards); }

Trainer::Trainer(const Csr& X, const Tree& tree, Offset units, const TrainSettings& settings)
    : X_(X), units_(units), settings_(settings), paths_(tree), team_(settings.members),
      shards_(shard_count(settings.dim)), chunks_(chunk_count(settings.dim)), ops_(pick()) {
    // A whole number of cache lines: shards of the scores are written by different threads.
    unit_stride_ = (std::max<Offset>(kMostUnits, paths_.most_units) + settings.batch + 15) / 16 * 16;
    for (auto& scores : scores_) scores.assign(static_cast<std::size_t>(unit_stride_ * shards_), 0.0f);
    for (int m = 0; m < settings.members; ++m) {
        members_.push_back(std::make_unique<Member>());
        prepare(m);
    }
}

void Trainer::prepare(int m) {
    Member& me = *members_[static_cast<std::size_t>(m)];
    const int members = settings_.asynchronous ? 1 : settings_.members, part = settings_.asynchronous ? 0 : m;
    const int first = shards_ * part / members, last = shards_ * (part + 1) / members;
    const int from = chunks_ * first / shards_ * kChunk;
    Share& share = me.share;
    share.first_shard = first;
    share.shards = last - first;
    for (int s = first; s <= last; ++s) share.edges[s - first] = chunks_ * s / shards_ * kChunk - from;
    share.width = share.edges[share.shards];
    const auto width = static_cast<std::size_t>(share.width), batch = static_cast<std::size_t>(settings_.batch);
    me.hidden.assign(batch * width, 0.0f);
    me.gradients.assign(batch * width, 0.0f);
    me.steps.assign(static_cast<std::size_t>(unit_stride_), 0.0f);
    me.visits.resize(batch);
    me.rows.resize(batch);
    if (settings_.asynchronous) {
        me.scores.assign(static_cast<std::size_t>(unit_stride_ * shards_), 0.0f);
        if (m > 0) {  // one set of parameters for all
            share.embeddings = members_[0]->share.embeddings;
            share.units = members_[0]->share.units;
            return;
        }
    }
    // fastText's beginning: embeddings uniform in ±1/dim, output vectors 0. Each value has its own number, so that it
    // does not matter who draws it; padding stays 0 for ever.
    me.embeddings.assign(static_cast<std::size_t>(X_.columns + 1) * width, 0.0f);
    me.units.assign(static_cast<std::size_t>(units_) * width, 0.0f);
    const int end = std::min(from + share.width, settings_.dim);
    const float reach = 1.0f / static_cast<float>(settings_.dim);
    for (Offset f = 0; f <= X_.columns; ++f) {
        float* row = me.embeddings.data() + f * share.width;
        const std::uint64_t begin =
            settings_.key + static_cast<std::uint64_t>(f) * static_cast<std::uint64_t>(settings_.dim);
        for (int i = from; i < end; ++i) {
            const auto drawn = mix(begin + static_cast<std::uint64_t>(i)) >> 40;
            row[i - from] = reach * (static_cast<float>(drawn) * 0x1.0p-23f - 1.0f);
        }
    }
    share.embeddings = me.embeddings.data();
    share.units = me.units.data();
}

// As many visits from `at` on as a block takes; neighbours of the same row share its hidden vector.
std::size_t Trainer::fill(Member& me, std::span<const Id> rows, std::span<const Id> slots, std::size_t at,
                          Block& block) const {
    int count = 0, row_count = 0;
    Offset units = 0;
    Id last_row = -1;
    for (; at < rows.size() && count < settings_.batch; ++at) {
        const auto slot = static_cast<std::size_t>(slots[at]);
        const Decision* decisions = paths_.decisions.data() + paths_.offsets[slot];
        const int length = static_cast<int>(paths_.offsets[slot + 1] - paths_.offsets[slot]);
        Offset needed = 0;
        for (int d = 0; d < length; ++d) needed += decisions[d].count;
        if (units + needed > unit_stride_ - settings_.batch) break;  // never the first: no path has more
        if (rows[at] != last_row) {
            last_row = rows[at];
            const SparseRow row = X_[last_row];
            const bool plain = settings_.weighing == Weighing::average;
            me.rows[static_cast<std::size_t>(row_count++)] = {row.ids.data(), plain ? nullptr : row.values.data(),
                                                              static_cast<Offset>(row.size()),
                                                              row_weights(settings_.weighing, row, settings_.bias)};
        }
        me.visits[static_cast<std::size_t>(count++)] = {decisions, length, row_count - 1, static_cast<int>(units)};
        units += needed;
    }
    block = {me.visits.data(), count, me.rows.data(), row_count, static_cast<int>(units), static_cast<Id>(X_.columns)};
    return at;
}

void Trainer::run(int m, std::span<const Id> rows, std::span<const Id> slots, double rate_first, double rate_last) {
    Member& me = *members_[static_cast<std::size_t>(m)];
    team_.gather();
    std::size_t at = 0, end = rows.size();
    if (settings_.asynchronous) {
        at = rows.size() * static_cast<std::size_t>(m) / static_cast<std::size_t>(settings_.members);
        end = rows.size() * static_cast<std::size_t>(m + 1) / static_cast<std::size_t>(settings_.members);
    }
    const double fall = (rate_last - rate_first) / static_cast<double>(std::max<std::size_t>(1, rows.size()));
    Block block{};
    for (int turn = 0; at < end; turn ^= 1) {
        const auto rate = static_cast<float>(rate_first + fall * static_cast<double>(at));
        at = fill(me, rows.first(end), slots.first(end), at, block);
        // Two sets of scores by turns: nobody is still reading those of the block before last when they are
        // overwritten.
        float* scores = settings_.asynchronous ? me.scores.data() : scores_[turn].data();
        const Scratch scratch{me.hidden.data(), me.gradients.data(), me.steps.data(), scores, unit_stride_};
        ops_->scores(block, me.share, scratch);
        if (!settings_.asynchronous) team_.meet();
        ops_->update(block, me.share, scratch, shards_, rate);
    }
}

void Trainer::collect(float* embeddings, float* units) const {
    int from = 0;
    for (const auto& member : members_) {
        const Share& share = member->share;
        const int count = std::min(share.width, settings_.dim - from);
        const auto copy = [&](const float* source, float* target, Offset rows) {
            for (Offset r = 0; r < rows; ++r)
                std::copy_n(source + r * share.width, count, target + r * settings_.dim + from);
        };
        copy(share.embeddings, embeddings, X_.columns + 1);
        copy(share.units, units, units_);
        from += count;
        if (settings_.asynchronous) break;
    }
}

}  // namespace xtrellis::softmax
