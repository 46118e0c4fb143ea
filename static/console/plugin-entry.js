// The plugin of the OpenShift console: pages of the portal as fragments, through the console's UserToken proxy. The
// server puts `settings` before this file. The console's loader (webpack's module federation) wants an entry module
// with init and get; nothing is bundled, React and the router are the console's own.
const { plugin, portal } = settings;
const proxy = `/api/proxy/plugin/${plugin}/portal`;
const files = `/api/plugins/${plugin}`;
const root = '/gpus';
const home = `${root}/mine`; // the portal's first page; root alone leads there too

let shared;

async function theConsoles(name) {
  const versions = Object.values(shared[name] ?? {});
  if (versions.length === 0) throw new Error(`the console shares no ${name}`);
  return (await versions[0].get())();
}

const language = () => document.documentElement.lang || navigator.language;

// what the console's proxy and the portal want to hear with every call
function ownHeaders() {
  const token = /(?:^|;\s*)csrf-token=([^;]*)/.exec(document.cookie)?.[1] ?? '';
  return { 'Accept-Language': language(), 'X-CSRFToken': decodeURIComponent(token) };
}

/* ---- calls ---- */

let flash = ''; // what was just done, for the page that follows

async function call(path, init = {}) {
  const headers = { Accept: 'text/html', ...ownHeaders(), ...init.headers };
  return fetch(proxy + path, { ...init, headers, credentials: 'same-origin' });
}

const inPortal = (pathname) => (pathname === home ? '/' : pathname.slice(root.length) || '/');
const inConsole = (path) => (path === '/' || path.startsWith('/?') ? home + path.slice(1) : root + path);

/* ---- one page ---- */

let places = [''];

// what opens a workload, calls an endpoint or is a file needs the portal's own session
const elsewhere = /\/(open|try)($|\?)|\.(csv|ics|txt|json)($|\?)/;

