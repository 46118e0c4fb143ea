// A table of sizes that scrolls in itself shows the chosen one.
import { onChange } from './page.js';

onChange(() => {
  const row = document.querySelector('.gp-start__all tr:has(:checked)'), box = row?.closest('.gp-table');
  if (!box || box.scrollHeight <= box.clientHeight) return;
  const head = box.querySelector('thead').offsetHeight;
  const above = row.offsetTop - head < box.scrollTop, below = row.offsetTop + row.offsetHeight > box.scrollTop + box.clientHeight;
  if (above || below) box.scrollTop = row.offsetTop - (box.clientHeight - row.offsetHeight) / 2;
});
