// The command palette: Ctrl-K or the search button opens it over the page, and the list follows what one types. The input
// keeps the focus; arrows move through the options, Enter takes one. Without it the button leads to the search page.
const dialog = document.getElementById('gp-palette');
const pause = 150; // ms of quiet before the server is asked

if (dialog) {
  const form = dialog.querySelector('form');
  const input = form.elements.q;
  const results = document.getElementById('gp-palette-list');
  const none = dialog.querySelector('.gp-palette__none');
  const status = dialog.querySelector('[data-palette-say]');
  let timer, call, asked = null, enter = false;

  document.addEventListener('keydown', (event) => {
    if (event.key.toLowerCase() !== 'k' || event.altKey || event.shiftKey || event.ctrlKey === event.metaKey) return;
    if (!dialog.open && document.querySelector('dialog:modal')) return;
    event.preventDefault();
    if (dialog.open) dialog.close();
    else open();
  });

  document.addEventListener('click', (event) => {
    if (event.target.closest?.('[data-palette-close]')) dialog.close();
    if (!event.target.closest?.('[data-palette-open]') || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open();
  });

  function open() {
    dialog.showModal();
    input.select();
    ask();
  }

  const options = () => [...results.querySelectorAll('[role="option"]')];
  const active = () => document.getElementById(input.getAttribute('aria-activedescendant'));

  function choose(option) {
    active()?.setAttribute('aria-selected', 'false');
    if (!option) {
      input.removeAttribute('aria-activedescendant');
      return;
    }
    option.setAttribute('aria-selected', 'true');
    input.setAttribute('aria-activedescendant', option.id);
    option.scrollIntoView({ block: 'nearest' });
  }

  input.addEventListener('input', () => {
    clearTimeout(timer);
    enter = false;
    timer = setTimeout(ask, pause);
  });

  input.addEventListener('keydown', (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) {
      event.preventDefault();
      const list = options();
      const at = list.indexOf(active());
      choose(list[at < 0 ? (step > 0 ? 0 : list.length - 1) : (at + step + list.length) % list.length]);
      return;
    }
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault();
    if (asked === input.value) take();
    else { // the list is that of a former text
      enter = true;
      clearTimeout(timer);
      ask();
    }
  });

  function take() {
    const option = active();
    if (option) option.click();
    else form.submit();
  }

  async function ask() {
    call?.abort();
    call = new AbortController();
    const { signal } = call;
    const text = input.value;
    dialog.setAttribute('aria-busy', 'true');
    try {
      const answer = await fetch(`${dialog.dataset.results}?${new URLSearchParams({ q: text })}`,
        { signal, headers: { 'HX-Request': 'true' } });
      if (answer.status === 401) {
        dialog.close();
        document.getElementById('gp-session-ended')?.showModal();
        return;
      }
      if (!answer.ok) throw new Error(answer.statusText);
      show(await answer.text(), text);
    } catch (error) {
      if (error.name !== 'AbortError') failed();
    } finally {
      if (call.signal === signal) dialog.removeAttribute('aria-busy');
    }
  }

  function show(html, text) {
    results.replaceChildren(...new DOMParser().parseFromString(html, 'text/html').body.childNodes);
    const words = results.firstElementChild?.dataset.say ?? '';
    const list = options();
    say(list.length > 0, words, text);
    choose(text.trim() ? list[0] : null);
    if (enter) take();
    enter = false;
  }

  // an empty listbox is none: the words take its place
  function say(listed, words, text) {
    asked = text;
    results.hidden = !listed;
    none.hidden = listed;
    none.textContent = listed ? '' : words;
    if (!listed) results.replaceChildren();
    input.setAttribute('aria-expanded', String(listed));
    status.textContent = words;
  }

  // Enter still sends the form, which says more
  function failed() {
    choose(null);
    say(false, dialog.dataset.wordsFailed, input.value);
  }
}

// the key is written as it is on this keyboard
if (/Mac|iPhone|iPad/.test(navigator.platform)) {
  for (const key of document.querySelectorAll('[data-control-key]')) key.textContent = `⌘ ${key.dataset.controlKey}`;
}
