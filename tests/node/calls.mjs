// Helpers of OpenAI's Node SDK for calls and structured answers: node calls.mjs http://127.0.0.1:8000/v1 MODEL WORDS
// WORDS: by name of an answer the word that asks a scripted model for it.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { zodFunction, zodResponseFormat } from "openai/helpers/zod";
import { z } from "zod";

const [baseURL, model, given] = process.argv.slice(2);
const words = JSON.parse(given);
const client = new OpenAI({ baseURL, apiKey: "none", maxRetries: 0 });
const asked = (name) => ({ model, messages: [{ role: "user", content: `The weather in Paris? ${words[name]}` }] });
const Weather = z.object({ city: z.string(), days: z.number().int() });
const wanted = { city: "Paris", days: 2 };
const said = "It is 20 °C in Paris.";
let checks = 0;
const equal = (found, expected, message) => {
  assert.deepEqual(found, expected, message);
  checks += 1;
};

const response_format = zodResponseFormat(Weather, "weather");
const object = await client.chat.completions.parse({ ...asked("object"), response_format });
equal(object.choices[0].message.parsed, wanted, "an object of the schema");
const streamed = client.chat.completions.stream({ ...asked("object"), response_format });
let text = "";
streamed.on("content", (delta) => (text += delta));
equal((await streamed.finalChatCompletion()).choices[0].message.parsed, wanted, "streamed");
equal(JSON.parse(text), wanted, "as it was made");

const called = [];
const tool = zodFunction({
  name: "get_weather",
  parameters: Weather,
  function: (argument) => {
    called.push(argument);
    return { celsius: 20, next: words.said };
  },
});
const parsed = await client.chat.completions.parse({ ...asked("two"), tools: [tool] });
equal(parsed.choices[0].finish_reason, "tool_calls", "the answer is calls");
const calls = parsed.choices[0].message.tool_calls;
equal(calls.length, 2, "both");
equal(calls[0].function.parsed_arguments, wanted, "the arguments are of the schema");

const run = client.chat.completions.runTools({ ...asked("call"), tools: [tool] });
equal(await run.finalContent(), said, "tools are run, and their results answered");
equal(called, [wanted], "once");

called.length = 0;
const parts = [];
const live = client.chat.completions.runTools({ ...asked("two"), tools: [tool], stream: true });
live.on("tool_calls.function.arguments.delta", (event) => parts.push(event.arguments_delta));
equal(await live.finalContent(), said, "streamed, too");
equal(called.length, 2, "both calls are run");
equal(called[0], wanted, "with their arguments");

const events = [];
const stream = client.chat.completions.stream({ ...asked("call"), tools: [tool], tool_choice: "required" });
stream.on("tool_calls.function.arguments.delta", (event) => events.push(event.arguments_delta));
stream.on("tool_calls.function.arguments.done", (event) => events.push(event.parsed_arguments));
const final = await stream.finalChatCompletion();
equal(events.pop(), wanted, "the stream's last event has the arguments");
equal(JSON.parse(events.join("")), wanted, "which are the events before it");
equal(final.choices[0].message.tool_calls[0].function.name, "get_weather", "of this tool");
console.log(JSON.stringify({ checks }));
