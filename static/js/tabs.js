// Tabs that are wider than their place show the current one, and that there are more.
import { onChange } from './page.js';

const seen = new ResizeObserver((entries) => entries.forEach(({ target }) => reveal(target)));
const watched = new WeakSet();

onChange(() => {
  for (const list of document.querySelectorAll('.gp-tabs > .pf-v6-c-tabs__list')) {
    if (watched.has(list)) {
      edges(list); // a new page from the server lacks them
      continue;
    }
    watched.add(list);
    list.addEventListener('scroll', () => edges(list), { passive: true });
    seen.observe(list); // tells at once, and when the window changes
  }
});

function reveal(list) {
  const current = list.querySelector('.pf-m-current')?.getBoundingClientRect(), place = list.getBoundingClientRect();
  if (current && (current.left < place.left || current.right > place.right)) {
    list.scrollLeft += (current.left + current.right - place.left - place.right) / 2;
  }
  edges(list);
}

function edges(list) {
  const beyond = list.scrollWidth - list.clientWidth;
  list.classList.toggle('gp-tabs__list--before', list.scrollLeft > 1);
  list.classList.toggle('gp-tabs__list--after', beyond - list.scrollLeft > 1);
}
