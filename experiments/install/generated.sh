#!/bin/sh
# Files that `meson install` makes anew: the revision, completions and the manual page, by the program that was
# installed, and the library for GPUs where it has been built. Arguments: the source tree, the library's file or
# nothing.
set -eu
to=$MESON_INSTALL_DESTDIR_PREFIX
git -C "$1" describe --always --dirty >"$to/share/orrery/revision" 2>/dev/null || rm -f "$to/share/orrery/revision"
if [ -e "${2:-}" ]; then
  mkdir -p "$to/libexec/orrery/backends/cuda"
  cp "$2" "$to/libexec/orrery/backends/cuda/"
fi
write() { # FILE ARGUMENTS...: what the program prints
  file=$to/share/$1
  shift
  mkdir -p "$(dirname "$file")"
  "$to/bin/orrery" "$@" >"$file"
}
write bash-completion/completions/orrery completion bash
write zsh/site-functions/_orrery completion zsh
write fish/vendor_completions.d/orrery.fish completion fish
write man/man1/orrery.1 man
