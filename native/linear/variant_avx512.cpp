#if defined(__x86_64__)
#define XTRELLIS_VARIANT avx512
#define XTRELLIS_WIDTH 16
#include "linear/variant.inc"
#endif
