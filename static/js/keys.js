// Moves through a list with j and k, which also opens the row, and presses the buttons of the open row by their keys.
// A key that changes something works only while the focus is in the list or beside it, never from anywhere on the page,
// and only for the row that is open: while another row has the focus, the buttons beside the list are not its own.
import { single } from './shortcuts.js';

let opening; // timer of the row that is opened next
let leaving = false; // its page is on its way

document.addEventListener('keydown', (event) => {
  if (!single(event)) return;
  // undoing changes nothing that cannot be done again, so u works from anywhere on the page
  const undo = event.key === 'u' && !event.repeat && document.querySelector('#undo [data-key="u"]');
  if (undo) {
    event.preventDefault();
    undo.click();
    return;
  }
  const table = document.querySelector('table[data-keys]');
  if (!table) return;
  if (leaving) {
    wait(event);
    return;
  }
  clearTimeout(opening);
  const rows = [...table.querySelectorAll('tbody > tr:not([hidden])')];
  const at = rows.findIndex((row) => row.contains(document.activeElement) || row === document.activeElement);
  if (event.key === 'j' || event.key === 'k') {
    const current = at >= 0 ? at : rows.findIndex((row) => row.getAttribute('aria-current') === 'true');
    const next = rows[Math.min(Math.max(current + (event.key === 'j' ? 1 : -1), 0), rows.length - 1)];
    focus(next);
    openSoon(next);
    event.preventDefault();
    return;
  }
  if (event.key === 'Enter' && document.activeElement === rows[at]) {
    open(rows[at]);
    return;
  }
  const near = table.closest('.gp-split') ?? table;
  if (event.key.length !== 1 || !near.contains(document.activeElement)) return;
  const selector = `[data-key="${CSS.escape(event.key)}"]`;
  const beside = at < 0 || isOpen(rows[at]);
  const button = rows[at]?.querySelector(selector)
    ?? (beside ? near.querySelector(`.gp-split__aside ${selector}, .gp-split__main ${selector}`) : null);
  if (button) {
    event.preventDefault();
    button.click();
  }
});

const isOpen = (row) => row.getAttribute('aria-current') === 'true';

// A held key passes over rows; only the one where it stops is opened. While rows are ticked none is: another page would
// lose the ticks.
function openSoon(row) {
  if (!row || isOpen(row) || row.closest('table').querySelector('input[type="checkbox"]:checked')) return;
  opening = setTimeout(() => open(row), 200);
}

function open(row) {
  const link = row.querySelector('a[href]');
  if (!link) return;
  sessionStorage.setItem(resumeAt, new URL(link.href).pathname);
  sessionStorage.removeItem(pressed);
  link.click();
  leaving = true;
}

addEventListener('pageshow', () => { leaving = false }); // somebody came back to it

// Keys that move or tick count on the page that is on its way; what decides waits for somebody who has seen it.
const pressed = 'gp-keys-pressed';
function wait(event) {
  if (event.repeat || !['j', 'k', 'x'].includes(event.key)) return;
  event.preventDefault();
  sessionStorage.setItem(pressed, (sessionStorage.getItem(pressed) ?? '') + event.key);
}

// the page of the opened row goes on with the keyboard where the former one was
const resumeAt = 'gp-keys';
const resumes = sessionStorage.getItem(resumeAt) === location.pathname;
sessionStorage.removeItem(resumeAt);
if (resumes) {
  focus(document.querySelector('table[data-keys] tr[aria-current="true"]'));
  for (const key of sessionStorage.getItem(pressed) ?? '') {
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
  }
  sessionStorage.removeItem(pressed);
}

function focus(row) {
  if (!row) return;
  row.tabIndex = -1;
  row.focus();
}
