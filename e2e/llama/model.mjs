// Writes a language model of a few kilobytes in GGUF: whatever it is asked, it answers " GPUs without tickets.". Its
// hidden state is the last token alone (one-hot embedding, attention and feed-forward of zeros), and the output matrix
// has the token that follows it. GGUF: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
import { writeFileSync } from 'node:fs';

const answer = ['▁GPUs', '▁without', '▁tickets', '.'];
const special = ['<unk>', '<s>', '</s>'];
const bytes = Array.from({ length: 256 }, (_, b) => `<0x${b.toString(16).toUpperCase().padStart(2, '0')}>`);
const tokens = [...special, ...bytes, ...answer];
const [normal, unknown, control, byte] = [1, 2, 3, 6]; // kinds of tokens of llama.cpp
const kinds = [unknown, control, control, ...bytes.map(() => byte), ...answer.map(() => normal)];
const [begin, end] = [1, 2], first = tokens.length - answer.length;
const width = 288, feed = 32; // of the hidden state: at least one number for each token, a multiple of 32
const next = (token) => (token < first ? first : token + 1 < tokens.length ? token + 1 : end);

/* ---- the file ---- */

const parts = [];
let length = 0;
const put = (buffer) => { parts.push(buffer); length += buffer.length; };
const number = (size, write) => { const b = Buffer.alloc(size); write(b); put(b); };
const u32 = (n) => number(4, (b) => b.writeUInt32LE(n));
const u64 = (n) => number(8, (b) => b.writeBigUInt64LE(BigInt(n)));
const i32 = (n) => number(4, (b) => b.writeInt32LE(n));
const f32 = (n) => number(4, (b) => b.writeFloatLE(n));
const text = (s) => { const b = Buffer.from(s); u64(b.length); put(b); };
const types = { u32: [4, u32], i32: [5, i32], f32: [6, f32], text: [8, text] };

const settings = [
  ['general.architecture', 'text', 'llama'], ['general.name', 'text', 'tiny'],
  ['llama.context_length', 'u32', 2048], ['llama.embedding_length', 'u32', width], ['llama.block_count', 'u32', 1],
  ['llama.feed_forward_length', 'u32', feed], ['llama.attention.head_count', 'u32', 1],
  ['llama.attention.head_count_kv', 'u32', 1], ['llama.attention.layer_norm_rms_epsilon', 'f32', 1e-5],
  ['llama.vocab_size', 'u32', tokens.length],
  ['tokenizer.ggml.model', 'text', 'llama'], ['tokenizer.ggml.tokens', ['text'], tokens],
  ['tokenizer.ggml.scores', ['f32'], tokens.map(() => 0)], ['tokenizer.ggml.token_type', ['i32'], kinds],
  ['tokenizer.ggml.bos_token_id', 'u32', begin], ['tokenizer.ggml.eos_token_id', 'u32', end],
  ['tokenizer.ggml.unknown_token_id', 'u32', 0],
];
const zeros = (...shape) => [shape, () => 0];
const ones = [[width], () => 1];
const tensors = {
  'token_embd.weight': [[width, tokens.length], (i, token) => (i === token ? 1 : 0)],
  'output_norm.weight': ones,
  'output.weight': [[width, tokens.length], (i, token) => (i < tokens.length && next(i) === token ? 1 : 0)],
  'blk.0.attn_norm.weight': ones, 'blk.0.ffn_norm.weight': ones,
  'blk.0.attn_q.weight': zeros(width, width), 'blk.0.attn_k.weight': zeros(width, width),
  'blk.0.attn_v.weight': zeros(width, width), 'blk.0.attn_output.weight': zeros(width, width),
  'blk.0.ffn_gate.weight': zeros(width, feed), 'blk.0.ffn_up.weight': zeros(width, feed),
  'blk.0.ffn_down.weight': zeros(feed, width),
};
const size = ([shape]) => shape.reduce((a, b) => a * b) * 4;

put(Buffer.from('GGUF'));
u32(3);
u64(Object.keys(tensors).length);
u64(settings.length);
for (const [key, type, value] of settings) {
  text(key);
  if (Array.isArray(type)) {
    const [code, write] = types[type[0]];
    u32(9), u32(code), u64(value.length), value.forEach(write);
  } else {
    const [code, write] = types[type];
    u32(code), write(value);
  }
}
let offset = 0;
for (const [name, tensor] of Object.entries(tensors)) {
  text(name), u32(tensor[0].length), tensor[0].forEach(u64), u32(0), u64(offset);
  offset += size(tensor); // each is a multiple of 32 bytes, the alignment
}
put(Buffer.alloc((32 - (length % 32)) % 32));
for (const tensor of Object.values(tensors)) {
  const [[columns, rows = 1], at] = tensor, data = new Float32Array(columns * rows);
  for (let row = 0; row < rows; row++) for (let i = 0; i < columns; i++) data[row * columns + i] = at(i, row);
  put(Buffer.from(data.buffer));
}
writeFileSync(process.argv[2], Buffer.concat(parts));
