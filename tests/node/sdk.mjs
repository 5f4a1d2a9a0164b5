// OpenAI's Node SDK against a running server: node sdk.mjs http://127.0.0.1:8000/v1 MODEL
import assert from "node:assert/strict";
import OpenAI from "openai";

const [baseURL, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const messages = [{ role: "user", content: "What is the capital of France?" }];
const asked = { model, max_tokens: 24, temperature: 0 };
let checks = 0;
const check = (condition, message) => {
  assert.ok(condition, message);
  checks += 1;
};

const whole = await client.chat.completions.create({ ...asked, messages });
check(whole.choices[0].message.content.includes("Paris"), "chat answers");
check(whole.usage.total_tokens === whole.usage.prompt_tokens + whole.usage.completion_tokens, "usage adds up");

let text = "";
let usage = null;
const stream = await client.chat.completions.create({
  ...asked, messages, stream: true, stream_options: { include_usage: true },
});
for await (const chunk of stream) {
  text += chunk.choices[0]?.delta?.content ?? "";
  usage = chunk.usage ?? usage;
}
check(text === whole.choices[0].message.content, "the stream says the same");
check(usage.completion_tokens === whole.usage.completion_tokens, "the stream counts the same");

const prompt = "1, 2, 3, 4,";
const free = await client.completions.create({ ...asked, prompt });
const stopped = await client.completions.create({ ...asked, prompt, stop: "8" });
check(stopped.choices[0].finish_reason === "stop", "a stop string stops");
check(stopped.choices[0].text === free.choices[0].text.split("8")[0], "and is cut off");
let joined = "";
for await (const chunk of await client.completions.create({ ...asked, prompt, stop: "8", stream: true })) {
  joined += chunk.choices[0]?.text ?? "";
}
check(joined === stopped.choices[0].text, "streamed too");

const many = await Promise.all(
  Array.from({ length: 32 }, async () => {
    let said = "";
    for await (const chunk of await client.chat.completions.create({ ...asked, messages, max_tokens: 8, stream: true })) {
      said += chunk.choices[0]?.delta?.content ?? "";
    }
    return said;
  }),
);
check(new Set(many).size === 1 && many[0].length > 0, "32 streams at once say the same");

const sampled = { ...asked, messages, max_tokens: 8, temperature: 1, seed: 11, n: 3 };
const texts = (answer) => answer.choices.map((choice) => choice.message.content);
const three = texts(await client.chat.completions.create(sampled));
check(new Set(three).size === 3, "three choices");
assert.deepEqual(texts(await client.chat.completions.create(sampled)), three, "the same seed says the same");
checks += 1;
const other = texts(await client.chat.completions.create({ ...sampled, seed: 12 }));
check(!other.some((said) => three.includes(said)), "another seed says something else");
const parts = ["", "", ""];
for await (const chunk of await client.chat.completions.create({ ...sampled, stream: true })) {
  for (const choice of chunk.choices) parts[choice.index] += choice.delta.content ?? "";
}
assert.deepEqual(parts, three, "choices streamed");
checks += 1;

const told = { ...asked, messages, max_tokens: 6, logprobs: true, top_logprobs: 2 };
const answer = (await client.chat.completions.create(told)).choices[0];
const entries = answer.logprobs.content;
const tokens = (list) => list.map((entry) => entry.token);
check(tokens(entries).join("") === answer.message.content, "log probabilities of every token");
check(entries.every((entry) => entry.top_logprobs.length === 2 && entry.top_logprobs[0].token === entry.token), "the top");
const bytes = Buffer.from(entries.flatMap((entry) => entry.bytes));
check(bytes.toString("utf8") === answer.message.content, "their bytes are the text");
const streamed = [];
for await (const chunk of await client.chat.completions.create({ ...told, stream: true })) {
  streamed.push(...(chunk.choices[0]?.logprobs?.content ?? []));
}
assert.deepEqual(tokens(streamed), tokens(entries), "streamed log probabilities");
checks += 1;
check(streamed.every((entry, at) => Math.abs(entry.logprob - entries[at].logprob) < 1e-3), "of the same values");

const plain = (await client.completions.create({ ...asked, prompt, max_tokens: 4, logprobs: 1 })).choices[0];
check(plain.logprobs.tokens.join("") === plain.text, "completions' log probabilities");
const echoed = (await client.completions.create({ ...asked, prompt, max_tokens: 4, logprobs: 1, echo: true })).choices[0];
check(echoed.text === prompt + plain.text, "echo");
check(echoed.logprobs.tokens.join("") === echoed.text && echoed.logprobs.token_logprobs[0] === null, "and its tokens");
const alone = await client.completions.create({ ...asked, prompt, max_tokens: 0, echo: true });
check(alone.choices[0].text === prompt && alone.usage.completion_tokens === 0, "an echo alone");

const ids = async (bias) => {
  const biased = { ...told, top_logprobs: 0, logit_bias: bias, return_tokens_as_token_ids: true };
  const said = await client.chat.completions.create(biased);
  return tokens(said.choices[0].logprobs.content).map((token) => token.replace("token_id:", ""));
};
const unbiased = await ids({});
const forced = unbiased[1];
check((await ids({ [forced]: 100 })).every((token) => token === forced), "a bias of 100 forces");
const banned = await ids(Object.fromEntries(unbiased.map((token) => [token, -100])));
check(banned.length === unbiased.length && !banned.some((token) => unbiased.includes(token)), "a bias of -100 bans");

const short = { ...asked, messages, max_tokens: 1 };
const mine = { headers: { "X-Request-Id": "mine-1" } };
check((await client.chat.completions.create(short, mine))._request_id === "mine-1", "the client's request id");
check((await client.chat.completions.create(short))._request_id, "one that the server made");
const raw = await client.chat.completions.create(short, mine).withResponse();
check(raw.request_id === "mine-1" && raw.response.headers.get("x-request-id") === "mine-1", "with the raw response");
const open = await client.chat.completions.create({ ...short, stream: true }, mine).withResponse();
for await (const _ of open.data);
check(open.request_id === "mine-1", "of a stream");
await assert.rejects(
  client.chat.completions.create({ ...short, temperature: 9 }, mine),
  (error) => error instanceof OpenAI.BadRequestError && error.requestID === "mine-1" && error.param === "temperature",
);
checks += 1;

await assert.rejects(client.chat.completions.create({ ...asked, model: "nope", messages }), OpenAI.NotFoundError);
checks += 1;
console.log(JSON.stringify({ checks }));
