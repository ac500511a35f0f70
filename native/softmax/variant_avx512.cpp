#if defined(__x86_64__)
#define XTRELLIS_VARIANT avx512
#include "softmax/variant.inc"
#endif
