#define XTRELLIS_VARIANT base
#include "softmax/variant.inc"
