// Keeps what was typed when the session has ended: the page stays, a dialog offers to sign in again, and the forms are
// filled as they were when the same person comes back to the same page in the same tab.
const key = 'gp-draft';
const person = document.body.dataset.person;
const kept = 'input:not([type="hidden"], [type="password"], [type="file"], [type="submit"]), select, textarea';
const longest = 60 * 60_000; // ms; what is older is somebody's abandoned attempt

// Filling a form tells htmx, which listens to it only once the page is complete.
if (person) document.addEventListener('DOMContentLoaded', () => setTimeout(restore));

// an answer without a session must not take the place of what stands on the page
document.addEventListener('htmx:before:response', (event) => {
  if (event.detail?.ctx?.response?.status !== 401) return;
  event.preventDefault();
  keep();
  document.getElementById('gp-session-ended')?.showModal();
});

// a form that is sent whole meets the sign-in page; where it got through, the next page throws this away
document.addEventListener('submit', (event) => {
  if (!event.defaultPrevented && event.target.method === 'post') keep();
});

function keep() {
  if (!person) return;
  const forms = [...document.querySelectorAll('#content form[method="post"]')]
    .map((form, index) => ({ index, id: form.id, values: values(form) })).filter(({ values }) => values.length > 0);
  const draft = { person, path: location.pathname, at: Date.now(), forms };
  try {
    sessionStorage.setItem(key, JSON.stringify(draft));
  } catch {
    // private windows and full stores have no room: the page itself is still there
  }
}

function values(form) {
  return [...form.elements].filter((field) => field.name && field.matches(kept)).map((field) => (
    { name: field.name, option: choice(field) ? field.value : null, value: choice(field) ? field.checked : field.value }));
}

function choice(field) {
  return field.type === 'radio' || field.type === 'checkbox';
}

function restore() {
  let draft = null;
  try {
    draft = JSON.parse(sessionStorage.getItem(key));
  } catch {
    // not ours
  }
  sessionStorage.removeItem(key);
  if (!draft || draft.person !== person || draft.path !== location.pathname || Date.now() - draft.at > longest) return;
  const forms = document.querySelectorAll('#content form[method="post"]');
  for (const { index, id, values } of draft.forms) {
    const form = (id && document.getElementById(id)) || forms[index];
    if (form) fill(form, values);
  }
}

function fill(form, values) {
  const changed = [];
  for (const { name, option, value } of values) {
    for (const field of form.elements) {
      if (field.name !== name || !field.matches(kept) || (option !== null && field.value !== option)) continue;
      const property = choice(field) ? 'checked' : 'value';
      if (field[property] !== value) changed.push(field);
      field[property] = value;
      break;
    }
  }
  // what a form shows beside its fields follows from them
  for (const field of changed) if (!choice(field) || field.checked) field.dispatchEvent(new Event('change', { bubbles: true }));
}
