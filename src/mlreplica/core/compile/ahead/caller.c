/* The way from Python into a library of kernels, without Numba

Every argument becomes a code, which says its type, and a few words of 64 bits, its value: a number is one word, an
array those of Numba's own array struct. The codes of a call are compared with those of each variant of the kernel; the
one that is equal runs, without Python's lock. Where none is equal, the call goes to the fallback: Numba.

The stable ABI: one binary for every Python from 3.11 on. */
#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <Python.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include "kernels.h"

enum { NUMBER = 1, ARRAY, NONE, TUPLE, NAMED };              /* the lowest byte of a code */
enum { BOOL = 1, I8, U8, I16, U16, I32, U32, I64, U64, F32, F64 };  /* the second byte */
enum { MOST_CODES = 96, MOST_WORDS = 1024, RESULT_BYTES = 2048 };

static PyObject *loads, *memmap;

typedef struct { PyObject_HEAD const Library *library; PyObject *class_numbers; } LibraryObject;
typedef struct { PyObject_HEAD const Kernel *kernel; LibraryObject *home; PyObject *fallback; } KernelObject;

typedef struct {
    uint32_t codes[MOST_CODES];
    int64_t words[MOST_WORDS];
    int n_codes, n_words;
} Call;

static int number_type(int type_num)
{
    switch (type_num) {
    case NPY_BOOL: return BOOL;
    case NPY_BYTE: return I8;
    case NPY_UBYTE: return U8;
    case NPY_SHORT: return I16;
    case NPY_USHORT: return U16;
    case NPY_INT: return I32;
    case NPY_UINT: return U32;
    case NPY_LONG: return sizeof(long) == 8 ? I64 : I32;
    case NPY_ULONG: return sizeof(long) == 8 ? U64 : U32;
    case NPY_LONGLONG: return I64;
    case NPY_ULONGLONG: return U64;
    case NPY_FLOAT: return F32;
    case NPY_DOUBLE: return F64;
    default: return 0;
    }
}

static int put_number(Call *call, int type, const void *value, size_t size)
{
    int64_t word = 0;
    memcpy(&word, value, size);
    call->codes[call->n_codes++] = NUMBER | (uint32_t)type << 8;
    call->words[call->n_words++] = word;
    return 1;
}

/* An array: bytes of the code are its type of numbers, its dimensions, and its order (C, Fortran, any). */
static int put_array(Call *call, PyArrayObject *array)
{
    int type = number_type(PyArray_TYPE(array)), n = PyArray_NDIM(array);
    if (!type || n > 15 || call->n_words + 5 + 2 * n > MOST_WORDS || !PyArray_ISBEHAVED_RO(array))
        return 0;
    int order = PyArray_IS_C_CONTIGUOUS(array) ? 0 : PyArray_IS_F_CONTIGUOUS(array) ? 1 : 2;
    call->codes[call->n_codes++] = ARRAY | (uint32_t)type << 8 | (uint32_t)n << 16 | (uint32_t)order << 24;
    int64_t *word = call->words + call->n_words;
    *word++ = 0;  /* who owns the memory: the kernel need not know */
    *word++ = 0;
    *word++ = PyArray_SIZE(array);
    *word++ = PyArray_ITEMSIZE(array);
    *word++ = (int64_t)(intptr_t)PyArray_DATA(array);
    for (int k = 0; k < n; k++)
        *word++ = PyArray_DIM(array, k);
    for (int k = 0; k < n; k++)
        *word++ = PyArray_STRIDE(array, k);
    call->n_words = (int)(word - call->words);
    return 1;
}

