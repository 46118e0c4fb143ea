// Serves a GGUF file with llama.cpp (node-llama-cpp, its prebuilt library, on the processor) in the format of OpenAI's
// API: /health, /v1/models, /v1/chat/completions, whole and streamed. Prompts become plain lines; decoding is greedy.
// Like llama-server it takes --port, --alias and --ctx-size, and the key that callers need in LLAMA_API_KEY.
//
// usage: LLAMA_API_KEY=… node server.mjs FILE ARGUMENTS OF llama-server
import { randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import { getLlama, LlamaLogLevel } from 'node-llama-cpp';

const [, , file, ...given] = process.argv;
const option = (flag) => given[given.indexOf(flag) + 1];
const name = option('--alias');
const llama = await getLlama({ build: 'never', gpu: false, logLevel: LlamaLogLevel.error });
const model = await llama.loadModel({ modelPath: file });
const context = await model.createContext({ contextSize: Number(option('--ctx-size')), sequences: 1, threads: 1 });
const sequence = context.getSequence();

let turn = Promise.resolve(); // one sequence: calls wait for each other
function alone(work) {
  const mine = turn.then(work);
  turn = mine.catch(() => {});
  return mine;
}

// pieces yields the text that the model says to a prompt, token by token.
async function* pieces(prompt, most) {
  await sequence.clearHistory();
  let said = [], n = 0;
  for await (const token of sequence.evaluate(prompt, { temperature: 0 })) {
    const before = model.detokenize(said);
    said = [...said, token];
    yield model.detokenize(said).slice(before.length);
    if (++n >= most) return 'length';
  }
  return 'stop'; // llama.cpp has seen the token that ends an answer
}

function wrong(response, status, message, code) {
  response.writeHead(status, { 'Content-Type': 'application/json' });
  response.end(JSON.stringify({ error: { message, type: 'invalid_request_error', param: null, code } }));
}

async function chat(body, response) {
  if (body.model && body.model !== name) return wrong(response, 404, `There is no model ${body.model}`, 'model_not_found');
  const text = body.messages.map((m) => `${m.role}: ${m.content}`).join('\n');
  const prompt = model.tokenize(text), most = body.max_tokens ?? 64;
  const head = { id: `chatcmpl-${randomUUID()}`, created: Math.floor(Date.now() / 1000), model: name };
  const usage = (n) => ({ prompt_tokens: prompt.length, completion_tokens: n, total_tokens: prompt.length + n });
  const all = pieces(prompt, most);
  let whole = '', n = 0;
  if (!body.stream) {
    let step = await all.next();
    for (; !step.done; step = await all.next()) [whole, n] = [whole + step.value, n + 1];
    response.writeHead(200, { 'Content-Type': 'application/json' });
    return response.end(JSON.stringify({ ...head, object: 'chat.completion', usage: usage(n), choices: [{ index: 0,
      message: { role: 'assistant', content: whole }, finish_reason: step.value, logprobs: null }] }));
  }
  response.writeHead(200, { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' });
  const send = (choices, more) => response.write(
    `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', choices, ...more })}\n\n`);
  const choice = (delta, reason = null) => [{ index: 0, delta, finish_reason: reason, logprobs: null }];
  send(choice({ role: 'assistant', content: '' }));
  let step = await all.next();
  for (; !step.done; step = await all.next()) {
    send(choice({ content: step.value }));
    n++;
  }
  send(choice({}, step.value));
  if (body.stream_options?.include_usage) send([], { usage: usage(n) });
  response.end('data: [DONE]\n\n');
}

createServer(async (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  if (pathname === '/health') return response.end('{"status":"ok"}');
  if (request.headers.authorization !== `Bearer ${process.env.LLAMA_API_KEY}`) {
    return wrong(response, 401, 'Invalid API key', 'invalid_api_key');
  }
  if (pathname === '/v1/models') {
    response.writeHead(200, { 'Content-Type': 'application/json' });
    const data = [{ id: name, object: 'model', created: 0, owned_by: 'llama.cpp' }];
    return response.end(JSON.stringify({ object: 'list', data }));
  }
  if (pathname !== '/v1/chat/completions' || request.method !== 'POST') return wrong(response, 404, 'Not found', null);
  try {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = JSON.parse(Buffer.concat(chunks));
    await alone(() => chat(body, response));
  } catch (cause) {
    if (response.headersSent) response.destroy(cause);
    else wrong(response, 400, String(cause.message), null);
  }
}).listen(Number(option('--port')), '127.0.0.1', () => console.log('listening'));