function isHere(path) {
  return places.includes(path.slice(1).split(/[/?#]/)[0]) && !elsewhere.test(path);
}

// links of the portal become links of the console, or of the portal itself in a tab of its own
function adopt(element) {
  for (const a of element.querySelectorAll('a[href^="/"]')) {
    const path = a.getAttribute('href');
    if (path.startsWith(root + '/') || path === root) continue;
    if (!a.hasAttribute('data-portal') && !a.hasAttribute('download') && isHere(path)) {
      a.href = inConsole(path);
      a.dataset.here = '';
    } else {
      a.href = portal + path;
      a.target = '_blank';
      a.rel = 'noopener';
    }
  }
  if (window.htmx) window.htmx.process(element);
}

function draw(frame, html) {
  const page = new DOMParser().parseFromString(html, 'text/html');
  const next = page.querySelector('.gp-console') ?? whole(page);
  if (next.dataset.places !== undefined) places = next.dataset.places.split(' ');
  next.querySelectorAll('script').forEach((s) => s.remove());
  frame.replaceChildren(next);
  adopt(next);
  if (next.dataset.title) document.title = next.dataset.title;
  return next;
}

// an error page of the portal that has no frame
function whole(page) {
  const box = document.createElement('div');
  box.className = 'gp-body gp-console';
  box.append(...(page.querySelector('main, .gp-auth__card') ?? page.body).children);
  return box;
}

// show loads a page into the frame and keeps it up to date; the answer stops both.
function show(frame, path, go) {
  let source, stopped = false, retry, done = flash, again = false;
  flash = '';
  const stop = new AbortController();

  const load = async () => {
    try {
      const answer = await call(path, { signal: stop.signal, headers: done ? { 'X-Gpu-Portal-Flash': done } : {} });
      const to = answer.headers.get('X-Gpu-Portal-Location');
      if (stopped) return;
      if (to) return follow(to, go);
      const told = again && frame.querySelector('.gp-toasts > *');
      const page = draw(frame, await answer.text());
      [done, again] = ['', true];
      if (told) page.querySelector('.gp-toasts')?.replaceChildren(told); // it stays as long as this page
      frame.removeAttribute('aria-busy');
      listen(page);
    } catch (cause) {
      if (stopped) return;
      if (!frame.firstElementChild) frame.textContent = String(cause);
      retry = setTimeout(load, 10_000);
    }
  };

  const listen = (page) => {
    source?.close();
    if (!page.dataset.liveUrl) return;
    source = new EventSource(`${proxy}${page.dataset.liveUrl}&console-language=${encodeURIComponent(language())}`);
    source.addEventListener('fragments', (event) => JSON.parse(event.data).forEach((part) => replace(frame, part)));
    source.addEventListener('reload', () => { source.close(); if (!typing(frame)) load(); });
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return; // it tries again by itself
      clearTimeout(retry);
      retry = setTimeout(() => (typing(frame) ? listen(page) : load()), 10_000);
    };
  };

  const click = (event) => {
    const a = event.target.closest?.('a[data-here]');
    if (!a || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    if (a.dataset.dialog && document.getElementById(a.dataset.dialog)) return; // dialog.js opens it
    event.preventDefault();
    go(a.getAttribute('href'));
  };
  const submit = (event) => { if (!event.defaultPrevented) send(event, frame, go, listen); };
  const copy = (event) => {
    const button = event.target.closest?.('[data-copy]');
    if (button) navigator.clipboard?.writeText(button.dataset.copy);
  };
  frame.addEventListener('click', click);
  frame.addEventListener('click', copy);
  frame.addEventListener('submit', submit);
  load();

  return () => {
    stopped = true;
    clearTimeout(retry);
    stop.abort();
    source?.close();
    frame.removeEventListener('click', click);
    frame.removeEventListener('click', copy);
    frame.removeEventListener('submit', submit);
  };
}

// what somebody has typed is not taken away by a page that is drawn again
function typing(frame) {
  const at = document.activeElement;
  return frame.contains(at) && at.matches('input, textarea, select');
}

async function replace(frame, { id, html }) {
  const element = frame.querySelector(`#${CSS.escape(id)}`);
  if (!element) return;
  if (!html) return element.remove();
  if (window.htmx) {
    await window.htmx.swap({ text: html, target: element, swap: 'outerMorph', sourceElement: frame });
  } else {
    element.replaceWith(document.createRange().createContextualFragment(html));
  }
  adopt(frame);
}

function follow(to, go) {
  if (to.startsWith('/') && !to.startsWith('//')) {
    if (isHere(to)) go(inConsole(to));
    else window.open(portal + to, '_blank', 'noopener');
  } else {
    window.open(to, '_blank', 'noopener');
  }
}

async function send(event, frame, go, listen) {
  const form = event.target, button = event.submitter;
  if (form.method === 'dialog') return;
  const action = new URL(button?.getAttribute('formaction') ?? form.getAttribute('action') ?? '', location.origin);
  const method = (button?.getAttribute('formmethod') ?? form.getAttribute('method') ?? 'get').toUpperCase();
  if (action.origin !== location.origin) return;
  event.preventDefault();
  const values = new URLSearchParams(new FormData(form, button));
  const path = action.pathname.startsWith(root) ? inPortal(action.pathname) : action.pathname;
  if (method === 'GET') return go(inConsole(`${path}?${values}`));
  button?.setAttribute('aria-disabled', 'true');
  try {
    const answer = await call(path + action.search, { method, body: values });
    const to = answer.headers.get('X-Gpu-Portal-Location');
    flash = answer.headers.get('X-Gpu-Portal-Flash') ?? '';
    if (to) return follow(to, go);
    listen(draw(frame, await answer.text()));
    frame.querySelector('[role=alert], [aria-invalid=true], h1')?.scrollIntoView({ block: 'center' });
  } finally {
    button?.removeAttribute('aria-disabled');
  }
}

/* ---- what the page needs from outside ---- */

function prepare() {
  if (document.getElementById('gp-plugin-style')) return;
  const style = document.createElement('link');
  Object.assign(style, { id: 'gp-plugin-style', rel: 'stylesheet', href: `${files}/plugin.css` });
  const config = document.createElement('meta');
  const choices = { includeIndicatorCSS: false, mode: 'same-origin', history: false, transitions: false,
    defaultSwap: 'outerMorph' };
  Object.assign(config, { name: 'htmx-config', content: JSON.stringify(choices) });
  const htmx = document.createElement('script');
  Object.assign(htmx, { src: `${files}/htmx.min.js`, async: true });
  htmx.onload = () => {
    for (const name of ['summary.js', 'dialog.js']) {
      const script = document.createElement('script');
      document.head.append(Object.assign(script, { type: 'module', src: `${files}/${name}` }));
    }
    document.querySelectorAll('.gp-console').forEach((page) => window.htmx.process(page));
  };
  document.head.append(style, config, htmx);
  // parts that forms ask for while somebody types, such as the total of the start form
  document.addEventListener('htmx:config:request', (event) => {
    const { ctx } = event.detail;
    if (!ctx.sourceElement?.closest?.('.gp-console') || !ctx.request.action.startsWith('/')) return;
    ctx.request.action = proxy + ctx.request.action;
    Object.assign(ctx.request.headers, ownHeaders());
  });
}

/* ---- modules ---- */

const modules = {
  Page: async () => {
    const [React, router] = await Promise.all(['react', 'react-router'].map(theConsoles));
    return { default: function GPUPortal() {
      const place = router.useLocation(), go = router.useNavigate(), frame = React.useRef(null);
      React.useEffect(() => { prepare(); }, []);
      React.useEffect(() => show(frame.current, inPortal(place.pathname) + place.search, go),
        [place.pathname, place.search, place.key]);
      return React.createElement('section', { ref: frame, className: 'gp-console-frame', 'aria-busy': 'true',
        'data-test': 'gpu-portal' });
    } };
  },

  ProjectWorkloads: async () => {
    const [React, router] = await Promise.all(['react', 'react-router'].map(theConsoles));
    return { default: function GPUWorkloads({ projectName }) {
      const [found, setFound] = React.useState(null);
      React.useEffect(() => {
        let gone = false;
        call(`/console/projects/${encodeURIComponent(projectName)}`, { headers: { Accept: 'application/json' } })
          .then((answer) => (answer.ok ? answer.json() : null))
          .then((body) => { if (!gone) setFound(body); }, () => {});
        return () => { gone = true; };
      }, [projectName]);
      if (!found) return null;
      return React.createElement('div', { className: 'co-inventory-card__item', 'data-test': 'gpu-workloads' },
        React.createElement(router.Link, { to: home }, found.text));
    } };
  },

  // approvals stand in the navigation of those who decide
  approver: async () => ({ default: async (setFeatureFlag) => {
    try {
      const answer = await call('/console/me', { headers: { Accept: 'application/json' } });
      setFeatureFlag('GPU_PORTAL_APPROVER', answer.ok && (await answer.json()).decides);
    } catch {
      setFeatureFlag('GPU_PORTAL_APPROVER', false);
    }
  } }),

  projectUtilization: async () => ({ default: (projectName) => {
    const names = '{__name__=~"DCGM_FI_PROF_GR_ENGINE_ACTIVE|DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO"';
    const own = `namespace=${JSON.stringify(projectName)}`;
    return `avg(max by (UUID, GPU_I_ID) (${names},exported_${own}} or ${names},exported_namespace="",${own}}))`;
  } }),

  percent: async () => ({ default: (value) => {
    const number = 100 * Number(value ?? 0);
    return { string: `${number.toFixed(1)} %`, value: number, unit: '%' };
  } }),
};

window.__load_plugin_entry__(plugin, {
  init: (scope) => { shared = scope; },
  get: async (name) => {
    const module = await modules[name.replace(/^\.\//, '')]();
    return () => module;
  },
});
