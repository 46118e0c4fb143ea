// Talks to a model endpoint through the portal: an answer is shown as it comes. What was said is kept in this page only.
const routes = {
  chat: '/v1/chat/completions', completion: '/v1/completions', embedding: '/v1/embeddings',
};
const most = 200_000; // characters of an answer that are shown

class Failure extends Error {
  constructor(words, raw) {
    super(words);
    this.raw = raw;
  }
}

const form = document.querySelector('form[data-try]');
if (form) {
  const log = form.querySelector('[data-try-log]');
  const [stop, clear] = ['stop', 'clear'].map((name) => form.querySelector(`[data-try-${name}]`));
  const said = []; // messages of the chat
  let running;

  const value = (name) => form.elements[name].value.trim();

  function url(path, method) {
    return `${form.dataset.try}?${new URLSearchParams({ path, method })}`;
  }

  function add(who, text) {
    const entry = document.createElement('article');
    entry.className = `gp-try__entry gp-try__entry--${who}`;
    entry.dataset.test = `try-${who}`;
    const name = document.createElement('strong');
    name.textContent = form.dataset[who];
    const body = document.createElement('p');
    body.className = 'gp-try__text';
    body.textContent = text;
    entry.append(name, body);
    log.append(entry);
    log.scrollTop = log.scrollHeight;
    clear.hidden = false;
    return { entry, body };
  }

  function note(entry, text, test) {
    const line = document.createElement('p');
    line.className = 'gp-subtle';
    line.dataset.test = test;
    line.textContent = text;
    entry.append(line);
  }

  function showError(entry, failure) {
    const line = document.createElement('p');
    line.className = 'gp-try__error';
    line.dataset.test = 'try-error';
    line.setAttribute('role', 'alert');
    line.textContent = failure.message;
    entry.append(line);
    if (!failure.raw) return;
    const fold = document.createElement('details');
    const title = document.createElement('summary');
    title.textContent = form.dataset.raw;
    const raw = document.createElement('pre');
    raw.className = 'gp-try__raw';
    raw.textContent = failure.raw.slice(0, 10_000);
    fold.append(title, raw);
    entry.append(fold);
  }

  // what a failed answer says of itself: the error of the OpenAI routes, or the portal's own problem
  function detailOf(text) {
    try {
      const body = JSON.parse(text);
      return body.error?.message ?? body.detail ?? body.error ?? body.message ?? '';
    } catch {
      return '';
    }
  }

  function failed(status, text) {
    const words = form.dataset[`error-${status}`] ?? form.getAttribute(`data-error-${status}`) ?? form.dataset.error;
    const detail = detailOf(text);
    return new Failure([words, typeof detail === 'string' ? detail : ''].filter(Boolean).join(' '),
      `HTTP ${status}\n${text}`);
  }

  async function send(path, method, body, signal) {
    let answer;
    try {
      answer = await fetch(url(path, method), { method: 'POST', signal, redirect: 'manual', body,
        headers: { 'Content-Type': 'application/json', Accept: 'application/json' } });
    } catch (error) {
      if (signal.aborted) throw error;
      throw new Failure(form.dataset.errorGone, error.message);
    }
    return answer;
  }

  function number(name) {
    const text = value(name);
    return text === '' ? undefined : Number(text);
  }

  function question(kind, text) {
    const model = value('model');
    if (kind === 'embedding') return { model, input: text };
    const body = { model, stream: true, stream_options: { include_usage: true }, max_tokens: number('max_tokens'),
      temperature: number('temperature') };
    if (kind === 'completion') return { ...body, prompt: text };
    const system = value('system');
    return { ...body, messages: [...(system ? [{ role: 'system', content: system }] : []), ...said] };
  }

  function sums(began, first, count, usage) {
    const seconds = Math.max(0.001, (performance.now() - first) / 1000);
    const tokens = usage?.completion_tokens;
    const l = document.documentElement.lang || 'en';
    const show = (n, digits) => n.toLocaleString(l, { maximumFractionDigits: digits });
    return (tokens === undefined ? form.dataset.sumsUnknown : form.dataset.sums)
      .replace('{first}', show(Math.round(first - began), 0))
      .replace('{rate}', show((tokens ?? count) / seconds, 1))
      .replace('{tokens}', show(tokens ?? 0, 0)).replace('{prompt}', show(usage?.prompt_tokens ?? 0, 0));
  }

  // the events of a stream, whatever pieces it comes in
  async function* events(body) {
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    for (let rest = ''; ;) {
      let part;
      try {
        part = await reader.read();
      } catch (error) {
        if (error.name === 'AbortError') throw error;
        throw new Failure(form.dataset.errorBroken, error.message);
      }
      if (part.done) return;
      const lines = (rest + part.value).split(/\r?\n/);
      rest = lines.pop();
      for (const line of lines) if (line.startsWith('data:')) yield line.slice(5).trim();
    }
  }

  async function stream(answer, began, shown) {
    let [text, count, first, usage, ended] = ['', 0, 0, undefined, false];
    try {
      for await (const data of events(answer.body)) {
        if (data === '[DONE]') {
          ended = true;
          break;
        }
        let event;
        try {
          event = JSON.parse(data);
        } catch {
          throw new Failure(form.dataset.errorBroken, data);
        }
        if (event.error) throw new Failure(`${form.dataset.error} ${event.error.message ?? ''}`, data);
        usage = event.usage ?? usage;
        const choice = event.choices?.[0];
        ended ||= Boolean(choice?.finish_reason);
        const piece = choice?.delta?.content ?? choice?.text ?? '';
        if (!piece) continue;
        first ||= performance.now();
        count++;
        if (text.length < most) text += piece;
        const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 60;
        shown.body.textContent = text;
        if (atEnd) log.scrollTop = log.scrollHeight;
      }
      if (!ended) throw new Failure(form.dataset.errorBroken, '');
      if (!text) shown.body.textContent = form.dataset.empty;
      if (first) note(shown.entry, sums(began, first, count, usage), 'try-sums');
    } finally {
      shown.text = text;
    }
  }

  async function plain(kind, answer, began, shown) {
    const text = await answer.text();
    const took = performance.now();
    let body;
    try {
      body = JSON.parse(text);
    } catch { /* it is shown as it is */ }
    if (kind === 'http') {
      shown.body.classList.add('gp-try__raw');
      shown.body.textContent = `HTTP ${answer.status} · ${answer.headers.get('Gpu-Portal-Content-Type') ?? ''}\n\n` +
        (body ? JSON.stringify(body, null, 2) : text).slice(0, most);
      return;
    }
    if (!body) throw new Failure(form.dataset.errorBroken, text);
    if (kind === 'embedding') {
      const vector = body.data?.[0]?.embedding ?? [];
      shown.body.textContent = form.dataset.embedding.replace('{length}', vector.length) + '\n' +
        vector.slice(0, 8).join(', ') + (vector.length > 8 ? ', …' : '');
      return;
    }
    const choice = body.choices?.[0]; // a server that does not stream
    shown.text = choice?.message?.content ?? choice?.text ?? '';
    shown.body.textContent = shown.text || form.dataset.empty;
    note(shown.entry, sums(began, took, 0, body.usage), 'try-sums');
  }

  async function ask() {
    const [kind, text] = [value('kind'), form.elements.text.value];
    if (running || (kind !== 'http' && !text.trim())) return;
    running = new AbortController();
    const { signal } = running;
    const [path, method] = kind === 'http' ? [value('path'), value('method')] : [routes[kind], 'POST'];
    add('you', kind === 'http' ? `${method} ${path}\n${method === 'GET' ? '' : text}` : text);
    if (kind === 'chat') said.push({ role: 'user', content: text });
    const body = kind === 'http' ? text : JSON.stringify(question(kind, text));
    if (kind !== 'http') form.elements.text.value = '';
    const shown = add('answer', '');
    log.setAttribute('aria-busy', 'true');
    stop.hidden = false;
    const began = performance.now();
    try {
      const answer = await send(path, method, method === 'GET' ? undefined : body, signal);
      const type = answer.headers.get('Gpu-Portal-Content-Type');
      if (answer.type === 'opaqueredirect' || !answer.ok && (kind !== 'http' || type === null)) {
        throw failed(answer.status, await answer.text());
      }
      if (type === 'text/event-stream') await stream(answer, began, shown);
      else await plain(kind, answer, began, shown);
    } catch (error) {
      if (signal.aborted) note(shown.entry, form.dataset.stopped, 'try-stopped');
      else showError(shown.entry, error instanceof Failure ? error : new Failure(form.dataset.error, String(error)));
    }
    if (kind === 'chat') {
      if (shown.text) said.push({ role: 'assistant', content: shown.text });
      else said.pop(); // what failed is no part of the conversation
    }
    running = undefined;
    log.setAttribute('aria-busy', 'false');
    stop.hidden = true;
    log.scrollTop = log.scrollHeight;
  }

  // the names that the server itself says; what was chosen with the start stays until it says otherwise
  async function models() {
    try {
      const answer = await send('/v1/models', 'GET', undefined, AbortSignal.timeout(10_000));
      if (!answer.ok) return;
      const names = ((await answer.json()).data ?? []).map((m) => String(m.id)).slice(0, 100);
      form.querySelector('[data-try-models]').replaceChildren(...names.map((name) => new Option(name, name)));
      form.elements.model.setAttribute('list', 'try-models');
      if (names.length && !names.includes(value('model'))) [form.elements.model.value] = names;
    } catch { /* the name can be typed */ }
  }

  function fields() {
    for (const part of form.querySelectorAll('[data-try-for]')) {
      part.hidden = !part.dataset.tryFor.split(' ').includes(value('kind'));
    }
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    ask();
  });
  form.elements.kind.addEventListener('change', fields);
  form.elements.text.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      ask();
    }
  });
  for (const idea of form.querySelectorAll('[data-try-idea]')) {
    idea.addEventListener('click', () => {
      form.elements.text.value = idea.textContent;
      form.elements.text.focus();
    });
  }
  stop.addEventListener('click', () => running?.abort());
  clear.addEventListener('click', () => {
    running?.abort();
    said.length = 0;
    log.replaceChildren();
    clear.hidden = true;
    form.elements.text.focus();
  });
  addEventListener('pagehide', () => running?.abort());
  fields();
  if (value('kind') !== 'http') models();
}
