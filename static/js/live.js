// Keeps the page as it is on the server while it is open: one event stream brings changed parts, which are morphed in
// place, so that focus, typed text, open details and scroll stay. views/layout/doc.go says what the stream carries.
import { changed, clock, released, say, word } from './page.js';

const url = document.body.dataset.liveUrl;
const silence = 60_000; // beats come every 25 s or sooner
const patience = 4_000; // a short break is not worth a word
const away = 5 * 60_000; // a hidden page gives its connection back

let source, retry, tries = 0, broken = false, heard = Date.parse(document.body.dataset.asOf ?? '') || Date.now();
let lastBeat = Date.now();

// what a person opened stays open, whatever the server says about it
htmx.registerExtension('gp-keep', {
  htmx_before_morph_node: (_, { oldNode, newNode }) => {
    if (oldNode instanceof HTMLDetailsElement || oldNode instanceof HTMLDialogElement) newNode.toggleAttribute('open', oldNode.open);
    if (oldNode.tabIndex === -1 && oldNode === document.activeElement) newNode.setAttribute('tabindex', '-1');
    return true;
  },
});

if (url) connect();

function connect() {
  clearTimeout(retry);
  source?.close();
  source = new EventSource(url);
  lastBeat = Date.now();
  source.onopen = () => {
    lastBeat = Date.now();
    if (tries > 0) reload({});
    if (broken) back();
    tries = 0;
    broken = false;
  };
  source.onerror = () => {
    source.close();
    again();
  };
  source.addEventListener('fragments', (event) => { beat(); replaceAll(JSON.parse(event.data)); });
  source.addEventListener('reload', (event) => { beat(); reload(JSON.parse(event.data || '{}')); });
  source.addEventListener('beat', (event) => beat(JSON.parse(event.data || '{}').at));
}

function beat(at) {
  lastBeat = Date.now();
  heard = Date.parse(at ?? '') || Date.now();
}

function again() {
  tries++;
  const wait = Math.min(1000 * 2 ** (tries - 1), 30_000) * (0.7 + Math.random() * 0.6);
  clearTimeout(retry);
  retry = setTimeout(connect, wait);
  setTimeout(() => { if (tries > 0) lost(); }, patience);
}

if (url) {
  setInterval(() => { if (!document.hidden && source && Date.now() - lastBeat > silence) { source.close(); again(); } }, 5000);
  addEventListener('online', () => { if (tries > 0) connect(); });
  addEventListener('pagehide', () => source?.close());
  addEventListener('pageshow', (event) => { if (event.persisted) { tries = 1; connect(); } });
  let hiding;
  document.addEventListener('visibilitychange', () => {
    clearTimeout(hiding);
    if (document.hidden) hiding = setTimeout(() => { source?.close(); source = null; clearTimeout(retry); }, away);
    else if (!source || tries > 0) { tries = Math.max(tries, 1); connect(); }
  });
}

/* ---- parts of the page ---- */

async function replaceAll(fragments) {
  for (const fragment of fragments) {
    await replace(fragment);
    say(fragment.say);
  }
  changed();
}

async function replace({ id, html, into, at }) {
  const element = document.getElementById(id);
  if (element && html) await morph(element, html);
  else if (element) {
    await released();
    remove(element);
  } else if (into && html) await insert(document.getElementById(into), html, at, id);
}

// morph gives the focus back when something in the new part has taken it, an autofocus for example: nobody asked for this change
async function morph(element, html) {
  await released();
  const focused = document.activeElement;
  await htmx.swap({ text: html, target: element, swap: 'outerMorph', sourceElement: document.body });
  if (focused !== document.activeElement && focused !== document.body && focused?.isConnected) focused.focus({ preventScroll: true });
}

async function insert(list, html, at, id) {
  if (!list) return;
  await released();
  await htmx.swap({ text: html, target: list, swap: at === 'start' ? 'afterbegin' : 'beforeend', sourceElement: document.body });
  const added = document.getElementById(id);
  added?.classList.add('gp-changed');
  added?.addEventListener('animationend', () => added.classList.remove('gp-changed'), { once: true });
}

// what had the focus is going: its neighbour takes it, so that a keyboard does not start at the top again
function remove(element) {
  if (element.contains(document.activeElement)) {
    const neighbour = element.nextElementSibling ?? element.previousElementSibling ?? document.getElementById('content');
    const next = neighbour?.querySelector('a[href], button') ?? neighbour;
    if (next && next.tabIndex < 0) next.tabIndex = -1;
    next?.focus({ preventScroll: true });
  }
  element.remove();
}

async function reload({ id }) {
  const region = id && document.getElementById(id);
  const from = region?.dataset.liveSrc ?? location.href;
  try {
    const answer = await fetch(from, { headers: { Accept: 'text/html', 'HX-Request': region?.dataset.liveSrc ? 'true' : 'false' } });
    if (!answer.ok) return;
    const text = await answer.text();
    if (region?.dataset.liveSrc) {
      await morph(region, text);
    } else {
      const page = new DOMParser().parseFromString(text, 'text/html');
      for (const part of id ? [id] : ['content', 'gp-strips']) {
        const mine = document.getElementById(part), theirs = page.getElementById(part);
        if (mine && theirs) await morph(mine, theirs.outerHTML);
      }
    }
    changed();
  } catch {
    // the stream will say that the connection is gone
  }
}

/* ---- the strip that says so ---- */

function lost() {
  if (broken) return;
  broken = true;
  const strip = part('div', 'gp-strip gp-strip--warning');
  strip.id = 'gp-lost';
  const words = part('span', 'gp-strip__words', word('lost', clock(heard)));
  const link = part('a', 'gp-strip__actions', word('reload'));
  link.href = location.href;
  strip.append(words, link);
  document.getElementById('gp-lost')?.remove();
  document.getElementById('gp-strips')?.append(strip);
  say(words.textContent);
}

function back() {
  document.getElementById('gp-lost')?.remove();
  say(word('back'));
}

function part(name, className, text = '') {
  const element = document.createElement(name);
  element.className = className;
  element.textContent = text;
  return element;
}
