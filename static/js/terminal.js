// Runs a terminal in the page of a workload: keys and sizes go to the portal, what the shell writes comes back.
import { FitAddon } from '../vendor/xterm-addon-fit-0.11.0/addon-fit.mjs';
import { Terminal } from '../vendor/xterm-6.0.0/xterm.mjs';

const piece = 16 * 1024; // bytes of one message with keys
const told = 64 * 1024; // bytes of output after which the portal hears that they are shown
const box = document.querySelector('[data-terminal]');

// The page's policy allows neither <style> nor style="…". What xterm makes of them goes into sheets and properties, by
// the document of this page: not all of xterm takes another one.
function sheetElement() {
  const place = document.createElement('span');
  place.hidden = true;
  const sheet = new CSSStyleSheet();
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  Object.defineProperty(place, 'textContent', { set: (css) => sheet.replaceSync(css) });
  place.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((other) => other !== sheet);
    Element.prototype.remove.call(place);
  };
  return place;
}

function setAttribute(name, value) {
  if (name !== 'style') return Element.prototype.setAttribute.call(this, name, value);
  for (const declaration of value.split(';')) {
    const [property, ...rest] = declaration.split(':');
    if (rest.length) this.style.setProperty(property.trim(), rest.join(':').trim());
  }
  return undefined;
}

document.createElement = (name, ...options) => {
  if (name === 'style') return sheetElement();
  const element = Document.prototype.createElement.call(document, name, ...options);
  if (name === 'span') element.setAttribute = setAttribute;
  return element;
};

function start() {
  const screen = box.querySelector('[data-terminal-screen]');
  const status = box.querySelector('[data-terminal-status]');
  const again = box.querySelector('[data-terminal-again]');
  const reader = document.getElementById('terminal-reader');
  const looks = getComputedStyle(screen);
  Terminal.strings.promptLabel = box.dataset.prompt;
  Terminal.strings.tooMuchOutput = box.dataset.much;
  const term = new Terminal({
    fontFamily: looks.fontFamily, fontSize: parseFloat(looks.fontSize), scrollback: 5000, minimumContrastRatio: 4.5,
    theme: theme(), rightClickSelectsWord: false,
    linkHandler: { activate: (event, address) => window.open(address, '_blank', 'noopener,noreferrer') },
  });
  const fit = new FitAddon();
  const encoder = new TextEncoder();
  let socket;
  let leaving = false; // Escape was the last key

  function theme() {
    const [ground, text] = [looks.backgroundColor, looks.color];
    return { background: ground, foreground: text, cursor: text, cursorAccent: ground,
      selectionBackground: looks.getPropertyValue('--gp-brand-line').trim() };
  }

  function tell(message) {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(message));
  }

  function send(bytes) {
    if (socket?.readyState !== WebSocket.OPEN) return;
    for (let at = 0; at < bytes.length; at += piece) socket.send(bytes.subarray(at, at + piece));
  }

  function over(words) {
    const inside = screen.contains(document.activeElement);
    term.options.disableStdin = true;
    box.classList.add('gp-terminal--over');
    status.textContent = words;
    again.hidden = false;
    if (inside) again.querySelector('button').focus();
  }

  function open() {
    const mine = new WebSocket(new URL(box.dataset.terminal, location.href.replace(/^http/, 'ws')));
    mine.binaryType = 'arraybuffer';
    socket = mine;
    let [words, unseen] = [box.dataset.failed, 0];
    status.textContent = box.dataset.connecting;
    again.hidden = true;
    mine.onopen = () => {
      words = box.dataset.lost;
      term.reset();
      term.options.disableStdin = false;
      box.classList.remove('gp-terminal--over');
      status.textContent = box.dataset.connected;
      fit.fit();
      tell({ columns: term.cols, rows: term.rows });
      if (document.activeElement === document.body || again.contains(document.activeElement)) term.focus();
    };
    mine.onmessage = ({ data }) => {
      if (typeof data === 'string') {
        words = JSON.parse(data).end;
        return;
      }
      term.write(new Uint8Array(data), () => {
        unseen += data.byteLength;
        if (unseen < told || mine !== socket) return;
        tell({ seen: unseen });
        unseen = 0;
      });
    };
    mine.onclose = () => {
      if (mine === socket) over(words);
    };
  }

  term.loadAddon(fit);
  term.open(screen);
  fit.fit();
  term.options.disableStdin = true;
  term.onData((text) => send(encoder.encode(text)));
  term.onBinary((text) => send(Uint8Array.from(text, (c) => c.charCodeAt(0))));
  term.onResize(({ cols, rows }) => tell({ columns: cols, rows }));
  term.attachCustomKeyEventHandler((event) => {
    if (event.type !== 'keydown') return true;
    const copies = event.ctrlKey && event.shiftKey && event.code === 'KeyC';
    if (copies || (event.ctrlKey && event.shiftKey && event.code === 'KeyV')) {
      if (copies) {
        event.preventDefault();
        document.execCommand('copy');
      }
      return false;
    }
    if (event.key === 'Tab' && leaving) {
      leaving = false;
      return false; // the browser goes to the next element
    }
    if (event.key !== 'Shift') leaving = event.key === 'Escape';
    return true;
  });
  new ResizeObserver(() => fit.fit()).observe(screen);
  const redraw = () => { term.options.theme = theme(); };
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ['class'] });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);
  reader.addEventListener('change', () => { term.options.screenReaderMode = reader.checked; });
  again.addEventListener('click', open);
  addEventListener('pagehide', () => socket?.close());
  if ('terminalNow' in box.dataset) open();
}

if (box) start();
