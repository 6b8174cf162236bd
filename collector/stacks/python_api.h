// SPDX-License-Identifier: Apache-2.0

// Functions of CPython that the stack sampler calls. The interpreter that loads the library
// resolves them. All exist, with these signatures, in CPython 3.9 to 3.14, so one library serves
// all versions and no header of Python is needed.
//
// Thread-safety: call them with the GIL held, except those for which a comment permits otherwise.

#ifndef XLATRACE_COLLECTOR_STACKS_PYTHON_API_H_
#define XLATRACE_COLLECTOR_STACKS_PYTHON_API_H_

#include <cstddef>

extern "C" {

struct PyObject;
struct PyThreadState;
struct PyInterpreterState;

using PyCFunction = PyObject* (*)(PyObject* self, PyObject* arguments);
struct PyMethodDef {
  const char* name;
  PyCFunction function;
  int flags;
  const char* doc;
};
inline constexpr int kTupleArgumentsFlag = 1;  // METH_VARARGS.

void Py_IncRef(PyObject* object);
void Py_DecRef(PyObject* object);
void PyErr_Clear();

// New references.
PyObject* PyObject_CallNoArgs(PyObject* callable);
PyObject* PyObject_GetAttrString(PyObject* object, const char* name);
PyObject* PyObject_GetItem(PyObject* object, PyObject* key);
PyObject* PyImport_ImportModule(const char* name);
PyObject* PyCFunction_NewEx(PyMethodDef* method, PyObject* self, PyObject* module);
PyObject* PyUnicode_AsEncodedString(PyObject* text, const char* encoding, const char* errors);
PyObject* PyFrame_GetBack(PyObject* frame);
PyObject* PyFrame_GetCode(PyObject* frame);

// Borrowed references.
PyObject* PySys_GetObject(const char* name);
PyObject* PyTuple_GetItem(PyObject* tuple, ptrdiff_t position);
PyObject* PyDict_GetItemString(PyObject* dictionary, const char* key);
int PyDict_Next(PyObject* dictionary, ptrdiff_t* position, PyObject** key, PyObject** value);

int PyFrame_GetLineNumber(PyObject* frame);
int PyList_Append(PyObject* list, PyObject* item);
int PyBytes_AsStringAndSize(PyObject* bytes, char** data, ptrdiff_t* size);
const char* PyUnicode_AsUTF8AndSize(PyObject* text, ptrdiff_t* size);
int PyUnicode_CompareWithASCIIString(PyObject* text, const char* other);
long PyLong_AsLong(PyObject* number);
unsigned long PyLong_AsUnsignedLong(PyObject* number);

int PyGILState_Ensure();
PyThreadState* PyEval_SaveThread();
void PyEval_RestoreThread(PyThreadState* state);
PyInterpreterState* PyInterpreterState_Get();
const char* Py_GetVersion();
// Needs no GIL. The main thread calls `function` at a later bytecode boundary (pending_call.h).
int Py_AddPendingCall(int (*function)(void*), void* argument);

// Needs no GIL. As Py_AddPendingCall, for any thread of the interpreter if `flags` is 0. Not in all
// versions: before Python 3.12 the function has other parameters.
__attribute__((weak)) int _PyEval_AddPendingCall(PyInterpreterState* interpreter,
                                                 int (*function)(void*), void* argument, int flags);
// Need no GIL. Since Python 3.13, and before.
__attribute__((weak)) int Py_IsFinalizing();
__attribute__((weak)) int _Py_IsFinalizing();

}  // extern "C"

// NOLINTNEXTLINE: the name of CPython, which has it as a variable.
extern "C" PyObject _Py_NoneStruct;

#endif  // XLATRACE_COLLECTOR_STACKS_PYTHON_API_H_
