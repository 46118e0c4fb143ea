// What a form shows beside its fields is true or says that it is not: while it is being computed it is busy and the
// button waits; when that fails, it says so and offers to try again. The fields stay as they are.
const quiet = ['name', 'reason']; // they change neither what it costs nor when it starts
let current; // the request whose answer counts
let known; // what was sent for the summary that stands there

function formOf(event) {
  return event.target.closest?.('form[data-summary]');
}

function sentBy(ctx) {
  return new URLSearchParams(ctx.request.body ?? ctx.request.action.split('?')[1]).toString();
}

// leaving a field that was answered while one typed asks nothing new
document.addEventListener('htmx:config:request', (event) => {
  const form = formOf(event);
  if (form && event.target === form && known === sentBy(event.detail.ctx)) event.preventDefault();
});

document.addEventListener('htmx:before:request', (event) => {
  const form = formOf(event);
  if (!form) return;
  current = event.detail.ctx;
  current.sent = sentBy(current);
  known = undefined;
  const bar = form.querySelector('[data-summary-bar]');
  bar?.setAttribute('aria-busy', 'true');
  if (!quiet.includes(current.sourceEvent?.target?.name)) wait(form, true);
});

// an error page must not take the place of the form; draft.js looks after an ended session
document.addEventListener('htmx:before:response', (event) => {
  const { ctx } = event.detail;
  if (!formOf(event) || ctx.response.status < 400) return;
  event.preventDefault();
  ctx.failed = true;
});

document.addEventListener('htmx:error', (event) => {
  if (formOf(event) && event.detail.ctx) event.detail.ctx.failed = true;
});

document.addEventListener('htmx:finally:request', (event) => {
  const form = formOf(event) ?? document.querySelector('form[data-summary]');
  const { ctx } = event.detail;
  if (!form || ctx !== current) return; // a later one is under way
  current = undefined;
  const bar = form.querySelector('[data-summary-bar]');
  bar?.removeAttribute('aria-busy');
  bar?.toggleAttribute('data-stale', Boolean(ctx.failed));
  const said = form.querySelector('[data-summary-failed]');
  if (said) said.hidden = !ctx.failed;
  if (ctx.failed) return; // the price that stands there is not that of what is chosen
  known = ctx.sent;
  wait(form, false);
});

// wait keeps the button from sending. It stays a button that can be pressed: leaving a field by pressing it computes
// the summary anew, and a disabled button would lose that click. What is pressed meanwhile is sent afterwards.
let pressed = false;

function wait(form, on) {
  const button = form.querySelector('[data-summary-send]');
  if (on) button?.setAttribute('aria-disabled', 'true');
  else button?.removeAttribute('aria-disabled');
  if (on) return;
  if (pressed && button && !button.disabled) setTimeout(() => form.requestSubmit(button));
  pressed = false;
}

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[data-summary-send][aria-disabled="true"]');
  if (!button) return;
  event.preventDefault();
  pressed = current !== undefined;
}, true);

document.addEventListener('input', () => { pressed = false; }, true);

// what the server chose is chosen, also where a person has clicked before
htmx.registerExtension('gp-choices', {
  htmx_before_morph_node: (_, { oldNode, newNode }) => {
    if (oldNode instanceof HTMLInputElement && oldNode.type === 'radio' && oldNode.form?.hasAttribute('data-summary')) {
      oldNode.checked = newNode.checked;
    }
    return true;
  },
});
