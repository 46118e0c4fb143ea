// Sends a file with its progress in view, and shows what the portal answers in place of the page's part.
document.addEventListener('submit', (event) => {
  const form = event.target.closest?.('form[data-upload]');
  const file = form?.querySelector('input[type=file]')?.files[0];
  if (!file) return;
  event.preventDefault();
  const status = form.querySelector('[data-upload-status]');
  if (file.size > Number(form.dataset.most)) {
    status.textContent = form.dataset.large;
    return;
  }
  send(form, status);
});

function send(form, status) {
  const progress = form.querySelector('[data-upload-progress]');
  const button = form.querySelector('button');
  const call = new XMLHttpRequest();
  const stays = (sentence) => {
    status.textContent = sentence;
    progress.hidden = true;
    button.disabled = false;
  };
  button.disabled = true;
  progress.hidden = false;
  call.upload.onprogress = (event) => {
    if (!event.lengthComputable) return;
    progress.value = Math.floor((100 * event.loaded) / event.total);
    const words = form.dataset.sending.replace('{}', progress.value);
    if (status.textContent !== words && progress.value % 10 === 0) status.textContent = words; // a screen reader reads each
  };
  call.onerror = () => stays(form.dataset.lost);
  call.onload = () => {
    const answer = new DOMParser().parseFromString(call.responseText, 'text/html');
    const part = answer.getElementById('files');
    if (!part) {
      location.reload(); // signed out, or no right any more
      return;
    }
    document.getElementById('files').replaceWith(document.adoptNode(part));
    const told = part.querySelector('[data-test=files-wrong]') || answer.querySelector('[data-toast] .gp-notice');
    const said = part.querySelector('[data-upload-status]');
    if (said && told) said.textContent = told.textContent.replace(/\s+/g, ' ').trim(); // a status: it is read out
    part.querySelector('[data-test=files-wrong]')?.scrollIntoView({ block: 'nearest' });
  };
  call.open('POST', form.action);
  call.send(new FormData(form));
}
