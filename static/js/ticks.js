// Counts along while rows are ticked, and says what they add up to, beside the buttons of the form of several.
import { locale, onChange } from './page.js';

const number = new Intl.NumberFormat(locale);

function count() {
  for (const said of document.querySelectorAll('[data-ticked]')) {
    const ticked = [...said.closest('form').elements].filter((field) => field.matches('.gp-tick:checked'));
    const sum = ticked.reduce((all, box) => all + Number(box.dataset.amount ?? 0), 0);
    const words = said.dataset.ticked.replace('{0}', number.format(ticked.length)).replace('{1}', number.format(sum));
    if (said.textContent !== words) said.textContent = words;
  }
}

onChange(count);
document.addEventListener('change', (event) => { if (event.target.matches?.('.gp-tick')) count(); });
addEventListener('pageshow', count); // a browser ticks again what was ticked
