#if defined(__x86_64__)
#define XTRELLIS_VARIANT avx2
#include "softmax/variant.inc"
#endif
