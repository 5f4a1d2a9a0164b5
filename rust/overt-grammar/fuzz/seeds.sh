#!/usr/bin/env bash
# Seeds for the target `request` from the tests' schemas: corpus/request/*.
set -euo pipefail
cd "$(dirname "$0")"
mkdir -p corpus/request
python3 - <<'END'
import json
for at, line in enumerate(open("../tests/schemas/keywords.jsonl", encoding="utf-8")):
    body = {"structured_outputs": {"json": json.loads(line)["schema"]}}
    with open(f"corpus/request/schema-{at}.json", "w", encoding="utf-8") as file:
        json.dump(body, file)
END
printf 'root ::= "a" [b-d]* (x | "e"){1,3}\nx ::= "[" root? "]" # end\n' > corpus/request/grammar.ebnf
