// Follows a log: what a container writes is put behind what is there, until the reader stops it or leaves the page.
import { now, write } from './time.js';

const most = 5000; // lines that are kept
let following; // { button, log, stop }

// what programs write of their own at the head of a line, as internal/web/workloads/logs.go reads it too
const failures = /^.{0,40}?(?:\[[EC] |\b(?:ERROR|CRITICAL|FATAL)\b|"?level"?[=:] ?"?(?:error|fatal)\b)/;
const warnings = /^.{0,40}?(?:\[W |\bWARN(?:ING)?\b|"?level"?[=:] ?"?warn(?:ing)?\b)/;

function marked(text, find) {
  const span = document.createElement('span');
  span.className = 'gp-log__text';
  const low = text.toLowerCase();
  let from = 0;
  for (let at = find ? low.indexOf(find) : -1; at >= 0; at = low.indexOf(find, from)) {
    const mark = document.createElement('mark');
    mark.textContent = text.slice(at, at + find.length);
    span.append(text.slice(from, at), mark);
    from = at + find.length;
  }
  span.append(text.slice(from));
  return span;
}

function lineOf(text, find) {
  const [, stamp, rest] = /^(\d{4}-\d\d-\d\dT\S+Z) (.*)$/s.exec(text) ?? [null, '', text];
  if (stamp && find && !rest.toLowerCase().includes(find)) return null;
  const line = document.createElement('div');
  line.className = stamp ? 'gp-log__line' : 'gp-log__line gp-log__line--note';
  line.dataset.test = 'line';
  if (stamp && failures.test(rest)) line.classList.add('gp-log__line--danger');
  else if (stamp && warnings.test(rest)) line.classList.add('gp-log__line--warning');
  if (stamp) {
    const time = document.createElement('time');
    time.className = 'gp-time';
    time.dateTime = stamp;
    time.dataset.time = 'seconds';
    write(time);
    line.append(time);
  }
  line.append(marked(rest, stamp ? find : ''));
  return line;
}

function append(log, lines) {
  const atEnd = log.scrollHeight - log.scrollTop - log.clientHeight < 40;
  log.append(...lines);
  while (log.children.length > most) log.firstElementChild.remove();
  if (atEnd) log.scrollTop = log.scrollHeight;
}

async function read(log, signal) {
  const answer = await fetch(log.dataset.log, { signal, headers: { Accept: 'text/plain, application/problem+json' } });
  if (!answer.ok) throw new Error((await answer.json()).detail);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  log.replaceChildren(); // the stream begins with the newest lines
  for (let rest = ''; ;) {
    const { done, value } = await reader.read();
    if (done || !log.isConnected) return;
    const parts = (rest + value).split('\n');
    rest = parts.pop();
    append(log, parts.map((text) => lineOf(text, log.dataset.logFind)).filter(Boolean));
  }
}

function show(button, on) {
  button.setAttribute('aria-pressed', String(on));
  button.querySelector('[data-log-on]').hidden = !on;
  button.querySelector('[data-log-off]').hidden = on;
  const card = button.closest('.gp-card');
  const state = card.querySelector('[data-log-state]'), read = card.querySelector('[data-log-read]');
  state.textContent = on ? state.dataset.words : '';
  read.hidden = on;
  const time = read.querySelector('time');
  if (on || !time) return;
  time.dateTime = new Date(now()).toISOString();
  time.dataset.time = 'seconds';
  write(time);
}

async function start(button) {
  const log = document.getElementById(button.dataset.logFollow);
  const stop = new AbortController();
  following = { button, log, stop };
  show(button, true);
  log.scrollTop = log.scrollHeight;
  try {
    await read(log, stop.signal);
  } catch (error) {
    if (!stop.signal.aborted) append(log, [lineOf(`[${error.message}]`, '')]);
  }
  show(button, false);
  if (following?.stop === stop) following = undefined;
}

function end() {
  following?.stop.abort();
  following = undefined;
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-log-follow]');
  if (!button) return;
  const on = following?.button === button;
  end();
  if (!on) start(button);
});
addEventListener('pagehide', end);

for (const log of document.querySelectorAll('[data-log]')) log.scrollTop = log.scrollHeight; // the newest lines are last
