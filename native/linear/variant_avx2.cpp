#if defined(__x86_64__)
#define XTRELLIS_VARIANT avx2
#define XTRELLIS_WIDTH 8
#include "linear/variant.inc"
#endif
