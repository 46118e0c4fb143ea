// Counts along while rows are ticked, and says what they add up to, beside the buttons of the form of several.
import { locale, onChange } from './page.js';

/* The link that ticks every row becomes a box that does so at once; without scripts it opens the page so. */
function heads() {
  for (const link of document.querySelectorAll('a[data-tick-all]')) {
    const box = document.createElement('input');
    box.type = 'checkbox';
    box.className = 'gp-tick-head';
    box.title = link.title;
    box.setAttribute('aria-label', link.textContent.trim());
    box.setAttribute('autocomplete', 'off');
    box.dataset.tickAll = '';
    box.dataset.test = link.dataset.test;
    link.replaceWith(box);
  }
}

const rowsOf = (head) => [...head.closest('table').querySelectorAll('.gp-tick')];

function marks() {
  for (const head of document.querySelectorAll('input[data-tick-all]')) {
    const boxes = rowsOf(head), ticked = boxes.filter((box) => box.checked).length;
    head.checked = ticked > 0 && ticked === boxes.length;
    head.indeterminate = ticked > 0 && ticked < boxes.length;
  }
}

const number = new Intl.NumberFormat(locale);

function count() {
  heads();
  marks();
  for (const said of document.querySelectorAll('[data-ticked]')) {
    const ticked = [...said.closest('form').elements].filter((field) => field.matches('.gp-tick:checked'));
    const sum = ticked.reduce((all, box) => all + Number(box.dataset.amount ?? 0), 0);
    const words = said.dataset.ticked.replace('{0}', number.format(ticked.length)).replace('{1}', number.format(sum));
    if (said.textContent !== words) said.textContent = words;
  }
}

onChange(count);
document.addEventListener('change', (event) => {
  if (event.target.matches?.('[data-tick-all]')) {
    for (const box of rowsOf(event.target)) box.checked = event.target.checked;
  }
  if (event.target.matches?.('.gp-tick, [data-tick-all]')) count();
});
addEventListener('pageshow', count); // a browser ticks again what was ticked
