// Keeps "in 2 h 10 min" true while the page is open, and shows exact times in the reader's own zone.
import { clock, locale, onChange, word } from './page.js';

const exact = new Intl.DateTimeFormat(locale, { dateStyle: 'medium', timeStyle: 'short' });
const day = new Intl.DateTimeFormat(locale, { dateStyle: 'medium' });
const full = new Intl.DateTimeFormat(locale, { dateStyle: 'full', timeStyle: 'long' });

// The server's clock counts, not one that is set wrong here.
const written = Date.parse(document.body.dataset.now ?? '');
const ahead = Number.isNaN(written) ? 0 : written - Date.now();
const skew = Math.abs(ahead) > 30_000 ? ahead : 0;
export const now = () => Date.now() + skew;

// duration says the same as ui.Duration does on the server.
export function duration(milliseconds) {
  const unit = (n, name) => word('unit-' + name, n);
  const two = (a, aName, b, bName) => (b === 0 ? unit(a, aName) : `${unit(a, aName)} ${unit(b, bName)}`);
  const seconds = Math.round(milliseconds / 1000), minutes = Math.round(milliseconds / 60_000);
  if (seconds < 60) return unit(seconds, 's');
  if (minutes < 60) return unit(minutes, 'min');
  if (minutes < 24 * 60) return two(Math.floor(minutes / 60), 'h', minutes % 60, 'min');
  if (minutes < 7 * 24 * 60) return two(Math.floor(minutes / 1440), 'd', Math.floor(minutes / 60) % 24, 'h');
  return unit(Math.floor(minutes / 1440), 'd');
}

const seconds = new Intl.DateTimeFormat(locale, { timeStyle: 'medium' });
const dated = new Intl.DateTimeFormat(locale, { dateStyle: 'short', timeStyle: 'medium' });
const today = (at) => new Date(at).toDateString() === new Date(now()).toDateString();

function words(mode, at) {
  const left = at - now();
  switch (mode) {
    case 'past': // a measurement is never in the future, whatever two clocks say
      return left > -30_000 ? word('now') : word('ago', duration(-left));
    case 'relative':
      if (Math.abs(left) < 30_000) return word('now');
      return left > 0 ? word('in', duration(left)) : word('ago', duration(-left));
    case 'countdown':
      return duration(Math.max(left, 0));
    case 'elapsed':
      return duration(Math.max(-left, 0));
    case 'clock':
      if (today(at)) return clock(at);
      break;
    case 'day':
      return day.format(at);
    case 'time':
      return clock(at);
    case 'seconds':
      return today(at) ? seconds.format(at) : dated.format(at);
  }
  return exact.format(at);
}

// write touches the page only where something is different, so that nothing flickers and no selection is lost.
export function write(element) {
  const at = Date.parse(element.dateTime);
  if (Number.isNaN(at)) return Infinity;
  const said = words(element.dataset.time, at);
  if (element.textContent !== said) element.textContent = said;
  const title = full.format(at);
  if (element.title !== title) element.title = title;
  if (element.dataset.time === 'seconds') delete element.dataset.time; // thousands of lines of a log are not looked at again
  return Math.abs(at - now());
}

// sayDaysOnce hides a day that is also that of the row above; in the reader's zone days begin elsewhere than in UTC.
function sayDaysOnce() {
  for (const list of document.querySelectorAll('[data-days]')) {
    let above;
    for (const one of list.querySelectorAll('[data-day]')) {
      one.hidden = one.textContent === above;
      above = one.textContent;
    }
  }
}

let timer;
function tick() {
  clearTimeout(timer);
  let nearest = Infinity;
  for (const element of document.querySelectorAll('time[data-time]')) {
    const distance = write(element);
    if (!['local', 'clock', 'time', 'day'].includes(element.dataset.time)) nearest = Math.min(nearest, distance);
  }
  sayDaysOnce();
  if (!document.hidden && nearest < Infinity) timer = setTimeout(tick, nearest < 120_000 ? 1000 : 15_000);
}

const zone = new Intl.DateTimeFormat(locale, { timeZoneName: 'short' }).formatToParts(new Date())
  .find((part) => part.type === 'timeZoneName')?.value;

onChange(() => {
  tick();
  for (const element of document.querySelectorAll('[data-zone]')) if (zone) element.textContent = zone;
});
document.addEventListener('visibilitychange', tick);
