// Lays what was just done over the page, so that nothing moves; reads it out, and takes away what asks nothing more.
import { say } from './page.js';

const least = 8000, perLetter = 80; // ms: twice the time in which somebody slow reads it

for (const toast of document.querySelectorAll('[data-toast]')) {
  say(toast.querySelector('.gp-notice')?.textContent.replace(/\s+/g, ' ').trim());
  if (toast.dataset.toastFor) setTimeout(() => toast.remove(), Number(toast.dataset.toastFor) * 1000);
  else if (!('toastStays' in toast.dataset)) leaves(toast);
}

document.addEventListener('click', (event) => {
  const toast = event.target.closest?.('[data-toast-close]')?.closest('[data-toast]');
  if (!toast) return;
  toast.remove();
  document.getElementById('content')?.focus({ preventScroll: true });
});

// the time counts only while the page is looked at and nobody is at the toast
function leaves(toast) {
  let left = Math.max(least, toast.textContent.trim().length * perLetter);
  const tick = setInterval(() => {
    if (document.hidden || toast.matches(':hover, :focus-within')) return;
    left -= 500;
    if (left > 0) return;
    clearInterval(tick);
    toast.remove();
  }, 500);
}
