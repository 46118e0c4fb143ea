// Keeps what was typed when the session has ended: the page stays, a dialog offers to sign in again, and the forms are
// filled as they were when the same person comes back to the same page in the same tab. Forms with data-draft are kept
// over a reload as well, until they are sent. Fields with data-secret are kept nowhere.
import { released } from './page.js';

const key = 'gp-draft';
const person = document.body.dataset.person;
const kept = 'input:not([type="hidden"]:not([data-kept]), [type="password"], [type="file"], [type="submit"], [data-secret]), '
  + 'select, textarea:not([data-secret])';
const longest = 60 * 60_000; // ms; what is older is somebody's abandoned attempt

// Filling a form tells htmx, which listens to it only once the page is complete.
if (person) document.addEventListener('DOMContentLoaded', () => setTimeout(restore));

// an answer without a session must not take the place of what stands on the page
document.addEventListener('htmx:before:response', (event) => {
  if (event.detail?.ctx?.response?.status !== 401) return;
  event.preventDefault();
  released().then(ended); // pressing something leaves the field before, which is asked about at once
});

function ended() {
  keep(true);
  const dialog = document.getElementById('gp-session-ended');
  if (!dialog?.open) dialog?.showModal();
}

// a form that is sent whole may meet the sign-in page; where it got through, the next page throws this away
let sent = false;
document.addEventListener('submit', (event) => {
  if (event.defaultPrevented || event.target.method !== 'post') return;
  keep();
  sent = true;
  sessionStorage.removeItem(own);
});

// leaving the page, a reload too, keeps what is not sent; after a sign-in it is there again
const own = `${key}:${person}:${location.pathname}`;
const signedOut = `${key}:signed-out`;
if (!person) sessionStorage.setItem(signedOut, '1');

addEventListener('pagehide', () => {
  const form = person && !sent && touched && document.querySelector('form[data-draft]');
  if (!form) return;
  store(own, { person, path: location.pathname, search: location.search, at: Date.now(), forms: [{ id: form.id, values: values(form) }] });
});

let touched = false;
document.addEventListener('change', (event) => { touched ||= Boolean(event.target.closest?.('form[data-draft]')); });
document.addEventListener('input', (event) => { touched ||= Boolean(event.target.closest?.('form[data-draft]')); });
document.addEventListener('click', (event) => { touched ||= Boolean(event.target.closest?.('form[data-draft] button[name]')); });

function keep(over = false) {
  if (!person) return;
  const forms = [...document.querySelectorAll('#content form[method="post"]')]
    .map((form, index) => ({ index, id: form.id, values: values(form) })).filter(({ values }) => values.length > 0);
  store(key, { person, path: location.pathname, at: Date.now(), forms, over });
}

function store(name, draft) {
  try {
    sessionStorage.setItem(name, JSON.stringify(draft));
  } catch {
    // private windows and full stores have no room: the page itself is still there
  }
}

function take(name) {
  let draft = null;
  try {
    draft = JSON.parse(sessionStorage.getItem(name));
  } catch {
    // not ours
  }
  sessionStorage.removeItem(name);
  return draft?.person === person && draft.path === location.pathname && Date.now() - draft.at <= longest ? draft : null;
}

function values(form) {
  // of radio buttons the chosen one says it all; two of them may stand for the same choice
  const says = (field) => field.name && field.matches(kept) && (field.type !== 'radio' || field.checked);
  return [...form.elements].filter(says).map((field) => (
    { name: field.name, option: choice(field) ? field.value : null, value: choice(field) ? field.checked : field.value }));
}

function choice(field) {
  return field.type === 'radio' || field.type === 'checkbox';
}

function restore() {
  const unsent = take(key);
  const signedIn = sessionStorage.getItem(signedOut);
  const draft = (unsent?.over || signedIn) && unsent || reloaded();
  sessionStorage.removeItem(signedOut);
  if (!draft) return;
  const forms = document.querySelectorAll('#content form[method="post"]');
  for (const { index, id, values } of draft.forms) {
    const form = (id && document.getElementById(id)) || forms[index];
    if (form) fill(form, values);
  }
}

// a link to the form begins anew; a form that came back with what is wrong has what was typed
function reloaded() {
  const form = document.querySelector('form[data-draft]');
  if (!form) return null;
  const draft = take(own);
  const back = sessionStorage.getItem(signedOut) ?? (performance.getEntriesByType('navigation')[0]?.type === 'reload' ? '1' : null);
  const refused = document.querySelector('[data-test="form-errors"]');
  if (!draft || !back || refused || draft.search !== location.search) return null;
  touched = true;
  return draft;
}

function fill(form, values) {
  const changed = [];
  next: for (const { name, option, value } of values) {
    for (const field of form.elements) {
      if (field.name !== name || !field.matches(kept) || (option !== null && field.value !== option)) continue;
      const property = choice(field) ? 'checked' : 'value';
      if (field[property] !== value) changed.push(field);
      field[property] = value;
      continue next;
    }
    if (option !== null && value && form.hasAttribute('data-draft')) changed.push(missing(form, name, option));
  }
  // what a form shows beside its fields follows from them; choices come last, because they draw the form anew
  changed.sort((a, b) => choice(a) - choice(b));
  for (const field of changed) if (!choice(field) || field.checked) field.dispatchEvent(new Event('change', { bubbles: true }));
}

// a choice that is not on the page, as in a table that is not open, is told to the server, which draws it
function missing(form, name, option) {
  const field = document.createElement('input');
  Object.assign(field, { type: 'radio', name, value: option, checked: true, hidden: true });
  (form.querySelector(`#${CSS.escape(name)}`) ?? form).append(field);
  return field;
}
