// Closes an open menu with Escape, with a click elsewhere and when the focus leaves it.
const opened = () => document.querySelectorAll('details[data-menu][open]');

// a link that was followed closes its menu as well: a download leaves the page where it is
document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href]:not([data-dialog])');
  for (const menu of opened()) if (!menu.contains(event.target) || menu.contains(link)) menu.open = false;
});

document.addEventListener('focusin', (event) => {
  for (const menu of opened()) if (!menu.contains(event.target)) menu.open = false;
});

document.addEventListener('keydown', (event) => {
  if (event.key !== 'Escape') return;
  for (const menu of opened()) {
    const inside = menu.contains(document.activeElement);
    menu.open = false;
    if (inside) menu.querySelector('summary').focus();
  }
});
