// A table of sizes that opens shows the chosen one: above the bar that stays at the foot of the window.
import { onChange } from './page.js';

let seen; // the table that was shown already: one scrolls it as one likes afterwards

onChange(() => {
  const table = document.querySelector('.gp-start__all');
  if (!table || table === seen) return;
  seen = table;
  const row = table.querySelector('tr:has(:checked)'), bar = document.querySelector('[data-summary-bar]');
  if (!row || !bar) return;
  const hidden = row.getBoundingClientRect().bottom - bar.getBoundingClientRect().top;
  if (hidden < 0) return;
  row.style.scrollMarginBlockEnd = `${bar.offsetHeight + 24}px`;
  row.scrollIntoView({ block: 'nearest' });
});
