// The rows of a large node in a file: written once, in order, and read again whenever the solver visits one. As many as
// the limit has room for stay in memory: the first ones, since visits are at random.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/row_reader.hpp"
#include "core/spill.hpp"
#include "linear/solve.hpp"

#if defined(__linux__)
#include <sys/uio.h>
#endif

namespace xtrellis::linear {

class RowFile {
public:
    explicit RowFile(Offset entries) {
        const std::lock_guard lock(spills().mutex);
        folder_ = spills().folder;
        room_ = std::min(entries, static_cast<Offset>(spills().kept / 8));
#if !defined(__linux__)
        room_ = entries;  // there are no files without names
#endif
        kept_.reset(static_cast<Id*>(std::malloc(static_cast<std::size_t>(8 * room_ + 1))));
        if (!kept_) throw std::bad_alloc();
    }
    RowFile(const RowFile&) = delete;
    RowFile& operator=(const RowFile&) = delete;
    ~RowFile() {
#if defined(__linux__)
        if (file_ >= 0) close(file_);
#endif
    }

    // A row's ids and, behind them, its values: both come back in one reading.
    void append(std::span<const Id> ids, std::span<const float> values) {
        const auto length = static_cast<Offset>(ids.size());
        if (length == 0) return;
        char* to = nullptr;
        if (file_ < 0 && in_memory_ + length <= room_) {
            to = reinterpret_cast<char*>(kept_.get() + 2 * in_memory_);
            in_memory_ += length;
        } else {
            if (file_ < 0) open();
            const std::size_t at = waiting_.size();
            waiting_.resize(at + 2 * 4 * ids.size());
            to = waiting_.data() + at;
        }
        std::memcpy(to, ids.data(), 4 * ids.size());
        std::memcpy(to + 4 * ids.size(), values.data(), 4 * values.size());
        if (waiting_.size() >= together) flush();
    }

    void finish() {
        flush();
        std::vector<char>().swap(waiting_);
    }

    // Entries begin .. end, which are those of one row; good until the next call.
    Fetched fetch(Offset begin, Offset end) {
        const auto count = static_cast<std::size_t>(end - begin);
        const Id* row = kept_.get() + 2 * begin;
        if (begin >= in_memory_ && count > 0) {
            if (row_.size() < 2 * count) row_.resize(2 * count);
            read(row_.data(), 8 * count, 8 * (begin - in_memory_));
            row = row_.data();
        }
        return {row, reinterpret_cast<const float*>(row + count)};
    }

    // A row that will be visited soon: the disk may bring it meanwhile.
    void expect(Offset begin, Offset end) const {
#if defined(__linux__)
        if (begin >= in_memory_ && begin < end)
            posix_fadvise(file_, 8 * (begin - in_memory_), 8 * (end - begin), POSIX_FADV_WILLNEED);
#else
        (void)begin, (void)end;
#endif
    }

    const Id* kept() const { return kept_.get(); }
    Offset in_memory() const { return in_memory_; }
    const int* slow() const { return &slow_; }

private:
    static constexpr std::size_t together = std::size_t{1} << 18;
    static constexpr int wary = 1 << 10;  // visits after one that had to wait for the disk

    struct Free {
        void operator()(Id* memory) const { std::free(memory); }
    };

    void open() {
        const std::lock_guard lock(spills().mutex);
        file_ = unnamed_file(folder_);
    }

    // While the system holds the file in memory, nobody is asked to bring anything: that costs more than it saves.
    void read(void* to, std::size_t bytes, Offset at) {
#if defined(RWF_NOWAIT)
        if (at_once_) {
            iovec piece{to, bytes};
            const auto found = preadv2(file_, &piece, 1, static_cast<off_t>(at), RWF_NOWAIT);
            if (found == static_cast<ssize_t>(bytes)) {
                slow_ -= slow_ > 0;
                return;
            }
            at_once_ = found >= 0 || errno == EAGAIN;  // not every file system can tell
        }
#endif
        slow_ = wary;
        read_file(file_, to, bytes, at);
    }

    void flush() {
#if defined(__linux__)
        for (std::size_t done = 0; done < waiting_.size();) {
            const auto written = write(file_, waiting_.data() + done, waiting_.size() - done);
            if (written <= 0) throw std::runtime_error("cannot put arrays into " + folder_ + " (no room)");
            done += static_cast<std::size_t>(written);
        }
#endif
        waiting_.clear();
    }

    int file_ = -1;
    int slow_ = 0;  // visits for which rows are expected ahead
    bool at_once_ = true;
    std::string folder_;
    std::unique_ptr<Id, Free> kept_;
    Offset room_ = 0, in_memory_ = 0;  // entries
    std::vector<char> waiting_;
    std::vector<Id> row_;
};

inline Fetched fetch_row(void* file, std::int64_t begin, std::int64_t end) {
    return static_cast<RowFile*>(file)->fetch(begin, end);
}

inline void expect_row(void* file, std::int64_t begin, std::int64_t end) {
    static_cast<RowFile*>(file)->expect(begin, end);
}

}  // namespace xtrellis::linear
