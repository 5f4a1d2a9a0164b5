"""Flags by the peers' names: what has them, what is said to change nothing, and what is refused."""

import argparse
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from overt.cli import main
from overt.cli.config import ServeConfig
from overt.cli.flags import parse_serve
from overt.cli.peers import INERT, REFUSED, add_flags


def parsed(line: str, **environ: str) -> ServeConfig:
    return parse_serve(line.split(), environ)


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        ("--context-length 64", {"max_model_len": 64}),
        ("--model-path x --tokenizer-path y", {"model": "x", "tokenizer": "y"}),
        ("--random-seed 3", {"seed": 3}),
        ("--max-running-requests 4 --max-queued-requests 5", {"max_num_seqs": 4, "max_num_queued_reqs": 5}),
        ("--disable-radix-cache", {"enable_prefix_caching": False}),
        ("--disable-cuda-graph --disable-overlap-schedule", {"enforce_eager": True, "async_scheduling": False}),
        ("--fastapi-root-path /x/", {"root_path": "/x"}),
        ("--root-path /x/y", {"root_path": "/x/y"}),
        ("--shutdown-timeout 7", {"drain_timeout": 7.0}),
        ("--sampling-defaults model", {"generation_config": "auto"}),
        ("--sampling-defaults openai", {"generation_config": "none"}),
        ("--generation-config vllm", {"generation_config": "vllm"}),
        ('--override-generation-config {"top_k":5}', {"override_generation_config": {"top_k": 5}}),
        ("--return-tokens-as-token-ids", {"return_tokens_as_token_ids": True}),
        ("--enable-force-include-usage", {"force_include_usage": True}),
        ("--enable-prompt-tokens-details", {"prompt_tokens_details": True}),
        ("--enable-cache-report", {"prompt_tokens_details": True}),
        ("--enable-request-id-headers", {"request_id_headers": True}),
        ("--profile vllm --strict --report always", {"profile": "vllm", "strict": True, "report": "always"}),
        (
            "--tool-call-parser response_template --reasoning-parser hf",
            {"tool_call_parser": "response_template", "reasoning_parser": "hf"},
        ),
        (
            "--reasoning-field reasoning --reasoning-parser none",
            {"reasoning_field": "reasoning", "reasoning_parser": "none"},
        ),
        ("--metrics-compat vllm,sglang", {"metrics_compat": ("vllm", "sglang")}),
        ("--api-key a b --api-key c", {"api_key": ("a", "b", "c")}),
        ("--open-metrics", {"open_metrics": True}),
        ('--allowed-origins ["https://a"] https://b', {"allowed_origins": ["https://a", "https://b"]}),
        ("--health-generate-timeout 3", {"health_generate_timeout": 3.0}),
        ("--tp-size 1 -pp 1 --data-parallel-size 1 --dtype auto --kv-cache-dtype auto --no-enable-lora", {}),
        ("--tokenizer-mode auto --load-format auto --device auto --runner generate", {}),
    ],
)
def test_flags_that_do_what_they_say(line: str, settings: dict[str, Any]) -> None:
    assert parsed(line) == ServeConfig(**settings)


def test_a_folder_gives_sampling_defaults(tmp_path: Path) -> None:
    with pytest.raises(SystemExit):
        parsed(f"--generation-config {tmp_path}")
    (tmp_path / "generation_config.json").write_text("[")
    with pytest.raises(SystemExit):
        parsed(f"--generation-config {tmp_path}")
    (tmp_path / "generation_config.json").write_text("{}")
    assert parsed(f"--generation-config {tmp_path}").generation_config == str(tmp_path)


def test_what_changes_nothing_is_said_in_a_line_each() -> None:
    config = parsed("--disable-log-requests --gpu-memory-utilization 0.9 --no-enable-chunked-prefill -O 3")
    assert [note.split()[0] for note in config.notes] == [
        "--disable-log-requests",
        "--gpu-memory-utilization",
        "--no-enable-chunked-prefill",
        "-O",
    ]
    assert all(" changes nothing here: " in note and "\n" not in note for note in config.notes)
    assert config == ServeConfig(notes=config.notes)
    assert parsed("--max_log_len=5").notes[0].startswith("--max-log-len changes nothing here")


def test_a_default_that_the_profile_does_not_take_is_said() -> None:
    flag = ["--override-generation-config", '{"max_new_tokens": 5}']
    (note,) = parse_serve(flag, {}).notes
    assert "max_new_tokens" in note
    assert parse_serve([*flag, "--profile", "vllm"], {}).notes == ()


