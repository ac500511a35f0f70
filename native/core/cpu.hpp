// Instruction sets that some kernels are compiled for, each in a file of its own (*_avx2.cpp, *_avx512.cpp), and which
// of them this machine runs.
//
// Not for those files themselves: the linker keeps one copy of an inline function, and it may be theirs.
#pragma once

#include <algorithm>

namespace xtrellis {

// Each runs wherever a later one does. The numbers are what tests in Python choose by.
enum class InstructionSet : int { base = 0, avx2 = 1, avx512 = 2 };

// The best that this machine runs. The flags are those that CMakeLists.txt compiles with.
inline InstructionSet best_instruction_set() {
    static const InstructionSet best = [] {
#if defined(__x86_64__)
        const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
        const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
        if (avx512) return InstructionSet::avx512;
        if (avx2) return InstructionSet::avx2;
#endif
        return InstructionSet::base;
    }();
    return best;
}

// `wanted`, or the best that this machine runs if that is less.
inline InstructionSet runnable(InstructionSet wanted) { return std::min(wanted, best_instruction_set()); }

}  // namespace xtrellis
