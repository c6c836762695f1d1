#!/bin/bash
# Installs what is missing (Debian, Ubuntu: as root or by sudo) and builds into build/release.
# Usage: tools/prepare.sh run|test      `test` also installs and builds what the tests need.
set -euo pipefail
cd "$(dirname "$0")/.."
goal=${1:-run}

packages=(g++ cmake ninja-build openmpi-bin libopenmpi-dev python3 python3-venv python3-dev iproute2
  util-linux)
[ "$goal" = test ] && packages+=(libgtest-dev git gfortran)
# Done without where the distribution does not have it: what needs it is left out.
optional=()
[ "$goal" = test ] && optional+=(libsimgrid-dev slurm-wlm libslurm-dev environment-modules abigail-tools)

is_missing() { ! dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'install ok installed'; }

install_packages() {
  local missing=() as_root=()
  command -v dpkg-query >/dev/null || {
    echo "latecomer: not Debian or Ubuntu; install the counterparts of: ${packages[*]}" >&2
    return
  }
  for package in "${packages[@]}"; do
    if is_missing "$package"; then missing+=("$package"); fi
  done
  [ ${#missing[@]} -eq 0 ] && return
  if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
      echo "latecomer: missing packages, and neither root nor sudo; let an administrator run:" >&2
      echo "  apt-get install ${missing[*]}" >&2
      exit 1
    }
    as_root=(sudo)
  fi
  echo "== installing ${missing[*]}"
  "${as_root[@]}" apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# After install_packages, whose apt-get update knows what there is; never fails.
install_optional_packages() {
  local missing=() as_root=()
  command -v apt-cache >/dev/null || return 0
  for package in "${optional[@]}"; do
    if is_missing "$package" && apt-cache show "$package" >/dev/null 2>&1; then
      missing+=("$package")
    fi
  done
  [ ${#missing[@]} -eq 0 ] && return 0
  [ "$(id -u)" -eq 0 ] || as_root=(sudo -n)
  echo "== installing ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null 2>&1 ||
    echo "latecomer: without ${missing[*]}, which could not be installed" >&2
}

install_python_packages() {
  local list=requirements.txt
  [ "$goal" = test ] && list=requirements-test.txt
  # The stamp holds the lists that were installed, so that a second run needs no network.
  if ! cat requirements*.txt | cmp -s - ".venv/installed-$goal"; then
    echo "== installing Python packages into .venv"
    # One that was interrupted on its way has no pip.
    .venv/bin/python -m pip --version >/dev/null 2>&1 || python3 -m venv --clear .venv
    .venv/bin/python -m pip install -q --disable-pip-version-check -r "$list"
    cat requirements*.txt >".venv/installed-$goal"
  fi
  # So that scripts find the package of this clone.
  .venv/bin/python - "$PWD/python" <<'EOF'
import pathlib, sys, sysconfig
pathlib.Path(sysconfig.get_path("purelib"), "latecomer.pth").write_text(sys.argv[1] + "\n")
EOF
}

build() {
  local tests=OFF
  [ "$goal" = test ] && tests=ON
  echo "== building; follow it in build.log"
  # Half as many jobs as GiB of memory, at most one a core.
  local jobs memory
  memory=$(awk '/MemAvailable/ {print int($2 / 1048576 / 2) + 1}' /proc/meminfo)
  jobs=$(nproc)
  [ "$memory" -lt "$jobs" ] && jobs=$memory
  tools/with_progress.sh build.log tools/build.sh release all "$jobs" \
    "-DLATECOMER_TESTS=$tests" "-DPython_EXECUTABLE=$PWD/.venv/bin/python"
}

install_packages
install_optional_packages
install_python_packages
build
