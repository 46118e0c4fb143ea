// Folds the navigation and its groups at once; the server remembers it, so that the next page comes as this one was left.
// The entry of the page is scrolled into view.
document.addEventListener('submit', (event) => {
  const form = event.target;
  if (!form.matches('[data-nav-form]')) return;
  event.preventDefault();
  const button = event.submitter;
  const fold = button.value === '1';
  document.body.classList.toggle('gp-body--nav-folded', fold);
  button.setAttribute('aria-expanded', String(!fold));
  button.value = fold ? '0' : '1';
  remember(form.action, 'bar', fold);
});

document.addEventListener('click', (event) => {
  const group = event.target.closest?.('summary')?.parentElement;
  if (group?.matches('[data-nav-part]')) remember(group.dataset.navTo, group.dataset.navPart, group.open);
});

async function remember(to, part, fold) {
  try {
    await fetch(to, { method: 'POST', body: new URLSearchParams({ part, fold: fold ? '1' : '0' }), redirect: 'manual', keepalive: true });
  } catch {
    // it is folded here, and asked for again on the next page
  }
}

const nav = document.getElementById('gp-nav');
nav?.addEventListener('toggle', reveal);
reveal();

function reveal() {
  const entry = nav?.querySelector('.gp-nav__link--current')?.getBoundingClientRect();
  if (!entry?.height) return; // folded
  const { top, bottom } = nav.getBoundingClientRect();
  if (entry.top < top || entry.bottom > bottom - 16) nav.scrollTop += (entry.top + entry.bottom - top - bottom) / 2;
}
