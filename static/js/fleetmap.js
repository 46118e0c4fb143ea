// Makes the map of the fleet one stop of the Tab key whose cells arrows walk over, opens a card in a drawer beside it, draws
// nodes when they come into view, and changes only the cells that look different now. Without it every cell is a link.
import { locale, onChange } from './page.js';

const ahead = '600px'; // how far out of sight nodes are drawn
const spread = 1500; // ms over which the pages that are open ask
const pause = 200; // ms of a slider at rest
const patience = 300; // ms before a drawer opens without its card
const gone = Symbol('gone'); // a card that is not in the cluster any more

const map = document.querySelector('[data-map]');
if (map) begin();

function begin() {
  const drawer = map.querySelector('[data-map-drawer]');
  const inside = map.querySelector('[data-map-drawer-body]');
  const form = map.querySelector('[data-map-past]');
  const slider = form?.elements.ago;
  const began = Number(slider?.value ?? 0);
  const shown = new WeakMap(), busy = new WeakSet(), inView = new Set();
  let ago = began, version = versionOf(), opener, asked, resting, waiting;

  const cards = () => [...map.querySelectorAll('[data-map-cells] .gp-map__card')];
  const chunks = () => map.querySelectorAll('[data-map-src]');
  const wanted = () => (ago > 0 ? `ago ${ago}` : version);

  /* ---- one tab stop ---- */

  function rove() {
    const all = cards();
    const current = all.filter((card) => card.getAttribute('tabindex') === '0');
    for (const card of all) if (!card.hasAttribute('tabindex')) card.tabIndex = -1;
    for (const card of current.slice(1)) card.tabIndex = -1;
    if (!current.length && all.length) all[0].tabIndex = 0;
  }

  function go(card) {
    if (!card) return;
    for (const other of map.querySelectorAll('.gp-map__card[tabindex="0"]')) other.tabIndex = -1;
    card.tabIndex = 0;
    card.focus();
  }

  // the nearest card above or below: nodes are not all alike, so that no column can be counted
  function vertical(from, all, down) {
    const here = from.getBoundingClientRect();
    let best, least = Infinity;
    for (const card of all) {
      const box = card.getBoundingClientRect();
      const away = down ? box.top - here.bottom : here.top - box.bottom;
      if (away < -1) continue;
      const far = away * 3 + Math.abs(box.left + box.width / 2 - here.left - here.width / 2);
      if (far < least) { least = far; best = card; }
    }
    return best;
  }

  function byNode(from, step) {
    const nodes = [...map.querySelectorAll('.gp-map__node')];
    return nodes[nodes.indexOf(from.closest('.gp-map__node')) + step]?.querySelector('.gp-map__card');
  }

  map.addEventListener('keydown', (event) => {
    const card = event.target.closest?.('[data-map-cells] .gp-map__card');
    if (!card || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = cards(), at = all.indexOf(card);
    const to = {
      ArrowRight: () => all[at + 1], ArrowLeft: () => all[at - 1], Home: () => all[0], End: () => all[all.length - 1],
      ArrowDown: () => vertical(card, all, true), ArrowUp: () => vertical(card, all, false),
      PageDown: () => byNode(card, 1), PageUp: () => byNode(card, -1),
    }[event.key];
    if (!to) return;
    event.preventDefault();
    go(to());
  });

  map.addEventListener('pointerover', (event) => {
    const card = event.target.closest?.('[data-map-cells] .gp-map__card');
    if (card) card.title = `${card.closest('.gp-map__node').querySelector('.gp-map__name').textContent.trim()} · ${card.getAttribute('aria-label')}`;
  });

  /* ---- the drawer ---- */

  map.addEventListener('click', (event) => {
    const card = event.target.closest?.('a.gp-map__card, .gp-gpu__pick');
    if (!card || event.button || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    if (!drawer.contains(card)) {
      opener?.classList.remove('gp-map__card--open');
      opener = card;
      card.classList.add('gp-map__card--open');
    }
    open(card.href);
  });

  async function open(href) {
    asked = href;
    const late = setTimeout(wait, patience);
    const gpu = await read(href);
    clearTimeout(late);
    if (asked !== href) return; // another card was opened meanwhile
    if (!gpu || gpu === gone) {
      location.href = href;
      return;
    }
    inside.replaceChildren(gpu);
    drawer.dataset.from = href;
    if (!drawer.open) drawer.show();
    inside.querySelector('#gpu-title')?.focus();
    document.dispatchEvent(new CustomEvent('gp:changed'));
  }

  // what takes long holds its place
  function wait() {
    inside.replaceChildren(map.querySelector('[data-map-wait]').content.cloneNode(true));
    delete drawer.dataset.from; // there is no card to read again yet
    if (!drawer.open) drawer.show();
  }

  async function read(href) {
    try {
      const answer = await fetch(href, { headers: { Accept: 'text/html' } });
      if (answer.status === 404) return gone;
      return answer.ok ? new DOMParser().parseFromString(await answer.text(), 'text/html').getElementById('gpu') : null;
    } catch {
      return null;
    }
  }

  drawer?.addEventListener('close', () => {
    asked = undefined;
    opener?.classList.remove('gp-map__card--open');
    if (opener?.isConnected) go(opener);
  });
  document.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !drawer?.open || document.querySelector('dialog:modal')) return;
    event.preventDefault();
    drawer.close();
  });

  async function again() {
    const from = drawer?.dataset.from;
    if (!drawer?.open || !from) return;
    const gpu = await read(from), old = inside.querySelector('#gpu');
    if (gpu === gone && drawer.dataset.from === from) {
      inside.replaceChildren(map.querySelector('[data-map-gone]').content.cloneNode(true));
      return;
    }
    if (gpu && gpu !== gone && old) await htmx.swap({ text: gpu.outerHTML, target: old, swap: 'outerMorph', sourceElement: document.body });
  }

  /* ---- what is in view, and what changes of it ---- */

  const watcher = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) inView.delete(target);
      else {
        inView.add(target);
        update(target);
      }
    }
  }, { rootMargin: ahead });

  function watch() {
    for (const chunk of chunks()) {
      if (shown.has(chunk)) continue;
      shown.set(chunk, chunk.dataset.mapDrawn ? (began > 0 ? `ago ${began}` : version) : '');
      watcher.observe(chunk);
    }
  }

  async function update(chunk) {
    const want = wanted();
    if (shown.get(chunk) === want || busy.has(chunk)) return;
    busy.add(chunk);
    try {
      if (!chunk.dataset.mapDrawn) await draw(chunk);
      if (chunk.dataset.mapDrawn && shown.get(chunk) !== want) await change(chunk, want);
    } catch {
      // the stream says that the connection is gone
    }
    busy.delete(chunk);
    if (wanted() !== want && inView.has(chunk)) update(chunk);
  }

  async function draw(chunk) {
    const answer = await fetch(chunk.dataset.mapSrc);
    if (answer.status === 204) remove(chunk);
    if (answer.status !== 200) return;
    const part = new DOMParser().parseFromString(await answer.text(), 'text/html').querySelector('[data-map-src]');
    chunk.replaceChildren(...part.childNodes);
    chunk.classList.remove('gp-map__chunk--later');
    chunk.dataset.mapDrawn = part.dataset.mapDrawn;
    shown.set(chunk, began > 0 ? `ago ${began}` : version);
    rove();
    mark();
  }

  async function change(chunk, want) {
    const url = new URL(chunk.dataset.mapChanges, location.href);
    if (ago > 0) url.searchParams.set('ago', ago);
    else url.searchParams.delete('ago');
    const past = ago > 0 || shown.get(chunk).startsWith('ago');
    url.searchParams.set('since', past ? '' : chunk.dataset.mapDrawn);
    if (new URLSearchParams(location.search).get('group')) url.searchParams.set('open', '1');
    const answer = await fetch(url);
    if (answer.status === 204) remove(chunk);
    if (answer.status !== 200) return;
    const now = await answer.json();
    if (want !== wanted()) return;
    if (ago > 0 && now.legend) legendOfThePast(now);
    if (now.reload) {
      chunk.dataset.mapDrawn = '';
      await draw(chunk);
      return;
    }
    const words = wordsNow();
    for (const [id, classes] of Object.entries(now.cards ?? {})) paint(document.getElementById(id), classes, words);
    if (ago === 0) chunk.dataset.mapDrawn = now.version;
    shown.set(chunk, want);
  }

  // nodes that have left the cluster leave the map, and with the last of them the title over them
  function remove(chunk) {
    const group = chunk.closest('.gp-map__group');
    watcher.unobserve(chunk);
    inView.delete(chunk);
    if (group?.querySelectorAll('[data-map-src]').length === 1) group.remove();
    else chunk.remove();
    rove();
  }

  function paint(card, classes, words) {
    if (!card || card.children.length !== classes.length) return;
    classes.forEach((name, i) => {
      const part = card.children[i];
      part.className = `gp-map__part gp-map__part--${name} ${[...part.classList].find((c) => c.startsWith('gp-w-'))}`;
    });
    const place = card.getAttribute('aria-label').split(': ')[0];
    card.setAttribute('aria-label', `${place}: ${summary(classes, words)}`);
  }

  // the same words as the server's
  function summary(classes, words) {
    const count = new Map();
    for (const name of classes) if (name !== 'gap' || classes.length === 1) count.set(name, (count.get(name) ?? 0) + 1);
    if (count.size === 1 && [...count.values()][0] === 1) return words[[...count.keys()][0]];
    return [...count].map(([name, n]) => `${n} × ${words[name]}`).join(', ');
  }

  function wordsNow() {
    const legend = document.getElementById('map-legend-past') ?? document.getElementById('map-legend');
    const colors = [...legend.querySelectorAll('[data-class]')];
    return Object.fromEntries(colors.map((li) => [li.dataset.class, li.querySelector('.gp-map__words').textContent]));
  }

  // the node that the legend names as the dearest
  function mark() {
    const id = document.querySelector('#map-legend [data-card]')?.dataset.card;
    const dearest = id && document.getElementById(id)?.closest('.gp-map__node');
    for (const node of map.querySelectorAll('.gp-map__node--most')) node.classList.toggle('gp-map__node--most', node === dearest);
    dearest?.classList.add('gp-map__node--most');
  }

  function versionOf() {
    return [...map.querySelectorAll('[data-map-version]')].map((v) => v.dataset.mapVersion).join(' ');
  }

  function updateAll() {
    for (const chunk of inView) update(chunk);
  }

  onChange(() => {
    rove();
    mark();
    watch();
    const now = versionOf();
    if (now === version) return;
    version = now;
    clearTimeout(waiting);
    waiting = setTimeout(() => { if (ago === 0) updateAll(); again(); }, Math.random() * spread);
  });

  /* ---- an hour of the last week ---- */

  const hour = new Intl.DateTimeFormat(locale, { weekday: 'short', day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' });

  function legendOfThePast({ legend, unknown }) {
    const fresh = new DOMParser().parseFromString(legend, 'text/html').getElementById('map-legend');
    fresh.id = 'map-legend-past';
    document.getElementById('map-legend-past')?.remove();
    document.getElementById('map-legend').after(fresh);
    form.querySelector('[data-map-none]').textContent = unknown ? form.querySelector('output').dataset.none : '';
  }

  slider?.addEventListener('input', () => {
    const output = form.querySelector('output'), hours = Number(slider.value);
    output.textContent = hours === 0 ? output.dataset.now : hour.format(new Date(Date.parse(form.dataset.until) - hours * 3_600_000));
    slider.setAttribute('aria-valuetext', output.textContent);
    clearTimeout(resting);
    resting = setTimeout(() => {
      if (began > 0 && hours === 0) { // this page does not follow what happens now
        form.requestSubmit();
        return;
      }
      ago = hours;
      map.toggleAttribute('data-past', ago > 0);
      if (ago === 0) {
        document.getElementById('map-legend-past')?.remove();
        form.querySelector('[data-map-none]').textContent = '';
      }
      updateAll();
    }, pause);
  });
}
