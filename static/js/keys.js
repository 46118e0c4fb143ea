// Moves through a list with j and k, opens with Enter, and presses the buttons of the current row by their keys.
// A key that changes something works only while the focus is in the list or beside it, never from anywhere on the page.
const typing = 'input, textarea, select, [contenteditable], dialog[open]';

document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest?.(typing)) return;
  const table = document.querySelector('table[data-keys]');
  if (!table) return;
  const rows = [...table.querySelectorAll('tbody > tr:not([hidden])')];
  const at = rows.findIndex((row) => row.contains(document.activeElement) || row === document.activeElement);
  if (event.key === 'j' || event.key === 'k') {
    const current = at >= 0 ? at : rows.findIndex((row) => row.getAttribute('aria-current') === 'true');
    const next = rows[Math.min(Math.max(current + (event.key === 'j' ? 1 : -1), 0), rows.length - 1)];
    focus(next);
    event.preventDefault();
    return;
  }
  if (event.key === 'Enter' && document.activeElement === rows[at]) {
    rows[at].querySelector('a[href]')?.click();
    return;
  }
  const near = table.closest('.gp-split') ?? table;
  if (event.key.length !== 1 || !near.contains(document.activeElement)) return;
  const selector = `[data-key="${CSS.escape(event.key)}"]`;
  const button = rows[at]?.querySelector(selector) ?? near.querySelector(`.gp-split__aside ${selector}, .gp-split__main ${selector}`);
  if (button) {
    event.preventDefault();
    button.click();
  }
});

function focus(row) {
  if (!row) return;
  row.tabIndex = -1;
  row.focus();
}
