// Marks a form in which something differs from what the page came with: its buttons stay in view only then. Of a form
// that asks for it the button that saves is off until then.
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
  if (form.dataset.marksChanges === 'save') form.querySelector('[data-test="save"]').disabled = !changed;
}

for (const form of forms) {
  mark(form);
  for (const type of ['input', 'change']) form.addEventListener(type, () => mark(form));
}
// a browser or the draft fills in what was typed after this has run
if (forms.length) addEventListener('pageshow', () => forms.forEach(mark));
