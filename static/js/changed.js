// Marks a form in which something differs from what the page came with: its buttons stay in view only then. A button
// that the form names by its id is off until then.
const forms = document.querySelectorAll('form[data-marks-changes]');

function differs(field) {
  if (field.type === 'checkbox' || field.type === 'radio') return field.checked !== field.defaultChecked;
  if (field.tagName !== 'SELECT') return 'defaultValue' in field && field.value !== field.defaultValue;
  const first = [...field.options].findIndex((option) => option.defaultSelected);
  return field.selectedIndex !== Math.max(0, first);
}

function mark(form) {
  const changed = [...form.elements].some(differs);
  form.classList.toggle('gp-form--changed', changed);
  const save = document.getElementById(form.dataset.marksChanges);
  if (save) save.disabled = !changed;
}

for (const form of forms) {
  mark(form);
  for (const type of ['input', 'change']) form.addEventListener(type, () => mark(form));
}
// a browser or the draft fills in what was typed after this has run
if (forms.length) addEventListener('pageshow', () => forms.forEach(mark));
