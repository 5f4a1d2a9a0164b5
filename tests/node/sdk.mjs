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

await assert.rejects(client.chat.completions.create({ ...asked, model: "nope", messages }), OpenAI.NotFoundError);
checks += 1;
console.log(JSON.stringify({ checks }));
