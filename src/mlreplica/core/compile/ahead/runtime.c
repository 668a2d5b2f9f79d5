/* What kernels call: memory that they own, and the shape of arrays

Numba's code counts references to memory by itself, in the struct `Memory`, and calls what is here to allocate and to
free. Header and data are one piece, the data aligned. */
#include <stdlib.h>
#include <string.h>
#include <stdint.h>

typedef struct Memory {
    size_t count;
    void (*release)(void *data, size_t size, void *info);
    void *info, *data;
    size_t size;
    void *allocator;
} Memory;

static Memory *allocate(size_t size, size_t align)
{
    align = align < 16 ? 16 : align;
    Memory *memory = size > SIZE_MAX / 2 ? NULL : malloc(sizeof(Memory) + size + align);
    if (memory) {
        uintptr_t after = (uintptr_t)(memory + 1);
        *memory = (Memory){ .count = 1, .data = (void *)((after + align - 1) / align * align), .size = size };
    }
    return memory;
}

void *NRT_MemInfo_alloc_aligned(size_t size, unsigned align) { return allocate(size, align); }
void *NRT_MemInfo_alloc_safe_aligned(size_t size, unsigned align) { return allocate(size, align); }
void *NRT_MemInfo_alloc(size_t size) { return allocate(size, 0); }
void *NRT_Allocate(size_t size) { return malloc(size); }
void NRT_Free(void *memory) { free(memory); }

void NRT_MemInfo_call_dtor(Memory *memory)
{
    if (memory->release)
        memory->release(memory->data, memory->size, memory->info);
    free(memory);
}

/* Strides that run through memory without gaps, in C order or in Fortran's. */
static void fill_strides(intptr_t n, const intptr_t *shape, intptr_t *strides, intptr_t item, int fortran)
{
    for (intptr_t k = 0; k < n; k++) {
        intptr_t axis = fortran ? k : n - 1 - k;
        strides[axis] = item;
        item *= shape[axis];
    }
}

/* Give an array another shape without a copy; 0 if it has gaps. Numba lets only those without gaps come here. */
int numba_attempt_nocopy_reshape(intptr_t n_old, const intptr_t *old_shape, const intptr_t *old_strides, intptr_t n_new,
    const intptr_t *new_shape, intptr_t *new_strides, intptr_t item, int fortran)
{
    intptr_t strides[16];
    if (n_old > 16)
        return 0;
    fill_strides(n_old, old_shape, strides, item, fortran);
    for (intptr_t k = 0; k < n_old; k++)
        if (old_shape[k] > 1 && strides[k] != old_strides[k])
            return 0;
    fill_strides(n_new, new_shape, new_strides, item, fortran);
    return 1;
}

/* Products of matrices and vectors: BLAS, whose addresses SciPy tells (`fill_routines` in library.py). */
enum { DDOT, SDOT, DGEMV, SGEMV, DGEMM, SGEMM, COUNT };
const char *const routine_names[] = { "ddot", "sdot", "dgemv", "sgemv", "dgemm", "sgemm" };
void *routines[COUNT];
const int32_t n_routines = COUNT;

typedef void Gemv(char *, int *, int *, void *, void *, int *, void *, int *, void *, void *, int *);
typedef void Gemm(char *, char *, int *, int *, int *, void *, void *, int *, void *, int *, void *, void *, int *);

int numba_xxdot(char kind, char conjugate, intptr_t n, void *a, void *b, void *result)
{
    int length = (int)n, one = 1;
    (void)conjugate;  /* of complex numbers, which no kernel has */
    if (kind == 'd')
        *(double *)result = ((double (*)(int *, void *, int *, void *, int *))routines[DDOT])(&length, a, &one, b, &one);
    else
        *(float *)result = ((float (*)(int *, void *, int *, void *, int *))routines[SDOT])(&length, a, &one, b, &one);
    return 0;
}

int numba_xxgemv(char kind, char trans, intptr_t m, intptr_t n, void *alpha, void *a, intptr_t lda, void *x, void *beta,
    void *y)
{
    int rows = (int)m, columns = (int)n, width = (int)lda, one = 1;
    ((Gemv *)routines[kind == 'd' ? DGEMV : SGEMV])(&trans, &rows, &columns, alpha, a, &width, x, &one, beta, y, &one);
    return 0;
}

int numba_xxgemm(char kind, char trans_a, char trans_b, intptr_t m, intptr_t n, intptr_t k, void *alpha, void *a,
    intptr_t lda, void *b, intptr_t ldb, void *beta, void *c, intptr_t ldc)
{
    int rows = (int)m, columns = (int)n, inner = (int)k, width_a = (int)lda, width_b = (int)ldb, width_c = (int)ldc;
    ((Gemm *)routines[kind == 'd' ? DGEMM : SGEMM])(&trans_a, &trans_b, &rows, &columns, &inner, alpha, a, &width_a, b,
        &width_b, beta, c, &width_c);
    return 0;
}

/* Numba's code names these to write the text of an exception, which the caller does without (`raise_from_kernel`), and
to end the process if BLAS fails, which these routines do not. They never run. */
#define NEVER(name) void name(void) { abort(); }
NEVER(numba_gil_ensure) NEVER(numba_gil_release) NEVER(Py_FatalError) NEVER(PyErr_SetString) NEVER(PyTuple_Pack)
NEVER(PyUnicode_FromKindAndData) NEVER(PyObject_Hash) NEVER(PyExc_RuntimeError)
