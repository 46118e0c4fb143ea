// Says a rule as one sentence while its fields are typed; the server says the same when the page is drawn.
const text = (field) => (field?.tagName === 'SELECT' ? field.selectedOptions[0]?.textContent : field?.value);
const chosen = (field) => text(field)?.trim() ?? '';

const lowered = (words) => words.charAt(0).toLowerCase() + words.slice(1);

function terms(form, lower) {
  const groups = [];
  for (const row of form.querySelectorAll('.gp-term')) {
    const field = (name) => row.querySelector(`[name^="${name}-"]`);
    if (!field('fact')?.value) continue;
    const fact = chosen(field('fact'));
    const words = [lower ? lowered(fact) : fact, chosen(field('op')), chosen(field('value'))].join(' ').trim();
    const or = field('join')?.value === 'or';
    if (or && groups.length > 0) groups.at(-1).push([chosen(field('join')), words]);
    else groups.push([[chosen(field('join')), words]]);
  }
  return groups.map((group, i) => {
    const words = group.map(([join, term], n) => (n > 0 ? `${join} ${term}` : term)).join(' ');
    const whole = group.length > 1 && groups.length > 1 ? `(${words})` : words;
    return i > 0 ? `${group[0][0]} ${whole}` : whole;
  }).join(' ');
}

function say(event) {
  const form = event.target.closest?.('#rule-form');
  const line = form?.querySelector('[data-rule-when]');
  if (!line) return;
  const when = terms(form, 'ruleLower' in line.dataset);
  let then = chosen(form.elements.outcome);
  if (form.elements.outcome.value === 'approve' && form.elements.by) then += ` (${chosen(form.elements.by)})`;
  const sentence = when ? line.dataset.ruleWhen : line.dataset.ruleAlways;
  const output = line.querySelector('output'), strong = output.querySelector('strong');
  const [before, after = ''] = sentence.split('{then}').map((words) => words.replace('{when}', () => when));
  strong.textContent = then;
  output.replaceChildren(before, strong, after);
}

// What is offered while one types is of the fact that the server knew.
function forget(event) {
  const row = event.target.closest?.('.gp-term');
  if (row && event.target.name?.startsWith('fact-')) row.querySelector('[name^="value-"]')?.removeAttribute('list');
}

document.addEventListener('change', forget);
document.addEventListener('input', say);
document.addEventListener('change', say);
