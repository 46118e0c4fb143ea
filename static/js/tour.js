// The guided tour of a page: a modal dialog whose ring lies around one part of the page after the other. It opens only
// where the address asks for it, and the server remembers that it ended.
const tour = document.getElementById('gp-tour');
const asked = new URLSearchParams(location.search);

if (tour && asked.has('tour')) {
  asked.delete('tour');
  history.replaceState(null, '', location.pathname + (asked.size ? `?${asked}` : '') + location.hash);
  const targetOf = (step) => [...document.querySelectorAll(step.dataset.tourStep)].find((part) => part.checkVisibility());
  const steps = [...tour.querySelectorAll('[data-tour-step]')].filter(targetOf);
  if (steps.length) begin(steps, targetOf);
}

function begin(steps, targetOf) {
  let at = 0;
  const show = (step) => {
    at = Math.max(0, Math.min(steps.length - 1, step));
    for (const [n, section] of steps.entries()) section.hidden = n !== at;
    for (const button of tour.querySelectorAll('[data-tour-move]')) {
      button.hidden = button.dataset.tourMove === '1' ? at === steps.length - 1 : at === 0;
    }
    for (const last of tour.querySelectorAll('[data-tour-last]')) last.hidden = at !== steps.length - 1;
    const count = steps[at].querySelector('[data-tour-count]');
    count.textContent = count.dataset.tourCount.replace('{0}', at + 1).replace('{1}', steps.length);
    targetOf(steps[at])?.scrollIntoView({ block: 'nearest', behavior: 'instant' });
    place(targetOf(steps[at]));
    steps[at].querySelector('h2').focus({ preventScroll: true });
  };
  tour.addEventListener('click', (event) => {
    const button = event.target.closest('[data-tour-move]');
    if (button) show(at + Number(button.dataset.tourMove));
    else if (event.target.closest('[data-tour-end]')) tour.close();
  });
  tour.addEventListener('keydown', (event) => {
    const move = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (move) show(at + move);
  });
  tour.addEventListener('close', () => {
    remember();
    document.querySelector('.gp-masthead__help summary')?.focus();
  });
  tour.querySelector('a[data-tour-last]')?.addEventListener('click', remember);
  window.addEventListener('resize', () => tour.open && place(targetOf(steps[at])));
  tour.showModal();
  show(0);
}

// the ring lies around the part that is seen, the panel under it, or where there is more room
function place(target) {
  const gap = 12;
  const ring = tour.querySelector('[data-tour-ring]').style;
  const panel = tour.querySelector('[data-tour-panel]');
  const box = target.getBoundingClientRect();
  const top = Math.max(box.top - 6, 4);
  const bottom = Math.min(box.bottom + 6, innerHeight - 4);
  Object.assign(ring, { top: `${top}px`, height: `${bottom - top}px`, left: `${Math.max(box.left - 6, 4)}px`, width: `${Math.min(box.width + 12, innerWidth - 8)}px` });
  const { height, width } = panel.getBoundingClientRect();
  const under = bottom + gap + height < innerHeight;
  const over = top - gap - height > 0;
  const y = under ? bottom + gap : over ? top - gap - height : innerHeight - height - gap;
  const x = Math.max(gap, Math.min(box.left, innerWidth - width - gap));
  Object.assign(panel.style, { top: `${y}px`, left: `${x}px` });
}

async function remember() {
  const body = new URLSearchParams({ mark: tour.dataset.tourMark });
  try {
    await fetch(tour.dataset.tourTo, { method: 'POST', body, redirect: 'manual', keepalive: true });
  } catch {
    // it is offered again, and nothing else
  }
}
