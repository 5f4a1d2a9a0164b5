// Vercel's AI SDK for calls and structured answers: node ai.mjs http://127.0.0.1:8000/v1 MODEL WORDS
// WORDS: by name of an answer the word that asks a scripted model for it.
import assert from "node:assert/strict";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateObject, generateText, stepCountIs, streamObject, streamText, tool } from "ai";
import { z } from "zod";

const [baseURL, name, given] = process.argv.slice(2);
const words = JSON.parse(given);
globalThis.AI_SDK_LOG_WARNINGS = false;
const provider = createOpenAICompatible({
  name: "overt", baseURL, apiKey: "none", includeUsage: true, supportsStructuredOutputs: true,
});
const model = provider(name);
const asked = (answer) => ({ model, maxRetries: 0, prompt: `The weather in Paris? ${words[answer]}` });
const schema = z.object({ city: z.string(), days: z.number().int() });
const wanted = { city: "Paris", days: 2 };
const said = "It is 20 °C in Paris.";
let checks = 0;
const equal = (found, expected, message) => {
  assert.deepEqual(found, expected, message);
  checks += 1;
};

const object = await generateObject({ ...asked("object"), schema });
equal(object.object, wanted, "an object of the schema");
equal(object.finishReason, "stop", "it ended by itself");
equal(object.usage.outputTokens > 0, true, "its tokens are counted");
const streamed = streamObject({ ...asked("object"), schema });
const partial = [];
for await (const part of streamed.partialObjectStream) partial.push(part);
equal(await streamed.object, wanted, "streamed");
equal(partial.length > 1, true, "as it is made");
const loose = await generateObject({ ...asked("object"), model: createOpenAICompatible({ name: "overt", baseURL })(name), schema });
equal(loose.object, wanted, "any JSON object");

const called = [];
const tools = {
  get_weather: tool({
    description: "The weather of a city.",
    inputSchema: schema,
    execute: async (input) => {
      called.push(input);
      return { celsius: 20, next: words.said };
    },
  }),
};
const whole = await generateText({ ...asked("call"), tools, stopWhen: stepCountIs(3) });
equal(whole.text, said, "tools are run, and their results answered");
equal(called, [wanted], "once");
equal(whole.steps.map((step) => step.finishReason), ["tool-calls", "stop"], "in two steps");

called.length = 0;
const stream = streamText({ ...asked("two"), tools, stopWhen: stepCountIs(3), onError: ({ error }) => { throw error; } });
const kinds = [];
let input = "";
for await (const part of stream.fullStream) {
  kinds.push(part.type);
  if (part.type === "error") throw part.error;
  if (part.type === "tool-input-delta") input += part.delta;
}
equal(await stream.text, said, "streamed, too");
equal(called.length, 2, "both calls are run");
equal(called[0], wanted, "with their arguments");
equal(kinds.filter((kind) => kind === "tool-call").length, 2, "a call each");
equal(input.startsWith(JSON.stringify(wanted).slice(0, 1)), true, "whose arguments were streamed");
equal(kinds.filter((kind) => kind === "tool-input-start").length, 2, "and begun once");

const forced = await generateText({ ...asked("call"), tools, toolChoice: { type: "tool", toolName: "get_weather" } });
equal(forced.toolCalls.map((call) => call.input), [wanted], "a named tool");
const none = await generateText({ ...asked("said"), tools, toolChoice: "none" });
equal(none.text, said, "no tool");
console.log(JSON.stringify({ checks }));
