/* What counts.py asks of callgrind while it runs under it; outside of valgrind every call does nothing. */
#include <valgrind/callgrind.h>

void start(void) { CALLGRIND_START_INSTRUMENTATION; }
void stop(void) { CALLGRIND_STOP_INSTRUMENTATION; }
void toggle(void) { CALLGRIND_TOGGLE_COLLECT; }
void dump(const char* name) { CALLGRIND_DUMP_STATS_AT(name); } /* the sums since the dump before */
