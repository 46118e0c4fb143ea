// What several modules need: saying something to screen readers, words of the page, and telling that a part changed.

/** say puts words into the polite live region. The pause lets the same words be heard again. */
export function say(words) {
  const region = document.getElementById('gp-say');
  if (!region || !words) return;
  region.textContent = '';
  setTimeout(() => { region.textContent = words; }, 100);
}

/** word is one of the few words that the page brings for scripts, with {0} filled in. */
export function word(name, value) {
  const key = 'words' + name.split('-').map((part) => part[0].toUpperCase() + part.slice(1)).join('');
  return (document.body.dataset[key] ?? '').replace('{0}', value ?? '');
}

/** changed tells the other modules that a part of the page is new. */
export function changed() {
  document.dispatchEvent(new CustomEvent('gp:changed'));
}

/** onChange runs now and whenever a part of the page is new, however that came about. */
export function onChange(run) {
  run();
  document.addEventListener('gp:changed', run);
  document.addEventListener('htmx:after:swap', run);
}

/* Whatever moves or goes between press and release takes the click away from what it was for. */
let pressed = false;
const afterRelease = [];
addEventListener('pointerdown', () => { pressed = true; }, true);
for (const type of ['pointerup', 'pointercancel', 'blur']) {
  addEventListener(type, (event) => {
    if (type === 'blur' && event.target !== window) return;
    setTimeout(() => {
      pressed = false;
      for (const run of afterRelease.splice(0)) run();
    });
  }, true);
}

/** released resolves at once, or when what is pressed was let go and its click has arrived. */
export function released() {
  return pressed ? new Promise((run) => { afterRelease.push(run); }) : Promise.resolve();
}

/** locale writes dates as the server does: day first, and 24 hours. */
export const locale = document.documentElement.lang === 'en' ? 'en-GB' : document.documentElement.lang;

/** clock is the time of day in the reader's zone. */
export function clock(date) {
  return new Intl.DateTimeFormat(locale, { hour: '2-digit', minute: '2-digit' }).format(date);
}
