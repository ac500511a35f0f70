#define XTRELLIS_VARIANT base
#define XTRELLIS_WIDTH 4
#include "linear/variant.inc"