def test_every_row_of_the_tables_is_read() -> None:
    values = {"0": [], "1": ["x"], "+": ["x", "y"]}
    for inert in INERT:
        for name in inert.names.split():
            (note,) = parse_serve([name, *values[inert.words]], {}).notes
            assert note == f"{name} changes nothing here: {inert.reason}"
    for refused in REFUSED:
        for name in refused.names.split():
            with pytest.raises(SystemExit) as caught:
                parse_serve([name, *values[refused.words]], {})
            assert caught.value.code == 2
            for fine in refused.fine:
                assert parse_serve([name, fine], {}) == ServeConfig()
    # No flag of the server's own stands in a table: argparse would have refused to add it.
    add_flags(argparse.ArgumentParser())


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--enable-lora", "--enable-lora: LoRA adapters are not served here"),
        ("--quantization awq", "--quantization awq: weights and KV are not quantized"),
        ("--speculative-config {}", "--speculative-config {}: there is no speculative decoding"),
        ("--pipeline-parallel-size 2", "--pipeline-parallel-size 2: a model runs on one device"),
        ("--tensor-parallel-size 2", "--tensor-parallel-size 2: a model runs on one device"),
        ("--tp-size 8", "--tp-size 8: a model runs on one device"),
        ("-tp 2", "-tp 2: a model runs on one device"),
        ("--ssl-keyfile x", "let a proxy in front of it end TLS"),
        (
            "--reasoning-parser deepseek_r9",
            "'deepseek_r9' is no format that is known; did you mean deepseek_r1? There are ",
        ),
        (
            "--tool-call-parser lama3_json",
            "'lama3_json' is no format that is known; did you mean llama3_json? There are ",
        ),
        ("--profile tgi", "invalid choice: 'tgi'"),
        ("--enable-lorra", "there is no flag --enable-lorra; did you mean --enable-lora?"),
        ("--api-keys x", "there is no flag --api-keys; did you mean --api-key?"),
        ("--metrics-compat vllm,tgi", "'tgi' is not known"),
        ("--root-path x", "'x' must begin with a slash"),
        ("--override-generation-config 5", "'5' is no JSON object"),
        (
            '--default-chat-template-kwargs {"n":[18446744073709551616]}',
            "64 bits do not hold the integer 18446744073709551616",
        ),
        ("--allowed-origins [1]", "'[1]' is no JSON list of texts"),
        ("--allowed-origins * --allow-credentials", "--allow-credentials needs the origins by name"),
        (
            '--override-generation-config {"tempature":1}',
            "'tempature' is no sampling default; did you mean temperature?",
        ),
        ('--override-generation-config {"seed":1}', "'seed' is no sampling default; there is temperature, "),
        ('--override-generation-config {"top_p":0}', "top_p must be a number above 0 and at most 1, and is 0"),
        ('--override-generation-config {"top_k":1.5}', "top_k must be an integer of at least -1, and is 1.5"),
        ('--override-generation-config {"min_p":true}', "min_p must be a number from 0 to 1, and is true"),
        ('--override-generation-config {"temperature":NaN}', "temperature must be a number from 0 to 2, and is NaN"),
        ("--generation-config /nowhere", "there is no /nowhere/generation_config.json"),
    ],
)
def test_what_there_is_not_is_refused_in_a_sentence(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        parsed(line)
    assert caught.value.code == 2
    error = capsys.readouterr().err
    assert message in error
    assert len(error.splitlines()) == 2


# --- keys ---


def test_keys_come_from_flags_and_the_environment() -> None:
    config = parsed("--api-key a", OVERT_API_KEY="b, c,", VLLM_API_KEY="a,d")
    assert config.api_key == ("a", "b", "c", "d")
    assert parsed("", OVERT_API_KEY="", VLLM_API_KEY=" , ").api_key == ()


def test_keys_go_nowhere(capsys: pytest.CaptureFixture[str]) -> None:
    config = parsed("--api-key hush")
    assert "hush" not in config.to_json()
    assert "hush" not in repr(config)
    assert ServeConfig.from_json(config.to_json()) == ServeConfig()
    with pytest.raises(SystemExit):
        parse_serve(["--api-key", " hush"], {})
    assert "hush" not in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_keys_are_taken_out_of_the_command_line() -> None:
    code = (
        "from overt.cli.hide import hide; import sys; hide(['hush', 'a=b'])\n"
        "print(open('/proc/self/cmdline').read().split(chr(0))[3:]); print(sys.argv[1:])"
    )
    words = ["--api-key", "hush", "a=b", "--api-key=hush", "--api-key=a=b", "hushed", "x"]
    run = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
    seen, argv = run.stdout.splitlines()
    hidden = ["--api-key", "****", "***", "--api-key=****", "--api-key=***", "hushed", "x"]
    assert seen == str([*hidden, ""])
    assert argv == str(words)


# --- doctor ---


def test_the_doctor_finds_a_taken_port(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert main(["doctor", "--port", str(port)]) == 1
    told = capsys.readouterr().out
    assert f"cannot listen on 127.0.0.1:{port}" in told
    assert told.splitlines()[-1] == "1 broken"
    for what in ("python", "overt", "torch", "transformers", "gpu", "serve", "port", "memory", "disk"):
        assert f" {what} " in told, what


def test_the_doctor_knows_whose_command_serve_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "serve"
    script.write_text("#!/bin/sh\nexec other\n")
    script.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert main(["doctor", "--port", "0"]) == 0
    assert f"{script} is another program's" in capsys.readouterr().out
    script.write_text("#!/usr/bin/python\nfrom overt.cli import serve\nserve()\n")
    assert main(["doctor", "--port", "0"]) == 0
    assert f"ok      serve         {script}" in capsys.readouterr().out


def test_the_doctor_says_what_does_not_import(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    assert main(["doctor", "--port", "0"]) == 1
    assert "broken  transformers  does not import" in capsys.readouterr().out
