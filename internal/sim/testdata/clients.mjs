// The official clients against a server at argv[2]: one line for each answer.
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";
import { join } from "node:path";

const [, , base, modules] = process.argv;
const require = createRequire(pathToFileURL(join(modules, "x.js")));
const { default: OpenAI } = require("openai");
const { default: Anthropic } = require("@anthropic-ai/sdk");
const ask = [{ role: "user", content: "one two three" }];
const schema = { type: "object", properties: { text: { type: "string" } } };
const openaiTools = [{ type: "function", function: { name: "look_up", parameters: schema } }];
const anthropicTools = [{ name: "look_up", input_schema: schema }];
// As Python prints it.
const input = (o) => `{'text': '${o.text}'}`;
const say = (...words) => console.log(words.map((w) => (typeof w === "string" ? w : JSON.stringify(w))).join(" "));

async function openaiClient() {
  const client = new OpenAI({ baseURL: base + "/v1", apiKey: "none", maxRetries: 0 });
  const chat = await client.chat.completions.create({ model: "m", messages: ask, max_tokens: 3 });
  say("chat", `'${chat.choices[0].message.content}'`, chat.choices[0].finish_reason, chat.usage.prompt_tokens, chat.usage.completion_tokens);

  let text = "", reason, usage;
  const events = await client.chat.completions.create({ model: "m", messages: ask, max_tokens: 3, stream: true, stream_options: { include_usage: true } });
  for await (const event of events) {
    for (const choice of event.choices) {
      text += choice.delta.content ?? "";
      reason = choice.finish_reason ?? reason;
    }
    usage = event.usage ?? usage;
  }
  say("chat stream", `'${text}'`, reason, usage.prompt_tokens, usage.completion_tokens);

  const chatCall = await client.chat.completions.create({ model: "m", messages: ask, max_tokens: 3, tools: openaiTools, tool_choice: "required" });
  const made = chatCall.choices[0].message.tool_calls[0];
  say("call", made.function.name, input(JSON.parse(made.function.arguments)), "None", chatCall.choices[0].finish_reason);
  let name, args = "";
  const named = { type: "function", function: { name: "look_up" } };
  for await (const event of await client.chat.completions.create({ model: "m", messages: ask, max_tokens: 3, stream: true, tools: openaiTools, tool_choice: named })) {
    for (const piece of event.choices[0].delta.tool_calls ?? []) {
      name = piece.function.name ?? name;
      args += piece.function.arguments ?? "";
    }
    reason = event.choices[0].finish_reason ?? reason;
  }
  say("call stream", name, input(JSON.parse(args)), reason);
  const answered = [...ask, chatCall.choices[0].message, { role: "tool", tool_call_id: made.id, content: "four" }];
  const after = await client.chat.completions.create({ model: "m", messages: answered, max_tokens: 3, tools: openaiTools });
  say("answered", after.choices[0].finish_reason, after.usage.prompt_tokens);

  text = "";
  for await (const event of await client.completions.create({ model: "m", prompt: "one two", max_tokens: 2, stream: true })) {
    text += event.choices[0].text;
  }
  say("completion stream", `'${text}'`);
  const vectors = await client.embeddings.create({ model: "m", input: ["one two", "three"] });
  say("embeddings", `[${vectors.data.map((d) => d.embedding.length).join(", ")}]`, vectors.usage.prompt_tokens);
  try {
    await client.chat.completions.create({ model: "m", messages: ask, max_tokens: 0 });
  } catch (e) {
    say("refused", e.status, e.type);
  }
}

async function anthropicClient() {
  const client = new Anthropic({ baseURL: base, apiKey: "none", maxRetries: 0 });
  let message = await client.messages.create({ model: "m", messages: ask, max_tokens: 3, system: "be brief" });
  say("message", `'${message.content[0].text}'`, message.stop_reason, message.usage.input_tokens, message.usage.output_tokens);

  const stream = client.messages.stream({ model: "m", messages: ask, max_tokens: 3 });
  let text = "";
  stream.on("text", (t) => (text += t));
  message = await stream.finalMessage();
  say("message stream", `'${text}'`, message.content[0].text === text ? "True" : "False", message.stop_reason, message.usage.input_tokens, message.usage.output_tokens);
  message = await client.messages.create({ model: "m", messages: ask, max_tokens: 3, tools: anthropicTools, tool_choice: { type: "any" } });
  const made = message.content[0];
  say("call", made.name, input(made.input), message.stop_reason);
  message = await client.messages.stream({ model: "m", messages: ask, max_tokens: 3, tools: anthropicTools, tool_choice: { type: "tool", name: "look_up" } }).finalMessage();
  say("call stream", message.content[0].name, input(message.content[0].input), message.stop_reason);
  const result = { type: "tool_result", tool_use_id: made.id, content: "four" };
  message = await client.messages.create({ model: "m", messages: [...ask, { role: "assistant", content: [made] }, { role: "user", content: [result] }], max_tokens: 3, tools: anthropicTools });
  say("answered", message.stop_reason);
  try {
    await client.messages.create({ model: "m", messages: [], max_tokens: 3 });
  } catch (e) {
    say("refused", e.status, e.error.error.type);
  }
}

await openaiClient();
await anthropicClient();
