// Calls every model of a key with the openai client, unchanged, and prints what it got as one JSON object.
//
// usage: ENDPOINT_KEY=… node chat.mjs BASE_URL
import dns from "node:dns";

// *.localhost is this machine (RFC 6761), which not every resolver knows.
const lookup = dns.lookup;
dns.lookup = (name, options, done) => lookup(name.endsWith(".localhost") ? "127.0.0.1" : name, options, done);

const { default: OpenAI } = await import("openai");
const client = new OpenAI({ baseURL: process.argv[2], apiKey: process.env.ENDPOINT_KEY, maxRetries: 0 });
const hello = [{ role: "user", content: "hello there" }];

const models = [];
for await (const model of client.models.list()) models.push(model.id);
const answers = {};
for (const model of models) {
  const whole = await client.chat.completions.create({ model, messages: hello });
  let streamed = "";
  const stream = await client.chat.completions.create({ model, messages: hello, stream: true });
  for await (const piece of stream) streamed += piece.choices[0]?.delta?.content ?? "";
  answers[model] = { whole: whole.choices[0].message.content, model: whole.model, tokens: whole.usage.total_tokens, streamed };
}
let refused = {};
try {
  await client.chat.completions.create({ model: "no-such-model", messages: hello });
} catch (error) {
  refused = { name: error.constructor.name, status: error.status, code: error.code, message: error.message };
}
console.log(JSON.stringify({ models, answers, refused }));
