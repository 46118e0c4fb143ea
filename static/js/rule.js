// What is offered while one types the value of a condition is of the fact that the server knew.
function forget(event) {
  const row = event.target.closest?.('.gp-term');
  if (row && event.target.name?.startsWith('fact-')) row.querySelector('[name^="value-"]')?.removeAttribute('list');
}

document.addEventListener('change', forget);
