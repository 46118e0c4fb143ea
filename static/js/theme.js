// Changes between light and dark at once; the form beneath does the same with a new page.
const classes = { dark: 'pf-v6-theme-dark', light: 'pf-v6-theme-light', auto: 'pf-v6-theme-auto' };

document.addEventListener('submit', async (event) => {
  const form = event.target;
  if (!form.matches('[data-theme-form]') || !(event.submitter?.value in classes)) return;
  event.preventDefault();
  const theme = event.submitter.value;
  const root = document.documentElement;
  root.classList.remove(...Object.values(classes));
  root.classList.add(classes[theme]);
  document.querySelector('meta[name="color-scheme"]').content = theme === 'auto' ? 'light dark' : theme;
  for (const button of form.querySelectorAll('button')) button.setAttribute('aria-pressed', String(button === event.submitter));
  const values = new URLSearchParams(new FormData(form, event.submitter));
  try {
    await fetch(form.action, { method: 'POST', body: values, redirect: 'manual', keepalive: true });
  } catch {
    // it is dark or light here, and asked for again on the next page
  }
}, true);
