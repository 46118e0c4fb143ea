// A table of sizes that opens shows the chosen one above the bar that stays at the foot of the window. What stands above
// the table goes out of sight as a whole.
import { onChange } from './page.js';

let seen; // the table that was shown already: one scrolls it as one likes afterwards
let room = ''; // below it, which a new form from the server does not have

onChange(() => {
  const table = document.querySelector('.gp-start__all');
  if (!table) return;
  if (table === seen) {
    table.style.paddingBlockEnd = room;
    return;
  }
  [seen, room] = [table, ''];
  const row = table.querySelector('tr:has(:checked)'), bar = document.querySelector('[data-summary-bar]');
  if (!row || !bar) return;
  const hidden = row.getBoundingClientRect().bottom - bar.getBoundingClientRect().top;
  if (hidden < 0) return;
  const head = document.querySelector('.gp-masthead')?.getBoundingClientRect().bottom ?? 0, gap = 8;
  const part = [...document.querySelectorAll('.gp-start__top, .gp-start__time, .gp-start__sizes')]
    .find((part) => part.getBoundingClientRect().top - head - gap >= hidden + 24);
  if (part) {
    const { scrollHeight, clientHeight, scrollTop } = document.scrollingElement;
    const missing = part.getBoundingClientRect().top - head - gap + scrollTop - (scrollHeight - clientHeight);
    room = missing > 0 ? `${missing}px` : '';
    table.style.paddingBlockEnd = room;
    part.style.scrollMarginBlockStart = `${head + gap}px`;
    part.scrollIntoView({ block: 'start' });
    return;
  }
  row.style.scrollMarginBlockEnd = `${bar.offsetHeight + 24}px`;
  row.scrollIntoView({ block: 'nearest' });
});
