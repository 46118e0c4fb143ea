/* An NVML as small as the first ones: eight cards with name, UUID and memory, and nothing else. What it lacks must not be called. The file named by STUB_STATE
   holds what nvmlInit and nvmlDeviceGetCount return: 0, or an error code of nvml.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { unsigned long long total, free, used; } memory;

static int state(void) {
	int code = 0;
	const char *path = getenv("STUB_STATE");
	FILE *f = path ? fopen(path, "r") : NULL;
	if (f) {
		if (fscanf(f, "%d", &code) != 1) code = 0;
		fclose(f);
	}
	return code;
}

static int put(char *to, unsigned size, const char *text) {
	snprintf(to, size, "%s", text);
	return 0;
}

int nvmlInit_v2(void) { return state(); }
int nvmlShutdown(void) { return 0; }
const char *nvmlErrorString(int code) { return code ? "an error" : "no error"; }
int nvmlSystemGetDriverVersion(char *to, unsigned size) { return put(to, size, "384.81"); }
int nvmlDeviceGetCount_v2(unsigned *n) { *n = 8; return state(); }
int nvmlDeviceGetHandleByIndex_v2(unsigned i, void **d) { *d = (void *)(unsigned long)(i + 1); return 0; }
int nvmlDeviceGetName(void *d, char *to, unsigned size) { return put(to, size, "Tesla P100-SXM2-16GB"); }
int nvmlDeviceGetUUID(void *d, char *to, unsigned size) {
	snprintf(to, size, "GPU-%lu", (unsigned long)d);
	return 0;
}
int nvmlDeviceGetMemoryInfo(void *d, memory *m) {
	m->total = 16ULL << 30, m->free = 15ULL << 30, m->used = 1ULL << 30;
	return 0;
}
