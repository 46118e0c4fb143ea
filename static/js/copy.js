// Lets one copy a value with a click instead of selecting it.
import { say } from './page.js';

document.addEventListener('click', async (event) => {
  const button = event.target.closest?.('[data-copy]');
  if (!button) return;
  const from = button.dataset.copyFrom && document.getElementById(button.dataset.copyFrom);
  try {
    await navigator.clipboard.writeText(from ? from.textContent : button.dataset.copy);
  } catch {
    select(from || button.previousElementSibling); // no permission: leave it selected, ready for the keyboard
    return;
  }
  button.dataset.done = '';
  say(button.dataset.copied);
  setTimeout(() => delete button.dataset.done, 2000);
});

function select(element) {
  if (element) getSelection().selectAllChildren(element);
}
