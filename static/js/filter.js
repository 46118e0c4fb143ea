// Filters a list: at once while one types, when the page already has all of it; else by asking with each choice made.
import { onChange } from './page.js';

function rowsOf(form) {
  return [...(document.getElementById(form.dataset.filterTable)?.querySelectorAll('tbody > tr:not([data-filter-group])') ?? [])];
}

// the head of a group goes with its last row
function heads(form) {
  for (const head of document.getElementById(form.dataset.filterTable)?.querySelectorAll('[data-filter-group]') ?? []) {
    let row = head.nextElementSibling;
    while (row?.hidden && !('filterGroup' in row.dataset)) row = row.nextElementSibling;
    head.hidden = !row || 'filterGroup' in row.dataset;
  }
}

function apply(form) {
  const field = form.querySelector('input[type="search"]');
  if (!field) return;
  const wanted = field.value.toLocaleLowerCase().split(/\s+/).filter(Boolean);
  const key = form.querySelector('select[data-filter-key]');
  const rows = rowsOf(form);
  let left = 0;
  for (const row of rows) {
    const text = (row.dataset.filter ?? row.textContent).toLocaleLowerCase();
    row.hidden = !wanted.every((word) => text.includes(word)) ||
      Boolean(key?.value) && row.dataset[key.dataset.filterKey] !== key.value;
    if (!row.hidden) left++;
  }
  heads(form);
  none(form.dataset.filterTable, rows.length > 0 && left === 0);
  const count = form.parentElement.querySelector('[data-filter-count]');
  if (!count) return;
  count.dataset.words ??= count.textContent;
  count.textContent = wanted.length ? `${left} / ${rows.length}` : count.dataset.words;
}

// a table of which nothing is left gives its place to what says so
function none(table, empty) {
  const said = document.querySelector(`[data-filter-none="${CSS.escape(table)}"]`);
  if (!said) return;
  said.hidden = !empty;
  const box = document.getElementById(table)?.closest('.gp-table');
  if (box) box.hidden = empty;
}

document.addEventListener('click', (event) => {
  const table = event.target.closest?.('[data-filter-clear]')?.closest('[data-filter-none]').dataset.filterNone;
  if (!table) return;
  const form = document.querySelector(`form[data-filter-table="${CSS.escape(table)}"]`);
  const field = form.querySelector('input[type="search"]');
  field.value = '';
  apply(form);
  field.focus();
});

// the whole list is here: the server would only send it again
document.addEventListener('submit', (event) => {
  if ('filtersItself' in event.target.dataset) event.preventDefault();
});

// the new page opens at the field that asked, as the one before it was left
const asked = 'gp-filter-asked';

// arrow keys walk through the choices of a closed select: the one where they rest for this long is asked for
const rest = 700; // ms
let lastKey = -rest;
let resting;

document.addEventListener('keydown', (event) => {
  if (event.target.tagName === 'SELECT' && event.key !== 'Enter') lastKey = event.timeStamp;
});

document.addEventListener('change', (event) => {
  const field = event.target;
  const form = field.closest?.('form[data-filter]');
  if (!form || field.tagName !== 'SELECT') return;
  clearTimeout(resting);
  resting = setTimeout(() => {
    sessionStorage.setItem(asked, field.id);
    form.requestSubmit();
  }, event.timeStamp - lastKey < 100 ? rest : 0);
});

document.addEventListener('submit', (event) => {
  const field = document.activeElement;
  if (event.target.matches('form[data-filter]') && field?.form === event.target && field.type === 'search') {
    sessionStorage.setItem(asked, field.id);
  }
});

const back = sessionStorage.getItem(asked);
sessionStorage.removeItem(asked);
if (back) document.getElementById(back)?.focus({ preventScroll: true });

document.addEventListener('input', (event) => {
  const form = event.target.closest?.('[data-filter-table]');
  if (form) apply(form);
});

onChange(() => {
  for (const form of document.querySelectorAll('[data-filter-table]')) {
    // other fields ask the server, so their button stays
    if (form.querySelectorAll('input:not([type="hidden"]), select').length === 1) form.dataset.filtersItself = '';
    apply(form);
  }
});