static int put_numpy_number(Call *call, PyObject *value)
{
#define CASE(Name, type) \
    if (PyArray_IsScalar(value, Name)) \
        return put_number(call, number_type(type), &((Py##Name##ScalarObject *)value)->obval, \
            sizeof((Py##Name##ScalarObject *)value)->obval);
    CASE(Long, NPY_LONG) CASE(Bool, NPY_BOOL) CASE(Float, NPY_FLOAT) CASE(Int, NPY_INT) CASE(UByte, NPY_UBYTE)
    CASE(ULong, NPY_ULONG) CASE(UInt, NPY_UINT) CASE(Byte, NPY_BYTE) CASE(Short, NPY_SHORT) CASE(UShort, NPY_USHORT)
    CASE(LongLong, NPY_LONGLONG) CASE(ULongLong, NPY_ULONGLONG)
#undef CASE
    return 0;
}

/* The number of a named tuple's class in the library, counted from 1; 0 if it is not there, -1 on error. */
static long class_number(LibraryObject *home, PyTypeObject *type)
{
    PyObject *known = PyDict_GetItemWithError(home->class_numbers, (PyObject *)type);
    if (known)
        return PyLong_AsLong(known);
    if (PyErr_Occurred())
        return -1;
    PyObject *module = PyObject_GetAttrString((PyObject *)type, "__module__");
    PyObject *qualname = PyType_GetQualName(type);
    PyObject *name = module && qualname ? PyUnicode_FromFormat("%S.%S", module, qualname) : NULL;
    PyObject *text = name ? PyUnicode_AsUTF8String(name) : NULL;
    long number = text ? 0 : -1;
    for (int k = 0; text && k < home->library->n_classes; k++)
        if (strcmp(PyBytes_AsString(text), home->library->classes[k]) == 0)
            number = k + 1;
    PyObject *boxed = text ? PyLong_FromLong(number) : NULL;
    if (!boxed || PyDict_SetItem(home->class_numbers, (PyObject *)type, boxed) < 0)
        number = -1;
    Py_XDECREF(boxed), Py_XDECREF(text), Py_XDECREF(name), Py_XDECREF(qualname), Py_XDECREF(module);
    return number;
}

/* Add the code and the words of an argument; 0 if no kernel takes such a one, -1 on error. */
static int describe(Call *call, LibraryObject *home, PyObject *value)
{
    if (call->n_codes >= MOST_CODES || call->n_words >= MOST_WORDS)
        return 0;
    if (PyArray_CheckExact(value) || (PyObject *)Py_TYPE(value) == memmap)
        return put_array(call, (PyArrayObject *)value);
    if (PyFloat_Check(value)) {  /* NumPy's float64 as well */
        double number = PyFloat_AsDouble(value);
        return put_number(call, F64, &number, sizeof number);
    }
    if (PyBool_Check(value)) {
        char yes = value == Py_True;
        return put_number(call, BOOL, &yes, sizeof yes);
    }
    if (PyLong_Check(value)) {
        int beyond;
        int64_t number = PyLong_AsLongLongAndOverflow(value, &beyond);
        return beyond ? 0 : put_number(call, I64, &number, sizeof number);
    }
    if (value == Py_None) {
        call->codes[call->n_codes++] = NONE;
        call->words[call->n_words++] = 0;
        return 1;
    }
    if (PyTuple_Check(value)) {
        Py_ssize_t n = PyTuple_Size(value);
        long number = PyTuple_CheckExact(value) ? -2 : class_number(home, Py_TYPE(value));
        if (number == -1 || number == 0 || n > 255)
            return (int)(number == -1 ? -1 : 0);
        call->codes[call->n_codes++] = (number == -2 ? TUPLE : NAMED) | (uint32_t)n << 8
            | (number == -2 ? 0 : (uint32_t)number << 16);
        for (Py_ssize_t k = 0; k < n; k++) {
            int done = describe(call, home, PyTuple_GetItem(value, k));
            if (done < 1)
                return done;
        }
        return 1;
    }
    return PyArray_IsScalar(value, Generic) ? put_numpy_number(call, value) : 0;
}

/* Memory that a kernel owns begins with how many use it: see runtime.c. */
typedef struct { size_t count; } Memory;

static void release_memory(PyObject *capsule)
{
    Memory *memory = PyCapsule_GetPointer(capsule, NULL);
    if (__atomic_sub_fetch(&memory->count, 1, __ATOMIC_ACQ_REL) == 0)
        free(memory);  /* runtime.c allocated it in one piece with its data */
}

typedef struct { PyObject *const *args; Py_ssize_t n_args; const char *base; size_t offset; } Result;

/* An array that a kernel made, or the argument that it hands back. */
static PyObject *read_array(const char *text, const Result *result)
{
    static const int types[] = { 0, NPY_BOOL, NPY_INT8, NPY_UINT8, NPY_INT16, NPY_UINT16, NPY_INT32, NPY_UINT32,
        NPY_INT64, NPY_UINT64, NPY_FLOAT32, NPY_FLOAT64 };
    int n = text[1] - '0', type = types[text[2] - 'a'];
    const int64_t *word = (const int64_t *)(result->base + result->offset);
    Memory *memory = (Memory *)(intptr_t)word[0];
    void *data = (void *)(intptr_t)word[4];
    for (Py_ssize_t k = 0; !memory && k < result->n_args; k++) {
        PyArrayObject *given = (PyArrayObject *)result->args[k];
        if (PyArray_Check(result->args[k]) && PyArray_DATA(given) == data && PyArray_NDIM(given) == n
            && PyArray_SIZE(given) == word[2])
            return Py_NewRef(result->args[k]);
    }
    npy_intp shape[16], strides[16];
    for (int k = 0; k < n; k++)
        shape[k] = (npy_intp)word[5 + k], strides[k] = (npy_intp)word[5 + n + k];
    PyObject *array = PyArray_New(&PyArray_Type, n, shape, type, strides, data, 0,
        NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED, NULL);
    if (array && !memory) {  /* a piece of an argument */
        PyObject *copy = PyArray_NewCopy((PyArrayObject *)array, NPY_CORDER);
        Py_DECREF(array);
        return copy;
    }
    PyObject *owner = array ? PyCapsule_New(memory, NULL, release_memory) : NULL;
    if (!owner || PyArray_SetBaseObject((PyArrayObject *)array, owner) < 0) {
        Py_XDECREF(array);
        return NULL;
    }
    PyArray_UpdateFlags((PyArrayObject *)array, NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_F_CONTIGUOUS | NPY_ARRAY_ALIGNED);
    return array;
}

static size_t width_of(char letter)
{
    static const size_t widths[] = { 0, 1, 1, 1, 2, 2, 4, 4, 8, 8, 4, 8 };
    return letter >= 'b' && letter <= 'l' ? widths[letter - 'a'] : 8;
}

/* The result as Python's object; `text` and the offset move on to what comes next. */
static PyObject *read_result(const char **text, Result *result)
{
    size_t *offset = &result->offset;
    char letter = *(*text)++;
    if (letter == '(') {
        PyObject *items[64], *tuple = NULL;
        Py_ssize_t n = 0;
        size_t widest = (size_t)(*(*text)++ - '0');  /* structs begin where their widest number may */
        *offset = (*offset + widest - 1) / widest * widest;
        while (**text != ')' && n < 64) {
            PyObject *item = read_result(text, result);
            if (!item)
                goto done;
            items[n++] = item;
        }
        ++*text;
        *offset = (*offset + widest - 1) / widest * widest;
        tuple = PyTuple_New(n);
        for (Py_ssize_t k = 0; tuple && k < n; k++) {
            Py_INCREF(items[k]);
            PyTuple_SetItem(tuple, k, items[k]);
        }
    done:
        while (n)
            Py_DECREF(items[--n]);
        return tuple;
    }
    if (letter == 'n') {
        *offset = (*offset + 7) / 8 * 8 + 8;
        Py_RETURN_NONE;
    }
    if (letter == 'A') {
        *offset = (*offset + 7) / 8 * 8;
        PyObject *array = read_array(*text - 1, result);
        *offset += (size_t)(8 * (5 + 2 * ((*text)[0] - '0')));
        *text += 2;
        return array;
    }
    size_t width = width_of(letter);
    *offset = (*offset + width - 1) / width * width;
    const char *from = result->base + *offset;
    *offset += width;
    switch (letter - 'a') {
#define READ(kind, ctype, make) case kind: { ctype value; memcpy(&value, from, sizeof value); return make; }
    READ(BOOL, char, PyBool_FromLong(value & 1))
    READ(I8, int8_t, PyLong_FromLong(value)) READ(U8, uint8_t, PyLong_FromLong(value))
    READ(I16, int16_t, PyLong_FromLong(value)) READ(U16, uint16_t, PyLong_FromLong(value))
    READ(I32, int32_t, PyLong_FromLong(value)) READ(U32, uint32_t, PyLong_FromLongLong(value))
    READ(I64, int64_t, PyLong_FromLongLong(value)) READ(U64, uint64_t, PyLong_FromUnsignedLongLong(value))
    READ(F32, float, PyFloat_FromDouble((double)value)) READ(F64, double, PyFloat_FromDouble(value))
#undef READ
    default:
        PyErr_SetString(PyExc_SystemError, "a kernel returned what the caller does not know");
        return NULL;
    }
}

static PyObject *raise_from_kernel(int32_t status, const Raised *raised)
{
    if (status < 1 || !raised || raised->n_values) {  /* a text with numbers in it needs Numba to write it */
        PyErr_SetString(raised ? PyExc_ValueError : PyExc_SystemError, "arrays given to a kernel do not fit together");
        return NULL;
    }
    PyObject *what = PyObject_CallFunction(loads, "y#", raised->pickle, (Py_ssize_t)raised->size);
    if (what && PyTuple_Check(what) && PyTuple_Size(what) >= 2) {
        PyObject *type = PyTuple_GetItem(what, 0), *args = PyTuple_GetItem(what, 1);
        PyObject *error = args == Py_None ? PyObject_CallNoArgs(type) : PyObject_CallObject(type, args);
        if (error)
            PyErr_SetObject((PyObject *)Py_TYPE(error), error);
        Py_XDECREF(error);
    }
    Py_XDECREF(what);
    return NULL;
}

static PyObject *call_kernel(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    KernelObject *object = (KernelObject *)self;
    const Kernel *kernel = object->kernel;
    Call call;
    call.n_codes = call.n_words = 0;
    int known = 1;
    for (Py_ssize_t k = 0; known == 1 && k < n_args; k++)
        known = describe(&call, object->home, args[k]);
    if (known < 0)
        return NULL;
    const Variant *variant = kernel->variants, *end = variant + (known ? kernel->n_variants : 0);
    size_t size = (size_t)call.n_codes * sizeof *call.codes;
    while (variant < end && (variant->n_codes != call.n_codes || memcmp(variant->codes, call.codes, size)))
        variant++;
    if (variant >= end) {
        PyObject *all = PyTuple_New(n_args);
        for (Py_ssize_t k = 0; all && k < n_args; k++) {
            Py_INCREF(args[k]);
            PyTuple_SetItem(all, k, args[k]);
        }
        PyObject *result = all ? PyObject_CallObject(object->fallback, all) : NULL;
        Py_XDECREF(all);
        return result;
    }
    int64_t space[RESULT_BYTES / 8];
    Raised *raised = NULL;
    PyThreadState *state = PyEval_SaveThread();
    int32_t status = variant->run(call.words, space, &raised);
    PyEval_RestoreThread(state);
    if (status != 0 && status != -2)
        return raise_from_kernel(status, raised);
    const char *text = variant->result;
    Result result = { args, n_args, (const char *)space, 0 };
    return read_result(&text, &result);
}

static PyMethodDef call_method = { "kernel", (PyCFunction)(void (*)(void))call_kernel, METH_FASTCALL,
    "A kernel of a library built ahead of time." };

static PyTypeObject *kernel_type;

/* find(name, fallback): (function, stamp, files, whether it calls BLAS), or None. */
static PyObject *library_find(PyObject *self, PyObject *args)
{
    LibraryObject *home = (LibraryObject *)self;
    const char *name;
    PyObject *fallback;
    if (!PyArg_ParseTuple(args, "sO", &name, &fallback))
        return NULL;
    int low = 0, high = home->library->n_kernels;
    while (low < high) {
        int middle = (low + high) / 2;
        if (strcmp(home->library->kernels[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == home->library->n_kernels || strcmp(home->library->kernels[low].name, name))
        Py_RETURN_NONE;
    const Kernel *kernel = &home->library->kernels[low];
    KernelObject *object = PyObject_New(KernelObject, kernel_type);
    if (!object)
        return NULL;
    Py_INCREF(fallback), Py_INCREF(self);
    object->kernel = kernel, object->fallback = fallback, object->home = home;
    PyObject *function = PyCFunction_NewEx(&call_method, (PyObject *)object, NULL);
    Py_DECREF(object);
    return function ? Py_BuildValue("Nssi", function, kernel->stamp, kernel->files, kernel->needs_routines) : NULL;
}

static PyObject *strings(const char *const *texts, int n)
{
    PyObject *list = PyList_New(n);
    for (int k = 0; list && k < n; k++)
        PyList_SetItem(list, k, PyUnicode_FromString(texts[k]));
    return list;
}

static PyObject *library_about(PyObject *self, PyObject *unused)
{
    const Library *library = ((LibraryObject *)self)->library;
    int variants = 0;
    for (int k = 0; k < library->n_kernels; k++)
        variants += library->kernels[k].n_variants;
    return Py_BuildValue("{s:i,s:i,s:s,s:N}", "kernels", library->n_kernels, "variants", variants, "made_by",
        library->made_by, "routines", strings(library->routine_names, *library->n_routines));
}

/* set_routine(k, capsule): where a routine of BLAS stands, as SciPy tells. */
static PyObject *library_set_routine(PyObject *self, PyObject *args)
{
    int k;
    PyObject *capsule;
    const Library *library = ((LibraryObject *)self)->library;
    if (!PyArg_ParseTuple(args, "iO", &k, &capsule))
        return NULL;
    void *address = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    if (!address || k < 0 || k >= *library->n_routines)
        return address ? PyErr_Format(PyExc_IndexError, "there is no routine %d", k) : NULL;
    library->routines[k] = address;
    Py_RETURN_NONE;
}

static void kernel_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((KernelObject *)self)->fallback);
    Py_XDECREF((PyObject *)((KernelObject *)self)->home);
    PyObject_Free(self);
    Py_DECREF(type);
}

static void library_free(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((LibraryObject *)self)->class_numbers);  /* its code stays in memory: arrays may live in it */
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyMethodDef library_methods[] = {
    { "find", library_find, METH_VARARGS, "find(name, fallback): (function, stamp, files), or None." },
    { "about", library_about, METH_NOARGS, "What is in the library." },
    { "set_routine", library_set_routine, METH_VARARGS, "set_routine(k, capsule): where a routine stands." },
    { NULL },
};
static PyType_Slot kernel_slots[] = { { Py_tp_dealloc, kernel_free }, { 0 } };
static PyType_Slot library_slots[] = { { Py_tp_dealloc, library_free }, { Py_tp_methods, library_methods }, { 0 } };
static PyType_Spec kernel_spec = { "mlreplica.KernelObject", sizeof(KernelObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, kernel_slots };
static PyType_Spec library_spec = { "mlreplica.LibraryObject", sizeof(LibraryObject), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, library_slots };
static PyTypeObject *library_type;

/* open(path): the library in a file. */
static PyObject *open_library(PyObject *module, PyObject *args)
{
    PyObject *path;
    if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path))
        return NULL;
    void *handle = dlopen(PyBytes_AsString(path), RTLD_NOW | RTLD_LOCAL);
    Py_DECREF(path);
    const Library *library = handle ? dlsym(handle, "mlreplica_kernels") : NULL;
    if (!library) {
        PyErr_SetString(PyExc_ImportError, dlerror());
        return NULL;
    }
    if (library->layout != LAYOUT) {
        PyErr_SetString(PyExc_ImportError, "the library has another layout");
        return NULL;
    }
    LibraryObject *object = PyObject_New(LibraryObject, library_type);
    if (!object)
        return NULL;
    object->library = library;
    object->class_numbers = PyDict_New();
    return (PyObject *)object;
}

/* level(): the highest level of x86-64 whose instructions this CPU has, 1 to 4; 0 elsewhere. */
static PyObject *level(PyObject *module, PyObject *unused)
{
    long found = 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    found = __builtin_cpu_supports("x86-64-v4") ? 4 : __builtin_cpu_supports("x86-64-v3") ? 3
        : __builtin_cpu_supports("x86-64-v2") ? 2 : 1;
#endif
    return PyLong_FromLong(found);
}

/* table[key], borrowed from the table; a key that is not there is made by the table's `__missing__`. */
static PyObject *look_up(PyObject *table, PyObject *key)
{
    PyObject *found = PyDict_GetItemWithError(table, key);
    if (!found && !PyErr_Occurred() && (found = PyObject_GetItem(table, key)))
        Py_DECREF(found);
    return found;
}

/* gather(items, tables): columns, values and row ends of the dictionaries in a list, as `Vocabulary.by_tables` of
conditional random fields finds them: tables[key][value] is the bytes of column and value; a column below 0 is left out.
A float has the column of 1.0. */
static PyObject *gather(PyObject *module, PyObject *args)
{
    enum { PLACES = 64 };  /* of each place in a dictionary the last key: mostly that of the next dictionary */
    PyObject *keys[PLACES] = { NULL }, *found[PLACES], *floats[PLACES], *one = PyFloat_FromDouble(1.0);
    PyObject *items, *tables, *key, *value, *entry, *result = NULL;
    if (!PyArg_ParseTuple(args, "O!O!", &PyList_Type, &items, &PyDict_Type, &tables))
        return NULL;
    npy_intp n = PyList_Size(items), ends = n + 1, most = 0, size = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyDict_CheckExact(PyList_GetItem(items, i)))
            return PyErr_Format(PyExc_TypeError, "item %zd is no dictionary", i);
        most += PyDict_Size(PyList_GetItem(items, i));
    }
    PyObject *columns = PyArray_SimpleNew(1, &most, NPY_INT64), *values = PyArray_SimpleNew(1, &most, NPY_DOUBLE);
    PyObject *rows = PyArray_SimpleNew(1, &ends, NPY_INT64);
    if (!columns || !values || !rows)
        goto done;
    int64_t *column = PyArray_DATA((PyArrayObject *)columns), *row = PyArray_DATA((PyArrayObject *)rows);
    double *amount = PyArray_DATA((PyArrayObject *)values);
    row[0] = 0;
    for (Py_ssize_t i = 0; i < n; row[++i] = size) {
        PyObject *item = PyList_GetItem(items, i);
        Py_ssize_t at = 0, place = 0;
        for (; size < most && PyDict_Next(item, &at, &key, &value); place = (place + 1) % PLACES) {
            Py_INCREF(value);  /* `__missing__` is Python: other threads may change the item meanwhile */
            if (keys[place] != key) {
                Py_XDECREF(keys[place]);
                keys[place] = Py_NewRef(key), floats[place] = NULL;
                found[place] = look_up(tables, key);
            }
            int is_float = PyFloat_CheckExact(value);
            entry = is_float ? floats[place] : NULL;
            if (!entry && found[place])
                entry = look_up(found[place], is_float ? one : value);
            const char *record = entry ? PyBytes_AsString(entry) : NULL;
            if (record) {
                memcpy(column + size, record, 8), memcpy(amount + size, record + 8, 8);
                if (is_float)
                    amount[size] = PyFloat_AsDouble(value);
                size += column[size] >= 0 && amount[size] != 0;
            }
            Py_DECREF(value);
            if (!record)
                goto done;
            if (is_float)
                floats[place] = entry;
        }
    }
    result = Py_BuildValue("NNO", PySequence_GetSlice(columns, 0, size), PySequence_GetSlice(values, 0, size), rows);
done:
    for (int place = 0; place < PLACES; place++)
        Py_XDECREF(keys[place]);
    Py_XDECREF(columns), Py_XDECREF(values), Py_XDECREF(rows), Py_XDECREF(one);
    return result;
}

static PyMethodDef methods[] = {
    { "gather", gather, METH_VARARGS, "gather(items, tables): columns, values and row ends of dictionaries." },
    { "open", open_library, METH_VARARGS, "open(path): the library in a file." },
    { "level", level, METH_NOARGS, "The highest level of x86-64 that this CPU runs; 0 elsewhere." },
    { NULL },
};
static struct PyModuleDef definition = { PyModuleDef_HEAD_INIT, "caller", "Calls kernels built ahead of time.", -1, methods };

PyMODINIT_FUNC PyInit_caller(void)
{
    import_array();
    PyObject *pickle = PyImport_ImportModule("pickle");
    loads = pickle ? PyObject_GetAttrString(pickle, "loads") : NULL;
    Py_XDECREF(pickle);
    PyObject *numpy = PyImport_ImportModule("numpy");
    memmap = numpy ? PyObject_GetAttrString(numpy, "memmap") : NULL;
    Py_XDECREF(numpy);
    kernel_type = (PyTypeObject *)PyType_FromSpec(&kernel_spec);
    library_type = (PyTypeObject *)PyType_FromSpec(&library_spec);
    if (!loads || !memmap || !kernel_type || !library_type)
        return NULL;
    return PyModule_Create(&definition);
}
