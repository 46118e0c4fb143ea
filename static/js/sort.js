// Sorts a table by a click on its heads, when the page already has all of its rows.
import { onChange } from './page.js';

const compare = new Intl.Collator(document.documentElement.lang, { numeric: true, sensitivity: 'base' }).compare;

function value(row, column) {
  const cell = row.cells[column];
  return cell?.dataset.value ?? cell?.textContent.trim() ?? '';
}

function sort(head) {
  const table = head.closest('table');
  const down = head.getAttribute('aria-sort') === 'ascending';
  for (const other of table.querySelectorAll('th[aria-sort]')) other.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const body = table.tBodies[0], column = head.cellIndex;
  const rows = [...body.rows].sort((a, b) => compare(value(a, column), value(b, column)) * (down ? -1 : 1));
  body.append(...rows);
}

onChange(() => {
  for (const head of document.querySelectorAll('table[data-sort] th[data-sortable]:not(:has(.gp-sort))')) {
    const button = document.createElement('button');
    button.type = 'button';
    button.className = 'gp-sort gp-sort--script';
    button.append(...head.childNodes);
    button.addEventListener('click', () => sort(head));
    head.append(button);
  }
});
