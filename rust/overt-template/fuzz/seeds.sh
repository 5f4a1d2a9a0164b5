#!/usr/bin/env bash
# Seeds for the target `render` from a folder of templates: corpus/render/*.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p corpus/render
for file in "$1"/*.jinja; do
    cp "$file" "corpus/render/$(basename "$file")"
done
