// Opens dialogs in place where the browser does not do so by itself, and closes them with a click beside them.
const native = 'commandForElement' in HTMLButtonElement.prototype;

document.addEventListener('click', (event) => {
  const button = event.target.closest?.('[commandfor]');
  if (button && !native) {
    const dialog = document.getElementById(button.getAttribute('commandfor'));
    if (button.getAttribute('command') === 'close') dialog?.close();
    else open(dialog);
  }
  if (button?.getAttribute('command') === 'show-modal') setTimeout(() => firstField(button.getAttribute('commandfor')));
  const link = event.target.closest?.('a[data-dialog]');
  if (link && openFrom(link)) event.preventDefault();
  // the dialog's own box is filled by its form, so a click on the dialog itself is one on the backdrop
  if (event.target instanceof HTMLDialogElement && outside(event)) event.target.close();
});

// a dialog that is closed gives the focus back to where it was: not to an item of a menu that is closed by then
function openFrom(link) {
  const dialog = document.getElementById(link.dataset.dialog), menu = link.closest('details[data-menu]');
  if (menu && dialog) {
    menu.open = false;
    menu.querySelector('summary').focus();
  }
  return open(dialog);
}

function open(dialog) {
  if (!(dialog instanceof HTMLDialogElement)) return false;
  if (!dialog.open) dialog.showModal();
  return true;
}

// a dialog that asks for something begins with its field, and not with its cross
function firstField(id) {
  document.getElementById(id)?.querySelector('input:not([type="hidden"]), select, textarea')?.focus();
}

function outside({ target, clientX, clientY }) {
  const box = target.getBoundingClientRect();
  return clientX < box.left || clientX > box.right || clientY < box.top || clientY > box.bottom;
}

// a link to a form that is folded unfolds it, and begins with its field
function unfold(id) {
  const named = id && document.getElementById(id), fold = named?.closest('details');
  if (!fold) return false;
  fold.open = true;
  named.scrollIntoView({ block: 'nearest' });
  firstField(id);
  return true;
}

document.addEventListener('click', (event) => {
  const link = event.target.closest?.('a[href^="#"]');
  if (link && unfold(link.hash.slice(1))) event.preventDefault();
});

// an address that names a dialog shows it without scripts; with them it becomes modal
const named = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
if (named) unfold(named.id);
if (named instanceof HTMLDialogElement) {
  history.replaceState(null, '', location.pathname + location.search);
  open(named);
}
