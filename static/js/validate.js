// Asks the server about a form half a second after one stops typing in it, and shows what is wrong beside the fields and
// lines. Nothing is asked while nothing changed, an answer to what was typed before is dropped, and nothing is written.
import { onChange } from './page.js';

const pause = 500; // ms
const forms = new WeakMap(); // form: what was asked about last, and the names of the fields that somebody has touched

const sentBy = (form) => new URLSearchParams(new FormData(form)).toString();
const formOf = (event) => event.target.closest?.('form[data-validate]');

onChange(() => {
  for (const form of document.querySelectorAll('form[data-validate]')) {
    if (!forms.has(form)) forms.set(form, { known: sentBy(form), touched: new Set() });
  }
});

function typed(event) {
  const form = formOf(event);
  const state = forms.get(form);
  if (!state) return;
  state.touched.add(event.target.name);
  clearTimeout(state.timer);
  state.timer = setTimeout(() => {
    const now = sentBy(form);
    if (now === state.known || !form.isConnected) return;
    state.known = now;
    form.dispatchEvent(new CustomEvent('gp-validate'));
  }, pause);
}

document.addEventListener('input', typed);
document.addEventListener('change', typed);

// once it is sent whole, its own answer counts
document.addEventListener('submit', (event) => clearTimeout(forms.get(formOf(event))?.timer));

document.addEventListener('htmx:before:response', (event) => {
  const form = formOf(event);
  const state = forms.get(form);
  if (!state) return;
  const failed = event.detail.ctx.response.status >= 400;
  if (!failed && sentBy(form) === state.known) return;
  event.preventDefault();
  if (failed) unknown(form, state);
});

document.addEventListener('htmx:error', (event) => {
  const form = formOf(event);
  if (forms.has(form)) unknown(form, forms.get(form));
});

// what was said before may be wrong by now
function unknown(form, state) {
  state.known = undefined;
  document.getElementById(form.dataset.validate)?.replaceChildren();
}

document.addEventListener('htmx:after:swap', () => {
  for (const form of document.querySelectorAll('form[data-validate]')) place(form, forms.get(form));
});

function place(form, state) {
  const said = document.getElementById(form.dataset.validate);
  if (!state || !said || said.dataset.placed === state.known) return;
  said.dataset.placed = state.known;
  const words = new Map([...said.querySelectorAll('[data-error-for]')].map((box) => [box.dataset.errorFor, box]));
  for (const wrong of form.querySelectorAll('[aria-invalid]')) {
    if (!words.has(wrong.id) && !wrong.hasAttribute('data-marked')) clear(wrong);
  }
  for (const [id, box] of words) {
    const control = document.getElementById(id);
    const shown = control && (control.hasAttribute('aria-invalid') || state.touched.has(control.name) || touches(control, state));
    if (shown) show(control, box.firstElementChild);
    // what nobody has come to yet is not wrong yet
    else for (const item of said.querySelectorAll(`[data-problem-of="${CSS.escape(id)}"]`)) item.hidden = Boolean(control);
  }
  const left = said.querySelectorAll('li:not([hidden])').length;
  const title = said.querySelector('.gp-validation__title');
  if (title) title.hidden = left === 0;
  mark(form, said);
}

const touches = (group, state) => [...group.querySelectorAll('[name]')].some((part) => state.touched.has(part.name));

function clear(control) {
  document.getElementById(`${control.id}-error`)?.remove();
  control.removeAttribute('aria-invalid');
  describe(control);
  control.closest('.pf-v6-c-form-control')?.classList.remove('pf-m-error');
  control.closest('.gp-field')?.classList.remove('gp-field--error');
}

function show(control, words) {
  clear(control);
  const help = document.createElement('div');
  help.className = 'pf-v6-c-form__helper-text gp-help';
  help.id = `${control.id}-error`;
  help.append(words);
  const field = control.closest('.gp-field');
  const hint = document.getElementById(`${control.id}-hint`);
  if (hint) hint.before(help);
  else (field?.querySelector('.pf-v6-c-form__group-control') ?? field ?? control.parentElement).append(help);
  control.setAttribute('aria-invalid', 'true');
  describe(control);
  control.closest('.pf-v6-c-form-control')?.classList.add('pf-m-error');
  field?.classList.add('gp-field--error');
}

function describe(control) {
  const by = ['error', 'hint'].map((part) => `${control.id}-${part}`).filter((id) => document.getElementById(id));
  if (by.length) control.setAttribute('aria-describedby', by.join(' '));
  else control.removeAttribute('aria-describedby');
}

// lines.js numbers the lines
function mark(form, said) {
  for (const field of form.querySelectorAll('[data-lines] textarea')) {
    const lines = [...said.querySelectorAll('[data-problem-line]')].map((item) => item.dataset.problemLine).filter(Boolean);
    field.dataset.marked = lines.join(' ');
    if (lines.length) field.setAttribute('aria-invalid', 'true');
    else field.removeAttribute('aria-invalid');
    field.dispatchEvent(new CustomEvent('gp-marked'));
  }
}
