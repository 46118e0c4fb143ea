// Shows that a form is on its way, and keeps an impatient second click from sending it again.
const sent = new WeakSet();

document.addEventListener('submit', (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== 'post') return;
  if (sent.has(form)) {
    event.preventDefault();
    return;
  }
  sent.add(form);
  const button = event.submitter;
  // after the browser has collected the form's values, of which the button may be one
  setTimeout(() => button?.setAttribute('aria-busy', 'true'));
  setTimeout(() => again(form, button), 15000);
});

function again(form, button) {
  sent.delete(form);
  button?.removeAttribute('aria-busy');
}

// back to a page that was kept: nothing is on its way any more
addEventListener('pageshow', (event) => {
  if (event.persisted) for (const form of document.forms) again(form, form.querySelector('[aria-busy]'));
});
