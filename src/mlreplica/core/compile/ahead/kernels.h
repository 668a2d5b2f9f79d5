/* What a library of kernels tells the caller: one struct of this layout, under the name `mlreplica_kernels`. */
#ifndef MLREPLICA_KERNELS_H
#define MLREPLICA_KERNELS_H
#include <stdint.h>

#define LAYOUT 1  /* raised whenever anything in this file changes */

/* Numba's description of an exception: a pickle of (class, arguments, place). */
typedef struct {
    const char *pickle;
    int32_t size;
    void *values, *build;
    int32_t n_values;
} Raised;

/* Runs a kernel on arguments in words of 64 bits; its status is 0 unless it raised. */
typedef int32_t (*Run)(const int64_t *words, void *result, Raised **raised);

typedef struct {       /* one kernel for arguments of certain types */
    Run run;
    const uint32_t *codes;  /* of the arguments: see `describe` in caller.c */
    int32_t n_codes;
    const char *result;     /* a letter per number, A and a digit per array, parentheses */
} Variant;

typedef struct {       /* one kernel: kernels are sorted by name */
    const char *name, *stamp, *files;  /* `stamp`: the hash of `files`, one a line */
    const Variant *variants;
    int32_t n_variants, needs_routines;
} Kernel;

typedef struct {
    int64_t layout;
    const char *made_by;         /* versions of the compilers */
    const char *const *classes;  /* named tuples that are arguments */
    const Kernel *kernels;
    int32_t n_classes, n_kernels;
    const int32_t *n_routines;   /* of BLAS, their names ... */
    const char *const *routine_names;
    void **routines;             /* ... and where their addresses go */
} Library;
#endif
