// Shortcuts of every page: ? lists them, g and a second key lead to a page. They are single characters, so they do nothing
// while one types or while a dialog is open, and a reader can switch them off (WCAG 2.1.4).
export const typing = 'input, textarea, select, [contenteditable], dialog[open]';

/** single reports whether an event is a shortcut of one character that counts here. */
export function single(event) {
  return !document.body.hasAttribute('data-keys-off') && !event.ctrlKey && !event.altKey && !event.metaKey
    && !event.isComposing && !typed(event.target.closest?.(typing)) && !document.querySelector('dialog:modal');
}

// the field of a dialog that has just closed keeps the focus until the next frame, and nobody types into what is hidden
function typed(field) {
  return field?.getClientRects().length > 0;
}

const sheet = document.getElementById('gp-shortcuts');
const goes = 1500; // ms in which the second key counts
let went = -Infinity; // when g was pressed, in ms since the page began

document.addEventListener('keydown', (event) => {
  if (!sheet || !single(event)) return;
  if (event.key === '?') {
    event.preventDefault();
    sheet.showModal();
    return;
  }
  const link = event.timeStamp - went < goes && sheet.querySelector(`[data-go="${CSS.escape(event.key)}"]`);
  went = event.key === 'g' && !event.repeat ? event.timeStamp : -Infinity;
  if (!link) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  went = -Infinity;
  link.click();
}, true);

// the page's own keys are those that its buttons name
sheet?.addEventListener('beforetoggle', own);
function own() {
  const part = sheet.querySelector('[data-keys-page]');
  if (!part) return;
  const list = part.querySelector('dl');
  list.querySelectorAll('[data-key-of]').forEach((row) => row.remove());
  part.hidden = !document.querySelector('table[data-keys], #undo [data-key]');
  const seen = new Set();
  for (const button of document.querySelectorAll('#content [data-key]')) {
    if (seen.has(button.dataset.key)) continue;
    seen.add(button.dataset.key);
    const row = list.firstElementChild.cloneNode(true);
    row.dataset.keyOf = button.dataset.key;
    row.querySelector('dt').textContent = named(button);
    const key = row.querySelector('kbd');
    key.textContent = button.dataset.key;
    row.querySelector('dd').replaceChildren(key);
    list.append(row);
  }
}

function named(button) {
  const label = button.dataset.keyWords ?? button.getAttribute('aria-label')
    ?? button.querySelector('.pf-v6-c-button__text')?.textContent ?? button.labels?.[0]?.textContent;
  return (label ?? button.textContent).trim();
}
